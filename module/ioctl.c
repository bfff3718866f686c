// SPDX-License-Identifier: GPL-2.0
/*
 * The command table, the size and zero checks of argument structs, and the loop over a batch.
 */
#include <linux/ioctl.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "abi.h"
#include "htwheel.h"

/* Batches of up to so many operations are worked off on the stack, longer ones in a buffer. */
#define IOCTL_STACK_OPS		8U

/**
 * struct batch - the part of a user's array that is being worked on
 * @ops: the user's first operation of this part
 * @stride: bytes from one to the next
 * @nr: operations in @buffer
 * @buffer: copies
 */
struct batch {
	u64			ops;
	u32			stride;
	unsigned int		nr;
	struct htwheel_op	*buffer;
};

static struct htwheel_op __user *batch_user(const struct batch *batch, unsigned int i)
{
	return u64_to_user_ptr(batch->ops + (u64)i * batch->stride);
}

/* Fetch one operation with bytes behind the part that we know, which have to be zero. */
static int batch_read_long(struct batch *batch, unsigned int i)
{
	struct htwheel_op __user *from = batch_user(batch, i);
	struct htwheel_op *op = &batch->buffer[i];
	int zero;

	if (copy_from_user(op, from, sizeof(*op)))
		return -EFAULT;
	op->result = 0;
	zero = check_zeroed_user(from + 1, batch->stride - sizeof(*op));
	if (zero < 0)
		return zero;
	if (!zero)
		op->result = -E2BIG;
	return 0;
}

/* Returns how many of @nr operations could be read. */
static unsigned int batch_read(struct batch *batch, unsigned int nr)
{
	size_t size = nr * sizeof(struct htwheel_op);
	unsigned int i;

	if (batch->stride == sizeof(struct htwheel_op)) {
		nr = (size - copy_from_user(batch->buffer, batch_user(batch, 0), size)) /
		     sizeof(struct htwheel_op);
		for (i = 0; i < nr; i++)
			batch->buffer[i].result = 0;
		return nr;
	}
	for (i = 0; i < nr; i++) {
		if (batch_read_long(batch, i))
			break;
	}
	return i;
}

static bool op_writable(struct htwheel_op __user *to, const struct htwheel_op *op)
{
	return !put_user(op->opcode, &to->opcode) && !put_user(op->reserved, &to->reserved);
}

/*
 * Find out whether the results can be written, *before* anything is done: a timer whose name cannot
 * be told would be armed for nobody. Touches each page of the array, at the very start and end of
 * an operation, with the values that were read there. Returns how many of the operations have a
 * place to be written to.
 */
static unsigned int batch_probe(struct batch *batch, unsigned int nr)
{
	unsigned long first, last, page = 0;
	struct htwheel_op __user *to;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		to = batch_user(batch, i);
		first = (unsigned long)to >> PAGE_SHIFT;
		last = ((unsigned long)(to + 1) - 1) >> PAGE_SHIFT;
		if (i && first == page && last == page)
			continue;
		if (!op_writable(to, &batch->buffer[i]))
			break;
		page = last;
	}
	return i;
}

/*
 * Write the operations back. Fails only if another thread takes the memory away during the call;
 * the operations have been done then all the same, and are counted.
 */
static int batch_write(struct batch *batch)
{
	unsigned int i;

	if (batch->stride == sizeof(struct htwheel_op))
		return copy_to_user(batch_user(batch, 0), batch->buffer,
				    batch->nr * sizeof(struct htwheel_op)) ? -EFAULT : 0;
	for (i = 0; i < batch->nr; i++) {
		if (copy_to_user(batch_user(batch, i), &batch->buffer[i],
				 sizeof(struct htwheel_op)))
			return -EFAULT;
	}
	return 0;
}

static unsigned int batch_failed(const struct batch *batch)
{
	unsigned int i, failed = 0;

	for (i = 0; i < batch->nr; i++)
		failed += batch->buffer[i].result < 0;
	return failed;
}

/* One part of a batch, @nr operations. */
static int batch_run(struct htw_ctx *ctx, struct batch *batch, struct htwheel_submit *submit,
		     unsigned int nr)
{
	int err;

	batch->nr = batch_probe(batch, batch_read(batch, nr));
	if (!batch->nr)
		return -EFAULT;
	err = htw_ctx_run(ctx, batch->buffer, batch->nr);
	if (err)
		return err;
	submit->done += batch->nr;
	submit->failed += batch_failed(batch);
	err = batch_write(batch);
	return batch->nr < nr ? -EFAULT : err;
}

static int submit_parts(struct htw_ctx *ctx, struct htwheel_submit *submit,
			struct htwheel_op *buffer, unsigned int room)
{
	struct batch batch = { .ops = submit->ops, .stride = submit->stride, .buffer = buffer };
	unsigned int nr;
	int err;

	while (submit->done < submit->nr) {
		/* Not before the first part: a call always gets somewhere. */
		if (submit->done && task_sigpending(current))
			return -EINTR;
		nr = min(submit->nr - submit->done, room);
		err = batch_run(ctx, &batch, submit, nr);
		/* What has been done must not be done again by a restarted system call. */
		if (err)
			return err == -ERESTARTSYS && submit->done ? -EINTR : err;
		batch.ops += (u64)nr * batch.stride;
		cond_resched();
	}
	return 0;
}

/* A user's array of @nr elements, of which the module knows the first @known bytes each. */
static int array_check(u64 address, u32 nr, u32 stride, size_t known)
{
	u64 end;

	if (nr > HTW_MAX_BATCH || stride < known || stride > HTW_MAX_STRIDE || stride % 8)
		return -EINVAL;
	/* Beyond the address space; on 32 bits, a pointer would silently lose its upper half. */
	if (check_add_overflow(address, (u64)nr * stride, &end) || end > ULONG_MAX)
		return -EFAULT;
	return 0;
}

static int submit_check(const struct htwheel_submit *submit)
{
	if (submit->flags)
		return -EINVAL;
	return array_check(submit->ops, submit->nr, submit->stride, sizeof(struct htwheel_op));
}

static int ioctl_submit(struct htw_ctx *ctx, void *argument)
{
	struct htwheel_op few[IOCTL_STACK_OPS];
	struct htwheel_submit *submit = argument;
	struct htwheel_op *buffer;
	int err;

	submit->done = 0;
	submit->failed = 0;
	err = submit_check(submit);
	if (err)
		return err;
	if (submit->nr <= IOCTL_STACK_OPS)
		return submit_parts(ctx, submit, few, IOCTL_STACK_OPS);

	/*
	 * Who is at the limit of memory must still be able to cancel, and not be killed for trying:
	 * that is what makes room (I10).
	 */
	buffer = kmalloc_array(HTW_CHUNK_OPS, sizeof(*buffer),
			       GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!buffer)
		return submit_parts(ctx, submit, few, IOCTL_STACK_OPS);
	err = submit_parts(ctx, submit, buffer, HTW_CHUNK_OPS);
	kfree(buffer);
	return err;
}

static int dump_check(const struct htwheel_dump *dump)
{
	if (dump->flags || dump->reserved || !dump->nr)
		return -EINVAL;
	return array_check(dump->entries, dump->nr, dump->stride,
			   sizeof(struct htwheel_dump_entry));
}

/* Write one entry to its place, and zeros behind what we know of it. */
static int dump_write(struct htwheel_dump *dump, const struct htwheel_dump_entry *entry)
{
	struct htwheel_dump_entry __user *to =
		u64_to_user_ptr(dump->entries + (u64)dump->done * dump->stride);

	if (copy_to_user(to, entry, sizeof(*entry)) ||
	    clear_user(to + 1, dump->stride - sizeof(*entry)))
		return -EFAULT;
	dump->done++;
	return 0;
}

/* One step. Entries that cannot be written are listed again by the call that follows. */
static int dump_step(struct htw_ctx *ctx, struct htwheel_dump *dump)
{
	struct htwheel_dump_entry entries[HTW_DUMP_STEP];
	u64 end = dump->cursor & ~(u64)U32_MAX;
	int nr, i;

	nr = htw_ctx_dump(ctx, &dump->cursor, entries, min(dump->nr - dump->done, HTW_DUMP_STEP));
	for (i = 0; i < nr; i++) {
		if (dump_write(dump, &entries[i])) {
			dump->cursor = end | (u32)entries[i].id;
			return -EFAULT;
		}
	}
	cond_resched();
	return min(nr, 0);
}

static int ioctl_dump(struct htw_ctx *ctx, void *argument)
{
	struct htwheel_dump *dump = argument;
	int err;

	dump->done = 0;
	err = dump_check(dump);
	if (err)
		return err;
	do {
		err = dump_step(ctx, dump);
		if (!err && dump->cursor && task_sigpending(current))
			err = -ERESTARTSYS;
	} while (!err && dump->cursor && dump->done < dump->nr);
	/* Entries that have been listed are an answer; where to go on is in the cursor. */
	return err == -ERESTARTSYS && dump->done ? 0 : err;
}

static int ioctl_mass(struct htw_ctx *ctx, void *argument)
{
	return htw_ctx_mass(ctx, argument);
}

static int ioctl_advance(struct htw_ctx *ctx, void *argument)
{
	return htw_advance(ctx, argument);
}

static int ioctl_design(struct htw_ctx *ctx, void *argument)
{
	return htw_private_row(argument, ctx->engines[HTWHEEL_CLOCK_MONOTONIC]);
}

static int ioctl_info(struct htw_ctx *ctx, void *argument)
{
	return htw_ctx_info(ctx, argument);
}

static int ioctl_setup(struct htw_ctx *ctx, void *argument)
{
	return htw_ctx_setup(ctx, argument);
}

static int ioctl_stats(struct htw_ctx *ctx, void *argument)
{
	return htw_stats_read(ctx, argument);
}

/* The largest argument struct. All begin with their size. */
union argument {
	u32			size;
	struct htwheel_info	info;
	struct htwheel_setup	setup;
	struct htwheel_submit	submit;
	struct htwheel_stats	stats;
	struct htwheel_mass	mass;
	struct htwheel_dump	dump;
	struct htwheel_advance	advance;
	struct htwheel_design	design;
};

/**
 * struct command - a row of the command table
 * @run: does it, on a copy of the argument
 * @size: of the argument struct
 * @min_size: of its first version, which the shortest argument has
 * @out: when the argument is copied back
 */
struct command {
	int			(*run)(struct htw_ctx *ctx, void *argument);
	size_t			size;
	size_t			min_size;
	enum { OUT_NEVER, OUT_SUCCESS, OUT_ALWAYS } out;
};

static const struct command commands[] = {
	[_IOC_NR(HTWHEEL_IOC_INFO)] = {
		.run		= ioctl_info,
		.size		= sizeof(struct htwheel_info),
		.min_size	= 88,
		.out		= OUT_SUCCESS,
	},
	[_IOC_NR(HTWHEEL_IOC_SETUP)] = {
		.run		= ioctl_setup,
		.size		= sizeof(struct htwheel_setup),
		.min_size	= 24,
		.out		= OUT_NEVER,
	},
	[_IOC_NR(HTWHEEL_IOC_SUBMIT)] = {
		.run		= ioctl_submit,
		.size		= sizeof(struct htwheel_submit),
		.min_size	= 32,
		.out		= OUT_ALWAYS,
	},
	[_IOC_NR(HTWHEEL_IOC_STATS)] = {
		.run		= ioctl_stats,
		.size		= sizeof(struct htwheel_stats),
		.min_size	= 400,
		.out		= OUT_SUCCESS,
	},
	[_IOC_NR(HTWHEEL_IOC_MASS)] = {
		.run		= ioctl_mass,
		.size		= sizeof(struct htwheel_mass),
		.min_size	= 48,
		.out		= OUT_ALWAYS,
	},
	[_IOC_NR(HTWHEEL_IOC_DUMP)] = {
		.run		= ioctl_dump,
		.size		= sizeof(struct htwheel_dump),
		.min_size	= 40,
		.out		= OUT_ALWAYS,
	},
	[_IOC_NR(HTWHEEL_IOC_ADVANCE)] = {
		.run		= ioctl_advance,
		.size		= sizeof(struct htwheel_advance),
		.min_size	= 80,
		.out		= OUT_ALWAYS,
	},
	[_IOC_NR(HTWHEEL_IOC_DESIGN)] = {
		.run		= ioctl_design,
		.size		= sizeof(struct htwheel_design),
		.min_size	= 200,
		.out		= OUT_SUCCESS,
	},
};

static const struct command *find_command(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (cmd != _IO(HTWHEEL_IOC_TYPE, nr) || nr >= ARRAY_SIZE(commands))
		return NULL;
	return &commands[array_index_nospec(nr, ARRAY_SIZE(commands))];
}

/**
 * htw_ioctl() - ioctl(2)
 * @ctx: the context
 * @cmd: command number
 * @argument: its argument struct
 *
 * Context: task; may sleep.
 * Return: 0 or -errno, as the header says.
 */
long htw_ioctl(struct htw_ctx *ctx, unsigned int cmd, void __user *argument)
{
	const struct command *command = find_command(cmd);
	union argument copy;
	u32 size;
	int ret;

	if (!command)
		return -ENOTTY;
	if (get_user(size, (u32 __user *)argument))
		return -EFAULT;
	if (size < command->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&copy, command->size, argument, size);
	if (ret)
		return ret;
	/* It has been read twice, and may have changed in between. The first reading counts. */
	copy.size = size;

	/* What was done must not be lost because the answer cannot be written. */
	if (command->out == OUT_ALWAYS &&
	    copy_to_user(argument, &copy, min_t(size_t, size, command->size)))
		return -EFAULT;

	ret = command->run(ctx, &copy);
	if (command->out == OUT_NEVER || (ret && command->out == OUT_SUCCESS))
		return ret;
	if (copy_to_user(argument, &copy, min_t(size_t, size, command->size)))
		return -EFAULT;
	return ret;
}

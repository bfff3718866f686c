// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/htwheel: the file operations.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "htwheel.h"
#include "shared.h"

/* What a context starts from. Set at load, before the device appears. */
static struct htw_engine *const *chardev_engines;
static u64 chardev_max_timers;

static int chardev_open(struct inode *inode, struct file *file)
{
	struct htw_ctx *ctx = htw_ctx_create(chardev_engines, chardev_max_timers);

	if (!ctx)
		return -ENOMEM;
	file->private_data = ctx;
	/* io_uring may try without blocking first. */
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int chardev_release(struct inode *inode, struct file *file)
{
	htw_ctx_destroy(file->private_data);
	return 0;
}

static ssize_t chardev_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *file = iocb->ki_filp;

	return htw_event_read(file->private_data, to, file->f_flags & O_NONBLOCK,
			      iocb->ki_flags & IOCB_NOWAIT);
}

static __poll_t chardev_poll(struct file *file, poll_table *wait)
{
	return htw_event_poll(file->private_data, file, wait);
}

static int chardev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct htw_ctx *ctx = file->private_data;

	return htw_shared_map(&ctx->timers, vma);
}

static long chardev_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	return htw_ioctl(file->private_data, cmd, (void __user *)argument);
}

#ifdef CONFIG_PROC_FS
static void chardev_show_fdinfo(struct seq_file *seq, struct file *file)
{
	struct htwheel_stats stats = { .size = sizeof(stats) };
	struct htwheel_info info = { .size = sizeof(info) };

	if (htw_stats_read(file->private_data, &stats) || htw_ctx_info(file->private_data, &info))
		return;
	seq_printf(seq, "htwheel-clock:\t%u\n", info.clock);
	seq_printf(seq, "htwheel-armed:\t%llu\n", stats.armed);
	seq_printf(seq, "htwheel-fired:\t%llu\n", stats.fired);
	seq_printf(seq, "htwheel-cancelled:\t%llu\n", stats.cancelled);
	seq_printf(seq, "htwheel-replaced:\t%llu\n", stats.replaced);
	seq_printf(seq, "htwheel-pending:\t%llu\n", stats.pending);
	seq_printf(seq, "htwheel-expired:\t%llu\n", stats.expired);
	seq_printf(seq, "htwheel-idle:\t%llu\n", stats.idle);
	seq_printf(seq, "htwheel-max-timers:\t%llu\n", info.max_timers);
	seq_printf(seq, "htwheel-user-timers:\t%llu\n", stats.user_timers);
	seq_printf(seq, "htwheel-max-user-timers:\t%llu\n", info.max_user_timers);
	seq_printf(seq, "htwheel-wake-events:\t%u\n", info.wake_events);
	seq_printf(seq, "htwheel-wake-usecs:\t%u\n", info.wake_usecs);
	seq_printf(seq, "htwheel-ring-entries:\t%u\n", info.ring_entries);
	seq_printf(seq, "htwheel-table-entries:\t%u\n", info.table_entries);
}
#endif

static const struct file_operations chardev_fops = {
	.owner		= THIS_MODULE,
	.open		= chardev_open,
	.release	= chardev_release,
	.read_iter	= chardev_read_iter,
	.poll		= chardev_poll,
	.mmap		= chardev_mmap,
	.unlocked_ioctl	= chardev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
#ifdef CONFIG_PROC_FS
	.show_fdinfo	= chardev_show_fdinfo,
#endif
};

/*
 * For root, until an administrator decides otherwise (a udev rule with a group): an open file may
 * hold kernel memory and spend softirq time.
 */
static struct miscdevice chardev_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "htwheel",
	.mode	= 0600,
	.fops	= &chardev_fops,
};

/**
 * htw_chardev_register() - make the device appear
 * @engines: serve its contexts, one for each clock
 * @max_timers: their limit
 *
 * Context: task, at load.
 * Return: 0 or -errno.
 */
int htw_chardev_register(struct htw_engine *const *engines, u64 max_timers)
{
	chardev_engines = engines;
	chardev_max_timers = max_timers;
	return misc_register(&chardev_misc);
}

/**
 * htw_chardev_unregister() - make the device vanish; nobody has it open
 *
 * Context: task, at unload.
 */
void htw_chardev_unregister(void)
{
	misc_deregister(&chardev_misc);
}

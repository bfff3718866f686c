/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of /dev/htwheel share: the device's calls, time, CPUs, chance.
 *
 * The calls answer with a negative errno, so that a check can name the error it wants and its
 * message shows the one it got. Nothing here makes checks of its own.
 */
#ifndef HTWHEEL_COMMON_H
#define HTWHEEL_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/htwheel.h>

#define DEVICE		"/dev/htwheel"

#define NS_PER_US	1000ULL
#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL
#define HOUR_NS		(3600 * NS_PER_S)

/* What outputs are filled with before a call, to see which bytes it wrote. */
#define JUNK		0xcc
#define JUNK32		0xccccccccU
#define JUNK64		0xccccccccccccccccULL

/*
 * The only bound on lateness that any test asserts. Guests without hardware help, with two CPUs on
 * a busy machine, are late by tens of milliseconds; a timer that was forgotten never comes at all.
 */
#define PATIENCE_NS	(10 * NS_PER_S)

/* Operations of one call of the helpers that take more than a call can. */
#define BATCH		512

/* A positive number from the environment, or the default. */
static inline unsigned long number_from_env(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);
	long number = text ? strtol(text, NULL, 0) : 0;

	return number > 0 ? (unsigned long)number : otherwise;
}

/* HTWHEEL_SCALE multiplies rounds and numbers of timers; HTWHEEL_SLOW multiplies patience. */
static inline unsigned long scaled(unsigned long count)
{
	return count * number_from_env("HTWHEEL_SCALE", 1);
}

static inline uint64_t patience_ns(void)
{
	return PATIENCE_NS * number_from_env("HTWHEEL_SLOW", 1);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/* Chance, the same in each run: xorshift with a multiplication. */
static inline uint64_t chance(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

static inline uint64_t chance_below(uint64_t *state, uint64_t limit)
{
	return (chance(state) >> 8) % limit;
}

static inline unsigned int nr_cpus(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : nr;
}

/* Run the calling thread on one CPU only; the number wraps. */
static inline int pin_to(unsigned int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu % nr_cpus(), &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ? -errno : 0;
}

/* open(2) that does not leak into programs that the test starts. */
static inline int open_device(int flags)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/* ioctl(2); anything but -1 in case of error would show. */
static inline int device_ioctl(int fd, unsigned long command, void *arg)
{
	int ret = ioctl(fd, command, arg);

	return ret == -1 ? -errno : ret;
}

static inline int device_info(int fd, struct htwheel_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return device_ioctl(fd, HTWHEEL_IOC_INFO, info);
}

static inline int device_stats(int fd, struct htwheel_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	return device_ioctl(fd, HTWHEEL_IOC_STATS, stats);
}

static inline int device_setup(int fd, uint64_t max_timers)
{
	struct htwheel_setup setup = { .size = sizeof(setup), .max_timers = max_timers };

	return device_ioctl(fd, HTWHEEL_IOC_SETUP, &setup);
}

/* One call, with the caller's struct filled in anew. */
static inline int device_submit(int fd, struct htwheel_submit *sub, struct htwheel_op *ops,
				uint32_t nr)
{
	memset(sub, 0, sizeof(*sub));
	sub->size = sizeof(*sub);
	sub->ops = (uintptr_t)ops;
	sub->nr = nr;
	sub->stride = sizeof(*ops);
	sub->done = JUNK32;
	sub->failed = JUNK32;
	return device_ioctl(fd, HTWHEEL_IOC_SUBMIT, sub);
}

/* Any number of operations that must all be processed: 0 or the call's errno. */
static inline int submit_all(int fd, struct htwheel_op *ops, size_t nr)
{
	struct htwheel_submit sub;
	size_t done = 0;
	int ret;

	while (done < nr) {
		ret = device_submit(fd, &sub, ops + done, nr - done < BATCH ? nr - done : BATCH);
		if (ret && ret != -EINTR)
			return ret;
		done += sub.done;
	}
	return 0;
}

/* One operation: the call's errno, or the operation's result. */
static inline int submit_one(int fd, struct htwheel_op *op)
{
	struct htwheel_submit sub;
	uint32_t failed;
	int ret;

	op->result = -JUNK;
	ret = device_submit(fd, &sub, op, 1);
	if (ret)
		return ret;
	failed = op->result < 0;
	if (sub.done != 1 || sub.failed != failed)
		return -EPROTO;
	return op->result;
}

static inline int arm(int fd, uint32_t flags, uint64_t time_ns, uint64_t user_data, uint64_t *id)
{
	struct htwheel_op op = {
		.opcode = HTWHEEL_OP_ARM,
		.flags = flags,
		.time_ns = time_ns,
		.user_data = user_data,
		.id = JUNK64,
	};
	int ret = submit_one(fd, &op);

	if (id)
		*id = op.id;
	return ret;
}

static inline int arm_in(int fd, uint64_t delay_ns, uint64_t user_data, uint64_t *id)
{
	return arm(fd, 0, delay_ns, user_data, id);
}

static inline int arm_at(int fd, uint64_t deadline_ns, uint64_t user_data, uint64_t *id)
{
	return arm(fd, HTWHEEL_ABSOLUTE, deadline_ns, user_data, id);
}

static inline int rearm(int fd, uint32_t flags, uint64_t id, uint64_t time_ns)
{
	struct htwheel_op op = {
		.opcode = HTWHEEL_OP_REARM,
		.flags = flags,
		.id = id,
		.time_ns = time_ns,
		.user_data = JUNK64,
	};

	return submit_one(fd, &op);
}

static inline int rearm_in(int fd, uint64_t id, uint64_t delay_ns)
{
	return rearm(fd, 0, id, delay_ns);
}

static inline int rearm_at(int fd, uint64_t id, uint64_t deadline_ns)
{
	return rearm(fd, HTWHEEL_ABSOLUTE, id, deadline_ns);
}

static inline int ask(int fd, uint16_t opcode, uint64_t id, uint64_t *left_ns)
{
	struct htwheel_op op = {
		.opcode = opcode,
		.id = id,
		.time_ns = JUNK64,
		.user_data = JUNK64,
	};
	int ret = submit_one(fd, &op);

	if (left_ns)
		*left_ns = op.time_ns;
	return ret;
}

static inline int cancel(int fd, uint64_t id, uint64_t *left_ns)
{
	return ask(fd, HTWHEEL_OP_CANCEL, id, left_ns);
}

static inline int query(int fd, uint64_t id, uint64_t *left_ns)
{
	return ask(fd, HTWHEEL_OP_QUERY, id, left_ns);
}

/* One call; all but the size is the caller's. */
static inline int device_mass(int fd, struct htwheel_mass *mass)
{
	mass->size = sizeof(*mass);
	return device_ioctl(fd, HTWHEEL_IOC_MASS, mass);
}

/* As many calls as signals make of it. Returns an errno, and what all of them did. */
static inline int mass_all(int fd, struct htwheel_mass mass, uint64_t *done)
{
	int ret;

	*done = 0;
	mass.cursor = 0;
	do {
		mass.done = JUNK64;
		ret = device_mass(fd, &mass);
		*done += mass.done;
	} while (ret == -EINTR);
	return ret ? ret : mass.cursor ? -EPROTO : 0;
}

/* One call that goes on at the struct's cursor; all else in it is filled in anew. */
static inline int device_dump(int fd, struct htwheel_dump *dump,
			      struct htwheel_dump_entry *entries, uint32_t nr)
{
	*dump = (struct htwheel_dump){
		.size		= sizeof(*dump),
		.entries	= (uintptr_t)entries,
		.nr		= nr,
		.stride		= sizeof(*entries),
		.cursor		= dump->cursor,
		.done		= JUNK32,
	};
	return device_ioctl(fd, HTWHEEL_IOC_DUMP, dump);
}

/* All timers of the context: their number, or a negative errno (E2BIG if there are more). */
static inline int dump_all(int fd, struct htwheel_dump_entry *entries, uint32_t max)
{
	struct htwheel_dump dump = { .cursor = 0 };
	struct htwheel_dump_entry one_more;
	uint32_t nr = 0, room;
	int ret;

	do {
		room = max - nr < BATCH ? max - nr : BATCH;
		ret = device_dump(fd, &dump, room ? entries + nr : &one_more, room ? room : 1);
		if (ret && ret != -EINTR)
			return ret;
		if (dump.done > room)
			return room ? -EPROTO : -E2BIG;
		nr += dump.done;
	} while (dump.cursor || ret);
	return nr;
}

/* What is said of one timer of a context with a few; ENOENT if it is not listed. */
static inline int dump_one(int fd, uint64_t id, struct htwheel_dump_entry *entry)
{
	struct htwheel_dump_entry entries[256];
	int i, nr = dump_all(fd, entries, 256);

	for (i = 0; i < nr; i++) {
		if (entries[i].id != id)
			continue;
		*entry = entries[i];
		return 0;
	}
	return nr < 0 ? nr : -ENOENT;
}

/* Number of events read, or a negative errno; -EPROTO if it was not a whole number of events. */
static inline int read_events(int fd, struct htwheel_event *events, size_t max)
{
	ssize_t ret = read(fd, events, max * sizeof(*events));

	if (ret < 0)
		return ret == -1 ? -errno : -EPROTO;
	if (!ret || ret % sizeof(*events) || ret > (ssize_t)(max * sizeof(*events)))
		return -EPROTO;
	return ret / sizeof(*events);
}

/* The events of poll(2) that hold now, or after the time-out. */
static inline int poll_for(int fd, uint64_t timeout_ns)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLRDNORM };
	struct timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S,
		.tv_nsec = timeout_ns % NS_PER_S,
	};
	int ret = ppoll(&pfd, 1, &ts, NULL);

	return ret < 0 ? -errno : ret ? pfd.revents : 0;
}

static inline bool is_readable(int fd)
{
	return poll_for(fd, 0) == (POLLIN | POLLRDNORM);
}

/*
 * False: nothing came for so long that it never will. What poll finds only when its time is up is a
 * wake-up that was lost, which is as bad.
 */
static inline bool wait_readable(int fd)
{
	uint64_t end_ns = now_ns() + patience_ns();

	return poll_for(fd, patience_ns()) == (POLLIN | POLLRDNORM) && now_ns() < end_ns;
}

/* One event, waited for; 0 or a negative errno, -ETIME if it never comes. */
static inline int next_event(int fd, struct htwheel_event *event)
{
	int ret;

	memset(event, JUNK, sizeof(*event));
	if (!wait_readable(fd))
		return -ETIME;
	ret = read_events(fd, event, 1);
	return ret == 1 ? 0 : ret;
}

/* Timers in the queues of all contexts, seen by a context that has none. */
static inline uint64_t queued_timers(void)
{
	struct htwheel_stats stats = { .queued = 0 };
	int fd = open_device(0);

	if (fd < 0 || device_stats(fd, &stats))
		stats.queued = UINT64_MAX;
	close(fd);
	return stats.queued;
}

/* The last descriptor of a context may be put a little after its process was reaped. */
static inline bool wait_queued(uint64_t wanted)
{
	uint64_t end = now_ns() + patience_ns();

	while (queued_timers() != wanted) {
		if (now_ns() > end)
			return false;
		sleep_ns(NS_PER_MS);
	}
	return true;
}

/* A field of /proc/meminfo in bytes, 0 if there is none. */
static inline uint64_t meminfo(const char *field)
{
	FILE *file = fopen("/proc/meminfo", "r");
	size_t length = strlen(field);
	uint64_t bytes = 0;
	char line[128];

	if (!file)
		return 0;
	while (!bytes && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, length) && line[length] == ':')
			bytes = strtoull(line + length + 1, NULL, 10) * 1024;
	fclose(file);
	return bytes;
}

/* The exit status of a child, or minus the signal that ended it. */
static inline int reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/*
 * Without the device there is nothing to test; that is a skip of the whole program, which a harness
 * cannot tell. Asking for the list of tests works anywhere.
 */
#ifndef COMMON_WITHOUT_DEVICE
static void __attribute__((constructor)) need_device(int argc, char **argv)
{
	static const char skip[] = "TAP version 13\n1..0 # SKIP no " DEVICE "\n";
	int i;

	if (!access(DEVICE, F_OK))
		return;
	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--list") || !strcmp(argv[i], "-l") ||
		    !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return;
	if (write(STDOUT_FILENO, skip, sizeof(skip) - 1) < 0)
		_exit(1);
	_exit(4);
}
#endif

#endif /* HTWHEEL_COMMON_H */

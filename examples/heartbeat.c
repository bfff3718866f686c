// SPDX-License-Identifier: GPL-2.0
/*
 * Ten thousand connections, each with an idle timeout, and no system call for a heartbeat.
 *
 * A heartbeat pushes the connection's timeout back by a store into the deadline table. The timeouts
 * that come after all are in the event ring. After a while half of the connections fall silent and
 * have to time out; the others time out only if this program comes too late with a heartbeat.
 *
 * Exit code: 0 if so, 1 if not, 2 if the device is absent or refuses.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/htwheel.h>

#define CONNECTIONS	10000U
#define RING_ENTRIES	1024U
#define MS		1000000ULL
#define IDLE_NS		(2000 * MS)
#define ROUND_MS	100
#define MAX_ROUNDS	600
#define SILENT_ROUND	10

struct server {
	int				fd;
	uint64_t			id[CONNECTIONS];
	uint64_t			deadline_ns[CONNECTIONS];
	uint64_t			before_ns[CONNECTIONS];
	bool				timed_out[CONNECTIONS];
	const struct htwheel_ring	*ring;
	struct htwheel_ring_head	*position;
	uint64_t			*table;
	unsigned int			events;
	unsigned int			stores;
	unsigned int			by_read;
	unsigned int			wrong;
};

static struct server server;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void *map(size_t bytes, int protection, off_t offset)
{
	void *area = mmap(NULL, bytes, protection, MAP_SHARED, server.fd, offset);

	if (area == MAP_FAILED)
		fail("mmap");
	return area;
}

static void open_device(void)
{
	struct htwheel_setup setup = {
		.size = sizeof(setup),
		.flags = HTWHEEL_SETUP_TABLE,
		.max_timers = CONNECTIONS,
		.ring_entries = RING_ENTRIES,
	};
	struct htwheel_info info = { .size = sizeof(info) };

	server.fd = open("/dev/htwheel", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (server.fd < 0 || ioctl(server.fd, HTWHEEL_IOC_SETUP, &setup) ||
	    ioctl(server.fd, HTWHEEL_IOC_INFO, &info))
		fail("/dev/htwheel");
	server.ring = map(sizeof(*server.ring) + RING_ENTRIES * sizeof(struct htwheel_event),
			  PROT_READ, HTWHEEL_MMAP_RING);
	server.position = map(sizeof(*server.position), PROT_READ | PROT_WRITE, HTWHEEL_MMAP_HEAD);
	server.table = map(info.table_entries * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			   HTWHEEL_MMAP_TABLE);
}

/* All connections come at once: one call. */
static void arm_all(void)
{
	static struct htwheel_op ops[CONNECTIONS];
	struct htwheel_submit submit = {
		.size = sizeof(submit), .ops = (uintptr_t)ops, .nr = CONNECTIONS,
		.stride = sizeof(ops[0]),
	};
	unsigned int i;

	for (i = 0; i < CONNECTIONS; i++)
		ops[i] = (struct htwheel_op){
			.opcode = HTWHEEL_OP_ARM, .time_ns = IDLE_NS, .user_data = i };
	if (ioctl(server.fd, HTWHEEL_IOC_SUBMIT, &submit) || submit.failed)
		fail("HTWHEEL_IOC_SUBMIT");
	for (i = 0; i < CONNECTIONS; i++)
		server.id[i] = ops[i].id;
}

/*
 * A connection was heard of. The timer's name is good: its event has not been handled. As in any
 * event loop, the time is that at which the loop has woken up.
 */
static void heartbeat(unsigned int connection, uint64_t now)
{
	server.before_ns[connection] = server.deadline_ns[connection];
	server.deadline_ns[connection] = now + IDLE_NS;
	atomic_store_explicit((_Atomic uint64_t *)&server.table[(uint32_t)server.id[connection]],
			      now + IDLE_NS, memory_order_relaxed);
	server.stores++;
}

/* The event says which heartbeat was the last that counted. A store may have come too late. */
static void handle(const struct htwheel_event *event)
{
	uint64_t connection = event->user_data;

	server.timed_out[connection] = true;
	server.events++;
	if (event->deadline_ns != server.deadline_ns[connection] &&
	    event->deadline_ns != server.before_ns[connection])
		server.wrong++;
}

/* From the ring; what found no room there, by read. */
static void receive(void)
{
	const char *places = (const char *)server.ring + server.ring->events_offset;
	uint32_t head = server.position->head, mask = server.ring->entries - 1;
	uint32_t tail = atomic_load_explicit((const _Atomic uint32_t *)&server.ring->tail,
					     memory_order_acquire);
	struct htwheel_event events[64];
	ssize_t bytes, i;

	for (; head != tail; head++)
		handle((const void *)(places + (head & mask) * server.ring->stride));
	atomic_store_explicit((_Atomic uint32_t *)&server.position->head, head,
			      memory_order_release);
	if (!(atomic_load_explicit((const _Atomic uint32_t *)&server.ring->flags,
				   memory_order_relaxed) & HTWHEEL_RING_WAITING))
		return;
	while ((bytes = read(server.fd, events, sizeof(events))) > 0) {
		server.by_read += bytes / sizeof(events[0]);
		for (i = 0; i < bytes / (ssize_t)sizeof(events[0]); i++)
			handle(&events[i]);
	}
}

/* Wait for the next round of heartbeats, and for timeouts meanwhile. */
static void serve_until(uint64_t end_ns)
{
	struct pollfd in = { .fd = server.fd, .events = POLLIN };
	uint64_t now = now_ns();

	do {
		poll(&in, 1, now < end_ns ? (end_ns - now) / MS + 1 : 0);
		receive();
		now = now_ns();
	} while (now < end_ns);
}

static bool all_silent_ones_timed_out(void)
{
	unsigned int i;

	for (i = 0; i < CONNECTIONS && (i % 2 || server.timed_out[i]); i++)
		;
	return i == CONNECTIONS;
}

int main(void)
{
	uint64_t begin_ns, now;
	unsigned int round, i;

	open_device();
	arm_all();
	begin_ns = now_ns();
	for (round = 0; round < MAX_ROUNDS && !all_silent_ones_timed_out(); round++) {
		now = now_ns();
		for (i = 0; i < CONNECTIONS; i++) {
			if (!server.timed_out[i] && (i % 2 || round < SILENT_ROUND))
				heartbeat(i, now);
		}
		serve_until(begin_ns + (round + 1) * ROUND_MS * MS);
	}
	printf("%u heartbeats, %u timeouts, %u of them by read, %u of them wrong\n",
	       server.stores, server.events, server.by_read, server.wrong);
	return server.wrong || !all_silent_ones_timed_out();
}

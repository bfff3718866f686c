// SPDX-License-Identifier: GPL-2.0
/*
 * echo: a TCP echo server that closes connections which have been idle for too long.
 *
 * Shows how /dev/htwheel is used for a timeout per connection. Each turn of the loop marks the
 * connections that are new, have had data, or have been closed, and submits one batch for all of
 * them: ARM, REARM or CANCEL. A connection's memory is freed after the batch that cancels its
 * timer, so user_data can be a pointer: no event leads to a connection that is gone.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/htwheel.h>

enum {
	EXIT_BROKEN	= 1,
	EXIT_USAGE	= 2,
	EXIT_DEVICE	= 3,
};

/* What one turn of the loop looks at, at most; the rest comes in the next turns. */
#define TURN_SOCKETS	1024
#define TURN_ACCEPTS	1024
#define TURN_EVENTS	1024
/* So no turn marks more connections than that. */
#define TURN_MARKS	(TURN_SOCKETS + TURN_ACCEPTS + TURN_EVENTS)

#define ROOM		16384

/**
 * struct conn - a connection
 * @timer: name of its timer, 0 if it has none
 * @fd: its socket, -1 once it is closed
 * @watched: what epoll looks for: EPOLLIN, or EPOLLOUT while the peer does not take its echo
 * @marked: it is in server.marks, for the next batch
 */
struct conn {
	uint64_t	timer;
	int		fd;
	uint32_t	watched;
	bool		marked;
};

struct server {
	int		epoll;
	int		listener;
	int		wheel;
	bool		full;
	uint64_t	idle_ns;
	uint64_t	slack_ns;
	uint32_t	arm_flags;
	uint32_t	max_batch;
	unsigned int	nr_marks;
	struct conn	*marks[TURN_MARKS];
	struct htwheel_op ops[TURN_MARKS];
	unsigned long	accepted;
	unsigned long	refused;
	unsigned long	timed_out;
	unsigned long	batches;
	unsigned long	operations;
	uint64_t	late_max_ns;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

static void mark(struct server *server, struct conn *conn)
{
	if (conn->marked)
		return;
	conn->marked = true;
	server->marks[server->nr_marks++] = conn;
}

static void watch(struct server *server, int how, int fd, uint32_t events, void *what)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	if (epoll_ctl(server->epoll, how, fd, &event))
		err(EXIT_BROKEN, "epoll_ctl");
}

/* Without free descriptors there is no use in being told of new connections. */
static void set_full(struct server *server, bool full)
{
	if (server->full == full)
		return;
	server->full = full;
	watch(server, EPOLL_CTL_MOD, server->listener, full ? 0 : EPOLLIN, &server->listener);
}

static void conn_close(struct server *server, struct conn *conn)
{
	close(conn->fd);
	conn->fd = -1;
	mark(server, conn);
	set_full(server, false);
}

/*
 * Send back what has come. What the peer does not take stays in the socket. Returns whether
 * anything has happened: data, or the end, at which the connection is closed.
 */
static bool conn_serve(struct server *server, struct conn *conn)
{
	static char data[ROOM];
	ssize_t size = recv(conn->fd, data, sizeof(data), MSG_PEEK), sent;
	uint32_t wanted;

	if (size < 0 && errno == EAGAIN)
		return false;
	sent = size > 0 ? send(conn->fd, data, size, MSG_NOSIGNAL) : -1;
	if (sent < 0 && (size <= 0 || errno != EAGAIN)) {
		conn_close(server, conn);
		return true;
	}
	wanted = sent < size ? EPOLLOUT : EPOLLIN;
	if (wanted != conn->watched)
		watch(server, EPOLL_CTL_MOD, conn->fd, wanted, conn);
	conn->watched = wanted;
	if (sent <= 0)
		return false;
	recv(conn->fd, data, sent, MSG_TRUNC);
	mark(server, conn);
	return true;
}

static void accept_new(struct server *server)
{
	struct conn *conn;
	unsigned int i;

	for (i = 0; i < TURN_ACCEPTS; i++) {
		conn = calloc(1, sizeof(*conn));
		if (!conn)
			err(EXIT_BROKEN, "a connection");
		conn->fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (conn->fd < 0) {
			if (errno == EMFILE)
				set_full(server, true);
			free(conn);
			return;
		}
		conn->watched = EPOLLIN;
		watch(server, EPOLL_CTL_ADD, conn->fd, EPOLLIN, conn);
		mark(server, conn);
		server->accepted++;
	}
}

/*
 * A timer has come. A marked connection has had data in this very turn, or is closed: the batch
 * will see to its timer, whatever state that is in. Any other gets a last look, because data may
 * have arrived since epoll_pwait().
 */
static void conn_timeout(struct server *server, const struct htwheel_event *event)
{
	struct conn *conn = (struct conn *)(uintptr_t)event->user_data;
	uint64_t late_ns = event->fired_ns - event->deadline_ns;

	if (late_ns > server->late_max_ns)
		server->late_max_ns = late_ns;
	/* Without HTWHEEL_KEEP the name has ended, and the next batch arms a new timer. */
	if (!(event->flags & HTWHEEL_EVENT_LIVE))
		conn->timer = 0;
	if (conn->marked || conn_serve(server, conn))
		return;
	server->timed_out++;
	conn_close(server, conn);
}

static void read_wheel(struct server *server)
{
	static struct htwheel_event events[TURN_EVENTS];
	ssize_t size = read(server->wheel, events, sizeof(events));
	ssize_t i;

	if (size < 0 && errno != EAGAIN)
		err(EXIT_BROKEN, "reading events");
	for (i = 0; i < size / (ssize_t)sizeof(events[0]); i++)
		conn_timeout(server, &events[i]);
}

/* What the timer of a marked connection needs; opcode 0 if nothing. */
static struct htwheel_op conn_op(const struct server *server, const struct conn *conn)
{
	if (conn->fd < 0)
		return (struct htwheel_op){
			.opcode		= conn->timer ? HTWHEEL_OP_CANCEL : 0,
			.id		= conn->timer,
		};
	if (conn->timer)
		return (struct htwheel_op){
			.opcode		= HTWHEEL_OP_REARM,
			.id		= conn->timer,
			.time_ns	= server->idle_ns,
		};
	return (struct htwheel_op){
		.opcode		= HTWHEEL_OP_ARM,
		.flags		= server->arm_flags,
		.time_ns	= server->idle_ns,
		.slack_ns	= server->slack_ns,
		.user_data	= (uintptr_t)conn,
	};
}

static void submit(struct server *server, unsigned int nr)
{
	struct htwheel_submit submit = { .size = sizeof(submit), .stride = sizeof(server->ops[0]) };
	unsigned int done = 0;

	while (done < nr) {
		submit.ops = (uintptr_t)&server->ops[done];
		submit.nr = nr - done < server->max_batch ? nr - done : server->max_batch;
		submit.done = 0;
		if (ioctl(server->wheel, HTWHEEL_IOC_SUBMIT, &submit) && errno != EINTR)
			err(EXIT_BROKEN, "HTWHEEL_IOC_SUBMIT");
		done += submit.done;
		server->batches++;
	}
	server->operations += nr;
}

/* The batch has been carried out: take over what it answered. */
static void conn_settle(struct server *server, struct conn *conn, const struct htwheel_op *op)
{
	conn->marked = false;
	conn->timer = op->id;
	/* By the race table, no name that we hold is stale; so only ARM can fail, at a limit. */
	if (op->result < 0 && op->opcode != HTWHEEL_OP_ARM)
		errx(EXIT_BROKEN, "operation %u: %s", op->opcode, strerror(-op->result));
	if (op->result < 0) {
		server->refused++;
		close(conn->fd);
		conn->fd = -1;
		set_full(server, false);
	}
	/* It has no timer any more. */
	if (conn->fd < 0)
		free(conn);
}

/* The one batch of a turn. */
static void finish_turn(struct server *server)
{
	unsigned int nr = 0, i;

	for (i = 0; i < server->nr_marks; i++) {
		server->ops[nr] = conn_op(server, server->marks[i]);
		if (server->ops[nr].opcode)
			server->marks[nr++] = server->marks[i];
		else
			free(server->marks[i]);
	}
	submit(server, nr);
	for (i = 0; i < nr; i++)
		conn_settle(server, server->marks[i], &server->ops[i]);
	server->nr_marks = 0;
}

static void turn(struct server *server, const sigset_t *mask)
{
	static struct epoll_event events[TURN_SOCKETS];
	int nr = epoll_pwait(server->epoll, events, TURN_SOCKETS, -1, mask);
	bool timeouts = false;
	int i;

	if (nr < 0 && errno != EINTR)
		err(EXIT_BROKEN, "epoll_pwait");
	for (i = 0; i < nr; i++) {
		if (events[i].data.ptr == &server->wheel)
			timeouts = true;
		else if (events[i].data.ptr == &server->listener)
			accept_new(server);
		else
			conn_serve(server, events[i].data.ptr);
	}
	if (timeouts)
		read_wheel(server);
	finish_turn(server);
}

static void open_wheel(struct server *server)
{
	struct htwheel_info info = { .size = sizeof(info) };

	server->wheel = open("/dev/htwheel", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (server->wheel < 0)
		err(EXIT_DEVICE, "/dev/htwheel");
	if (ioctl(server->wheel, HTWHEEL_IOC_INFO, &info))
		err(EXIT_DEVICE, "HTWHEEL_IOC_INFO");
	if (info.abi != HTWHEEL_ABI)
		errx(EXIT_DEVICE, "the module's interface is %u, not %u", info.abi, HTWHEEL_ABI);
	server->max_batch = info.max_batch;
	if (info.features & HTWHEEL_FEAT_KEEP)
		server->arm_flags = HTWHEEL_KEEP;
	/* Timeouts that come within a sixteenth of the time share a wake-up. */
	if (info.features & HTWHEEL_FEAT_SLACK)
		server->slack_ns = server->idle_ns / 16;
	watch(server, EPOLL_CTL_ADD, server->wheel, EPOLLIN, &server->wheel);
}

static void open_listener(struct server *server, unsigned long port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1;

	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->listener < 0 ||
	    setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(server->listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(server->listener, 4096))
		err(EXIT_BROKEN, "port %lu", port);
	watch(server, EPOLL_CTL_ADD, server->listener, EPOLLIN, &server->listener);
}

/* Be stopped by these signals, in epoll_pwait() only: @mask lets them through. */
static void catch_signals(sigset_t *mask)
{
	struct sigaction action = { .sa_handler = stop };
	sigset_t block;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, mask);
	sigdelset(mask, SIGINT);
	sigdelset(mask, SIGTERM);
}

/* A descriptor a connection. Who may not raise the hard limit takes what there is. */
static void raise_files(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	if (!setrlimit(RLIMIT_NOFILE, &limit) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void usage(FILE *out)
{
	fputs("usage: echo [OPTION]...\n\n"
	      "Sends back what comes over TCP, and closes connections that are idle for too long.\n\n"
	      "  --port N      where to listen (default 7007)\n"
	      "  --idle-ms N   close a connection after this time without data, or up to a sixteenth\n"
	      "                later (default 30000)\n"
	      "  --help        this text\n\n"
	      "Ends at SIGINT or SIGTERM with 0. Other exit codes: 1 something failed, 2 wrong usage,\n"
	      "3 no usable /dev/htwheel.\n", out);
}

static unsigned long parse_number(const char *text, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || !value || value > max)
		errx(EXIT_USAGE, "\"%s\" is not a number from 1 to %lu", text, max);
	return value;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "idle-ms", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	static struct server server;
	unsigned long port = 7007, idle_ms = 30000;
	sigset_t mask;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			port = parse_number(optarg, 65535);
			break;
		case 'i':
			idle_ms = parse_number(optarg, 1UL << 31);
			break;
		default:
			usage(option == 'h' ? stdout : stderr);
			return option == 'h' ? 0 : EXIT_USAGE;
		}
	}
	if (optind < argc)
		errx(EXIT_USAGE, "there is no argument \"%s\"", argv[optind]);

	raise_files();
	catch_signals(&mask);
	server.idle_ns = idle_ms * 1000000ULL;
	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server.epoll < 0)
		err(EXIT_BROKEN, "epoll_create1");
	open_wheel(&server);
	open_listener(&server, port);
	while (!stopped)
		turn(&server, &mask);
	printf("echo: accepted=%lu refused=%lu timed_out=%lu operations=%lu batches=%lu "
	       "timer_late_max_ms=%.3f\n", server.accepted, server.refused, server.timed_out,
	       server.operations, server.batches, server.late_max_ns / 1e6);
	return 0;
}

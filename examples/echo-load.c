// SPDX-License-Identifier: GPL-2.0
/*
 * echo-load: try an echo server's idle timeouts with very many connections.
 *
 * Opens connections to 127.0.0.1 from many addresses of the loopback network. Each says its number
 * once and gets it back. After that every second one is silent, and the others repeat their number
 * several times in each idle timeout. The silent ones have to be closed, none of them before the
 * timeout; the talkers must not be closed.
 *
 * Judged with this program's own clock: a timeout cannot begin before its number was sent, and a
 * close is seen after it happened; so a close that is seen early is early.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

enum {
	EXIT_BROKEN	= 1,
	EXIT_USAGE	= 2,
};

/* Connections without their first answer at one time: fewer than a queue of SYNs holds. */
#define GREETING	128
/* Connections from one address: of its 28,000 ports, the last free ones are slow to find. */
#define ADDRESS_CONNS	8192
/* So often does a talker talk in an idle timeout. */
#define TALKS		4
#define EVENTS		1024
#define REPORT_NS	(5 * NSEC_PER_SEC)

/**
 * struct conn - a connection
 * @sent_ns: time just before its number was last sent; at first, before connect()
 * @owed: bytes of echo that have not come back yet
 * @fd: its socket, -1 if it is closed
 * @connected: connect() is through
 * @answered: the server has answered, or closed
 * @late: its number was not sent in time: this program was too slow
 */
struct conn {
	uint64_t	sent_ns;
	ssize_t		owed;
	int		fd;
	bool		connected;
	bool		answered;
	bool		late;
};

struct load {
	int		epoll;
	uint32_t	nr;
	uint16_t	port;
	uint64_t	idle_ns;
	uint64_t	grace_ns;
	struct conn	*conns;
	uint32_t	opened;
	uint32_t	connected;
	uint32_t	answered;
	uint32_t	silent_closed;
	uint32_t	talkers_closed;
	uint32_t	early;
	uint32_t	slow;
	uint64_t	wrong;
	uint64_t	talks;
	uint64_t	late_max_ns;
	uint64_t	late_sum_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static bool is_talker(const struct load *load, const struct conn *conn)
{
	return (conn - load->conns) % 2;
}

static void say_number(struct load *load, struct conn *conn)
{
	uint64_t number = conn - load->conns, now = now_ns();

	if (now - conn->sent_ns >= load->idle_ns && !conn->late) {
		conn->late = true;
		load->slow++;
	}
	conn->sent_ns = now;
	/* A server that closes early may be faster; that is noticed when the end is read. */
	if (send(conn->fd, &number, sizeof(number), MSG_NOSIGNAL) == sizeof(number)) {
		conn->owed += sizeof(number);
		load->talks++;
	}
}

static void conn_open(struct load *load)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(load->port) };
	struct conn *conn = &load->conns[load->opened];
	struct epoll_event event = { .events = EPOLLOUT, .data.ptr = conn };
	int one = 1;

	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + load->opened / ADDRESS_CONNS);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	conn->sent_ns = now_ns();
	conn->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (conn->fd < 0)
		err(EXIT_BROKEN, "socket %u", load->opened);
	if (setsockopt(conn->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one)) ||
	    bind(conn->fd, (struct sockaddr *)&from, sizeof(from)))
		err(EXIT_BROKEN, "bind to %s", inet_ntoa(from.sin_addr));
	if (connect(conn->fd, (struct sockaddr *)&to, sizeof(to)) && errno != EINPROGRESS)
		err(EXIT_BROKEN, "connection %u", load->opened);
	if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, conn->fd, &event))
		err(EXIT_BROKEN, "epoll_ctl");
	load->opened++;
}

static void conn_connected(struct load *load, struct conn *conn)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error)
		errx(EXIT_BROKEN, "connection %td: %s", conn - load->conns, strerror(error));
	if (epoll_ctl(load->epoll, EPOLL_CTL_MOD, conn->fd, &event))
		err(EXIT_BROKEN, "epoll_ctl");
	say_number(load, conn);
	conn->connected = true;
	load->connected++;
}

static void conn_closed(struct load *load, struct conn *conn)
{
	uint64_t gap_ns = now_ns() - conn->sent_ns, late_ns;

	close(conn->fd);
	conn->fd = -1;
	if (gap_ns < load->idle_ns) {
		load->early++;
		return;
	}
	if (is_talker(load, conn)) {
		load->talkers_closed++;
		return;
	}
	load->silent_closed++;
	late_ns = gap_ns - load->idle_ns;
	load->late_sum_ns += late_ns;
	if (late_ns > load->late_max_ns)
		load->late_max_ns = late_ns;
}

/* Take back echoes: whole numbers, and the right one each time. */
static void conn_receive(struct load *load, struct conn *conn)
{
	uint64_t numbers[TALKS * 2];
	ssize_t size = recv(conn->fd, numbers, sizeof(numbers), 0);
	ssize_t i;

	if (size < 0 && errno == EAGAIN)
		return;
	load->answered += !conn->answered;
	conn->answered = true;
	if (size <= 0) {
		conn_closed(load, conn);
		return;
	}
	if (size % sizeof(numbers[0]) || size > conn->owed)
		load->wrong++;
	for (i = 0; i < size / (ssize_t)sizeof(numbers[0]); i++)
		load->wrong += numbers[i] != (uint64_t)(conn - load->conns);
	conn->owed -= size > conn->owed ? conn->owed : size;
}

static void handle_sockets(struct load *load)
{
	struct epoll_event events[EVENTS];
	int nr = epoll_wait(load->epoll, events, EVENTS, 1);
	struct conn *conn;
	int i;

	if (nr < 0 && errno != EINTR)
		err(EXIT_BROKEN, "epoll_wait");
	for (i = 0; i < nr; i++) {
		conn = events[i].data.ptr;
		if (conn->connected)
			conn_receive(load, conn);
		else
			conn_connected(load, conn);
	}
}

/* Let the talkers talk, one after the other, as many as the time since the last call demands. */
static void talk(struct load *load, uint32_t *next, uint64_t *talked_ns)
{
	uint64_t pause_ns = load->idle_ns / TALKS / (load->nr / 2);
	uint64_t now = now_ns();
	unsigned int i;

	for (i = 0; i < EVENTS && *talked_ns + pause_ns <= now; i++) {
		*talked_ns += pause_ns;
		if (*next < load->opened && load->conns[*next].connected &&
		    load->conns[*next].fd >= 0)
			say_number(load, &load->conns[*next]);
		/* The odd ones are the talkers. */
		*next = (*next + 2) % (load->nr & ~1U);
	}
}

static void report(const struct load *load, uint64_t began_ns)
{
	printf("%6.1f s: %u of %u connected, %u silent ones closed, %llu talks\n",
	       (now_ns() - began_ns) / 1e9, load->connected, load->nr, load->silent_closed,
	       (unsigned long long)load->talks);
	fflush(stdout);
}

/*
 * Connect them all, then wait until the silent ones are closed, and for one idle timeout more, in
 * which the talkers have to live on.
 */
static void run(struct load *load)
{
	uint64_t began_ns = now_ns(), reported_ns = began_ns, talked_ns = began_ns;
	uint64_t connected_ns = 0, closed_ns = 0, now;
	uint32_t silent = load->nr - load->nr / 2, next = 1;

	for (;;) {
		while (load->opened < load->nr && load->opened - load->answered < GREETING)
			conn_open(load);
		handle_sockets(load);
		talk(load, &next, &talked_ns);

		now = now_ns();
		if (now - reported_ns >= REPORT_NS) {
			report(load, began_ns);
			reported_ns = now;
		}
		if (load->connected < load->nr)
			continue;
		if (!connected_ns)
			connected_ns = now;
		if (!closed_ns && load->silent_closed + load->early >= silent)
			closed_ns = now;
		if (closed_ns && now - closed_ns >= load->idle_ns)
			break;
		if (!closed_ns && now - connected_ns >= load->idle_ns + load->grace_ns)
			break;
	}
	report(load, began_ns);
}

static int judge(const struct load *load)
{
	uint32_t silent = load->nr - load->nr / 2, i, mute = 0;

	for (i = 0; i < load->nr; i++)
		mute += load->conns[i].owed && load->conns[i].fd >= 0 &&
			now_ns() - load->conns[i].sent_ns >= NSEC_PER_SEC;
	printf("echo-load: connections=%u silent=%u silent_closed=%u early=%u talkers=%u "
	       "talkers_closed=%u wrong=%llu unanswered=%u late_mean_ms=%.3f late_max_ms=%.3f\n",
	       load->nr, silent, load->silent_closed, load->early, load->nr / 2,
	       load->talkers_closed, (unsigned long long)load->wrong, mute,
	       load->silent_closed ? load->late_sum_ns / 1e6 / load->silent_closed : 0,
	       load->late_max_ns / 1e6);
	if (load->slow)
		printf("this machine is too slow: %u numbers were not sent in time; "
		       "take a longer --idle-ms\n", load->slow);
	return load->silent_closed == silent && !load->early && !load->talkers_closed &&
	       !load->wrong && !mute ? 0 : EXIT_BROKEN;
}

static void usage(FILE *out)
{
	fputs("usage: echo-load [OPTION]...\n\n"
	      "Opens connections to an echo server on this host; half of them talk, half are silent.\n\n"
	      "  --port N          the server's port (default 7007)\n"
	      "  --idle-ms N       the server's idle timeout (default 30000)\n"
	      "  --connections N   how many, from 2 (default 1000)\n"
	      "  --grace-ms N      how long to wait for silent ones beyond the timeout (default 10000)\n"
	      "  --help            this text\n\n"
	      "Exit codes: 0 exactly the silent ones were closed, and none before the timeout;\n"
	      "1 otherwise; 2 wrong usage.\n", out);
}

static unsigned long parse_number(const char *text, unsigned long min, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || value < min || value > max)
		errx(EXIT_USAGE, "\"%s\" is not a number from %lu to %lu", text, min, max);
	return value;
}

static void parse_options(struct load *load, int argc, char **argv)
{
	static const struct option options[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "idle-ms", required_argument, NULL, 'i' },
		{ "connections", required_argument, NULL, 'n' },
		{ "grace-ms", required_argument, NULL, 'g' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			load->port = parse_number(optarg, 1, 65535);
			break;
		case 'i':
			load->idle_ns = parse_number(optarg, 1, 1UL << 31) * NSEC_PER_MSEC;
			break;
		case 'n':
			load->nr = parse_number(optarg, 2, 1000000);
			break;
		case 'g':
			load->grace_ns = parse_number(optarg, 1, 1UL << 31) * NSEC_PER_MSEC;
			break;
		default:
			usage(option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : EXIT_USAGE);
		}
	}
	if (optind < argc)
		errx(EXIT_USAGE, "there is no argument \"%s\"", argv[optind]);
}

int main(int argc, char **argv)
{
	static struct load load = {
		.nr = 1000,
		.port = 7007,
		.idle_ns = 30 * NSEC_PER_SEC,
		.grace_ns = 10 * NSEC_PER_SEC,
	};
	struct rlimit limit;

	parse_options(&load, argc, argv);
	limit.rlim_cur = load.nr + 64;
	limit.rlim_max = load.nr + 64;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(EXIT_BROKEN, "%u open files", load.nr + 64);
	load.conns = calloc(load.nr, sizeof(*load.conns));
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!load.conns || load.epoll < 0)
		err(EXIT_BROKEN, "%u connections", load.nr);
	run(&load);
	return judge(&load);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * htwheelctl record: what is done to timers, as a trace.
 *
 * The kernel's tracing tells: the module's own tracepoints, or (with --kernel) those of the
 * kernel's timers. They are switched on in a tracing instance of our own, so nobody else's tracing
 * is touched, and the instance goes when we do.
 *
 * A kernel timer's times are in jiffies. A jiffy's length follows from two lines that say how far
 * apart they are in jiffies ("now=") and in time; the trace's times are jiffies times that length,
 * from the first line on. So replay it with a tick of about a jiffy.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "device.h"

#define TRACEFS		"/sys/kernel/tracing"
#define BUFFER_KB	"16384"

static const char usage[] =
	"usage: htwheelctl record [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"\n"
	"Writes what is done to the timers of all contexts as a trace, for htwheelctl replay, until the\n"
	"time is over, the command has ended, or SIGINT comes. Needs root, and tracefs.\n"
	"\n"
	"  --seconds N    for so long (default 10; with a command: until it ends)\n"
	"  --ctx N        of this context only; a context's number counts from 1 in the order in\n"
	"                 which the device was opened since the module was loaded\n"
	"  --kernel       of the kernel's own timers instead (timer_start, timer_cancel, timer_expire)\n"
	"  -o FILE        write it there (default: standard output)\n"
	"\n"
	"Times of different clocks do not mix: record a context on CLOCK_BOOTTIME, or on a manual clock,\n"
	"by itself. Exit codes: 0; 1 if lines were lost because they came too fast; 2 wrong usage;\n"
	"3 tracing is absent or refuses; with a command, its own if it is not 0.\n";

struct options {
	unsigned int	seconds;
	unsigned long	ctx;
	bool		kernel;
	const char	*file;
	char		**command;
};

/**
 * struct recorder - a recording under way
 * @options: what is asked for
 * @instance: directory of our tracing instance
 * @out: the trace
 * @last_ns: time of the last line; what comes later from another CPU is not earlier
 * @lines: lines written
 * @first_jiffy: --kernel: jiffies of the first line
 * @first_ns: --kernel: its time
 * @jiffy_ns: --kernel: the length of a jiffy
 */
struct recorder {
	struct options	options;
	char		instance[128];
	FILE		*out;
	uint64_t	last_ns;
	uint64_t	lines;
	uint64_t	first_jiffy;
	double		first_ns;
	double		jiffy_ns;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static bool write_to(const struct recorder *recorder, const char *name, const char *text)
{
	char path[256];
	ssize_t done;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", recorder->instance, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text));
	close(fd);
	return done == (ssize_t)strlen(text);
}

static void __attribute__((noreturn)) give_up(const struct recorder *recorder, const char *what)
{
	int error = errno;

	rmdir(recorder->instance);
	fail(EXIT_DEVICE, "%s: %s", what, strerror(error));
}

static void begin(struct recorder *recorder)
{
	static const char *const own[] = { "htwheel/htwheel_arm", "htwheel/htwheel_rearm",
					   "htwheel/htwheel_cancel", "htwheel/htwheel_expire" };
	static const char *const kernel[] = { "timer/timer_start", "timer/timer_cancel",
					      "timer/timer_expire_entry" };
	const char *const *events = recorder->options.kernel ? kernel : own;
	unsigned int i, nr = recorder->options.kernel ? 3 : 4;
	char name[64];

	if (access(TRACEFS "/instances", F_OK))
		fail(EXIT_DEVICE, errno == EACCES ? "only root may trace" :
		     "there is no " TRACEFS "; type: mount -t tracefs nodev " TRACEFS);
	snprintf(recorder->instance, sizeof(recorder->instance), TRACEFS "/instances/htwheel-%d",
		 getpid());
	if (mkdir(recorder->instance, 0700))
		fail(EXIT_DEVICE, "%s: %s; is this root?", recorder->instance, strerror(errno));
	if (!write_to(recorder, "trace_clock", "mono") ||
	    !write_to(recorder, "buffer_size_kb", BUFFER_KB))
		give_up(recorder, "tracing cannot be set up");
	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "events/%s/enable", events[i]);
		if (!write_to(recorder, name, "1"))
			give_up(recorder, recorder->options.kernel ?
				"the kernel's timer events cannot be switched on" :
				"the module's events cannot be switched on; is it loaded?");
	}
}

/* The number behind @name= in a line. */
static bool field_in(const char *line, const char *name, int base, uint64_t *value)
{
	const char *at = line;
	size_t length = strlen(name);
	char *end;

	while ((at = strstr(at, name))) {
		if ((at == line || at[-1] == ' ') && at[length] == '=') {
			*value = strtoull(at + length + 1, &end, base);
			return end != at + length + 1;
		}
		at += length;
	}
	return false;
}

static bool field(const char *line, const char *name, uint64_t *value)
{
	return field_in(line, name, 10, value);
}

/* Lines of several CPUs come in the order of their times, nearly. */
static void write_time(struct recorder *recorder, uint64_t now_ns)
{
	if (now_ns > recorder->last_ns)
		recorder->last_ns = now_ns;
	fprintf(recorder->out, "%" PRIu64 " ", recorder->last_ns);
	recorder->lines++;
}

static void convert_own(struct recorder *recorder, const char *line)
{
	static const char *const policies[] = { "count", "skip", "burst", "delay" };
	uint64_t ctx, id, now_ns, deadline_ns, period_ns, slack_ns, traits;
	const char *event = strstr(line, "htwheel_");

	if (!event || !field(line, "ctx", &ctx) || !field(line, "id", &id) ||
	    !field(line, "now", &now_ns) || !field(line, "deadline", &deadline_ns))
		return;
	if (recorder->options.ctx && ctx != recorder->options.ctx)
		return;
	write_time(recorder, now_ns);
	/* Names of different contexts may be equal. */
	id ^= ctx << 52;
	if (!strncmp(event, "htwheel_cancel", 14)) {
		fprintf(recorder->out, "cancel %" PRIu64 "\n", id);
		return;
	}
	fprintf(recorder->out, "%s %" PRIu64 " %" PRIu64,
		!strncmp(event, "htwheel_arm", 11) ? "arm" :
		!strncmp(event, "htwheel_rearm", 13) ? "rearm" : "fire", id, deadline_ns);
	if (field(line, "period", &period_ns) && period_ns &&
	    field(line, "traits", &traits))
		fprintf(recorder->out, " period=%" PRIu64 " policy=%s", period_ns,
			policies[traits & 3]);
	if (field(line, "slack", &slack_ns) && slack_ns)
		fprintf(recorder->out, " slack=%" PRIu64, slack_ns);
	if (field(line, "traits", &traits) && traits & 4)
		fputs(" keep", recorder->out);
	fputc('\n', recorder->out);
}

/* The time that a line begins with: seconds and a point, before the event's name. */
static double line_ns(const char *line, const char *event)
{
	const char *at;

	/* Flags stand there first; the time is the last number before the event. */
	at = event - 2;
	while (at > line && at[-1] != ' ')
		at--;
	return strtod(at, NULL) * 1e9;
}

static uint64_t jiffies_ns(const struct recorder *recorder, uint64_t jiffies)
{
	double ns = recorder->first_ns +
		    (double)(int64_t)(jiffies - recorder->first_jiffy) * recorder->jiffy_ns;

	return ns < 0 ? 0 : ns >= 9.2e18 ? HTWHEEL_NEVER_NS : (uint64_t)ns;
}

/* Jiffies have 32 bits in some fields and 64 in others, depending on the kernel. */
static void convert_kernel(struct recorder *recorder, const char *line)
{
	const char *event = strstr(line, "timer_");
	uint64_t timer, expires, now;

	if (!event || !field_in(line, "timer", 16, &timer))
		return;
	if (!recorder->first_jiffy) {
		if (!field(line, "now", &now))
			return;
		recorder->first_jiffy = now;
		recorder->first_ns = line_ns(line, event);
	}
	if (!strncmp(event, "timer_cancel", 12)) {
		write_time(recorder, line_ns(line, event));
		fprintf(recorder->out, "cancel %" PRIu64 "\n", timer);
	} else if (!strncmp(event, "timer_start", 11) && field(line, "expires", &expires)) {
		write_time(recorder, line_ns(line, event));
		fprintf(recorder->out, "arm %" PRIu64 " %" PRIu64 "\n", timer,
			jiffies_ns(recorder, expires));
	} else if (!strncmp(event, "timer_expire_entry", 18) && field(line, "now", &now)) {
		write_time(recorder, line_ns(line, event));
		fprintf(recorder->out, "fire %" PRIu64 " %" PRIu64 "\n", timer,
			jiffies_ns(recorder, now));
	}
}

/* Of the kernel's build: how long a jiffy is. USER_HZ would not tell. */
static double measure_jiffy_ns(void)
{
	FILE *file = fopen("/proc/timer_list", "r");
	uint64_t first = 0, jiffies, begin_ns = 0;
	char line[256];
	double length = 0;
	int i;

	for (i = 0; file && i < 2; i++) {
		if (i) {
			usleep(500000);
			file = freopen("/proc/timer_list", "r", file);
		}
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "jiffies: %" SCNu64, &jiffies) != 1)
				continue;
			if (i)
				length = (double)(now_ns() - begin_ns) / (jiffies - first);
			first = jiffies;
			begin_ns = now_ns();
			break;
		}
	}
	if (file)
		fclose(file);
	/* HZ is one of a few numbers. */
	return length < 1.8e6 ? 1e6 : length < 3.6e6 ? 1e9 / 300 : length < 7e6 ? 4e6 : 1e7;
}

/* Convert what is there; the last piece of a line waits for the rest of it. */
static void drain(struct recorder *recorder, int pipe, char *buffer, size_t size, size_t *used)
{
	char *line, *end;
	ssize_t bytes;

	while ((bytes = read(pipe, buffer + *used, size - *used - 1)) > 0) {
		*used += bytes;
		buffer[*used] = 0;
		for (line = buffer; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			if (recorder->options.kernel)
				convert_kernel(recorder, line);
			else
				convert_own(recorder, line);
		}
		*used -= line - buffer;
		memmove(buffer, line, *used);
		if (*used == size - 1)
			*used = 0;
	}
}

/* Lines that the kernel's buffers had no room for. */
static uint64_t count_lost(const struct recorder *recorder)
{
	char path[256], line[128];
	uint64_t lost = 0, value;
	unsigned int cpu;
	FILE *file;

	for (cpu = 0; cpu < 4096; cpu++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/stats", recorder->instance, cpu);
		file = fopen(path, "r");
		if (!file)
			break;
		while (fgets(line, sizeof(line), file)) {
			if (sscanf(line, "overrun: %" SCNu64, &value) == 1 ||
			    sscanf(line, "dropped events: %" SCNu64, &value) == 1)
				lost += value;
		}
		fclose(file);
	}
	return lost;
}

static pid_t start_command(char **command)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execvp(command[0], command);
	fprintf(stderr, "htwheelctl: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

/* Returns the status of the command, 0 without one. */
static int record(struct recorder *recorder, int pipe)
{
	uint64_t end_ns = now_ns() + recorder->options.seconds * NSEC_PER_SEC;
	struct pollfd waiting = { .fd = pipe, .events = POLLIN };
	static char buffer[1 << 20];
	int status = 0;
	size_t used = 0;
	pid_t pid = 0;

	if (recorder->options.command)
		pid = start_command(recorder->options.command);
	while (!stopped && (pid ? waitpid(pid, &status, WNOHANG) != pid : now_ns() < end_ns)) {
		poll(&waiting, 1, 50);
		drain(recorder, pipe, buffer, sizeof(buffer), &used);
	}
	write_to(recorder, "tracing_on", "0");
	drain(recorder, pipe, buffer, sizeof(buffer), &used);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "ctx", required_argument, NULL, 'c' },
		{ "kernel", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	char *end = "";
	int option;

	options->seconds = 10;
	while ((option = getopt_long(argc, argv, "+o:h", names, NULL)) != -1) {
		switch (option) {
		case 's':
			options->seconds = strtoul(optarg, &end, 10);
			break;
		case 'c':
			options->ctx = strtoul(optarg, &end, 10);
			break;
		case 'k':
			options->kernel = true;
			break;
		case 'o':
			options->file = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(EXIT_USAGE);
		}
		if (*end)
			fail(EXIT_USAGE, "\"%s\" is not a number", optarg);
	}
	if (optind < argc)
		options->command = argv + optind;
}

int command_record(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = stop };
	struct recorder recorder = { .out = stdout };
	uint64_t lost;
	char path[256];
	int pipe, status;

	parse(&recorder.options, argc, argv);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (recorder.options.file)
		recorder.out = fopen(recorder.options.file, "w");
	if (!recorder.out)
		fail(EXIT_USAGE, "%s: %s", recorder.options.file, strerror(errno));
	if (recorder.options.kernel)
		recorder.jiffy_ns = measure_jiffy_ns();
	begin(&recorder);
	snprintf(path, sizeof(path), "%s/trace_pipe", recorder.instance);
	pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (pipe < 0)
		give_up(&recorder, path);
	fputs("# htwheel trace 1\n", recorder.out);
	if (recorder.options.kernel)
		fprintf(recorder.out, "# kernel timers, a jiffy is %.0f ns\n", recorder.jiffy_ns);
	status = record(&recorder, pipe);
	if (recorder.last_ns)
		fprintf(recorder.out, "%" PRIu64 " end\n", recorder.last_ns);
	lost = count_lost(&recorder);
	close(pipe);
	rmdir(recorder.instance);
	if (fflush(recorder.out) || (recorder.options.file && fclose(recorder.out)))
		fail(EXIT_USAGE, "the trace could not be written: %s", strerror(errno));
	fprintf(stderr, "record: %" PRIu64 " lines, %" PRIu64 " lost\n", recorder.lines, lost);
	return status ? status : lost ? EXIT_BROKEN : 0;
}

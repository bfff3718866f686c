// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/fdinfo shows a context's books and limits, and says the same as STATS and INFO.
 */
#include "harness.h"
#include "crew.h"
#include "many.h"

FIXTURE(fdinfo) {
	char text[4096];
	int fd;
};

FIXTURE_SETUP(fdinfo)
{
	if (access("/proc/self/fdinfo", R_OK))
		SKIP(return, "no /proc");
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(fdinfo)
{
	close(self->fd);
}

static int read_fdinfo(FIXTURE_DATA(fdinfo) *self)
{
	char path[64];
	ssize_t ret;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read(fd, self->text, sizeof(self->text) - 1);
	self->text[ret < 0 ? 0 : ret] = 0;
	close(fd);
	return ret < 0 ? -errno : 0;
}

/* The number of the one line of this name; UINT64_MAX if there is no such line, or two. */
static uint64_t line_of(const char *text, const char *name)
{
	unsigned long long number;
	uint64_t found = UINT64_MAX;
	char format[64], nl;
	const char *line;

	snprintf(format, sizeof(format), "htwheel-%s:\t%%llu%%c", name);
	for (line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
		if (sscanf(line, format, &number, &nl) != 2 || nl != '\n')
			continue;
		if (found != UINT64_MAX)
			return UINT64_MAX;
		found = number;
	}
	return found;
}

/* The first line that is not what INFO and STATS say, NULL if there is none. */
static const char *first_difference(FIXTURE_DATA(fdinfo) *self)
{
	struct htwheel_stats stats;
	struct htwheel_info info;

	if (device_info(self->fd, &info) || device_stats(self->fd, &stats))
		return "the calls failed";
	if (read_fdinfo(self))
		return "fdinfo cannot be read";

	const struct { const char *name; uint64_t number; } lines[] = {
		{ "armed", stats.armed },
		{ "fired", stats.fired },
		{ "cancelled", stats.cancelled },
		{ "replaced", stats.replaced },
		{ "pending", stats.pending },
		{ "expired", stats.expired },
		{ "idle", stats.idle },
		{ "max-timers", info.max_timers },
		{ "user-timers", stats.user_timers },
		{ "max-user-timers", info.max_user_timers },
		{ "clock", info.clock },
		{ "wake-events", info.wake_events },
		{ "wake-usecs", info.wake_usecs },
		{ "ring-entries", info.ring_entries },
		{ "table-entries", info.table_entries },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		if (line_of(self->text, lines[i].name) != lines[i].number)
			return lines[i].name;
	return NULL;
}

#define EXPECT_SAME()									\
	do {										\
		const char *_difference = first_difference(self);			\
											\
		EXPECT_STREQ("nothing", _difference ? _difference : "nothing");		\
	} while (0)

TEST_F(fdinfo, of_a_new_context)
{
	EXPECT_SAME();
	EXPECT_TRUE(!!strstr(self->text, "pos:"));
	EXPECT_EQ(0, line_of(self->text, "armed"));
	EXPECT_EQ(0, line_of(self->text, "pending"));
	EXPECT_EQ(UINT64_MAX, line_of(self->text, "nonsense"));
}

TEST_F(fdinfo, shows_the_limits)
{
	struct htwheel_setup setup = {
		.size = sizeof(setup), .clock = HTWHEEL_CLOCK_BOOTTIME, .max_timers = 12345,
		.wake_events = 17, .wake_usecs = 4000000, .ring_entries = 256,
		.flags = HTWHEEL_SETUP_TABLE,
	};

	ASSERT_EQ(0, device_ioctl(self->fd, HTWHEEL_IOC_SETUP, &setup));
	EXPECT_SAME();
	EXPECT_EQ(12345, line_of(self->text, "max-timers"));
	EXPECT_EQ(HTWHEEL_CLOCK_BOOTTIME, line_of(self->text, "clock"));
	EXPECT_EQ(17, line_of(self->text, "wake-events"));
	EXPECT_EQ(4000000, line_of(self->text, "wake-usecs"));
	EXPECT_EQ(256, line_of(self->text, "ring-entries"));
	EXPECT_LE(12345, line_of(self->text, "table-entries"));
}

/* Each number of the books is another one. */
TEST_F(fdinfo, shows_the_books)
{
	struct htwheel_event events[64];
	uint64_t ids[100];
	uint32_t i;

	/* 17 kept and idle, 13 read, 11 that wait to be read, 100 armed of which 40 go. */
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE | HTWHEEL_KEEP,
	}, 0, 17, 0, ids));
	ASSERT_EQ(17, read_events(self->fd, events, 64));
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .flags = HTWHEEL_ABSOLUTE }, 0, 13, 0,
			      ids));
	ASSERT_EQ(13, read_events(self->fd, events, 64));
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .flags = HTWHEEL_ABSOLUTE }, 0, 11, 0,
			      ids));
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, 100, 0,
			      ids));
	ASSERT_EQ(40, cancel_many(self->fd, ids, 40));
	for (i = 40; i < 47; i++)
		ASSERT_EQ(0, rearm_in(self->fd, ids[i], 2 * HOUR_NS));
	EXPECT_SAME();
	EXPECT_EQ(17 + 13 + 11 + 100 + 7, line_of(self->text, "armed"));
	EXPECT_EQ(17 + 13, line_of(self->text, "fired"));
	EXPECT_EQ(40, line_of(self->text, "cancelled"));
	EXPECT_EQ(7, line_of(self->text, "replaced"));
	EXPECT_EQ(11 + 60, line_of(self->text, "pending"));
	EXPECT_EQ(11, line_of(self->text, "expired"));
	EXPECT_EQ(17, line_of(self->text, "idle"));
	EXPECT_LE(11 + 60 + 17, line_of(self->text, "user-timers"));
}

static void work(void *arg)
{
	int *fd = arg;
	uint64_t ids[50];

	arm_many(*fd, &(struct htwheel_op){ .time_ns = HOUR_NS }, 0, 50, 0, ids);
	cancel_many(*fd, ids, 50);
}

/* What it says of the books belongs to one moment, whoever works. */
TEST_F(fdinfo, books_balance_while_timers_come_and_go)
{
	uint64_t end_ns = now_ns() + NS_PER_S / 2;
	struct crew crew = { .nr = 0 };

	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, work, &self->fd));
	while (now_ns() < end_ns || !crew_has_turned(&crew)) {
		ASSERT_EQ(0, read_fdinfo(self));
		ASSERT_EQ(line_of(self->text, "armed"),
			  line_of(self->text, "fired") + line_of(self->text, "cancelled") +
			  line_of(self->text, "replaced") + line_of(self->text, "pending"));
	}
	crew_end(&crew);
}

TEST_HARNESS_MAIN

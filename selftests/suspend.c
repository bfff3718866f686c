// SPDX-License-Identifier: GPL-2.0
/*
 * B64: what falls due in suspend fires at resume, once, on the clock that goes on; on the other one
 * it comes later by the time of the suspend.
 *
 * Really suspends the machine, to memory, with its clock set to wake it: in guests only, unless
 * HTWHEEL_SUSPEND is in the environment.
 */
#include "harness.h"
#include "turns.h"

#define STATE_FILE	"/sys/power/state"
#define ALARM_FILE	"/sys/class/rtc/rtc0/wakealarm"

/* The clock that wakes counts whole seconds, so the sleep may be shorter by more than one. */
#define SLEEP		"+5"

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

/* To memory: what is called "freeze" stops no clock in some guests, and wakes in none of them. */
static bool can_suspend(void)
{
	FILE *file = fopen(STATE_FILE, "r");
	char word[16];
	bool found = false;

	while (file && !found && fscanf(file, "%15s", word) == 1)
		found = !strcmp(word, "mem");
	if (file)
		fclose(file);
	return found && !access(ALARM_FILE, W_OK);
}

/* Nanoseconds that the machine slept; 0 if it did not. */
static uint64_t suspend_ns(void)
{
	uint64_t boot_then_ns = boot_ns(), mono_then_ns = now_ns();
	uint64_t boot_now_ns, mono_now_ns;

	if (!write_text(ALARM_FILE, "0") || !write_text(ALARM_FILE, SLEEP) ||
	    !write_text(STATE_FILE, "mem"))
		return 0;
	mono_now_ns = now_ns();
	boot_now_ns = boot_ns();
	boot_now_ns -= boot_then_ns;
	mono_now_ns -= mono_then_ns;
	/* The clocks are not read at the same moment. */
	return boot_now_ns < mono_now_ns + NS_PER_S / 2 ? 0 : boot_now_ns - mono_now_ns;
}

FIXTURE(suspend) {
	int monotonic_fd;
	int fd;
};

FIXTURE_SETUP(suspend)
{
	if (!getenv("HTWHEEL_SUSPEND"))
		SKIP(return, "HTWHEEL_SUSPEND is not set: the machine is not ours");
	if (!can_suspend())
		SKIP(return, "the kernel cannot suspend, or has no clock that wakes it");
	self->monotonic_fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->monotonic_fd);
	self->fd = open_on_boottime();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(suspend)
{
	close(self->fd);
	close(self->monotonic_fd);
}

TEST_F(suspend, B64_due_at_resume)
{
	const uint64_t period_ns = 10 * NS_PER_MS;
	uint64_t first_ns = boot_ns() + NS_PER_S / 4, id, slept_ns;
	unsigned int once = 0, periodic = 0;
	struct htwheel_event event;

	ASSERT_EQ(0, arm_in(self->fd, NS_PER_S / 2, 0, NULL));
	ASSERT_EQ(0, arm_every(self->fd, HTWHEEL_POLICY_COUNT, first_ns, period_ns, 1, &id));
	slept_ns = suspend_ns();
	if (!slept_ns)
		SKIP(return, "the machine did not sleep");
	TH_LOG("slept for %llu ms", (unsigned long long)slept_ns / NS_PER_MS);
	while (!once || !periodic) {
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_LE(event.deadline_ns, event.fired_ns);
		EXPECT_GE(boot_ns(), event.fired_ns);
		if (!event.user_data) {
			once++;
			continue;
		}
		/* All that was missed is in the first of its events. */
		if (!periodic++) {
			EXPECT_EQ(first_ns, event.deadline_ns);
			EXPECT_LE((slept_ns - NS_PER_S / 4) / period_ns, event.count);
			EXPECT_GE(turns_by(first_ns, period_ns, boot_ns()), event.count);
		}
	}
	EXPECT_EQ(1, once);
}

TEST_F(suspend, B64_time_left)
{
	uint64_t id, mono_id, boot_then_ns, mono_then_ns, slept_ns, left_ns;

	boot_then_ns = boot_ns();
	ASSERT_EQ(0, arm_at(self->fd, boot_then_ns + HOUR_NS, 0, &id));
	mono_then_ns = now_ns();
	ASSERT_EQ(0, arm_at(self->monotonic_fd, mono_then_ns + HOUR_NS, 0, &mono_id));
	slept_ns = suspend_ns();
	if (!slept_ns)
		SKIP(return, "the machine did not sleep");
	ASSERT_EQ(0, query(self->fd, id, &left_ns));
	EXPECT_GE(HOUR_NS - slept_ns, left_ns);
	EXPECT_LE(boot_then_ns + HOUR_NS - boot_ns(), left_ns);
	ASSERT_EQ(0, query(self->monotonic_fd, mono_id, &left_ns));
	EXPECT_LE(mono_then_ns + HOUR_NS - now_ns(), left_ns);
	EXPECT_LT(HOUR_NS - slept_ns, left_ns);
}

/* The wait of a wake-up policy is on the context's clock: the time asleep is part of it, or not. */
TEST_F(suspend, B64_wait_of_a_wake_up_policy)
{
	const uint64_t wait_ns = 2 * NS_PER_S;
	struct htwheel_setup setup = { .wake_usecs = wait_ns / NS_PER_US };
	int fds[2] = { open_device(O_NONBLOCK), open_device(O_NONBLOCK) };
	uint64_t armed_ns, slept_ns;

	ASSERT_LE(0, fds[0]);
	ASSERT_LE(0, fds[1]);
	setup.clock = HTWHEEL_CLOCK_BOOTTIME;
	ASSERT_EQ(0, setup_like(fds[0], setup));
	setup.clock = HTWHEEL_CLOCK_MONOTONIC;
	ASSERT_EQ(0, setup_like(fds[1], setup));
	armed_ns = now_ns();
	ASSERT_EQ(0, arm_in(fds[0], 0, 0, NULL));
	ASSERT_EQ(0, arm_in(fds[1], 0, 0, NULL));
	slept_ns = suspend_ns();
	if (slept_ns < wait_ns)
		SKIP(return, "the machine did not sleep for long enough");
	EXPECT_TRUE(wait_readable(fds[0]));
	EXPECT_TRUE(wait_readable(fds[1]));
	EXPECT_LE(armed_ns + wait_ns, now_ns());
	close(fds[0]);
	close(fds[1]);
}

/* Both go on afterwards. */
TEST_F(suspend, B64_short_timers_after_resume)
{
	struct htwheel_event event;
	unsigned int i;

	if (!suspend_ns())
		SKIP(return, "the machine did not sleep");
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, arm_in(self->fd, i * NS_PER_MS, i, NULL));
		ASSERT_EQ(0, next_event(self->fd, &event));
		EXPECT_LE(event.deadline_ns, event.fired_ns);
		ASSERT_EQ(0, arm_in(self->monotonic_fd, i * NS_PER_MS, i, NULL));
		ASSERT_EQ(0, next_event(self->monotonic_fd, &event));
		EXPECT_LE(event.deadline_ns, event.fired_ns);
	}
}

TEST_HARNESS_MAIN

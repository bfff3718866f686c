// SPDX-License-Identifier: GPL-2.0
/*
 * MASS and DUMP with bad memory, and with arguments that another thread rewrites during the call.
 *
 * Whatever happens: "done" and the cursor are right, and no timer is visited twice or left out.
 */
#include "harness.h"
#include "abi.h"
#include "crew.h"
#include "many.h"

#define NR_TIMERS	170U
#define PAGES		4
#define ENTRY_SIZE	sizeof(struct htwheel_dump_entry)

FIXTURE(fault) {
	uint64_t ids[NR_TIMERS];
	struct htwheel_stats stats;
	unsigned char *map;
	unsigned char *edge;
	uint64_t due_ns;
	size_t page;
	int fd;
};

/* What lies behind the edge can be taken away. */
FIXTURE_SETUP(fault)
{
	struct htwheel_info info;

	self->page = sysconf(_SC_PAGESIZE);
	self->map = map_before_edge(2 * PAGES);
	ASSERT_TRUE(!!self->map);
	self->edge = self->map + PAGES * self->page;
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_info(self->fd, &info));
	if (~info.features & (HTWHEEL_FEAT_MASS | HTWHEEL_FEAT_DUMP))
		SKIP(return, "the module lacks a feature");
	self->due_ns = now_ns() + 10 * HOUR_NS;
	ASSERT_EQ(0, arm_many(self->fd, &(struct htwheel_op){
		.flags = HTWHEEL_ABSOLUTE, .time_ns = self->due_ns,
	}, 0, NR_TIMERS, NS_PER_MS, self->ids));
}

FIXTURE_TEARDOWN(fault)
{
	close(self->fd);
}

static int protect(FIXTURE_DATA(fault) *self, int how)
{
	return mprotect(self->edge, PAGES * self->page, how);
}

/* These entries are of timers that live, and of none that was listed before. */
static bool note_entries(FIXTURE_DATA(fault) *self, const struct htwheel_dump_entry *entries,
			 uint32_t nr, uint8_t *seen)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (entries[i].user_data >= NR_TIMERS || seen[entries[i].user_data]++ ||
		    entries[i].id != self->ids[entries[i].user_data] ||
		    entries[i].deadline_ns != self->due_ns + entries[i].user_data * NS_PER_MS)
			return false;
	}
	return true;
}

/*
 * List into an array of which so many whole entries, and some bytes of the next, lie before the
 * edge; then give the memory back and list the rest. Returns what was wrong, or NULL.
 */
static const char *dump_across_edge(FIXTURE_DATA(fault) *self, int how, uint32_t whole,
				    uint32_t bytes)
{
	struct htwheel_dump_entry *entries;
	struct htwheel_dump dump = { .cursor = 0 };
	uint8_t seen[NR_TIMERS] = { 0 };
	uint32_t done;

	entries = (void *)(self->edge - whole * ENTRY_SIZE - bytes);
	if (protect(self, how))
		return "mprotect";
	if (device_dump(self->fd, &dump, entries, NR_TIMERS) != -EFAULT)
		return "no EFAULT";
	done = dump.done;
	if (done > whole)
		return "more done than could be written";
	if (done && !dump.cursor)
		return "no cursor";
	if (!note_entries(self, entries, done, seen))
		return "an entry of the first ones";
	/* It fails there as long as the memory is away, and is none the further for it. */
	if (device_dump(self->fd, &dump, entries + whole, NR_TIMERS) != -EFAULT || dump.done)
		return "it went on where nothing can be written";

	if (protect(self, PROT_READ | PROT_WRITE))
		return "mprotect";
	/* One more than there are, so that the call comes to the end. */
	if (device_dump(self->fd, &dump, entries + done, NR_TIMERS + 1) || dump.cursor)
		return "the rest was refused";
	if (done + dump.done != NR_TIMERS || !note_entries(self, entries + done, dump.done, seen))
		return "an entry of the rest";
	return NULL;
}

/* The first entry, the second, ones in the middle and at the borders of pages, the last. */
static const uint32_t places[] = {
	0, 1, 2, 7, 31, 55, 56, 57, 63, 64, 100, 113, 114, 127, 128, NR_TIMERS - 1,
};

#define EXPECT_RIGHT_ACROSS_EDGE(how)							\
	do {										\
		const char *wrong;							\
		uint32_t bytes;								\
		size_t i;								\
											\
		for (i = 0; i < ARRAY_SIZE(places); i++) {				\
			for (bytes = 0; bytes < ENTRY_SIZE; bytes += 8) {		\
				wrong = dump_across_edge(self, how, places[i], bytes);	\
				ASSERT_STREQ("nothing", wrong ? wrong : "nothing") {	\
					TH_LOG("%u entries and %u bytes", places[i], bytes);	\
				}							\
			}								\
		}									\
	} while (0)

TEST_F(fault, dump_runs_into_unmapped_memory)
{
	EXPECT_RIGHT_ACROSS_EDGE(PROT_NONE);
}

TEST_F(fault, dump_runs_into_read_only_memory)
{
	EXPECT_RIGHT_ACROSS_EDGE(PROT_READ);
}

/* There is room for all: what lies behind is nobody's concern, whatever the number says. */
TEST_F(fault, dump_that_fits_does_not_fault)
{
	struct htwheel_dump_entry *entries = (void *)(self->edge - NR_TIMERS * ENTRY_SIZE);
	struct htwheel_dump dump = { .cursor = 0 };

	ASSERT_EQ(0, protect(self, PROT_NONE));
	ASSERT_EQ(0, device_dump(self->fd, &dump, entries, 2 * NR_TIMERS));
	EXPECT_EQ(NR_TIMERS, dump.done);
	EXPECT_EQ(0, dump.cursor);
}

/* Nothing has touched this memory yet; the kernel gets it when it writes there. */
TEST_F(fault, dump_into_untouched_memory)
{
	unsigned char *map = map_before_edge(PAGES);
	struct htwheel_dump dump = { .cursor = 0 };
	uint8_t seen[NR_TIMERS] = { 0 };

	ASSERT_TRUE(!!map);
	ASSERT_EQ(0, device_dump(self->fd, &dump, (void *)map, NR_TIMERS));
	EXPECT_EQ(NR_TIMERS, dump.done);
	EXPECT_TRUE(note_entries(self, (void *)map, NR_TIMERS, seen));
}

/* The answer cannot be written. It is not known then what was done, but that is all. */
TEST_F(fault, mass_whose_answer_cannot_be_written)
{
	struct htwheel_mass *mass = (void *)self->edge;
	uint64_t done;

	*mass = (struct htwheel_mass){ .size = sizeof(*mass), .opcode = HTWHEEL_MASS_CANCEL };
	ASSERT_EQ(0, protect(self, PROT_READ));
	EXPECT_EQ(-EFAULT, device_ioctl(self->fd, HTWHEEL_IOC_MASS, mass));
	ASSERT_TRUE(books_are_right(self->fd, &self->stats));
	ASSERT_EQ(NR_TIMERS, self->stats.pending + self->stats.cancelled);
	ASSERT_EQ(self->stats.cancelled, count_stale(self->fd, self->ids, NR_TIMERS));
	ASSERT_EQ(0, mass_all(self->fd, (struct htwheel_mass){ .opcode = HTWHEEL_MASS_CANCEL },
			      &done));
	EXPECT_EQ(self->stats.pending, done);
}

struct meddler {
	struct htwheel_mass	*mass;
	struct htwheel_dump	*dump;
	uint32_t		stride;
	uint64_t		seed;
};

/* The two shifts differ in one byte, so that a copy under way has one or the other. */
static void rewrite_mass(void *arg)
{
	struct meddler *meddler = arg;
	volatile struct htwheel_mass *mass = meddler->mass;

	switch (chance_below(&meddler->seed, 3)) {
	case 0:
		mass->shift_ns = 1;
		break;
	case 1:
		mass->shift_ns = 2;
		break;
	default:
		mass->opcode = chance_below(&meddler->seed, 4) ? HTWHEEL_MASS_SHIFT : 0xff;
	}
}

/* How far each has moved since the last time, or -1 if not all have moved alike. */
static int64_t common_shift(FIXTURE_DATA(fault) *self, struct htwheel_dump_entry *entries,
			    uint64_t *due_ns)
{
	int64_t moved_ns;
	uint32_t i;

	if (dump_by_number(self->fd, entries, NR_TIMERS, NR_TIMERS) != (int)NR_TIMERS)
		return -1;
	moved_ns = entries[0].deadline_ns - *due_ns;
	for (i = 0; i < NR_TIMERS; i++)
		if (entries[i].deadline_ns != entries[0].deadline_ns + i * NS_PER_MS)
			return -1;
	*due_ns = entries[0].deadline_ns;
	return moved_ns;
}

/* What was checked is what is done, to all timers alike. Goes on until both answers came. */
TEST_F(fault, B58_mass_rewritten_during_the_call)
{
	struct htwheel_mass mass = { .size = sizeof(mass), .opcode = HTWHEEL_MASS_SHIFT };
	struct htwheel_dump_entry entries[NR_TIMERS];
	struct meddler meddler = { .mass = &mass, .seed = 42 };
	uint64_t end_ns, due_ns = self->due_ns, accepted = 0, refused = 0;
	struct crew crew = { .nr = 0 };
	int64_t moved_ns;
	int ret;

	mass.shift_ns = 1;
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, rewrite_mass, &meddler));
	end_ns = now_ns() + NS_PER_S / 2;
	while (now_ns() < end_ns || !crew_has_turned(&crew) || !accepted || !refused) {
		ret = device_ioctl(self->fd, HTWHEEL_IOC_MASS, &mass);
		ASSERT_TRUE(ret == 0 || ret == -EINVAL);
		moved_ns = common_shift(self, entries, &due_ns);
		ASSERT_TRUE(ret ? moved_ns == 0 : moved_ns == 1 || moved_ns == 2);
		accepted += !ret;
		refused += ret != 0;
	}
	crew_end(&crew);
	TH_LOG("%llu accepted, %llu refused, %llu changes", (unsigned long long)accepted,
	       (unsigned long long)refused, (unsigned long long)crew_turns(&crew, 0));
}

/* Both numbers and both strides are valid, alone and together; a third stride is not. */
static void rewrite_dump(void *arg)
{
	struct meddler *meddler = arg;
	volatile struct htwheel_dump *dump = meddler->dump;

	if (chance_below(&meddler->seed, 2))
		dump->nr = chance_below(&meddler->seed, 2) ? 1 : 100;
	else
		dump->stride = meddler->stride + chance_below(&meddler->seed, 2);
}

/* It never writes beyond what the largest of these would. Goes on until both answers came. */
TEST_F(fault, B58_dump_rewritten_during_the_call)
{
	struct htwheel_dump dump = { .size = sizeof(dump) };
	struct meddler meddler = { .dump = &dump, .stride = 80, .seed = 42 };
	unsigned char *guard = self->edge - self->page;
	uint64_t end_ns, accepted = 0, refused = 0;
	struct crew crew = { .nr = 0 };
	int ret;

	dump.nr = 100;
	dump.stride = 80;
	dump.entries = (uintptr_t)(guard - 100 * 80);
	memset(guard, JUNK, self->page);
	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, rewrite_dump, &meddler));
	end_ns = now_ns() + NS_PER_S / 2;
	while (now_ns() < end_ns || !crew_has_turned(&crew) || !accepted || !refused) {
		dump.cursor = 0;
		ret = device_ioctl(self->fd, HTWHEEL_IOC_DUMP, &dump);
		ASSERT_TRUE(ret == 0 || ret == -EINVAL);
		refused += ret != 0;
		if (ret)
			continue;
		accepted++;
		ASSERT_TRUE(dump.done == 1 || dump.done == 100);
		ASSERT_NE(0, dump.cursor);
	}
	crew_end(&crew);
	EXPECT_TRUE(all_bytes_are(guard, self->page, JUNK));
}

/* Memory that comes and goes under a walk: every timer once, all the same. */
static void take_away(void *arg)
{
	FIXTURE_DATA(fault) *self = arg;
	static const int hows[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	static uint64_t seed = 42;

	protect(self, hows[chance_below(&seed, 3)]);
}

TEST_F(fault, memory_taken_away_during_a_walk)
{
	struct htwheel_dump_entry *entries = (void *)(self->edge - 30 * ENTRY_SIZE - 8);
	uint64_t end_ns = now_ns() + NS_PER_S / 2;
	struct crew crew = { .nr = 0 };
	struct htwheel_dump dump;
	uint32_t listed, faults = 0;
	int ret;

	ASSERT_EQ(0, crew_add(&crew, CREW_ANY_CPU, take_away, self));
	while (now_ns() < end_ns || !crew_has_turned(&crew)) {
		dump.cursor = 0;
		listed = 0;
		do {
			ret = device_dump(self->fd, &dump, entries, 60);
			ASSERT_TRUE(ret == 0 || ret == -EFAULT);
			ASSERT_GE(60, dump.done);
			listed += dump.done;
			faults += ret != 0;
		} while (dump.cursor || (ret && !listed));
		ASSERT_EQ(NR_TIMERS, listed);
	}
	crew_end(&crew);
	TH_LOG("%u faults", faults);
}

TEST_HARNESS_MAIN

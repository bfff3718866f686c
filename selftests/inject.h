/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults on demand: a call's n-th chance to fail.
 *
 * Needs a kernel with fault injection (the debug one); its /proc/thread-self/fail-nth makes the
 * n-th chance to fail do so. To be included behind the harness.
 */
#ifndef HTWHEEL_INJECT_TEST_H
#define HTWHEEL_INJECT_TEST_H

#include "common.h"

#define FAULTS		"/sys/kernel/debug"
#define FAIL_NTH	"/proc/thread-self/fail-nth"

/* No call has so many places to fail; the loop is broken if it gets there. */
#define MAX_NTH		10000

static inline bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

/* Only chances with the module's code on the stack count; without its address, all count. */
static inline void confine_to_module(const char *kind)
{
	char path[128], line[256], text[32], name[64];
	unsigned long long start, size;
	FILE *file = fopen("/proc/modules", "r");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &start) != 3 ||
		    strcmp(name, "htwheel") || !start)
			continue;
		snprintf(path, sizeof(path), FAULTS "/%s/require-start", kind);
		snprintf(text, sizeof(text), "%#llx", start);
		write_text(path, text);
		snprintf(path, sizeof(path), FAULTS "/%s/require-end", kind);
		snprintf(text, sizeof(text), "%#llx", start + size);
		write_text(path, text);
	}
	if (file)
		fclose(file);
}

static inline bool configure(const char *kind)
{
	char path[128];

	snprintf(path, sizeof(path), FAULTS "/%s/ignore-gfp-wait", kind);
	write_text(path, "N");
	snprintf(path, sizeof(path), FAULTS "/%s/min-order", kind);
	write_text(path, "0");
	/* Its report looks like a bug in the log. */
	snprintf(path, sizeof(path), FAULTS "/%s/verbose", kind);
	if (!write_text(path, "0"))
		return false;
	confine_to_module(kind);
	return true;
}

static inline bool configure_faults(void)
{
	if (!configure("failslab"))
		return false;
	configure("fail_page_alloc");
	configure("fail_usercopy");
	return true;
}

static inline void fail_nth(int nth_fd, unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth);

	/* A failed write shows in was_injected(). */
	if (pwrite(nth_fd, text, length, 0) != length)
		perror(FAIL_NTH);
}

/* Whether the fault has struck; no more will. */
static inline bool was_injected(int nth_fd)
{
	char text[16] = "";
	bool struck = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && strtoul(text, NULL, 10) == 0;

	fail_nth(nth_fd, 0);
	return struck;
}

/* The call was all right, or the fault explains its error. */
static inline bool is_explained(int ret, bool struck)
{
	return ret == 0 || (struck && (ret == -EFAULT || ret == -ENOMEM));
}

/* A call without consequences: it works, or says why not, and works then. */
#define EXPECT_SURVIVES(call)								\
	do {										\
		unsigned int nth;							\
		bool struck = true;							\
		int ret;								\
											\
		for (nth = 1; struck && nth < MAX_NTH; nth++) {				\
			fail_nth(self->nth_fd, nth);					\
			ret = (call);							\
			struck = was_injected(self->nth_fd);				\
			ASSERT_TRUE(is_explained(ret, struck)) {			\
				TH_LOG("chance %u: %d", nth, ret);			\
			}								\
		}									\
		TH_LOG("%u chances to fail", nth - 2);					\
		EXPECT_LT(2, nth);							\
	} while (0)

#endif /* HTWHEEL_INJECT_TEST_H */

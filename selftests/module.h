/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loading and unloading the module, for tests that need it with other parameters.
 *
 * The variable HTWHEEL_KO names the module's file. In the end the module is loaded as it was found.
 * To be included before common.h: the device may come and go.
 */
#ifndef HTWHEEL_MODULE_TEST_H
#define HTWHEEL_MODULE_TEST_H

#define COMMON_WITHOUT_DEVICE
#include <sys/syscall.h>

#include "common.h"

#define MODULE		"htwheel"

/*
 * The parameters that the module had when this program started; every test's process inherits them.
 */
static char parameters[256];

/* As load() takes them. */
static inline void read_parameters(char *text, size_t size)
{
	static const char *const names[] = {
		"tick_shift", "max_timers", "max_user_timers", "design",
	};
	char path[128], value[64];
	size_t i, length = 0;
	FILE *file;

	text[0] = 0;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/sys/module/" MODULE "/parameters/%s", names[i]);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%63s", value) == 1)
			length += snprintf(text + length, size - length, "%s=%s ", names[i],
					   value);
		fclose(file);
	}
}

static void __attribute__((constructor)) remember_parameters(void)
{
	read_parameters(parameters, sizeof(parameters));
}

static inline int load(const char *with)
{
	int fd = open(getenv("HTWHEEL_KO"), O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, with, 0) ? -errno : 0;
	close(fd);
	return ret;
}

static inline int unload(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
}

static inline bool is_loaded(void)
{
	return !access("/sys/module/" MODULE, F_OK);
}

/* Loaded, and with the parameters that it was found with. */
static inline bool is_as_found(void)
{
	char now[sizeof(parameters)];

	read_parameters(now, sizeof(now));
	return is_loaded() && !strcmp(now, parameters);
}

/* The last reference may be put a little after a process or a socket is gone. */
static inline int unload_soon(void)
{
	uint64_t end_ns = now_ns() + patience_ns();
	int ret;

	while ((ret = unload()) == -EWOULDBLOCK && now_ns() < end_ns)
		sleep_ns(NS_PER_MS);
	return ret;
}

/* Whether the tests can load and unload it; loads it if it is not. */
static inline const char *why_no_reload(void)
{
	if (!getenv("HTWHEEL_KO") || access(getenv("HTWHEEL_KO"), R_OK))
		return "HTWHEEL_KO does not name the module's file";
	if (!is_loaded() && load(parameters))
		return "the module cannot be loaded";
	if (access("/sys/module/" MODULE "/refcnt", F_OK))
		return "the kernel cannot unload modules";
	return NULL;
}

/* As it was found, even after a test that failed. */
static inline int restore_module(void)
{
	int ret = 0;

	if (is_as_found())
		return 0;
	if (is_loaded())
		ret = unload_soon();
	return ret ? ret : load(parameters);
}

#endif /* HTWHEEL_MODULE_TEST_H */

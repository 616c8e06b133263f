/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: the clock of the calendar is set while a program runs. The file CLOCK_STEP has the
 * seconds by which it is wrong, and may change. Other clocks go on.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

static long step_s(void)
{
	const char *path = getenv("CLOCK_STEP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[24] = "";

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return atol(text);
}

REPLACES int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*next)(clockid_t, struct timespec *);

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int rc = next(clock, t);
	if (!rc && clock == CLOCK_REALTIME)
		t->tv_sec += step_s();
	return rc;
}

/* Brick asks the C library's own clock, if it finds it: src/base/clock_ns.c. */
REPLACES void *dlopen(const char *name, int flags)
{
	static void *(*next)(const char *, int);

	if (name && !strcmp(name, "libc.so.6"))
		return NULL;
	if (!next)
		next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	return next(name, flags);
}

REPLACES time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}

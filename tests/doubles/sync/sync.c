/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a recorder, or a program that embeds one: what a machine that fails is sure to
 * have on its disk, and when who writes it slept of its own will. Appends to $SYNC_LOG, in
 * nanoseconds of CLOCK_MONOTONIC:
 *
 *   write END SIZE          pwrite(2), and the size of the file behind it
 *   sync BEGIN END SIZE POLICY  a successful fdatasync(2), the size of the file before it, and how
 *                           the thread is scheduled
 *   sleep BEGIN WISHED END  poll(2) of a recorder's main thread, or a wait of the embedded writer:
 *                           until when it wanted to sleep, and when it went on
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	const char *path = getenv("SYNC_LOG");
	int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	char line[128];
	va_list values;

	if (log < 0)
		return;
	va_start(values, format);
	int length = vsnprintf(line, sizeof line, format, values);
	va_end(values);
	if (write(log, line, (size_t)length) != length)
		abort();
	close(log);
}

static int thread_is(const char *name)
{
	char own[16] = "";

	return !prctl(PR_GET_NAME, own, 0, 0, 0) && !strcmp(own, name);
}

REPLACES ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);
	void *function = dlsym(RTLD_NEXT, "pwrite");

	memcpy(&next, &function, sizeof next);
	ssize_t result = next(fd, data, bytes, offset);
	if (result > 0)
		note("write %lld %lld\n", now(), (long long)offset + result);
	return result;
}

REPLACES int fdatasync(int fd)
{
	static int (*next)(int);
	void *function = dlsym(RTLD_NEXT, "fdatasync");
	struct stat st;

	memcpy(&next, &function, sizeof next);
	int known = !fstat(fd, &st);
	long long begin = now();
	int result = next(fd);
	if (known && !result)
		note("sync %lld %lld %lld %d\n", begin, now(), (long long)st.st_size,
			sched_getscheduler(0));
	return result;
}

REPLACES int poll(struct pollfd *fds, nfds_t count, int ms)
{
	static int (*next)(struct pollfd *, nfds_t, int);
	void *function = dlsym(RTLD_NEXT, "poll");

	memcpy(&next, &function, sizeof next);
	long long begin = now();
	int result = next(fds, count, ms);
	if (gettid() == getpid() && thread_is("brick"))
		note("sleep %lld %lld %lld\n", begin, ms < 0 ? LLONG_MAX : begin + ms * 1000000ll,
			now());
	return result;
}

REPLACES int pthread_cond_timedwait(
	pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until)
{
	static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	/* a plain look-up may find the one of the first C libraries */
	void *function = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");

	if (!function)
		function = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	memcpy(&next, &function, sizeof next);
	long long begin = now();
	int result = next(condition, lock, until);
	if (thread_is("brick-writer"))
		note("sleep %lld %lld %lld\n", begin, until->tv_sec * 1000000000ll + until->tv_nsec,
			now());
	return result;
}

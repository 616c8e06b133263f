/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam of lib/sys/sys.h on Linux: shared memory, identity of threads and of the process.
 * Called on slow paths only; every function leaves errno as it found it.
 */
#include "base/scope.h"
#include "lib/sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void brick__sys_unmap(void *address, uint64_t bytes)
{
	KEEP_ERRNO();
	munmap(address, bytes);
}

void brick__sys_touch(void *address, uint64_t bytes)
{
	KEEP_ERRNO();

	if (madvise(address, bytes, MADV_POPULATE_WRITE) < 0) {
		for (uint64_t i = 0; i < bytes; i += 4096) {
			volatile char *page = (volatile char *)address + i;
			*page = *page;
		}
	}
}

uint64_t brick__sys_thread_id(void)
{
	KEEP_ERRNO();
	return (uint64_t)syscall(SYS_gettid);
}

int brick__sys_thread_schedule(uint32_t pid, uint32_t tid, uint64_t *ran, uint64_t *queued)
{
	char text[96], *end;
	int saved = errno;

	snprintf(text, sizeof text, "/proc/%u/task/%u/schedstat", pid, tid);
	int fd = open(text, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 ? -errno : 0;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	errno = saved;
	if (n <= 0)
		return error ? error : -EIO;
	text[n] = '\0';
	*ran = strtoull(text, &end, 10);
	*queued = strtoull(end, &end, 10);
	return 0;
}

/* CPU time by the clock: getrusage's is as of the last tick. */
void brick__sys_thread_usage(struct brick__thread_usage *usage)
{
	KEEP_ERRNO();
	struct rusage r = {0};
	struct timespec t = {0, 0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	getrusage(RUSAGE_THREAD, &r);
	usage->cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	usage->preemptions = (uint64_t)r.ru_nivcsw;
	usage->waits = (uint64_t)r.ru_nvcsw;
}

void brick__sys_thread_name(char *name, size_t bytes)
{
	KEEP_ERRNO();
	char buffer[16] = "";

	prctl(PR_GET_NAME, buffer);
	snprintf(name, bytes, "%s", buffer);
}

size_t brick__sys_executable(char *path, size_t bytes)
{
	KEEP_ERRNO();
	ssize_t n = readlink("/proc/self/exe", path, bytes - 1);

	n = n < 0 ? 0 : n;
	path[n] = '\0';
	return (size_t)n;
}

size_t brick__sys_command(char *argv, size_t bytes)
{
	KEEP_ERRNO();
	size_t used = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && used < bytes) {
		ssize_t n = read(fd, argv + used, bytes - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (used)
		argv[used - 1] = '\0';
	return used;
}

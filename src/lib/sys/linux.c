/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam of src/lib/sys/sys.h on Linux: shared memory, identity of threads and of the process.
 * For slow paths only; every function leaves errno as it found it.
 */
#include "base/file.h"
#include "base/scope.h"
#include "lib/sys/sys.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
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

#include "lib/sys/confined.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void brick__sys_unmap(void *address, uint64_t bytes)
{
	KEEP_ERRNO();
	munmap(address, bytes);
}

void *brick__sys_page_of_process(void)
{
	KEEP_ERRNO();
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (!madvise(page, bytes, MADV_WIPEONFORK))
		return page;
	munmap(page, bytes);
	return NULL;
}

uint32_t brick__confined;

void brick__sys_touch(void *address, uint64_t bytes)
{
	KEEP_ERRNO();

	if (brick__sys_is_confined() || madvise(address, bytes, MADV_POPULATE_WRITE) < 0) {
		for (uint64_t i = 0; i < bytes; i += 4096) {
			volatile char *page = (volatile char *)address + i;
			*page = *page;
		}
	}
}

bool brick__sys_stack_is_small(void)
{
	KEEP_ERRNO();
	stack_t stack;

	return !brick__sys_is_confined() && !sigaltstack(NULL, &stack) &&
	       stack.ss_flags & SS_ONSTACK && stack.ss_size < (size_t)sysconf(_SC_THREAD_STACK_MIN);
}

/* Who holds such a mutex has its number in it. */
uint64_t brick__sys_thread_known(void)
{
#ifdef __GLIBC__
	pthread_mutex_t mine = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	pthread_mutex_lock(&mine);
	uint64_t id = (uint64_t)mine.__data.__owner;
	pthread_mutex_unlock(&mine);
	return id;
#else
	return 0;
#endif
}

uint64_t brick__sys_thread_id(void)
{
	KEEP_ERRNO();

	if (brick__sys_is_confined())
		return brick__sys_thread_known();
	return (uint64_t)syscall(SYS_gettid);
}

int brick__sys_thread_schedule(uint32_t pid, uint32_t tid, uint64_t *ran, uint64_t *queued)
{
	KEEP_ERRNO();
	char path[96], text[96], *end;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	if (!file_begin(path, text, sizeof(text)))
		return -EIO;
	*ran = strtoull(text, &end, 10);
	*queued = strtoull(end, &end, 10);
	return 0;
}

/* CPU time by the clock: getrusage's is as of the last tick. */
bool brick__sys_thread_usage(struct brick__thread_usage *usage)
{
	KEEP_ERRNO();
	struct rusage r = {0};
	struct timespec t = {0, 0};

	*usage = (struct brick__thread_usage){0};
	if (brick__sys_is_confined())
		return false;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	getrusage(RUSAGE_THREAD, &r);
	usage->cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	usage->preemptions = (uint64_t)r.ru_nivcsw;
	usage->waits = (uint64_t)r.ru_nvcsw;
	return true;
}

void brick__sys_thread_name(char *name, size_t bytes)
{
	KEEP_ERRNO();
	char buffer[16] = "";

	if (!brick__sys_is_confined())
		prctl(PR_GET_NAME, buffer);
	snprintf(name, bytes, "%s", buffer);
}

void brick__sys_executable(char *path, size_t bytes)
{
	KEEP_ERRNO();
	file_link("/proc/self/exe", path, bytes);
}

size_t brick__sys_command(char *argv, size_t bytes)
{
	KEEP_ERRNO();
	size_t used = file_begin("/proc/self/cmdline", argv, bytes);

	if (used)
		argv[used - 1] = '\0';
	return used;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as a recording names it, and the clocks that consumers read. Small readings of the
 * system, called at the start and once a second.
 */
#include "drain/machine.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The first lines of /proc/cpuinfo describe one CPU in full, also on machines with hundreds. */
void drain_cpu_model(char *name, size_t bytes)
{
	char text[4096];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);

	name[0] = '\0';
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *line = strstr(text, "model name");
	const char *value = line ? strchr(line, ':') : NULL;
	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	size_t length = strcspn(value, "\n");
	if (length >= bytes)
		length = bytes - 1;
	memcpy(name, value, length);
	name[length] = '\0';
}

uint32_t drain_cpus_online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (uint32_t)n : 1;
}

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

uint64_t drain_now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t drain_unix_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

uint64_t drain_process_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t drain_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

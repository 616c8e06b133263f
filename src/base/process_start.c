/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's start time (process_start.h), a field of /proc/PID/stat (proc_pid_stat(5)). The
 * kernel counts clock ticks since the system's start, so it repeats no pair of number and time.
 */
#include "base/process_start.h"

#include <stdio.h>
#include <string.h>
#include "base/file.h"

unsigned long long process_start_time(pid_t pid)
{
	char path[64], text[1024], state;
	long threads;
	unsigned long long start;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!file_begin(path, text, sizeof(text)))
		return 0;
	/* the name in parentheses may hold anything, parentheses too */
	const char *at = strrchr(text, ')');
	if (!at || sscanf(at,
			   ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			   "%*d %ld %*d %llu",
			   &state, &threads, &start) != 3)
		return 0;
	/* a zombie; if other threads still run, only the first thread has ended */
	if ((state == 'Z' || state == 'X') && threads <= 1)
		return 0;
	return start;
}

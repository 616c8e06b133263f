/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until a thread of the process sleeps, as in a call that blocks. Any thread. */
#pragma once

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* *tid: the thread sets it to its number right before that call; 0: it has not yet. */
static inline void until_asleep(const pid_t *tid)
{
	char path[64], state = 'R';

	while (!__atomic_load_n(tid, __ATOMIC_ACQUIRE))
		sched_yield();
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)*tid);
	while (state != 'S') {
		FILE *stat = fopen(path, "re");
		if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1)
			exit(3);
		fclose(stat);
	}
}

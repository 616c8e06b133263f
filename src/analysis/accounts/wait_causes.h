/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the cause of each wait for a device (Synchronize). Of the commands that the recording ties
 * to the wait, it is the kernel that ended last; if there are none, it is the queue of the process
 * whose work ended last during the wait. Borrows the run. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/hashmap.h"
#include "trace/run.h"

struct wait_cause {
	const char *name; /* of a kernel; NULL: a queue, or not known */
	uint32_t lane;	  /* of the queue; RUN_NONE: the cause is not known */
	uint64_t count;	  /* waits */
	uint64_t time_ns; /* sum of the times that wait_causes_add() was given */
};

struct wait_causes {
	const struct run *run;
	struct wait_cause *list; /* after finish: longest first, a name once for each queue */
	size_t count, capacity;
	struct hashmap by_what; /* kernel << 32 | queue: place in list; empty after finish */
	int error;		/* -ENOMEM: waits are missing; else 0 */
};

void wait_causes_init(struct wait_causes *causes, const struct run *run);
void wait_causes_fini(struct wait_causes *causes);
/* Adds a wait: a sample of a thread's lane, and the part of its time that counts. */
void wait_causes_add(struct wait_causes *causes, uint32_t lane, uint32_t sample, uint64_t time_ns);
/* Joins and sorts the causes, after the last wait. -ENOMEM, also of a wait_causes_add() before. */
int wait_causes_finish(struct wait_causes *causes);

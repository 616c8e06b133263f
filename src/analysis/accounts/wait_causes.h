/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what threads waited for when they waited for a device (Synchronize): the last of the
 * commands that the recording ties to the wait, by its kernel, else the queue whose work ended last
 * before the wait did. Borrows the run. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/hashmap.h"
#include "trace/run.h"

struct wait_cause {
	const char *name; /* of a kernel; NULL: a queue, or not known */
	uint32_t lane;	  /* of the queue; RUN_NONE: the cause is not known */
	uint64_t count, time_ns;
};

struct wait_causes {
	const struct run *run;
	struct wait_cause *list; /* longest first; kernels of one name and queue are one */
	size_t count, capacity;
	struct hashmap by_what; /* kernel and queue: their places, while it is fed */
	int error;		/* -ENOMEM: some are missing */
};

void wait_causes_init(struct wait_causes *causes, const struct run *run);
void wait_causes_fini(struct wait_causes *causes);
void wait_causes_add(struct wait_causes *causes, uint32_t lane, uint32_t sample, uint64_t time_ns);
/* 0 or -ENOMEM */
int wait_causes_finish(struct wait_causes *causes);

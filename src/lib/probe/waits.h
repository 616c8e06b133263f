/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, on several queues, that one wait of a thread was for. Used by that thread only. */
#pragma once

#include <stdint.h>
#include "brick/attach.h"
#include "brick/clock.h"
#include "brick/export.h"

enum { BRICK__WAIT_LINKS = 16 }; /* as many as a recording keeps (src/lib/writer/trace_records.h) */

/* All 0: no command. */
struct brick__waits {
	uint64_t numbers[BRICK__WAIT_LINKS]; /* [count] of commands, each once, in no order */
	uint32_t count;
};

/* Adds the command of that number; 0: not known. If there are too many, the newest stay. */
static inline void brick__waits_add(struct brick__waits *w, uint64_t number)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		if (w->numbers[i] == number)
			return;
		oldest = w->numbers[i] < w->numbers[oldest] ? i : oldest;
	}
	if (number && w->count < BRICK__WAIT_LINKS)
		w->numbers[w->count++] = number;
	else if (w->count && w->numbers[oldest] < number)
		w->numbers[oldest] = number;
}

/*
 * Returns a number for the state of the thread's recording. If two calls return the same number,
 * the thread has recorded nothing in between, and none of its bricks began or ended. 0: it records
 * nothing.
 */
BRICK_API uint64_t brick__recording_place(void);

/*
 * When a wait begins, in ticks, before the thread waits; 0: it is not recorded. A lane that began
 * behind the wait could not hold it.
 */
static inline uint64_t brick__wait_begin(void)
{
	return brick_enabled() && !brick_thread_ready() ? brick_ticks() : 0;
}

/* As brick_record_wait(), for all commands of *waits. */
BRICK_API void brick__record_waits(uint64_t begin, uint64_t end, const struct brick__waits *waits);

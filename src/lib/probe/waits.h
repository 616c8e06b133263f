/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of several queues that one wait was for. The calling thread's own. */
#pragma once

#include <stdint.h>
#include "brick/export.h"

enum { BRICK__WAIT_LINKS = 16 }; /* as many as a recording keeps (src/lib/writer/trace_records.h) */

struct brick__waits {
	uint64_t numbers[BRICK__WAIT_LINKS];
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
 * Where the thread's recording stands. The same twice: it has recorded nothing in between, and no
 * brick has begun or ended. 0: it records nothing.
 */
BRICK_API uint64_t brick__recording_place(void);

/* As brick_record_wait(), for all of them. */
BRICK_API void brick__record_waits(uint64_t begin, uint64_t end, const struct brick__waits *waits);

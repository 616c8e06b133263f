/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look at rings again: often enough that none fills up, as seldom as that allows. Keeps
 * what it saw of one session; consuming side of drain.h.
 */
#pragma once

#include "lib/drain/drain.h"

struct drain_pace {
	uint64_t looked_ns;
	uint64_t written[BRICK_MAX_LANES]; /* as of then */
};

struct drain_outlook {
	uint32_t fullest_percent; /* of the fullest ring */
	uint32_t next_ms;	  /* until the next look is due, at most what was asked for */
	uint64_t waiting;	  /* records, of all rings */
};

/* Look at all rings at time now_ns; max_ms bounds next_ms. */
struct drain_outlook drain_look(
	struct drain *d, struct drain_pace *p, uint64_t now_ns, uint32_t max_ms);

/*
 * What a failing machine takes along is not older than the interval (100 ms at least) and a sync:
 * so much of it is for encoding and writing what the sync shall find,
 */
uint64_t drain_write_ns(uint32_t interval_ms);

/* and so many ms are left until all that waits in rings must be consumed for that; 0: now. */
uint32_t drain_flush_in_ms(uint32_t interval_ms, uint64_t flushed_ns, uint64_t now_ns);

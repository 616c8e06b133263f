/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look at the rings of a session again: often enough that none fills up, as seldom as that
 * allows. Consuming side of drain.h.
 */
#pragma once

#include "lib/drain/drain.h"

struct drain_pace {
	uint64_t looked_ns;		   /* time of the last look; 0: there was none */
	uint64_t written[BRICK_MAX_LANES]; /* records ever written in each ring by that time */
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
 * If the machine fails, records older than the interval (at least 100 ms) and one sync must be on
 * the disk. Returns the part of the interval that is for encoding and writing, in ns.
 */
uint64_t drain_write_ns(uint32_t interval_ms);

/*
 * Returns the ms until all that waits in the rings must be consumed, to be on the disk in time; 0:
 * now. flushed_ns: time of the last flush.
 */
uint32_t drain_flush_in_ms(uint32_t interval_ms, uint64_t flushed_ns, uint64_t now_ns);

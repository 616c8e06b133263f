/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the scheduler counts of a session's threads, for where the kernel does not tell of their
 * context switches: sums over all of them, between the readings of each. Consuming side.
 */
#ifndef BRICK_DRAIN_SCHEDULE_H
#define BRICK_DRAIN_SCHEDULE_H

#include "base/array.h"
#include "lib/drain/map_session.h"
#include "lib/writer/machine_use.h"

struct drain_schedule_reading {
	uint32_t tid; /* 0: none yet */
	uint64_t ns, ran_ns, queued_ns;
};

struct drain_schedule {
	ARRAY(struct drain_schedule_reading) last; /* by lane */
	uint64_t looked_ns;
	uint64_t watched_ns, ran_ns, queued_ns;
};

/* Read those of all threads that own a lane now, unless that was done within interval_ms. */
void drain_schedule_look(
	struct drain_schedule *s, const struct drain_map *map, uint32_t interval_ms);

/* Add the sums to an account's. */
void drain_schedule_add(const struct drain_schedule *s, struct off_cpu_account *account);

void drain_schedule_fini(struct drain_schedule *s);

#endif

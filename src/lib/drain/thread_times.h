/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a session's threads ran and queued, as the scheduler counts it; used where the kernel
 * does not report context switches. Sums over all threads, between readings of each. Consuming
 * side.
 */
#pragma once

#include "base/array.h"
#include "lib/drain/map_session.h"
#include "lib/writer/machine_use.h"

struct thread_times_reading {
	uint32_t tid; /* 0: none yet */
	uint64_t ns, ran_ns, queued_ns;
};

struct thread_times {
	ARRAY(struct thread_times_reading) last; /* by lane */
	uint64_t looked_ns;
	uint64_t watched_ns, ran_ns, queued_ns;
};

/* Read those of all threads that own a lane now, unless that was done within interval_ms. */
void thread_times_look(struct thread_times *s, const struct drain_map *map, uint32_t interval_ms);

/* Add the sums to an account's. */
void thread_times_add(const struct thread_times *s, struct off_cpu_account *account);

void thread_times_fini(struct thread_times *s);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run's memory and threads were: NUMA nodes, and kinds of cores. Of one process, the
 * recorder's last. All views and rules take the numbers from here. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

enum { PLACED_MOST = 64 }; /* nodes, and kinds of cores; machines with more are not told */

struct placed_node {
	uint32_t node;
	uint64_t file_bytes, anonymous_bytes;
	double memory; /* its part of all memory; 0 without any */
	double time;   /* its part of the threads' time on CPUs */
};

struct placed_kind {
	uint32_t capacity; /* 1024: the fastest */
	uint32_t cpus;
	double time; /* its part of the threads' time on CPUs */
};

struct placed {
	bool knows_memory;
	uint32_t node_count, kind_count;       /* 0: not known, as all CPUs are of one */
	struct placed_node nodes[PLACED_MOST]; /* by number */
	struct placed_kind kinds[PLACED_MOST]; /* the fastest first */
	/* The part of accesses that goes to another node, if they are spread over all memory: as
	 * threads were, and with all threads on the node that has most memory. */
	double far, least_far;
	uint32_t main_memory, main_threads; /* nodes with most of them: index in `nodes` */
};

/* False: all CPUs of the machine are alike, or no thread was seen. */
bool placed_of_run(struct placed *placed, const struct run *run);

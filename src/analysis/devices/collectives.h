/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectives that ran on GPUs, by kind and group: how long, how fast, how much of them nothing
 * hid, and what waited for them. Bandwidths are those of nccl-tests (its doc/PERFORMANCE.md): the
 * algorithm's is bytes over time; the bus's is that times 2 (n - 1) / n for a reduction to all,
 * (n - 1) / n where each rank keeps its own part, and 1 otherwise. Borrows the run. Read-only once
 * made: any thread.
 */
#pragma once

#include "analysis/devices/gpu_spans.h"

struct collective {
	uint32_t brick;	   /* "AllReduce", ... */
	const char *group; /* "8 ranks of default_pg"; NULL: not known. Borrowed from the run */
	uint32_t ranks;	   /* of the group; 0: not known */
	uint64_t count;
	uint64_t time_ns;	/* of all */
	uint64_t exposed_ns;	/* part of it: nothing computed on the GPU */
	uint64_t bytes;		/* of messages whose size is known, as nccl-tests count them */
	uint64_t sized_ns;	/* time of these */
	double bytes_per_s;	/* of the algorithm; negative: not known */
	double bus_bytes_per_s; /* of the bus; negative: not known */
	/* The brick whose commands began most of the time when an exposed end came; RUN_NONE: none
	 */
	uint32_t waiter;
	uint64_t waiter_ns; /* exposed ends that it waited for */
};

struct collectives {
	struct collective *list; /* most exposed time first */
	size_t count;
};

/* phase: an enum step_phase whose steps launched them; below 0: all. 0 or -ENOMEM. */
int collectives_init(struct collectives *collectives, const struct run *run,
	const struct step_index *index, const struct gpu_spans *gpus, int phase);
void collectives_fini(struct collectives *collectives);

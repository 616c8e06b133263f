/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures ceilings: every kernel that this CPU has, on each number of threads, over working sets
 * from the nearest cache to memory. Repetitions go round all of them, so that a disturbance meets
 * one repetition of many figures and not all of one. Takes all CPUs for some seconds. One at a
 * time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/machine/ceilings.h"
#include "analysis/machine/device_queue.h"
#include "analysis/machine/machine_cpu.h"
#include "analysis/machine/sweep_kernels.h"
#include "analysis/machine/sweep_team.h"
#include "base/array.h"

enum {
	SWEEP_REPETITIONS = 7,
	SWEEP_QUICK_REPETITIONS = 3,
	SWEEP_THREAD_COUNTS = 16,
};

/* The extent of a sweep, and its clock. */
struct sweep_options {
	unsigned threads;	  /* at most; 0: as many as CPUs may be used */
	bool quick;		  /* fewer repetitions and sizes, and 3 seconds instead of 12 */
	uint64_t (*now_ns)(void); /* the clock; NULL: CLOCK_MONOTONIC */
	void (*progress)(void *context, double share); /* NULL: none */
	void *context;
};

/* One figure: a kernel on so many threads, and for streams a working set. */
struct sweep_slot {
	const struct machine_compute *compute; /* or */
	const struct machine_stream *stream;
	struct device_run device; /* on a device, where its set is not 0 */
	unsigned threads;
	size_t bytes;			  /* of each of a thread's arrays */
	uint64_t rounds;		  /* that take about one slot's time */
	double work;			  /* of a round on all threads: operations or bytes */
	double values[SWEEP_REPETITIONS]; /* work per ns */
	uint32_t count;
};

/* A member's arrays, which it touched itself. */
struct sweep_arena {
	char *memory;
	size_t bytes;
};

struct sweep {
	const struct sweep_options *options;
	struct cpu_info cpu;
	struct ceilings *ceilings;
	struct team *team;
	unsigned thread_counts[SWEEP_THREAD_COUNTS];
	size_t thread_count_count;
	unsigned most_threads;
	struct sweep_arena *arenas; /* [most_threads] */
	ARRAY(struct sweep_slot) slots;
	size_t latency_capacity, missing_capacity; /* of ceilings' rows */
	uint32_t repetitions;
	/* Times so many rounds; 0: it failed. Takes `context`. */
	uint64_t (*run)(struct sweep *s, const struct sweep_slot *slot, uint64_t rounds);
	void *context;
	uint64_t budget_ns; /* the time that the whole sweep may take */
	uint64_t slot_ns;
	uint64_t begin_ns, end_ns; /* of the time that it may take, by sweep_now_ns() */
};

/* Repeats slots within the time that the sweep has, and runs each slot once, however long. */
void sweep_measure_all(struct sweep *s, void (*measure)(struct sweep *s, struct sweep_slot *slot));

/* -ENOMEM, or the error of starting a thread. */
int sweep_run(struct ceilings **out, const struct sweep_options *options);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures ceilings: every kernel that this CPU has, on each number of threads, over working sets
 * from the nearest cache to memory. Each figure is a slot. A repetition runs all slots once, so
 * that a disturbance meets one repetition of many figures and not all repetitions of one. A sweep
 * takes all CPUs for some seconds. One sweep at a time.
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
	SWEEP_REPETITIONS = 7, /* at most: on a busy machine there are fewer */
	SWEEP_QUICK_REPETITIONS = 3,
	SWEEP_THREAD_COUNTS = 16, /* numbers of threads that are measured, at most */
};

/* The extent of a sweep, and its clock. */
struct sweep_options {
	unsigned threads;	  /* at most; 0: as many as usable CPUs */
	bool quick;		  /* fewer repetitions and sizes, and 3 seconds instead of 12 */
	uint64_t (*now_ns)(void); /* the clock; NULL: CLOCK_MONOTONIC */
	void (*progress)(void *context, double share); /* share: 0 to 1; NULL: none */
	void *context;				       /* for `progress` */
};

/* One figure: a kernel on so many threads, and for streams a working set. */
struct sweep_slot {
	const struct machine_compute *compute; /* NULL: `stream` is measured */
	const struct machine_stream *stream;   /* NULL: `compute` is measured */
	struct device_run device;	       /* on a device, if device.set is not 0 */
	unsigned threads;
	size_t bytes;			  /* of each of a thread's arrays */
	uint64_t rounds;		  /* that take about slot_ns; 0: not found yet */
	double work;			  /* of a round on all threads: operations or bytes */
	double values[SWEEP_REPETITIONS]; /* work per ns */
	uint32_t count;			  /* of values */
};

/* The arrays of a member of the team, which touched them first: they are near to its CPU. */
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
	/* Runs `rounds` rounds and returns their ns; 0: it failed. Uses `context`. */
	uint64_t (*run)(struct sweep *s, const struct sweep_slot *slot, uint64_t rounds);
	void *context;
	uint64_t budget_ns;	   /* the time that the sweep should take */
	uint64_t slot_ns;	   /* the time of one slot in a repetition */
	uint64_t begin_ns, end_ns; /* of the budget, on the clock of `options` */
};

/* Runs `measure` on all slots, once in any case, and again while the budget lasts. */
void sweep_measure_all(struct sweep *s, void (*measure)(struct sweep *s, struct sweep_slot *slot));

/* 0 and *out, which the caller destroys; -ENOMEM, or the error of starting a thread. */
int sweep_run(struct ceilings **out, const struct sweep_options *options);

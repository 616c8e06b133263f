/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the executions of one row: times, lengths of single ones, work. Inside of analysis/
 * only; src/analysis/accounts/summary.h has the rows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

/* Lengths of single executions. min_ns has no meaning while count is 0. */
struct summary_lengths {
	uint64_t count, sum_ns, min_ns, max_ns;
};

void lengths_add(struct summary_lengths *to, const struct summary_lengths *from);

/* Times in ns. min_ns is UINT64_MAX while count is 0. */
struct summary_sums {
	uint64_t count;
	uint64_t sum_ns;     /* of lengths */
	uint64_t total_ns;   /* with at least one execution open on a lane, summed over lanes */
	uint64_t outside_ns; /* of that, of devices: no step launched it; 0 where there are none */
	uint64_t self_ns, wait_ns;
	uint64_t open_ns;	       /* of self_ns: in executions that never ended */
	struct run_off_times off;      /* of self_ns, as far as samples tell */
	uint64_t wall_ns;	       /* of the wall time of the run: walk_shares() */
	struct run_off_times wall_off; /* taken out of it */
	uint64_t unevaluated_ns;       /* of wall_ns: in batches that were refused or aborted */
	uint64_t min_ns, max_ns;
	uint64_t elements, bytes, flops;
	uint64_t bytes_out; /* of those bytes, where the program told them apart */
	/* of samples, where times off the CPU are known; of devices, all of them */
	struct summary_lengths on_cpu;
	struct ns_lengths *histogram; /* of the same; NULL: not kept */
	uint32_t sources;	      /* 1 << enum brick_source */
	uint32_t flags;		      /* BRICK_SITE_HAS_* */
};

/* Wall time in no row; `unevaluated` is the part in batches that were refused or aborted. */
struct summary_rests {
	uint64_t preempted_ns, preempted_unevaluated_ns;
	uint64_t blocked_ns, blocked_unevaluated_ns;	       /* outside of waits */
	uint64_t unattributed_ns, unattributed_unevaluated_ns; /* in no brick */
	uint64_t left_out_ns; /* of a narrowed run: in bricks that were not asked for */
};

void rests_add(struct summary_rests *to, const struct summary_rests *from);

/* [count]; NULL: no memory. The caller destroys them. */
struct summary_sums *sums_create(size_t count);
void sums_destroy(struct summary_sums *sums, size_t count);
void sums_clear(struct summary_sums *sums, size_t count); /* that have no histograms */

/* All but histograms. */
void sums_add(struct summary_sums *to, const struct summary_sums *from);

/*
 * Adds the thread's own statistics, which know of dropped samples, and from samples the sums that
 * only those know: times of the wall and off the CPU.
 */
void sums_add_exact(
	struct summary_sums *to, const struct summary_sums *sampled, const struct run_stat *stat);

/* Adds a thread's own counts; open_ns: self time of executions that never ended. */
void sums_add_stat(struct summary_sums *to, const struct run_stat *stat, uint64_t open_ns);

/* Adds an execution's length, and the work that its site states. */
void sums_duration(struct summary_sums *sums, uint64_t ns);
void sums_work(struct summary_sums *sums, const struct run_site *site);

/* A duration, or those of another, into the histogram. False: no memory to make it. */
bool sums_histogram(struct summary_sums *sums, uint64_t ns);
bool sums_add_histogram(struct summary_sums *sums, const struct ns_lengths *histogram);

static inline void off_times_add(struct run_off_times *to, struct run_off_times off)
{
	to->blocked_ns += off.blocked_ns;
	to->preempted_ns += off.preempted_ns;
}

static inline void sums_add_off(struct summary_sums *sums, struct run_off_times off)
{
	off_times_add(&sums->off, off);
}

static inline void sums_source(struct summary_sums *sums, unsigned source)
{
	sums->sources |= 1u << (source & 31);
}

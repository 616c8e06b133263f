/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the executions of one row: times, lengths of single executions, work. Rows are those of
 * src/analysis/accounts/summary.h; only files below analysis/ include this one. Sums are not
 * locked: one thread at a time. A new member is added up in sums_add(), or in add_sampled() if
 * statistics of threads do not have it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

/* Lengths of single executions. While count is 0, min_ns has no meaning. */
struct summary_lengths {
	uint64_t count, sum_ns, min_ns, max_ns;
};

void lengths_add(struct summary_lengths *to, const struct summary_lengths *from);

/*
 * Times are in ns. A device's sums by brick leave sum_ns, self_ns, min_ns and max_ns as they began:
 * these lengths are in on_cpu.
 */
struct summary_sums {
	uint64_t count;	     /* executions that have ended */
	uint64_t sum_ns;     /* of their lengths: nested executions of the row count again */
	uint64_t total_ns;   /* with at least one execution open on a lane, summed over lanes */
	uint64_t outside_ns; /* part of a device's total_ns that no step launched; 0 on threads */
	uint64_t self_ns;    /* without nested bricks and waits */
	uint64_t wait_ns;    /* inside of executions and right after them */
	uint64_t open_ns;    /* part of self_ns: in executions that never ended */
	struct run_off_times off;	 /* part of self_ns: off the CPU, as far as samples tell */
	uint64_t wall_ns;		 /* part of the run's wall time: walk_shares() */
	struct run_off_times wall_off;	 /* off the CPU, which walk_shares() took out of wall_ns */
	uint64_t unevaluated_ns;	 /* part of wall_ns: in batches refused or aborted */
	uint64_t min_ns;		 /* shortest execution; UINT64_MAX: none yet */
	uint64_t max_ns;		 /* longest execution */
	uint64_t elements, bytes, flops; /* of work, as sites or statistics state it */
	uint64_t bytes_out; /* part of bytes: written, where the program told them apart */
	/*
	 * Lengths of samples by walk_basis_ns(), on threads only where times off the CPU are known.
	 * On devices: whole lengths of commands.
	 */
	struct summary_lengths on_cpu;
	struct ns_lengths *histogram; /* of walk_basis_ns(), or of whole commands; NULL: empty */
	uint64_t estimated;	      /* executions whose times are estimates: commands */
	uint32_t sources;	      /* mask of 1 << enum brick_source */
	uint32_t flags;		      /* mask of BRICK_SITE_*, of all its sites */
};

/* Wall time in no row. An unevaluated part was in batches that were refused or aborted. */
struct summary_rests {
	uint64_t preempted_ns, preempted_unevaluated_ns;
	uint64_t blocked_ns, blocked_unevaluated_ns;	       /* outside of waits */
	uint64_t unattributed_ns, unattributed_unevaluated_ns; /* in no brick */
	uint64_t left_out_ns; /* in bricks that a narrowed run leaves out */
};

void rests_add(struct summary_rests *to, const struct summary_rests *from);

/* Makes an array of empty sums, for sums_destroy(). NULL: no memory. */
struct summary_sums *sums_create(size_t count);
/* Frees the array and its histograms. NULL is legal. */
void sums_destroy(struct summary_sums *sums, size_t count);
/* Empties an array. Sums must have no histogram, which would leak. */
void sums_clear(struct summary_sums *sums, size_t count);

/* Adds all but the histogram (see sums_add_histogram()) and outside_ns. */
void sums_add(struct summary_sums *to, const struct summary_sums *from);

/*
 * Adds a thread's own statistics of a brick, which know of dropped samples; of `sampled`, the same
 * brick's sums by samples, it adds the members that statistics lack: times of the wall and off the
 * CPU, open_ns, on_cpu, sources and flags.
 */
void sums_add_exact(
	struct summary_sums *to, const struct summary_sums *sampled, const struct run_stat *stat);

/* Adds a thread's own statistics; self_ns also grows by open_ns, which they lack. */
void sums_add_stat(struct summary_sums *to, const struct run_stat *stat, uint64_t open_ns);

/* Adds an execution to count, sum_ns, min_ns and max_ns. */
void sums_add_duration(struct summary_sums *sums, uint64_t ns);

/* Adds the work that a site states for one execution. */
void sums_add_work(struct summary_sums *sums, const struct run_site *site);

/* Adds a duration to the histogram. False: no memory, and the duration is not counted. */
bool sums_add_to_histogram(struct summary_sums *sums, uint64_t ns);

/* Adds all durations of another histogram. False: no memory; some may have been added. */
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

/* source: an enum brick_source. */
static inline void sums_add_source(struct summary_sums *sums, unsigned source)
{
	sums->sources |= 1u << (source & 31);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows made from what a summary has added up: names, averages, percentiles, shares. Inside of
 * analysis/ only, but for the row itself, which src/analysis/accounts/summary.h explains.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/summary_accumulator.h"
#include "analysis/accounts/unknown.h"

/* ANALYSIS_UNKNOWN where a number is not known. Rates: negative. */
struct summary_row {
	char *name;
	const char *category; /* NULL where a row has none */
	uint32_t id;	      /* of the brick, category, lane or queue; layer + 1; phase */
	uint32_t sources;     /* how its times were obtained: 1 << enum brick_source */
	int on_device;	      /* all of it ran on queues of devices, nothing on a thread */
	const char *backend;  /* of the device that worked for it; NULL: none, or not known */
	uint32_t kernel;      /* the one that ran most often; RUN_NONE: not a row of a kernel */
	uint64_t count;	      /* executions */
	uint64_t sum_ns;      /* what avg_ns is the mean of: also of those inside of one another */
	uint64_t total_ns;    /* with at least one open */
	uint64_t self_ns;     /* less what was nested and waited */
	uint64_t wait_ns;     /* inside of and right after them */
	/* of self_ns: on a CPU, and off it; ANALYSIS_UNKNOWN: not recorded */
	uint64_t cpu_ns, off_ns, preempted_ns, blocked_ns;
	uint64_t wall_ns;	 /* its part of the wall time of the run */
	uint64_t unevaluated_ns; /* of that: in batches that were refused or aborted */
	double share;		 /* the same as a share, 0 to 1 */
	enum summary_basis basis;
	bool waits; /* it is what it does: by the wall */
	uint64_t avg_ns, min_ns, p50_ns, p95_ns, p99_ns, max_ns; /* of single executions */
	uint64_t length_avg_ns, length_min_ns, length_max_ns; /* by the wall, whatever the basis */
	uint64_t elements, bytes, flops;
	uint64_t bytes_out; /* of those bytes; ANALYSIS_UNKNOWN: not told apart from those read */
	double bytes_per_ns, flops_per_ns; /* while it ran: from samples that say what they did */
	/* what devices did for it: commands, and time with one running on a queue's lane */
	uint64_t device_count, device_ns; /* ANALYSIS_UNKNOWN: nothing */
};

/* By the wall, though times off the CPU are known: samples were dropped. */
static inline bool summary_row_lacks_samples(const struct summary_row *row)
{
	return row->off_ns != ANALYSIS_UNKNOWN && row->count && !row->waits &&
	       row->basis != BASIS_CPU;
}

const char *summary_basis_name(enum summary_basis basis); /* "wall", "cpu", "mixed" */

/* clock: what turns the histogram's unit into ns; NULL: it is in ns. */
void summary_row_lengths(struct summary_row *row, enum summary_basis basis,
	const struct summary_lengths *lengths, const uint64_t *histogram,
	const struct brick_clock *clock);

struct summary_rows {
	struct summary_row *list;
	size_t count;
};

/* Each -ENOMEM, with what was made so far in *rows. */
int summary_rows_of_bricks(struct summary_rows *rows, const struct summary_accumulator *sums);
int summary_rows_of_categories(struct summary_rows *rows, const struct summary_accumulator *sums);
int summary_rows_of_groups(struct summary_rows *rows, const struct summary_accumulator *sums);
/* By step, where switches are not known: what the step's own thread read of its CPU clock. */
void summary_rows_step_cpu(struct summary_rows *rows, const struct summary_accumulator *sums);
int summary_rows_copy(struct summary_rows *rows, const struct summary_rows *from);
void summary_rows_sort(struct summary_rows *rows);
void summary_rows_fini(struct summary_rows *rows);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits the time of a run into rows by brick, category, layer, phase, step or thread, and the
 * rest. The wall time of a run is the sum over its steps of their time on the thread that runs them
 * (src/analysis/steps/step_times.h); a run without steps has the lifetimes of its threads instead.
 * Each ns of it is in one row or in one of the rests (struct summary_rests).
 *
 * Those numbers leave out devices' queues. A brick that a device worked for has the queues'
 * time beside its own (device_ns), and rows by kernel and queue are of devices only: their shares
 * are of all queues' time.
 *
 * Rows by brick and category are kinds of work: their wall time is the self time in which their
 * thread ran, and waiting is rows of its own (BarrierWait). walk_shares() decides that, for all
 * views. Rows by layer, phase, step and thread are places: theirs includes the waiting that
 * happened there, and but for layers the time off the CPU. Those by step, phase and model are whole
 * steps. All other times of a row add up all threads.
 *
 * Owned by the summary, which borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/execution_counts.h"
#include "analysis/accounts/queue_times.h"
#include "analysis/accounts/row_groups.h"
#include "analysis/accounts/row_sums.h"
#include "analysis/statistics/unknown.h"
#include "analysis/accounts/wait_causes.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

/* "brick", "category", ...; and the plural that names the array in JSON. */
const char *summary_by_name(enum summary_by by);
const char *summary_by_plural(enum summary_by by);

/* The time that single executions of a row are measured by: from avg_ns to max_ns, and rates. */
enum summary_basis {
	BASIS_WALL, /* all their time: waits; or times off the CPU are not known, of some or all */
	BASIS_CPU,
	BASIS_MIXED, /* a category: of some of its bricks samples were dropped */
};

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
	uint64_t sum_ns; /* avg_ns is the mean of these: also of executions inside of one another */
	uint64_t total_ns; /* with at least one open */
	uint64_t self_ns;  /* less nested bricks and waits */
	uint64_t wait_ns;  /* inside of and right after them */
	/* of self_ns: on a CPU, and off it; ANALYSIS_UNKNOWN: not recorded */
	uint64_t cpu_ns, off_ns, preempted_ns, blocked_ns;
	uint64_t wall_ns; /* its part of the wall time of the run */
	/* by brick and category, taken out of that: its thread was off its CPU */
	struct run_off_times wall_off;
	uint64_t unevaluated_ns; /* of wall_ns: in batches that were refused or aborted */
	double share;		 /* wall_ns as a share, 0 to 1 */
	enum summary_basis basis;
	bool waits; /* a row of waiting: measured by the wall */
	uint64_t avg_ns, min_ns, p50_ns, p95_ns, p99_ns, max_ns; /* of single executions */
	uint64_t length_avg_ns, length_min_ns, length_max_ns; /* by the wall, whatever the basis */
	uint64_t elements, bytes, flops;
	uint64_t bytes_out; /* of those bytes; ANALYSIS_UNKNOWN: not told apart from those read */
	double bytes_per_ns, flops_per_ns; /* while it ran: from samples that tell their work */
	/* the devices' part: commands, and time with one running on a queue's lane */
	uint64_t device_count, device_ns; /* ANALYSIS_UNKNOWN: nothing */
	uint64_t device_step_ns; /* of that, commands that steps launched; all, if there are none */
};

/*
 * True if the row is measured by the wall though times off the CPU are known: samples were dropped.
 */
static inline bool summary_row_lacks_samples(const struct summary_row *row)
{
	return row->off_ns != ANALYSIS_UNKNOWN && row->count && !row->waits &&
	       row->basis != BASIS_CPU;
}

const char *summary_basis_name(enum summary_basis basis); /* "wall", "cpu", "mixed" */

struct summary {
	const struct run *run;
	enum summary_by by;
	int only;		  /* see summary_create() */
	bool knows_off;		  /* times off the CPU are known of all of it */
	struct summary_row *rows; /* by share, largest first; places in their own order */
	size_t row_count;
	struct summary_row *categories;
	size_t category_count;
	struct step_times steps;
	uint64_t wall_ns;
	struct summary_rests rests;	/* of it, in no row by brick */
	struct summary_rests row_rests; /* of it, in none of `rows` */
	double coverage; /* 1 - unattributed / wall; negative when there is no wall time */
	/*
	 * Samples in the file that have ended, and executions that the threads counted themselves,
	 * also while samples were dropped; ANALYSIS_UNKNOWN when the file has no such statistics.
	 */
	uint64_t samples, executions;
	uint64_t mismatched; /* difference of the two where nothing is known to have been dropped */
	uint64_t unknown_operations; /* executions of operations that no rule knew */
	/* the recording's own work in the wall time of each phase, from struct execution_counts */
	const struct summary_pairs *pairs, *hooked;
	const uint64_t *traced;
	struct queue_times queues;
	uint64_t device_ns;		   /* of all commands, each by itself; less nested ones */
	uint64_t device_covered_ns;	   /* of that, of commands that carry a brick */
	uint64_t device_wait_ns;	   /* of the wall time: threads waited for devices */
	struct wait_causes wait_causes;	   /* ... and their causes */
	struct summary_accounts *accounts; /* the accounts that it is made of */
};

/*
 * only: SUMMARY_ALL_PHASES, or an enum step_phase: then rows, wall time and coverage are of the
 * steps of that phase, on all threads, and come from samples alone. Step times are always of all.
 * -ENOMEM.
 */
int summary_create(struct summary **out, const struct run *run, enum summary_by by, int only);
/* As summary_create(), for one of several in a walk; whole when the walk has run. */
int summary_create_in(struct summary **out, struct walk *walk, enum summary_by by, int only);
/*
 * Before the walk runs: let `to` use the sums of `part`, so that equal sums are made once. Both are
 * of the same walk. A part of the same phases as `to` joins it before `to`; a part of one phase,
 * where `to` is of all, joins it after. Both live until the walk has run. No number of either
 * changes by it.
 */
void summary_take(struct summary *to, const struct summary *part);
void summary_destroy(struct summary *summary);

/* Part of the devices' time that is of bricks; negative when there is none. */
double summary_device_coverage(const struct summary *summary);

/* Percent of the wall time of one phase's steps that is in rows; negative when it has none. */
double summary_phase_coverage(const struct summary *summary, enum step_phase phase);

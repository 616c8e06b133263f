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
#include "analysis/devices/collectives.h"
#include "analysis/devices/gpu_times.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

/* "brick", "category", ...; and the plural, the name of the array in JSON. */
const char *summary_by_name(enum summary_by by);
const char *summary_by_plural(enum summary_by by);

/* The clock of a row's single executions: for sum_ns, avg_ns to max_ns, and rates. */
enum summary_basis {
	BASIS_WALL,  /* whole lengths: of waits, and where times off the CPU are not known */
	BASIS_CPU,   /* lengths without times off the CPU */
	BASIS_MIXED, /* a category whose bricks have both */
};

/*
 * An unknown time, count or amount is ANALYSIS_UNKNOWN; an unknown rate or share is negative. A new
 * member is filled in summary_fill_row(), or beside it in summary.c, and shown by a field in
 * src/ui/text/report_fields.c.
 */
struct summary_row {
	char *name;
	const char *category; /* of a brick; NULL: the row has none */
	uint32_t id;	      /* number of the brick, category or group (row_groups.h) */
	uint32_t sources;     /* how its times were obtained: mask of 1 << enum brick_source */
	int on_device;	      /* 1: all of it ran on queues of devices, nothing on a thread */
	const char *backend;  /* of a device that worked for it; NULL: none, or not known */
	uint32_t kernel;      /* of its kernels the most frequent; RUN_NONE: not a row of kernels */
	uint64_t count;	      /* executions that have ended */
	uint64_t sum_ns;      /* of their lengths, by the basis: nested executions count again */
	uint64_t total_ns;    /* with at least one execution open */
	uint64_t self_ns;     /* without nested bricks and waits */
	uint64_t wait_ns;     /* inside of executions and right after them */
	uint64_t cpu_ns;      /* part of self_ns: on a CPU */
	uint64_t off_ns;      /* part of self_ns: off a CPU, preempted_ns + blocked_ns */
	uint64_t preempted_ns, blocked_ns;
	uint64_t wall_ns; /* its part of the wall time of the run */
	/* rows by brick and category: time off the CPU, which is not in wall_ns */
	struct run_off_times wall_off;
	uint64_t unevaluated_ns; /* part of wall_ns: in batches that were refused or aborted */
	double share;		 /* wall_ns / wall time of the run; of rows of devices: see above */
	enum summary_basis basis;
	bool waits; /* a row of waiting, so its basis is BASIS_WALL */
	uint64_t avg_ns, min_ns, p50_ns, p95_ns, p99_ns,
		max_ns;					      /* single executions, by the basis */
	uint64_t length_avg_ns, length_min_ns, length_max_ns; /* single executions, by the wall */
	uint64_t elements, bytes, flops;
	uint64_t bytes_out; /* part of bytes: written; ANALYSIS_UNKNOWN: not told apart */
	double bytes_per_ns, flops_per_ns; /* while it ran, by work_accounts.h */
	/* the devices' part: ANALYSIS_UNKNOWN if no device worked for the row */
	uint64_t device_count;	 /* commands */
	uint64_t device_ns;	 /* with a command running, summed over lanes of queues */
	uint64_t device_step_ns; /* part of device_ns that steps launched; all in runs without steps
				  */
	uint64_t exposed_ns;	 /* of a brick: see gpu_times.exposed_ns */
	uint64_t device_error_ns;  /* device_ns may be off by so much; 0: measured */
	uint64_t device_estimated; /* part of device_count: commands whose times are estimates */
};

/* True if times off the CPU are known, but not of all executions, because samples were dropped. */
static inline bool summary_row_lacks_samples(const struct summary_row *row)
{
	return row->off_ns != ANALYSIS_UNKNOWN && row->count && !row->waits &&
	       row->basis != BASIS_CPU;
}

const char *summary_basis_name(enum summary_basis basis); /* "wall", "cpu", "mixed" */

struct summary {
	const struct run *run;
	enum summary_by by;
	int only;	/* SUMMARY_ALL_PHASES, or the enum step_phase that all numbers are of */
	bool knows_off; /* times off the CPU are known in all steps of these phases */
	/* by time in steps, most first; by layer, phase and step in the order of these */
	struct summary_row *rows;
	size_t row_count;
	struct summary_row *categories; /* rows by category, for every kind of summary */
	size_t category_count;
	struct step_times steps; /* of all phases */
	uint64_t wall_ns;
	struct summary_rests rests;	/* part of wall_ns in no row by brick */
	struct summary_rests row_rests; /* part of wall_ns in none of `rows` */
	double coverage;		/* 1 - unattributed / wall_ns; negative: wall_ns is 0 */
	/*
	 * Samples in the file that have ended; executions by statistics, which also know of dropped
	 * samples, ANALYSIS_UNKNOWN: the file has none; the difference of both where nothing was
	 * dropped. Of all phases and the whole run (execution_counts.h).
	 */
	uint64_t samples, executions, mismatched;
	uint64_t unknown_operations; /* executions of operations that no rule knew */
	/* members of struct execution_counts, valid as long as the summary */
	const struct summary_pairs *pairs, *hooked;
	const struct traced_costs *traced;
	struct queue_times queues;
	struct gpu_times gpus;		/* of the phase */
	struct collectives collectives; /* of the phase */
	uint64_t device_ns;		/* sum over all commands, without nested ones */
	uint64_t device_covered_ns;	/* part of device_ns: commands that carry a brick */
	uint64_t device_estimated;	/* commands whose times are estimates */
	uint64_t device_error_ns;	/* the sum of all commands may be off by so much */
	uint64_t device_wait_ns; /* part of wall_ns: threads waited for devices (Synchronize) */
	struct wait_causes wait_causes; /* causes of device_wait_ns; borrowed from `accounts` */
	struct summary_accounts
		*accounts; /* sums that the rows are made of; private to summary.c */
};

/*
 * Makes a summary with a walk of its own. only: SUMMARY_ALL_PHASES; or an enum step_phase, so that
 * rows, wall time and coverage are of steps of this phase, on all threads, and come from samples
 * alone. -ENOMEM.
 */
int summary_create(struct summary **out, const struct run *run, enum summary_by by, int only);
/* As summary_create(), in a walk that has not run yet: rows are there when the walk has run. */
int summary_create_in(struct summary **out, struct walk *walk, enum summary_by by, int only);
/*
 * Before the walk runs: let `to` use the sums of `part`, so that equal sums are made once. Both are
 * of the same walk. A part of the same phases as `to` joins it before `to`; a part of one phase,
 * where `to` is of all, joins it after. Both live until the walk has run. No number of either
 * changes by it.
 */
void summary_take(struct summary *to, const struct summary *part);
void summary_destroy(struct summary *summary);

/* device_covered_ns / device_ns; negative: no device worked. */
double summary_device_coverage(const struct summary *summary);

/* As `coverage`, of the steps of one phase; negative: they took no time. */
double summary_phase_coverage(const struct summary *summary, enum step_phase phase);

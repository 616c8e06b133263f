/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a run went: rows by brick, category, layer, phase or thread, and what all of
 * them leave over. The wall time of a run is the sum over its steps of their time on the thread
 * that runs them (analysis/step_times.h); a run without steps has the lifetimes of its threads
 * instead. Each ns of it is in one row or unattributed: wall_ns of all rows of one kind and
 * unattributed_ns add up to wall_ns of the summary.
 *
 * Queues of devices are another kind of time: none of it is in those numbers. A brick that a device
 * worked for has that time beside its own (device_ns), and rows by kernel and queue are of devices
 * only: their shares are of what all queues did.
 *
 * Rows by brick and category are kinds of work: their wall time is their self time, and waiting is
 * rows of its own (BarrierWait). Rows by layer, phase and thread are places: theirs includes the
 * waiting that happened there. All other times of a row add up all threads.
 *
 * Owned by the summary, which borrows the run. Read-only once made: any thread.
 */
#ifndef BRICK_ANALYSIS_SUMMARY_H
#define BRICK_ANALYSIS_SUMMARY_H

#include <stddef.h>
#include <stdint.h>
#include "analysis/queue_times.h"
#include "analysis/step_times.h"
#include "trace/run.h"

enum summary_by {
	SUMMARY_BY_BRICK,
	SUMMARY_BY_CATEGORY,
	SUMMARY_BY_LAYER,
	SUMMARY_BY_PHASE,
	SUMMARY_BY_THREAD,
	SUMMARY_BY_KERNEL,
	SUMMARY_BY_QUEUE,
	SUMMARY_BY_COUNT,
};

/* "brick", "category", ...; and the plural that names the array in JSON. */
const char *summary_by_name(enum summary_by by);
const char *summary_by_plural(enum summary_by by);

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
	uint64_t sum_ns;      /* of their lengths, also of those inside of one another */
	uint64_t total_ns;    /* with at least one open */
	uint64_t self_ns;     /* less what was nested and waited */
	uint64_t wait_ns;     /* inside of and right after them */
	uint64_t wall_ns;     /* its part of the wall time of the run */
	double share;	      /* the same as a share, 0 to 1 */
	uint64_t avg_ns, min_ns, p50_ns, p95_ns, p99_ns, max_ns; /* of single executions */
	uint64_t elements, bytes, flops;
	uint64_t bytes_out; /* of those bytes; ANALYSIS_UNKNOWN: not told apart from those read */
	double bytes_per_ns, flops_per_ns; /* while it ran: from samples that say what they did */
	/* what devices did for it: commands, and time with one running on a queue's lane */
	uint64_t device_count, device_ns; /* ANALYSIS_UNKNOWN: nothing */
};

struct summary_pairs {
	uint64_t count[STEP_PHASES + 1];
	uint64_t beside[STEP_PHASES]; /* of the last ones above: while a step ran elsewhere */
};

struct summary {
	const struct run *run;
	enum summary_by by;
	int only;		  /* see summary_create() */
	struct summary_row *rows; /* by share, largest first; places in their own order */
	size_t row_count;
	struct summary_row *categories;
	size_t category_count;
	struct step_times steps;
	uint64_t wall_ns, unattributed_ns;
	double coverage; /* 1 - unattributed / wall; negative when there is no wall time */
	/*
	 * Samples in the file that have ended, and executions that the threads counted themselves,
	 * also while samples were dropped; ANALYSIS_UNKNOWN when the file has no such statistics.
	 */
	uint64_t samples, executions;
	uint64_t mismatched; /* difference of the two where nothing is known to have been dropped */
	uint64_t unknown_operations; /* executions of operations that no rule knew */
	/*
	 * What of recording fell into the wall time of each phase (the last element: into none; in
	 * a run without steps, all of it): [process_count] begin/end pairs that the process made,
	 * and [lane_count] samples that attached hooks recorded, whose cost is known by itself.
	 * Tiles are pairs, too. Those that were dropped from steps in the file are in the numbers.
	 */
	struct summary_pairs *pairs, *hooked;
	struct queue_times queues;
	uint64_t device_ns; /* what all commands took, each by itself; less what is nested */
};

/* "All phases" where a phase may be asked for. */
enum { SUMMARY_ALL_PHASES = -1 };

/*
 * only: SUMMARY_ALL_PHASES, or an enum step_phase: then rows, wall time and coverage are of the
 * steps of that phase, on all threads, and come from samples alone. Step times are always of all.
 * -ENOMEM.
 */
int summary_create(struct summary **out, const struct run *run, enum summary_by by, int only);
void summary_destroy(struct summary *summary);

/* Percent of the wall time of one phase's steps that is in rows; negative when it has none. */
double summary_phase_coverage(const struct summary *summary, enum step_phase phase);

#endif

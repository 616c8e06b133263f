/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a report, all computed before the first is printed. One prefill among many decodes
 * makes averages that fit neither, so each phase has a report beside the report of all. The run
 * must outlive them. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "analysis/accounts/counter_accounts.h"
#include "analysis/accounts/presence.h"
#include "analysis/accounts/summary.h"
#include "analysis/cost/distortion.h"
#include "analysis/cost/losses.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/training_times.h"
#include "trace/run.h"
#include "ui/text/report_budget.h"

struct report_columns; /* report_fields.h */

struct report {
	const struct run *run;
	struct summary *summary;
	struct losses losses;
	struct presence presence;
	struct training_times training;
	struct distortion distortion;	       /* of the phase asked for, or of all */
	struct distortion phases[STEP_PHASES]; /* of each phase */
	const struct report_budget *budget;    /* NULL: none was asked for */
	size_t shown;			       /* rows to print: all, or as many as --top says */
	bool is_sorted;			       /* by a column that the user chose */
	const struct report_columns *columns;  /* the user's choice; NULL: the default */
	/* reports of single phases, shown in place of this one; NULL: none of that phase */
	const struct report *apart[STEP_PHASES];
	bool is_apart;			 /* `apart` has a report */
	const struct roofline *roofline; /* NULL: the machine's ceilings are not known */
};

/*
 * Fills in a report, with all rows shown: call report_join(), run the walk, which other
 * accumulators may join, then call report_complete(). phase: as for summary_create(); it is no
 * error if none of its steps ended. Returns 0 or -ENOMEM. The caller destroys the summary.
 */
int report_join(struct report *report, struct walk *walk, enum summary_by by, int phase);
void report_complete(struct report *report);

/* A row's sources (a bit mask) as text: "tsc", "tsc+reported"; NULL: unknown. The caller frees. */
char *report_sources(const struct report *report, uint32_t sources);

/*
 * The place where a row ran: "cpu", the device's backend, or NULL when the recording does not say.
 */
const char *report_backend(const struct report *report, const struct summary_row *row);

/* True if steps were recorded, or only counted. */
bool report_has_steps(const struct report *report);

/* The phase that all of a report belongs to; -1: several phases, or none. */
int report_only_phase(const struct report *report);

/* A brick's place under the ceilings, in the report's phase; NULL: not known. */
const struct roofline_row *report_roof(const struct report *report, const struct summary_row *row);

enum { REPORT_RESTS = 4 };

/*
 * Makes rows of the time in no row: "preempted", "blocked", "left out" of a narrowed run, and
 * "unattributed". They have values only in fields with REPORT_OF_REST. Returns their number.
 */
size_t report_rests(const struct report *report, struct summary_row rows[REPORT_RESTS]);

/* The lane of a row by thread or queue; else NULL. */
const struct run_lane *report_lane(const struct report *report, const struct summary_row *row);

/*
 * Tokens of the steps in the wall time; for a row that is a step or a phase, its own tokens. 0: not
 * known.
 */
uint64_t report_row_tokens(const struct report *report, const struct summary_row *row);

/* Counts of speculative decoding, summed over all phases. */
struct step_phase_times report_drafts(const struct report *report);

/* Hardware counters per step; zeros without memory, which text_error() tells. */
void report_counters(struct counters *counters, const struct run *run);

/* The time in which evaluated steps of a phase ran; if it is not known, the sum of their times. */
uint64_t report_running_ns(const struct step_phase_times *times);

/* Tokens per second while steps of a phase ran; negative when unknown. */
double report_tokens_per_s(const struct step_phase_times *times);

/* Tokens per second from the begin of the first step to the end of the last; negative: unknown. */
double report_wall_tokens_per_s(const struct step_phase_times *times);

/* A report of all phases, and a report of each. */
struct report_apart {
	struct report all; /* its `apart` leads to `phases` if steps of two phases ended */
	struct report phases[STEP_PHASES];
	struct ceilings *ceilings;
	struct roofline *roofline; /* NULL: no ceilings are kept for the machine */
};

enum { REPORT_PHASES_APART = SUMMARY_ALL_PHASES - 1 };

/*
 * phase: an enum step_phase, SUMMARY_ALL_PHASES for all together, or REPORT_PHASES_APART. Returns 0
 * or -ENOMEM; report_apart_fini() is due in either case.
 */
int report_apart_measure(
	struct report_apart *apart, const struct run *run, enum summary_by by, int phase);
void report_apart_fini(struct report_apart *apart);

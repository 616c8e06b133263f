/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report: its numbers, all computed before the first is printed. One prefill among many decodes
 * makes averages that fit neither, so there is one of each phase beside that of all. Main thread.
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
	struct distortion distortion; /* of the phase asked for, or of all */
	struct distortion phases[STEP_PHASES];
	const struct report_budget *budget;   /* NULL: none was asked for */
	size_t shown;			      /* rows to print: all, or those of --top */
	bool is_sorted;			      /* by a column that the user chose */
	const struct report_columns *columns; /* those that the user chose; NULL: the default */
	/* The same for the steps of one phase, shown in its place; NULL: all phases together. */
	const struct report *apart[STEP_PHASES];
	bool is_apart;			 /* some of them are there */
	const struct roofline *roofline; /* NULL: the machine's ceilings are not known */
};

/*
 * Fills in everything, with all rows shown, in two parts around a walk that other accumulators
 * join. phase: as for summary_create(), and it is no error if none of its steps ended. Returns 0 or
 * -ENOMEM.
 */
int report_join(struct report *report, struct walk *walk, enum summary_by by, int phase);
void report_complete(struct report *report);

/* Sources of a row as text: "tsc", "tsc+reported"; NULL when unknown. The caller frees. */
char *report_sources(const struct report *report, uint32_t sources);

/*
 * The place where a row ran: "cpu", the device's backend, or NULL when the recording does not say.
 */
const char *report_backend(const struct report *report, const struct summary_row *row);

/* Steps that were recorded, or only counted. */
bool report_has_steps(const struct report *report);

/* The phase that all of a report belongs to; -1: several phases, or none. */
int report_only_phase(const struct report *report);

/* A brick's place under the ceilings, in the report's phase; NULL: not known. */
const struct roofline_row *report_roof(const struct report *report, const struct summary_row *row);

enum { REPORT_RESTS = 4 };

/*
 * Time in no row, as rows: "preempted", "blocked", "left out" of a narrowed run, and
 * "unattributed". Only fields with REPORT_OF_REST are known for them. Returns how many there are.
 */
size_t report_rests(const struct report *report, struct summary_row rows[REPORT_RESTS]);

/* The lane of a row by thread or queue; else NULL. */
const struct run_lane *report_lane(const struct report *report, const struct summary_row *row);

/*
 * Tokens of the steps in the wall time; for rows that are steps or phases, of the row alone. 0: not
 * known.
 */
uint64_t report_row_tokens(const struct report *report, const struct summary_row *row);

/* Speculative decoding, in all phases. */
struct step_phase_times report_drafts(const struct report *report);

/* Counts per step. Zeros without memory (text_error()). */
void report_counters(struct counters *counters, const struct run *run);

/* The time in which evaluated steps of a phase ran; where that is not known, all of theirs. */
uint64_t report_running_ns(const struct step_phase_times *times);

/* Tokens per second while steps of a phase ran; negative when unknown. */
double report_tokens_per_s(const struct step_phase_times *times);

/* The same from the begin of the first step to the end of the last, gaps included. */
double report_wall_tokens_per_s(const struct step_phase_times *times);

/* A report, and one of each phase. */
struct report_apart {
	struct report all; /* whose `apart` leads to the others, where there are two phases */
	struct report phases[STEP_PHASES];
	struct ceilings *ceilings;
	struct roofline *roofline; /* NULL: no ceilings are kept for the machine */
};

/* Phases in the order in which they are shown. */
extern const enum step_phase report_phase_order[STEP_PHASES];

/* phase: an enum step_phase, SUMMARY_ALL_PHASES for all together, or REPORT_PHASES_APART. Returns 0
 * or -ENOMEM; report_apart_fini() in either case. */
enum { REPORT_PHASES_APART = SUMMARY_ALL_PHASES - 1 };
int report_apart_measure(
	struct report_apart *apart, const struct run *run, enum summary_by by, int phase);
void report_apart_fini(struct report_apart *apart);

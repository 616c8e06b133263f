/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of a report share: the numbers, all computed before the first is printed. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/cost/distortion.h"
#include "analysis/cost/losses.h"
#include "analysis/accounts/presence.h"
#include "analysis/accounts/summary.h"
#include "ui/text/report_budget.h"
#include "trace/run.h"

struct report_columns;
struct roofline;

struct report {
	const struct run *run;
	struct summary *summary;
	struct losses losses;
	struct presence presence;
	struct distortion distortion; /* of the phase asked for, or of all */
	struct distortion phases[STEP_PHASES];
	const struct report_budget *budget;   /* NULL: none was asked for */
	size_t shown;			      /* rows to print: all, or those of --top */
	const struct report_columns *columns; /* those that the user chose; NULL: the default */
	/* The same of the steps of one phase, to be shown instead; NULL: all phases together. */
	const struct report *apart[STEP_PHASES];
	int is_apart;			 /* some of them are there */
	const struct roofline *roofline; /* NULL: the machine's ceilings are not known */
};

void report_text(const struct report *report, FILE *out);

/* Of it: coverage, devices, distortion, losses and notes, as plain lines of so many columns, where
 * no rows stand above them. */
void report_trust_text(const struct report *report, size_t width, FILE *out);

void report_csv(const struct report *report, FILE *out);

/* A new reference. */
json_t *report_to_json(const struct report *report);

/*
 * What the fields are, and which are columns of a page's tables: { "fields": [ { "key", "title",
 * "type", "means" } ], "columns": { "bricks": [ keys ], ... } }. A new reference.
 */
json_t *report_fields_to_json(void);

/*
 * Fill in all of it, with all rows shown, in two parts around a walk that feeds others, too. phase:
 * as for summary_create(); that no step of it ended is no error here. Returns 0 or -ENOMEM.
 */
int report_join(struct report *report, struct walk *walk, enum summary_by by, int phase);
void report_complete(struct report *report);

/* Sources of a row as text: "tsc", "tsc+reported"; NULL when unknown. The caller frees. */
char *report_sources(const struct report *report, uint32_t sources);

/* Where a row ran: "cpu", the device's backend, or NULL when the recording does not say. */
const char *report_backend(const struct report *report, const struct summary_row *row);

enum { REPORT_RESTS = 2 };

/*
 * What is in no row, as rows: "left out" of a narrowed run, "unattributed"; only fields with
 * REPORT_OF_REST are known of them. Returns how many there are.
 */
size_t report_rests(const struct report *report, struct summary_row rows[REPORT_RESTS]);

/* The lane that a row by thread or queue is of; else NULL. */
const struct run_lane *report_lane(const struct report *report, const struct summary_row *row);

/* Tokens of the steps that the wall time is of; 0: not known. */
/* Of the row alone, where rows are steps or phases; else the same. */
uint64_t report_row_tokens(const struct report *report, const struct summary_row *row);

/* "prefill", "decode", or NULL for all phases. */
const char *report_phase_name(int phase);

/* Speculative decoding: what all phases have of it. */
struct step_phase_times report_drafts(const struct report *report);

/* Tokens per second while steps of a phase ran; negative when unknown. */
double report_tokens_per_s(const struct step_phase_times *times);
/* From the first one's begin to the last one's end, with what lies between them. */
double report_wall_tokens_per_s(const struct step_phase_times *times);

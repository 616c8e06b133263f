/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report of each phase beside that of all: one prefill among many decodes makes averages that fit
 * neither. All are made in one pass over the samples. Main thread.
 */
#pragma once

#include "analysis/roofline/roofline.h"
#include "ui/text/report_view.h"

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

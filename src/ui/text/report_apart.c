/* SPDX-License-Identifier: Apache-2.0 */
/* Measures phases apart. Called by `brick report`. */
#include "ui/text/report_apart.h"

#include <stdbool.h>

#include "analysis/accounts/walk.h"
#include "ui/text/ceilings_view.h"
#include "ui/text/die.h"
#include "ui/text/exit_code.h"

const enum step_phase report_phase_order[STEP_PHASES] = {
	STEP_DECODE, STEP_MIXED, STEP_PREFILL, STEP_WARM_UP};

static void no_memory(const struct run *run, int rc)
{
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory to sum it up", run->path);
}

/* Rows by phase are apart already; one phase is, too. */
static bool wants_apart(
	const struct run *run, const struct step_index *index, enum summary_by by, int phase)
{
	int phases = 0;
	for (int p = 0; p < STEP_WARM_UP; p++)
		phases += step_phase_ended(run, index, p);
	return phase == REPORT_PHASES_APART && by != SUMMARY_BY_PHASE && by != SUMMARY_BY_STEP &&
	       phases > 1;
}

void report_apart_measure(
	struct report_apart *apart, const struct run *run, enum summary_by by, int phase)
{
	SCOPED_BY(step_index_fini) struct step_index index;
	struct walk walk;
	no_memory(run, step_index_init(&index, run));
	bool divided = wants_apart(run, &index, by, phase);
	walk_init(&walk, run, &index);
	report_join(
		&apart->all, &walk, by, phase == REPORT_PHASES_APART ? SUMMARY_ALL_PHASES : phase);
	for (int p = 0; divided && p < STEP_PHASES; p++)
		if (step_phase_ended(run, &index, p)) {
			report_join(&apart->phases[p], &walk, by, p);
			summary_take(apart->all.summary, apart->phases[p].summary);
		}
	apart->ceilings = ceilings_kept(run->host, run->cpu, NULL);
	if (apart->ceilings)
		no_memory(run, roofline_create_in(&apart->roofline, &walk, apart->ceilings));
	no_memory(run, walk_run(&walk));
	report_complete(&apart->all);
	apart->all.roofline = apart->roofline;
	apart->all.is_apart = divided;
	for (int p = 0; p < STEP_PHASES; p++) {
		if (!apart->phases[p].summary)
			continue;
		report_complete(&apart->phases[p]);
		apart->phases[p].roofline = apart->roofline;
		apart->all.apart[p] = &apart->phases[p];
	}
}

void report_apart_fini(struct report_apart *apart)
{
	summary_destroy(apart->all.summary);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		summary_destroy(apart->phases[phase].summary);
	roofline_destroy(apart->roofline);
	ceilings_destroy(apart->ceilings);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Measures phases apart. Called by `brick report`. */
#include "ui/text/report_apart.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/accounts/walk.h"
#include "ui/text/ceilings_view.h"

const enum step_phase report_phase_order[STEP_PHASES] = {
	STEP_DECODE, STEP_MIXED, STEP_PREFILL, STEP_WARM_UP};

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

static int join(
	struct report_apart *apart, struct walk *walk, enum summary_by by, int phase, bool divided)
{
	int rc = report_join(
		&apart->all, walk, by, phase == REPORT_PHASES_APART ? SUMMARY_ALL_PHASES : phase);

	for (int p = 0; rc == 0 && divided && p < STEP_PHASES; p++)
		if (step_phase_ended(walk->run, walk->index, p)) {
			rc = report_join(&apart->phases[p], walk, by, p);
			if (rc == 0)
				summary_take(apart->all.summary, apart->phases[p].summary);
		}
	apart->ceilings = ceilings_kept(walk->run->host, walk->run->cpu, NULL);
	if (rc == 0 && apart->ceilings)
		rc = roofline_create_in(&apart->roofline, walk, apart->ceilings);
	return rc;
}

int report_apart_measure(
	struct report_apart *apart, const struct run *run, enum summary_by by, int phase)
{
	SCOPED_BY(step_index_fini) struct step_index index;
	struct walk walk;
	int rc = step_index_init(&index, run);
	bool divided = rc == 0 && wants_apart(run, &index, by, phase);

	memset(apart, 0, sizeof(*apart));
	walk_init(&walk, run, &index);
	if (rc == 0)
		rc = join(apart, &walk, by, phase, divided);
	if (rc == 0)
		rc = walk_run(&walk);
	if (rc < 0)
		return rc;
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
	return 0;
}

void report_apart_fini(struct report_apart *apart)
{
	summary_destroy(apart->all.summary);
	for (int phase = 0; phase < STEP_PHASES; phase++)
		summary_destroy(apart->phases[phase].summary);
	roofline_destroy(apart->roofline);
	ceilings_destroy(apart->ceilings);
}

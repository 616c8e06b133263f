/* SPDX-License-Identifier: Apache-2.0 */
/* Found when it is said. Called by the report's text and JSON. */
#include "ui/text/report_undisturbed.h"

#include <stdlib.h>

#include "analysis/steps/undisturbed.h"
#include "analysis/accounts/unknown.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/terminal.h"

static void find(struct undisturbed *u, const struct report *report, enum step_phase phase)
{
	text_fail(undisturbed_of_phase(u, report->run, &report->summary->steps, phase));
}

/* The caller frees. */
static char *percentiles_text(const struct undisturbed_percentiles *p)
{
	char p50[UNITS_BYTES], p95[UNITS_BYTES], p99[UNITS_BYTES];
	return text_format("p50 %s, p95 %s, p99 %s", units_time(p50, p->p50_ns),
		units_time(p95, p->p95_ns), units_time(p99, p->p99_ns));
}

/* The caller frees. */
static char *alone_text(const struct undisturbed *u)
{
	if (u->is_drifting)
		return text_copy(
			"what one would take that nobody interrupts is not known, as steps "
			"got longer or shorter in the course of the run");
	if (u->alone.p50_ns == ANALYSIS_UNKNOWN)
		return text_copy("what one would take that nobody interrupts is not known");
	SCOPED char *percentiles = percentiles_text(&u->alone);
	char *text =
		text_format("one that nobody interrupts would take %s (Kaplan-Meier)", percentiles);
	return text;
}

static void print_phase(const struct undisturbed *u, const char *name,
	const struct terminal *terminal, size_t label)
{
	SCOPED char *cpu = percentiles_text(&u->cpu), *alone = alone_text(u);
	paragraph(terminal, label, "Interrupted",
		"%llu of %llu %s steps were preempted, %llu more began right behind that; on the "
		"CPU a step took %s; %s",
		(unsigned long long)u->interrupted, (unsigned long long)u->count, name,
		(unsigned long long)u->behind, cpu, alone);
}

void report_undisturbed_text(
	const struct report *report, const struct terminal *terminal, size_t label)
{
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		struct undisturbed u;
		if (report->summary->only != SUMMARY_ALL_PHASES && report->summary->only != phase)
			continue;
		find(&u, report, phase);
		if (u.count > 1 && u.interrupted && u.count <= 100 * u.interrupted)
			print_phase(&u, report_phase_name(phase), terminal, label);
	}
}

static json_t *percentiles_json(const struct undisturbed_percentiles *p)
{
	json_t *object = json_object();
	json_put_numbers(object, p, p50_ns, p95_ns, p99_ns);
	return object;
}

void report_undisturbed_json(json_t *to, const struct report *report, enum step_phase phase)
{
	struct undisturbed u;
	find(&u, report, phase);
	json_put_numbers(to, &u, interrupted, behind);
	json_put(to, "cpu", percentiles_json(&u.cpu));
	json_put(to, "drifting", json_boolean(u.is_drifting));
	json_put(to, "undisturbed", percentiles_json(&u.alone));
}

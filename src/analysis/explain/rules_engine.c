/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's own work around bricks, and bricks under the ceilings of the machine. */
#include <stdbool.h>
#include <stdio.h>
#include "analysis/explain/explain_rules.h"
#include "ui/text/units.h"

int rule_graph_rebuilt(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t build_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_BUILD));
	uint64_t alloc_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_ALLOC));
	uint64_t plan_ns = explain_on_cpu_ns(phase, "GraphPlan");
	char build[UNITS_BYTES], alloc[UNITS_BYTES], plan[UNITS_BYTES];

	out->cost_ns = build_ns + alloc_ns + plan_ns;
	if (phase->steps < 4 || out->cost_ns < phase->wall_ns / 20)
		return 0;
	explain_say(out->what, "the graph is built and given memory anew for each step");
	explain_say(out->evidence, "%s built, %s allocated, %s planned, in %llu steps",
		units_time(build, build_ns), units_time(alloc, alloc_ns), units_time(plan, plan_ns),
		(unsigned long long)phase->steps);
	explain_say(out->advice,
		"a newer engine that reuses graphs (llama.cpp since August 2025), batches of one "
		"shape");
	explain_say(out->show, "brick tree --step %s", step_phase_name(p));
	return 1;
}

/* The row of the phase under a roof with most of what `value` says; NULL: none has any. */
static const struct roofline_row *most_of(const struct explain_facts *f, enum step_phase p,
	double (*value)(const struct roofline_row *))
{
	const struct roofline_row *most = NULL;
	double least = 0;

	for (size_t i = 0; f->ceilings && i < f->roofline->row_count; i++) {
		const struct roofline_row *row = &f->roofline->rows[i];
		if ((int)row->phase != (int)p || row->on_device || row->roof_bytes_per_ns <= 0 ||
			row->flags & ~(uint32_t)ROOFLINE_OTHER_THREADS || value(row) <= least)
			continue;
		most = row;
		least = value(row);
	}
	return most;
}

/* What a row would save at its roof. */
static double to_be_saved(const struct roofline_row *row)
{
	int far = row->distance >= 0.5 && row->share >= 0.1 &&
		  (row->bound == ROOFLINE_MEMORY || row->bound == ROOFLINE_COMPUTE);

	return far ? (double)row->wall_ns * row->distance : 0;
}

int rule_below_roof(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct roofline_row *row = most_of(f, p, to_be_saved);
	bool computes = row && row->bound == ROOFLINE_COMPUTE;
	char part[UNITS_BYTES], rate[UNITS_BYTES], roof[UNITS_BYTES];

	if (!row)
		return 0;
	out->cost_ns = (uint64_t)to_be_saved(row);
	out->certainty = FINDING_LIKELY;
	explain_say(out->what, "%.47s reaches %s of its roof (%s)", row->name,
		units_percent(part, 1 - row->distance), roofline_bound_name(row->bound));
	explain_say(out->evidence,
		"%s %s where the measured ceilings allow %s at its %.2f FLOP/byte; the cost is "
		"what it takes longer than at the roof",
		units_number(rate, computes ? row->flops_per_ns : row->bytes_per_ns),
		computes ? "GFLOP/s" : "GB/s",
		units_number(roof, computes ? row->roof_flops_per_ns : row->roof_bytes_per_ns),
		row->intensity);
	explain_say(out->advice,
		"a kernel for this type and shape: another quantisation, an engine built for this "
		"CPU (GGML_NATIVE), more threads while it is bound by computing");
	explain_say(out->show, "brick roofline");
	return 1;
}

/* Bound by memory and close to what memory can do. */
static double at_the_roof(const struct roofline_row *row)
{
	return row->bound == ROOFLINE_MEMORY && row->distance <= 0.35 && row->share >= 0.25
		       ? (double)row->wall_ns
		       : 0;
}

int rule_at_bandwidth(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct roofline_row *row = most_of(f, p, at_the_roof);
	char part[UNITS_BYTES], share[UNITS_BYTES], gbs[UNITS_BYTES];

	if (!row)
		return 0;
	explain_say(out->what, "%.47s is at %s of the measured bandwidth of memory", row->name,
		units_percent(part, 1 - row->distance));
	explain_say(out->evidence, "%s GB/s from %s, %s of the phase",
		units_number(gbs, row->bytes_per_ns), row->bandwidth->level,
		units_percent(share, row->share));
	explain_say(out->advice,
		"no faster kernel helps: move fewer bytes (a smaller quantisation), or several "
		"sequences at once, which share the weights");
	explain_say(out->show, "brick roofline");
	return 1;
}

int rule_unattributed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	char part[UNITS_BYTES];

	out->cost_ns = phase->summary->unattributed_ns;
	if (out->cost_ns < phase->wall_ns / 10)
		return 0;
	explain_say(out->what, "%s of the steps is in no brick",
		units_percent(part, explain_share(out->cost_ns, phase->wall_ns)));
	explain_say(out->evidence, "time of the engine's thread within steps that nothing names");
	explain_say(out->advice, "see how Brick is attached (brick doctor), or give the code "
				 "between bricks bricks of its own; perf record shows where it is");
	explain_say(out->show, "brick tree --step %s", step_phase_name(p));
	return 1;
}

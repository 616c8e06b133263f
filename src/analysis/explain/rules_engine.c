/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's own work around bricks, and bricks under the ceilings of the machine. */
#include <stdbool.h>
#include "analysis/explain/finding.h"

bool rule_graph_rebuilt(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t build_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_BUILD));
	uint64_t alloc_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_ALLOC));
	uint64_t plan_ns = explain_on_cpu_ns(phase, "GraphPlan");

	out->cost_ns = build_ns + alloc_ns + plan_ns;
	out->of.graph_rebuilt.build_ns = build_ns;
	out->of.graph_rebuilt.alloc_ns = alloc_ns;
	out->of.graph_rebuilt.plan_ns = plan_ns;
	return phase->steps >= 4 && out->cost_ns >= phase->wall_ns / 20;
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
	bool far = row->distance >= 0.5 && row->share >= 0.1 &&
		   (row->bound == ROOFLINE_MEMORY || row->bound == ROOFLINE_COMPUTE);

	return far ? (double)row->wall_ns * row->distance : 0;
}

bool rule_below_roof(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct roofline_row *row = most_of(f, p, to_be_saved);

	if (!row)
		return false;
	out->cost_ns = (uint64_t)to_be_saved(row);
	out->certainty = FINDING_LIKELY;
	out->of.roof = row;
	return true;
}

/* Bound by memory and close to what memory can do. */
static double at_the_roof(const struct roofline_row *row)
{
	return row->bound == ROOFLINE_MEMORY && row->distance <= 0.35 && row->share >= 0.25
		       ? (double)row->wall_ns
		       : 0;
}

bool rule_at_bandwidth(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	out->of.roof = most_of(f, p, at_the_roof);
	return out->of.roof != NULL;
}

bool rule_unattributed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	out->cost_ns = phase->summary->unattributed_ns;
	return out->cost_ns >= phase->wall_ns / 10;
}

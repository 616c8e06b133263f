/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a history as a comparison wants it. Called by `brick diff` and `brick bench`. */
#include "analysis/compare/history_parts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/unknown.h"

static int phase_of(const char *name)
{
	for (int p = 0; p < STEP_PHASES; p++)
		if (!strcmp(step_phase_name(p), name))
			return p;
	return -1;
}

/* Whether a comparison by bricks, or by layers, has a column of it, and of which kind. */
static bool is_column(const struct history_part *part, enum summary_by by, enum compare_kind *kind)
{
	const char *parts = by == SUMMARY_BY_LAYER ? "layer" : "brick";

	*kind = !strcmp(part->kind, "kernel")	      ? COMPARE_KERNEL
		: !strcmp(part->kind, "unattributed") ? COMPARE_UNATTRIBUTED
		: !strcmp(part->kind, "off_cpu")      ? COMPARE_OFF_CPU
						      : COMPARE_PART;
	return phase_of(part->phase) >= 0 && (*kind != COMPARE_PART || !strcmp(part->kind, parts));
}

static int name_columns(
	struct compare_names *names, const struct history_run *h, enum summary_by by)
{
	enum compare_kind kind;

	for (size_t i = 0; i < h->parts.count; i++)
		if (is_column(&h->parts.items[i], by, &kind) &&
			compare_names_column(names, h->parts.items[i].name, kind) == RUN_NONE)
			return -ENOMEM;
	return 0;
}

static int add_step(struct compare_series *series, const struct history_part *part)
{
	struct compare_cells *cells = &series->phases[phase_of(part->phase)];
	double per_token = (double)part->total_ns / (double)part->tokens;
	double typical = (double)part->typical_ns / (double)part->typical_tokens;

	if (cells->count || !part->tokens || !part->typical_tokens || !part->typical_ns)
		return 0;
	*cells = (struct compare_cells){.steps = part->count,
		.count = 1,
		.total_ns = calloc(1, sizeof(uint64_t)),
		.tokens = calloc(1, sizeof(uint64_t)),
		.column_ns = calloc(series->columns + 1, sizeof(uint64_t)),
		.united = part->united * per_token / typical};
	if (!cells->total_ns || !cells->tokens || !cells->column_ns)
		return -ENOMEM;
	cells->total_ns[0] = part->typical_ns;
	cells->tokens[0] = part->typical_tokens;
	return 0;
}

static int fill(struct compare_series *series, struct compare_names *names,
	const struct history_run *h, enum summary_by by)
{
	enum compare_kind kind;
	int rc = 0;

	for (size_t i = 0; i < h->parts.count && rc == 0; i++)
		if (!strcmp(h->parts.items[i].kind, "step") &&
			phase_of(h->parts.items[i].phase) >= 0)
			rc = add_step(series, &h->parts.items[i]);
	for (size_t i = 0; i < h->parts.count && rc == 0; i++) {
		const struct history_part *part = &h->parts.items[i];
		if (!is_column(part, by, &kind) || !series->phases[phase_of(part->phase)].count)
			continue;
		uint32_t column = compare_names_column(names, part->name, kind);
		series->knows_off |= kind == COMPARE_OFF_CPU;
		series->phases[phase_of(part->phase)].column_ns[column] = part->typical_ns;
	}
	return rc;
}

int history_parts_series(struct compare_series *series, struct compare_names *names,
	const struct history_run *history, enum summary_by by)
{
	memset(series, 0, sizeof(*series));
	int rc = name_columns(names, history, by);
	if (rc < 0)
		return rc;
	series->columns = names->count;
	series->ttft_ns = history->ttft_ns ? history->ttft_ns : ANALYSIS_UNKNOWN;
	rc = fill(series, names, history, by);
	if (rc < 0)
		compare_series_fini(series);
	return rc;
}

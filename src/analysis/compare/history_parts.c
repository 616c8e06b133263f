/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes parts from a recording, then a series of one cell per phase from parts. Both ways must
 * agree about kinds: history_parts_kind_of() and is_column().
 */
#include "analysis/compare/history_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/compare_blocks.h"
#include "analysis/accounts/launches.h"
#include "analysis/statistics/unknown.h"

/* Executions of a column in a phase. */
struct executions {
	uint64_t count;
	struct history_histogram lengths;
};

struct maker {
	struct history_run *history;
	const struct run *run;
	const struct step_index *index;
	struct compare_names names;
	struct compare_series series;
	struct step_times times;
	/* the longest step of each phase; 0 ns: there is none */
	uint32_t longest[STEP_PHASES];
	uint64_t longest_ns[STEP_PHASES];
	uint64_t *totals[STEP_PHASES];			     /* [columns]: ns in all steps */
	uint64_t total_ns[STEP_PHASES], tokens[STEP_PHASES]; /* of all steps */
	double united[STEP_PHASES];    /* of struct compare_cells, before they are reduced */
	struct executions *executions; /* [STEP_PHASES][columns + 1]; the last: steps */
	int rc;
};

static struct executions *executions_of(struct maker *m, int phase, size_t column)
{
	return &m->executions[(size_t)phase * (m->series.columns + 1) + column];
}

static void history_parts_add_execution(struct maker *m, uint32_t phase, size_t column, uint64_t ns)
{
	struct executions *e = executions_of(m, (int)phase, column);

	e->count++;
	if (m->rc == 0)
		m->rc = history_histogram_add(&e->lengths, history_bucket_of(ns), 1);
}

static void history_parts_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct maker *m = context;
	uint8_t kind = m->index->kinds[frame->brick];

	if ((frame->scope != WALK_IN_STEP && frame->scope != WALK_AFTER) ||
		kind == BRICK_KIND_STEP || kind == BRICK_KIND_TILE ||
		!step_index_is_evaluated(m->index, m->run, frame->step))
		return;
	uint32_t column =
		compare_names_column(&m->names, m->run->bricks[frame->brick].name, COMPARE_PART);
	if (column < m->series.columns)
		history_parts_add_execution(m, m->run->steps[frame->step].phase, column,
			walk_basis_ns(m->index, frame));
}

static void history_parts_add_commands(struct maker *m)
{
	const struct run *run = m->run;

	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		const struct run_sample *sample = run_command_sample(run, c);
		uint32_t step = launches_step(run, m->index, c->lane, c->sample);
		if (step == RUN_NONE || !step_index_is_evaluated(m->index, run, step) ||
			c->kernel == RUN_NONE)
			continue;
		uint32_t column = compare_names_column(
			&m->names, run->kernels[c->kernel].name, COMPARE_KERNEL);
		if (column < m->series.columns)
			history_parts_add_execution(m, run->steps[step].phase, column,
				sample->end_ns - sample->begin_ns);
	}
}

static int history_parts_count_executions(struct maker *m)
{
	static const struct walk_ops ops = {.end = history_parts_on_end};
	struct walk walk;

	m->executions = calloc(STEP_PHASES * (m->series.columns + 1), sizeof(*m->executions));
	if (!m->executions)
		return -ENOMEM;
	walk_init(&walk, m->run, m->index);
	int rc = step_times_init(&m->times, &walk);
	if (rc < 0)
		return rc;
	walk_join(&walk, &ops, m);
	rc = walk_run(&walk);
	for (size_t i = 0; i < m->run->step_count && rc == 0; i++) {
		uint32_t phase = m->run->steps[i].phase;
		if (!step_index_is_evaluated(m->index, m->run, i))
			continue;
		uint64_t ns = step_time_total_ns(&m->times.steps[i]);
		history_parts_add_execution(m, phase, m->series.columns, ns);
		if (ns > m->longest_ns[phase]) {
			m->longest_ns[phase] = ns;
			m->longest[phase] = (uint32_t)i;
		}
	}
	if (rc == 0)
		history_parts_add_commands(m);
	step_times_fini(&m->times);
	return rc < 0 ? rc : m->rc;
}

/* Sums up all cells, before they are reduced to one. */
static int history_parts_sum_up(struct maker *m)
{
	for (int p = 0; p < STEP_PHASES; p++) {
		const struct compare_cells *cells = &m->series.phases[p];
		m->totals[p] = calloc(m->series.columns + 1, sizeof(uint64_t));
		if (!m->totals[p])
			return -ENOMEM;
		m->united[p] = cells->united;
		for (size_t i = 0; i < cells->count; i++) {
			m->total_ns[p] += cells->total_ns[i];
			m->tokens[p] += cells->tokens[i];
			for (size_t k = 0; k < m->series.columns; k++)
				m->totals[p][k] += compare_cell_ns(&m->series, p, i, k);
		}
	}
	return compare_series_reduce(&m->series);
}

static const char *history_parts_kind_of(enum compare_kind kind, enum summary_by by)
{
	return kind == COMPARE_UNATTRIBUTED ? "unattributed"
	       : kind == COMPARE_KERNEL	    ? "kernel"
	       : kind == COMPARE_OFF_CPU    ? "off_cpu"
	       : by == SUMMARY_BY_LAYER	    ? "layer"
					    : "brick";
}

/* Adds a part with the numbers of `like`, whose histogram moves to it. */
static int history_parts_add_part(
	struct maker *m, int phase, const char *kind, const char *name, struct history_part *like)
{
	struct history_part *part =
		history_run_part(m->history, step_phase_name(phase), kind, name);

	if (!part)
		return -ENOMEM;
	part->count = like->count;
	part->tokens = m->tokens[phase];
	part->total_ns = like->total_ns;
	part->typical_tokens = m->series.phases[phase].tokens[0];
	part->typical_ns = like->typical_ns;
	part->united = like->united;
	part->histogram = like->histogram;
	memset(&like->histogram, 0, sizeof(like->histogram));
	return 0;
}

static int history_parts_add_step(struct maker *m, int phase)
{
	struct executions *e = executions_of(m, phase, m->series.columns);
	struct history_part like = {.count = e->count,
		.total_ns = m->total_ns[phase],
		.typical_ns = m->series.phases[phase].total_ns[0],
		.united = m->united[phase],
		.histogram = e->lengths};

	memset(&e->lengths, 0, sizeof(e->lengths));
	int rc = history_parts_add_part(m, phase, "step", "", &like);
	history_histogram_fini(&like.histogram);
	return rc;
}

/* The longest steps, as facts of a window. */
static int add_longest(struct maker *m, int phase)
{
	char key[64], value[64];

	if (!m->longest_ns[phase])
		return 0;
	snprintf(key, sizeof(key), HISTORY_SLOWEST "%s", step_phase_name(phase));
	snprintf(value, sizeof(value), "%" PRIu64 " ns, step %" PRIu32, m->longest_ns[phase],
		step_number(m->run, m->index, m->longest[phase]));
	return history_run_fact(m->history, key, value);
}

static int history_parts_add_columns(struct maker *m, int phase, enum summary_by by)
{
	int rc = 0;

	for (size_t k = 0; k < m->series.columns && rc == 0; k++) {
		const struct compare_name *name = &m->names.list[k];
		struct history_part like = {.total_ns = m->totals[phase][k],
			.typical_ns = compare_cell_ns(&m->series, phase, 0, k),
			.united = 1};
		/* a time of 0 off the CPU is kept: it says that times off the CPU are known */
		if ((!like.total_ns && name->kind != COMPARE_OFF_CPU) ||
			(by == SUMMARY_BY_LAYER && name->kind != COMPARE_PART))
			continue;
		if (m->executions) {
			struct executions *e = executions_of(m, phase, k);
			like.count = e->count;
			like.histogram = e->lengths;
			memset(&e->lengths, 0, sizeof(e->lengths));
		}
		rc = history_parts_add_part(
			m, phase, history_parts_kind_of(name->kind, by), name->name, &like);
		history_histogram_fini(&like.histogram);
	}
	return rc;
}

static void history_parts_maker_fini(struct maker *m)
{
	for (size_t i = 0; m->executions && i < STEP_PHASES * (m->series.columns + 1); i++)
		history_histogram_fini(&m->executions[i].lengths);
	free(m->executions);
	for (int p = 0; p < STEP_PHASES; p++)
		free(m->totals[p]);
	compare_series_fini(&m->series);
	compare_names_fini(&m->names);
}

static int history_parts_add_parts(struct history_run *history, const struct run *run,
	const struct step_index *index, enum summary_by by)
{
	SCOPED_BY(history_parts_maker_fini)
	struct maker m = {.history = history, .run = run, .index = index};
	int rc = compare_series_init(&m.series, &m.names, run, by);

	if (rc == 0 && by == SUMMARY_BY_BRICK)
		rc = history_parts_count_executions(&m);
	if (rc == 0)
		rc = history_parts_sum_up(&m);
	for (int p = 0; p < STEP_PHASES && rc == 0; p++) {
		if (p == STEP_WARM_UP || !m.series.phases[p].count)
			continue;
		rc = by == SUMMARY_BY_BRICK ? history_parts_add_step(&m, p) : 0;
		if (rc == 0 && !strcmp(history->kind, HISTORY_WINDOW))
			rc = add_longest(&m, p);
		if (rc == 0)
			rc = history_parts_add_columns(&m, p, by);
	}
	if (rc == 0 && m.series.ttft_ns != ANALYSIS_UNKNOWN)
		history->ttft_ns = m.series.ttft_ns;
	return rc;
}

int history_parts_of_run(struct history_run *history, const struct run *run)
{
	bool is_window = !strcmp(history->kind, HISTORY_WINDOW);
	struct step_index index;
	int rc = step_index_init(&index, run);

	if (rc < 0)
		return rc;
	rc = history_parts_add_parts(history, run, &index, SUMMARY_BY_BRICK);
	if (rc == 0 && !is_window)
		rc = history_parts_add_parts(history, run, &index, SUMMARY_BY_LAYER);
	step_index_fini(&index);
	return rc;
}

/* Back to a series. */

/* True if a comparison by bricks, or by layers, has a column of the part; *kind: which. */
static bool is_column(const struct history_part *part, enum summary_by by, enum compare_kind *kind)
{
	const char *parts = by == SUMMARY_BY_LAYER ? "layer" : "brick";

	*kind = !strcmp(part->kind, "kernel")	      ? COMPARE_KERNEL
		: !strcmp(part->kind, "unattributed") ? COMPARE_UNATTRIBUTED
		: !strcmp(part->kind, "off_cpu")      ? COMPARE_OFF_CPU
						      : COMPARE_PART;
	return step_phase_by_name(part->phase) >= 0 &&
	       (*kind != COMPARE_PART || !strcmp(part->kind, parts));
}

static uint32_t column_of(struct compare_names *names, const struct history_part *part,
	enum compare_kind kind, enum summary_by by)
{
	bool is_brick = kind == COMPARE_PART && by != SUMMARY_BY_LAYER;
	const char *category = is_brick ? compare_category_of(part->name) : NULL;
	uint32_t column = compare_names_column(
		names, is_brick && by == SUMMARY_BY_CATEGORY ? category : part->name, kind);

	if (column != RUN_NONE && is_brick && by == SUMMARY_BY_BRICK &&
		compare_names_categorize(names, column, category) < 0)
		return RUN_NONE;
	return column;
}

static int history_parts_name_columns(
	struct compare_names *names, const struct history_run *h, enum summary_by by)
{
	enum compare_kind kind;

	for (size_t i = 0; i < h->parts.count; i++)
		if (is_column(&h->parts.items[i], by, &kind) &&
			column_of(names, &h->parts.items[i], kind, by) == RUN_NONE)
			return -ENOMEM;
	return 0;
}

static int add_step_cell(struct compare_series *series, const struct history_part *part)
{
	struct compare_cells *cells = &series->phases[step_phase_by_name(part->phase)];
	double per_token = (double)part->total_ns / (double)part->tokens;
	double typical = (double)part->typical_ns / (double)part->typical_tokens;

	if (cells->count || !part->tokens || !part->typical_tokens || !part->typical_ns)
		return 0;
	*cells = (struct compare_cells){.steps = part->count,
		.count = 1,
		.total_ns = calloc(1, sizeof(uint64_t)),
		.tokens = calloc(1, sizeof(uint64_t)),
		.column_ns = calloc(series->columns + 1, sizeof(uint64_t)),
		.work = calloc(series->columns + 1, sizeof(*cells->work)),
		.united = part->united * per_token / typical};
	if (!cells->total_ns || !cells->tokens || !cells->column_ns || !cells->work)
		return -ENOMEM;
	cells->total_ns[0] = part->typical_ns;
	cells->tokens[0] = part->typical_tokens;
	return 0;
}

static int history_parts_fill_series(struct compare_series *series, struct compare_names *names,
	const struct history_run *h, enum summary_by by)
{
	enum compare_kind kind;
	int rc = 0;

	for (size_t i = 0; i < h->parts.count && rc == 0; i++)
		if (!strcmp(h->parts.items[i].kind, "step") &&
			step_phase_by_name(h->parts.items[i].phase) >= 0)
			rc = add_step_cell(series, &h->parts.items[i]);
	for (size_t i = 0; i < h->parts.count && rc == 0; i++) {
		const struct history_part *part = &h->parts.items[i];
		if (!is_column(part, by, &kind) ||
			!series->phases[step_phase_by_name(part->phase)].count)
			continue;
		uint32_t column = column_of(names, part, kind, by);
		struct compare_cells *cells = &series->phases[step_phase_by_name(part->phase)];
		series->knows_off |= kind == COMPARE_OFF_CPU;
		cells->column_ns[column] += part->typical_ns;
		cells->work[column].count +=
			(double)part->count / (double)(part->tokens ? part->tokens : 1);
	}
	return rc;
}

int history_parts_series(struct compare_series *series, struct compare_names *names,
	const struct history_run *history, enum summary_by by)
{
	memset(series, 0, sizeof(*series));
	int rc = history_parts_name_columns(names, history, by);
	if (rc < 0)
		return rc;
	series->columns = names->count;
	series->ttft_ns = history->ttft_ns ? history->ttft_ns : ANALYSIS_UNKNOWN;
	series->wall_ns = history->wall_ns;
	series->is_plain = !strcmp(history->kind, "plain");
	series->printed = series->is_plain ? history->value : 0;
	const char *prints = history_run_fact_find(history, HISTORY_PRINTS);
	series->is_rate = series->is_plain && prints && !strcmp(prints, "rate");
	series->is_disturbed = history_run_fact_find(history, HISTORY_DISTURBED) != NULL;
	rc = history_parts_fill_series(series, names, history, by);
	if (rc < 0)
		compare_series_fini(series);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a recording into cells: one walk over threads, then commands of devices by the steps that
 * launched them. Each ns of a step is in exactly one column, kernels aside.
 */
#include "analysis/compare/compare_series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/launches.h"
#include "analysis/accounts/presence.h"
#include "base/array.h"
#include "base/hash.h"
#include "brick/registry.h"

enum {
	LAYERS = SUMMARY_LAST_LAYER + 2, /* all of them, and outside of layers */
	NUMBERS_MAX = 1 << 24,		 /* most cells times columns of a phase */
};

struct reader {
	struct compare_series *series;
	struct compare_names *names;
	const struct run *run;
	const struct step_index *index;
	enum summary_by by;
	uint32_t *cells;   /* [step_count]: cell of the step's phase; RUN_NONE: does not count */
	uint32_t *groups;  /* columns by brick, or by layer + 1 */
	uint32_t *kernels; /* [kernel_count]: columns */
	/* other columns; left_out: bricks that the selection left out, RUN_NONE: not narrowed */
	uint32_t unattributed, waits, preempted, blocked;
	uint32_t left_out;
};

void compare_names_fini(struct compare_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->list[i].name);
		free(names->list[i].category);
	}
	free(names->list);
	hash_index_fini(&names->index);
	memset(names, 0, sizeof(*names));
}

static uint64_t hash_name(const char *name, enum compare_kind kind)
{
	uint64_t hash = hash_add(0, kind);

	for (; *name; name++)
		hash = hash_add(hash, (unsigned char)*name);
	return hash;
}

uint32_t compare_names_column(struct compare_names *names, const char *name, enum compare_kind kind)
{
	uint64_t hash = hash_name(name, kind);
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&names->index, &probe)) != HASH_INDEX_NONE;)
		if (names->list[i].kind == kind && !strcmp(names->list[i].name, name))
			return i;
	struct compare_name *list =
		array_grow(names->list, &names->capacity, names->count + 1, sizeof(*names->list));
	char *copy = strdup(name);
	if (list)
		names->list = list;
	if (!list || !copy || hash_index_add(&names->index, hash, (uint32_t)names->count) < 0) {
		free(copy);
		return RUN_NONE;
	}
	list[names->count] = (struct compare_name){.name = copy, .kind = kind};
	return (uint32_t)names->count++;
}

int compare_names_categorize(struct compare_names *names, uint32_t column, const char *category)
{
	char **to = &names->list[column].category;

	if (!*to)
		*to = strdup(category);
	return *to ? 0 : -ENOMEM;
}

const char *compare_category_of(const char *brick)
{
	int id = brick_lookup(brick);

	return brick_category_name(id < 0 ? BRICK_CATEGORY_OTHER : brick_category_of((uint32_t)id));
}

static uint32_t name_brick(struct reader *r, uint32_t brick)
{
	const struct run_brick *b = &r->run->bricks[brick];
	const char *category = r->run->categories[b->category].name;
	uint32_t column = compare_names_column(
		r->names, r->by == SUMMARY_BY_CATEGORY ? category : b->name, COMPARE_PART);

	if (column != RUN_NONE && r->by == SUMMARY_BY_BRICK &&
		compare_names_categorize(r->names, column, category) < 0)
		return RUN_NONE;
	return column;
}

static int name_bricks(struct reader *r)
{
	const struct run *run = r->run;

	const char *waits = brick_name(BRICK_BARRIER_WAIT);

	r->waits = compare_names_column(r->names,
		r->by == SUMMARY_BY_CATEGORY ? compare_category_of(waits) : waits, COMPARE_PART);
	for (uint32_t b = 0; b < run->brick_count; b++) {
		bool takes_time = r->index->kinds[b] != BRICK_KIND_STEP &&
				  r->index->kinds[b] != BRICK_KIND_TILE;
		r->groups[b] = takes_time ? name_brick(r, b) : r->waits;
		if (r->groups[b] == RUN_NONE)
			return -ENOMEM;
	}
	return r->waits == RUN_NONE ? -ENOMEM : 0;
}

static uint32_t compare_series_layer_of(const struct reader *r, uint32_t site)
{
	int32_t layer = r->run->sites[site].layer;

	return layer >= 0 && layer <= SUMMARY_LAST_LAYER ? (uint32_t)layer + 1 : 0;
}

static int name_layers(struct reader *r)
{
	char name[32];

	r->groups[0] = compare_names_column(r->names, "outside of layers", COMPARE_PART);
	for (uint32_t s = 0; s < r->run->site_count; s++) {
		uint32_t layer = compare_series_layer_of(r, s);
		if (r->groups[layer] != RUN_NONE)
			continue;
		snprintf(name, sizeof(name), "layer %u", layer - 1);
		r->groups[layer] = compare_names_column(r->names, name, COMPARE_PART);
		if (r->groups[layer] == RUN_NONE)
			return -ENOMEM;
	}
	return r->groups[0] == RUN_NONE ? -ENOMEM : 0;
}

static int name_left_out(struct reader *r)
{
	bool any = false;

	for (size_t s = 0; s < r->run->site_count && !any; s++)
		any = r->run->sites[s].left_out;
	if (any)
		r->left_out = compare_names_column(r->names, "left out", COMPARE_PART);
	return r->left_out == RUN_NONE && any ? -ENOMEM : 0;
}

static int name_off_cpu(struct reader *r)
{
	r->series->knows_off = r->run->off_cpu.source != OFF_CPU_UNKNOWN;
	if (!r->series->knows_off)
		return 0;
	r->preempted = compare_names_column(r->names, "preempted", COMPARE_OFF_CPU);
	r->blocked = compare_names_column(r->names, "blocked", COMPARE_OFF_CPU);
	return r->preempted == RUN_NONE || r->blocked == RUN_NONE ? -ENOMEM : 0;
}

static int compare_series_name_columns(struct reader *r)
{
	size_t groups = r->by == SUMMARY_BY_LAYER ? LAYERS : r->run->brick_count + 1;

	r->groups = malloc(groups * sizeof(*r->groups));
	r->kernels = calloc(r->run->kernel_count + 1, sizeof(*r->kernels));
	r->unattributed = compare_names_column(r->names, "unattributed", COMPARE_UNATTRIBUTED);
	if (!r->groups || !r->kernels || r->unattributed == RUN_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < groups; i++)
		r->groups[i] = RUN_NONE;
	int rc = r->by == SUMMARY_BY_LAYER ? name_layers(r) : name_bricks(r);
	if (rc == 0)
		rc = name_left_out(r);
	if (rc == 0)
		rc = name_off_cpu(r);
	for (size_t k = 0; k < r->run->kernel_count && rc == 0; k++) {
		r->kernels[k] =
			compare_names_column(r->names, r->run->kernels[k].name, COMPARE_KERNEL);
		if (r->kernels[k] == RUN_NONE)
			rc = -ENOMEM;
	}
	r->series->columns = r->names->count;
	return rc;
}

static uint32_t steps_a_cell(uint64_t steps, size_t columns)
{
	uint64_t cells = NUMBERS_MAX / columns;

	if (cells > COMPARE_CELLS)
		cells = COMPARE_CELLS;
	return (uint32_t)(cells ? (steps - 1) / cells + 1 : steps);
}

/* The number of steps of a phase, and how many share a cell. */
static void place_steps(struct reader *r)
{
	struct compare_cells *phases = r->series->phases;
	uint64_t seen[STEP_PHASES] = {0};

	for (size_t i = 0; i < r->run->step_count; i++)
		if (step_index_is_evaluated(r->index, r->run, i))
			phases[r->run->steps[i].phase].steps++;
	for (int p = 0; p < STEP_PHASES; p++) {
		uint32_t *share = &r->names->steps_a_cell[p];
		if (!*share && phases[p].steps)
			*share = steps_a_cell(phases[p].steps, r->series->columns);
		phases[p].count = phases[p].steps ? (phases[p].steps - 1) / *share + 1 : 0;
	}
	for (size_t i = 0; i < r->run->step_count; i++) {
		uint32_t p = r->run->steps[i].phase;
		r->cells[i] = step_index_is_evaluated(r->index, r->run, i)
				      ? (uint32_t)(seen[p]++ / r->names->steps_a_cell[p])
				      : RUN_NONE;
	}
}

static int allocate_cells(struct reader *r)
{
	for (int p = 0; p < STEP_PHASES; p++) {
		struct compare_cells *cells = &r->series->phases[p];
		cells->total_ns = calloc(cells->count + 1, sizeof(uint64_t));
		cells->tokens = calloc(cells->count + 1, sizeof(uint64_t));
		cells->between_ns = calloc(cells->count + 1, sizeof(uint64_t));
		cells->column_ns =
			calloc((cells->count + 1) * r->series->columns, sizeof(uint64_t));
		cells->work = calloc(r->series->columns, sizeof(*cells->work));
		if (!cells->total_ns || !cells->tokens || !cells->between_ns || !cells->column_ns ||
			!cells->work)
			return -ENOMEM;
	}
	return 0;
}

/* The columns of the cell that a step is in. */
static uint64_t *compare_series_columns_of(const struct reader *r, uint32_t step)
{
	struct compare_cells *cells = &r->series->phases[r->run->steps[step].phase];

	return cells->column_ns + r->cells[step] * r->series->columns;
}

static void compare_series_add_off(
	const struct reader *r, uint64_t *columns, struct run_off_times off)
{
	columns[r->preempted] += off.preempted_ns;
	columns[r->blocked] += off.blocked_ns;
}

static void compare_series_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	const struct reader *r = context;
	const struct walk_times *counted = &frame->counted;
	bool is_step = r->index->kinds[frame->brick] == BRICK_KIND_STEP;

	if ((frame->scope != WALK_IN_STEP && frame->scope != WALK_AFTER) ||
		r->cells[frame->step] == RUN_NONE)
		return;
	uint64_t *columns = compare_series_columns_of(r, frame->step);
	uint32_t group = r->by == SUMMARY_BY_LAYER
				 ? r->groups[compare_series_layer_of(r, frame->sample->site)]
				 : r->groups[frame->brick];
	uint32_t waits = r->by == SUMMARY_BY_LAYER ? group : r->waits;
	uint32_t left_out = r->run->sites[frame->sample->site].left_out;
	const struct walk_shares shares = walk_shares(r->index, frame);
	if (!is_step && left_out & RUN_LEFT_OUT_TIME) {
		columns[r->left_out] += counted->self_ns;
	} else { /* compare_series_take_totals() adds what is unattributed */
		compare_series_add_off(r, columns, shares.own_off);
		columns[group] += is_step ? 0 : shares.own_ns;
		if (!is_step) {
			const struct run_site *site = &r->run->sites[frame->sample->site];
			struct compare_work *work =
				&r->series->phases[r->run->steps[frame->step].phase].work[group];
			work->count++;
			work->bytes += (double)site->bytes;
			work->flops += (double)site->flops;
		}
	}
	if (left_out & RUN_LEFT_OUT_WAITS) {
		columns[r->left_out] += counted->inner_ns + counted->wait_ns;
	} else {
		compare_series_add_off(r, columns, shares.wait_off);
		columns[waits] += shares.wait_ns;
	}
}

static void compare_series_add_commands(const struct reader *r)
{
	const struct run *run = r->run;

	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		const struct run_sample *sample = run_command_sample(run, c);
		uint32_t step = launches_step(run, r->index, c->lane, c->sample);
		if (step != RUN_NONE && r->cells[step] != RUN_NONE && c->kernel != RUN_NONE &&
			!run->sites[sample->site].left_out)
			compare_series_columns_of(r, step)[r->kernels[c->kernel]] +=
				sample->end_ns - sample->begin_ns;
	}
}

static void compare_series_add_between(void *context, const struct step_between *between)
{
	const struct reader *r = context;
	struct compare_cells *cells = &r->series->phases[r->run->steps[between->step].phase];

	if (r->cells[between->step] != RUN_NONE)
		cells->between_ns[r->cells[between->step]] += between->ns;
}

static void compare_series_take_totals(struct reader *r, const struct step_times *times)
{
	if (!r->run->is_scattered)
		step_times_between(times->steps, r->run, r->index, compare_series_add_between, r);
	for (size_t i = 0; i < r->run->step_count; i++) {
		const struct run_step *step = &r->run->steps[i];
		struct compare_cells *cells = &r->series->phases[step->phase];
		if (r->cells[i] == RUN_NONE)
			continue;
		cells->total_ns[r->cells[i]] += step_time_total_ns(&times->steps[i]);
		/* the unit that all is compared by is a token, or a step where tokens are none */
		cells->tokens[r->cells[i]] +=
			step->phase == BRICK_PHASE_OTHER ? 1 : step->tokens + step->drafts;
		compare_series_columns_of(r, (uint32_t)i)[r->unattributed] +=
			times->steps[i].unattributed_ns;
	}
	for (int p = 0; p < STEP_PHASES; p++) {
		const struct step_phase_times *t = &times->phases[p];
		uint64_t evaluated_ns = t->total_ns - t->unevaluated_ns;
		r->series->phases[p].united =
			evaluated_ns ? (double)t->union_ns / (double)evaluated_ns : 1;
		/* cells hold evaluated tokens, rates count output tokens */
		if (t->tokens)
			r->series->phases[p].united *=
				1 + (double)t->draft_tokens / (double)t->tokens;
		struct compare_cells *cells = &r->series->phases[p];
		double tokens = 0;
		for (size_t i = 0; i < cells->count; i++)
			tokens += (double)cells->tokens[i];
		for (size_t k = 0; k < r->series->columns && tokens > 0; k++) {
			cells->work[k].count /= tokens;
			cells->work[k].bytes /= tokens;
			cells->work[k].flops /= tokens;
		}
	}
	r->series->ttft_ns = times->ttft_ns;
}

static int compare_series_read_run(struct reader *r)
{
	static const struct walk_ops ops = {.end = compare_series_on_end};
	struct step_times times;
	struct walk walk;

	walk_init(&walk, r->run, r->index);
	int rc = step_times_init(&times, &walk);
	if (rc < 0)
		return rc;
	walk_join(&walk, &ops, r);
	rc = walk_run(&walk);
	if (rc == 0) {
		compare_series_take_totals(r, &times);
		compare_series_add_commands(r);
	}
	step_times_fini(&times);
	return rc;
}

int compare_series_init(struct compare_series *series, struct compare_names *names,
	const struct run *run, enum summary_by by)
{
	struct step_index index;
	struct reader r = {.series = series,
		.names = names,
		.run = run,
		.index = &index,
		.by = by,
		.left_out = RUN_NONE};

	memset(series, 0, sizeof(*series));
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	r.cells = malloc((run->step_count + 1) * sizeof(*r.cells));
	rc = r.cells ? compare_series_name_columns(&r) : -ENOMEM;
	if (rc == 0) {
		place_steps(&r);
		rc = allocate_cells(&r);
	}
	if (rc == 0)
		rc = compare_series_read_run(&r);
	series->wall_ns = run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0;
	series->is_disturbed = presence_is_disturbed(run);
	if (rc < 0)
		compare_series_fini(series);
	free(r.cells);
	free(r.groups);
	free(r.kernels);
	step_index_fini(&index);
	return rc;
}

void compare_series_fini(struct compare_series *series)
{
	for (int p = 0; p < STEP_PHASES; p++) {
		struct compare_cells *cells = &series->phases[p];
		free(cells->total_ns);
		free(cells->between_ns);
		free(cells->tokens);
		free(cells->column_ns);
		free(cells->work);
	}
	memset(series, 0, sizeof(*series));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Layers and bricks are summed by name, as each recording numbers its bricks anew. */
#include "ui/page/page_diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/accounts/call_tree.h"
#include "analysis/statistics/unknown.h"
#include "base/order.h"
#include "brick/version.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/page/pack.h"
#include "ui/page/page_json.h"

enum { POINTS_MAX = 400, TYPICAL_MAX = 32, FEW = 4 };

/* A brick in a layer: its time per token, summed over recordings. */
struct part {
	int32_t layer;
	json_int_t brick;
	double ns[2];
};

struct page_diff {
	struct page_names names; /* of bricks */
	struct {
		struct page_names keys; /* "layer brick" */
		ARRAY(struct part) parts;
		uint64_t recordings[2];
	} phases[STEP_PHASES];
};

struct page_diff *page_diff_create(void)
{
	struct page_diff *diff = calloc(1, sizeof(*diff));

	if (!diff)
		return NULL;
	diff->names = page_names_begin();
	for (int phase = 0; phase < STEP_PHASES; phase++)
		diff->phases[phase].keys = page_names_begin();
	return diff;
}

void page_diff_destroy(struct page_diff *diff)
{
	if (!diff)
		return;
	json_decref(page_names_end(&diff->names));
	for (int phase = 0; phase < STEP_PHASES; phase++) {
		json_decref(page_names_end(&diff->phases[phase].keys));
		array_fini(&diff->phases[phase].parts);
	}
	free(diff);
}

/* NULL: not enough memory. */
static struct part *page_diff_part_of(
	struct page_diff *diff, int phase, int32_t layer, const char *name)
{
	json_int_t brick = page_names_add(&diff->names, name);
	char key[48];

	snprintf(key, sizeof(key), "%d %lld", layer, (long long)brick);
	size_t at = (size_t)page_names_add(&diff->phases[phase].keys, key);
	if (text_error() < 0 || (at == diff->phases[phase].parts.count &&
					array_push(&diff->phases[phase].parts,
						(struct part){layer, brick, {0, 0}}) < 0))
		return NULL;
	return &diff->phases[phase].parts.items[at];
}

/* A step of a phase by the time of its tokens. */
struct typical {
	double ns;
	uint32_t step;
};

COMPARATOR(compare_typical, struct typical, ORDER(x->ns, y->ns) ?: ORDER(x->step, y->step))

/*
 * Chooses steps as a comparison does: the quarter below the median, or all where they are few.
 * -ENOMEM.
 */
static int typical_steps(uint32_t chosen[TYPICAL_MAX], const struct run *run,
	const struct step_index *index, const struct step_times *times, int phase)
{
	SCOPED struct typical *steps = calloc(run->step_count + 1, sizeof(*steps));
	size_t n = 0;
	int count = 0;

	if (!steps)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->step_count; i++)
		if (step_index_is_evaluated(index, run, i) &&
			(int)step_phase_of(&run->steps[i]) == phase && run->steps[i].tokens)
			steps[n++] = (struct typical){(double)step_time_total_ns(&times->steps[i]) /
							      (double)run->steps[i].tokens,
				i};
	qsort(steps, n, sizeof(*steps), compare_typical);
	size_t first = n < FEW ? 0 : n / 4, some = n < FEW ? n : (n + 1) / 2 - n / 4;
	size_t wanted = some < TYPICAL_MAX ? some : TYPICAL_MAX;
	for (size_t i = 0; i < wanted; i++)
		chosen[count++] = steps[first + i * some / wanted].step;
	return count;
}

static const char *part_name(const struct call_tree *tree, const struct call_node *node)
{
	switch (node->kind) {
	case CALL_BRICK:
		return tree->run->bricks[node->brick].name;
	case CALL_WAIT:
		return "BarrierWait";
	case CALL_PREEMPTED:
	case CALL_BLOCKED:
		return call_kind_name(node->kind);
	case CALL_ROOT:
		return "unattributed";
	default:
		return NULL; /* a layer has no time of its own; operations belong to bricks */
	}
}

static int add_tree(
	struct page_diff *diff, int side, int phase, const struct call_tree *tree, double tokens)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct call_node *node = &tree->nodes[i];
		const char *name = part_name(tree, node);
		if (!name || !node->self_ns)
			continue;
		struct part *part =
			page_diff_part_of(diff, phase, node->layer < 0 ? -1 : node->layer, name);
		if (!part)
			return -ENOMEM;
		part->ns[side] += (double)node->self_ns / tokens;
	}
	return 0;
}

static int page_diff_add_phase(struct page_diff *diff, int side, const struct run *run,
	const struct step_index *index, const struct step_times *times, int phase)
{
	uint32_t steps[TYPICAL_MAX];
	struct call_tree *trees[TYPICAL_MAX];
	int count = typical_steps(steps, run, index, times, phase);
	double tokens = 0;

	if (count <= 0)
		return count;
	int rc = call_trees_of_steps(trees, run, index, steps, (size_t)count);
	if (rc < 0)
		return rc;
	diff->phases[phase].recordings[side]++;
	for (int i = 0; i < count; i++)
		tokens += (double)run->steps[steps[i]].tokens;
	for (int i = 0; i < count; i++) {
		if (rc == 0)
			rc = add_tree(diff, side, phase, trees[i], tokens);
		call_tree_destroy(trees[i]);
	}
	return rc;
}

int page_diff_add(struct page_diff *diff, int side, const struct run *run)
{
	SCOPED_BY(step_index_fini) struct step_index index = {0};
	SCOPED_BY(step_times_fini) struct step_times times = {0};

	int rc = step_index_init(&index, run);
	if (rc == 0)
		rc = step_times_measure(&times, run, &index);
	for (int phase = 0; rc >= 0 && phase < STEP_PHASES; phase++)
		rc = page_diff_add_phase(diff, side, run, &index, &times, phase);
	return rc < 0 ? rc : 0;
}

/* [layer, brick, mean ns a token in A, in B] */
static json_t *parts_json(const struct page_diff *diff, int phase)
{
	const uint64_t *recordings = diff->phases[phase].recordings;
	json_t *array = json_array();

	for (size_t i = 0; i < diff->phases[phase].parts.count && recordings[0] && recordings[1];
		i++) {
		const struct part *part = &diff->phases[phase].parts.items[i];
		json_t *cell = json_array();
		json_add(cell, json_integer(part->layer));
		json_add(cell, json_integer(part->brick));
		json_add(cell, json_rate(part->ns[0] / (double)recordings[0]));
		json_add(cell, json_rate(part->ns[1] / (double)recordings[1]));
		json_add(array, cell);
	}
	return array;
}

/* The time of a token in groups of steps; the groups are large enough that the points stay few. */
static json_t *page_diff_steps_json(const struct compare_cells *cells)
{
	size_t each = (cells->count + POINTS_MAX - 1) / POINTS_MAX;
	json_t *object = json_object(), *ns = json_array();

	for (size_t i = 0; i < cells->count; i += each) {
		uint64_t total = 0, tokens = 0;
		for (size_t k = i; k < i + each && k < cells->count; k++) {
			total += cells->total_ns[k];
			tokens += cells->tokens[k];
		}
		json_add(ns, json_rate(known_ratio(total, tokens)));
	}
	json_put(object, "steps", json_number(cells->steps));
	json_put(object, "token_ns", ns);
	return object;
}

static json_t *recording_json(const struct diff_origin *origin, const struct compare_series *series)
{
	json_t *object = json_object(), *phases = json_object();

	json_put(object, "path", json_text(origin->path));
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (series->phases[phase].count)
			json_put(phases, step_phase_name(phase),
				page_diff_steps_json(&series->phases[phase]));
	json_put(object, "phases", phases);
	return object;
}

int page_diff_write(const struct page_diff *diff, const struct diff_view *view,
	const struct compare_series *series, FILE *out)
{
	const struct diff_origins *origins = view->origins;
	json_t *root = json_object(), *layers = json_object();
	json_t *sides[2] = {json_array(), json_array()};

	for (size_t i = 0; i < origins->in_a + origins->in_b; i++)
		json_add(sides[i >= origins->in_a], recording_json(&origins->list[i], &series[i]));
	for (int phase = 0; phase < STEP_PHASES; phase++)
		json_put(layers, step_phase_name(phase), parts_json(diff, phase));
	json_put(root, "schema", json_text("brick/diff-page/2"));
	json_put(root, "version", json_text(brick_version()));
	json_put(root, "by", json_text(summary_by_plural(view->by)));
	json_put(root, "diff", diff_to_json(view));
	json_put(root, "a", sides[0]);
	json_put(root, "b", sides[1]);
	json_put(root, "bricks", json_incref(diff->names.list));
	json_put(root, "layers", layers);
	int rc = text_error();
	if (rc == 0)
		rc = page_write(root, out);
	json_decref(root);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single steps were made of, for the page: the first and the median one of each phase, and the
 * slowest. A tree is a table in columns, a parent before what it holds; names are kept once for all
 * trees. Called by page.c.
 */
#include <stdlib.h>

#include "analysis/call_tree.h"
#include "analysis/path.h"
#include "view/exit_code.h"
#include "view/die.h"
#include "view/json.h"
#include "view/memory.h"
#include "html/page.h"
#include "view/path.h"
#include "view/step_choice.h"
#include "view/tree.h"

enum { NODES_MAX = 40000, HOPS_MAX = 4000, SLOWEST = 4 };

static void choose(
	struct page_choice choices[PAGE_CHOICES], size_t *count, uint32_t step, const char *why)
{
	if (step == RUN_NONE || *count == PAGE_CHOICES)
		return;
	for (size_t i = 0; i < *count; i++)
		if (choices[i].step == step)
			return;
	choices[(*count)++] = (struct page_choice){step, why};
}

static int is_of(const struct page *page, uint32_t step, enum step_phase phase)
{
	return page->index.finished[step] && step_phase_of(&page->run->steps[step]) == phase;
}

/* The slowest one that takes less than `below_ns`. */
static uint32_t slowest(const struct page *page, enum step_phase phase, uint64_t below_ns)
{
	uint32_t found = RUN_NONE;
	uint64_t found_ns = 0;
	for (uint32_t i = 0; i < page->run->step_count; i++) {
		uint64_t ns = step_time_total_ns(&page->times->steps[i]);
		if (!is_of(page, i, phase) || ns >= below_ns ||
			(found != RUN_NONE && ns <= found_ns))
			continue;
		found = i;
		found_ns = ns;
	}
	return found;
}

static uint32_t first_of(const struct page *page, enum step_phase phase, int last)
{
	uint32_t found = RUN_NONE;
	for (uint32_t i = 0; i < page->run->step_count; i++)
		if (is_of(page, i, phase) && (found == RUN_NONE || last))
			found = i;
	return found;
}

size_t page_choose(const struct page *page, struct page_choice choices[PAGE_CHOICES])
{
	static const char *const words[STEP_PHASES][5] = {
		[STEP_PREFILL] = {"median prefill", "first prefill", "slowest prefill",
			"slow prefill", "last prefill"},
		[STEP_DECODE] = {"median decode", "first decode", "slowest decode", "slow decode",
			"last decode"},
		[STEP_MIXED] = {"median mixed", "first mixed", "slowest mixed", "slow mixed",
			"last mixed"},
	};
	static const enum step_phase order[] = {STEP_DECODE, STEP_MIXED, STEP_PREFILL};
	size_t count = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum step_phase phase = order[i];
		const char *const *word = words[phase];
		uint64_t below_ns = UINT64_MAX;
		choose(choices, &count,
			step_times_median(page->times, page->run, &page->index, phase), word[0]);
		choose(choices, &count, first_of(page, phase, 0), word[1]);
		for (int k = 0; k < (phase == STEP_DECODE ? SLOWEST : 1); k++) {
			uint32_t step = slowest(page, phase, below_ns);
			choose(choices, &count, step, word[k ? 3 : 2]);
			if (step != RUN_NONE)
				below_ns = step_time_total_ns(&page->times->steps[step]);
		}
		choose(choices, &count, first_of(page, phase, 1), word[4]);
	}
	return count;
}

/* Names of all trees, and where in the list each stands. */
struct names {
	json_t *list, *numbers;
};

static json_t *name_json(struct names *names, const char *name)
{
	json_t *text = json_text(name);
	const char *valid = json_string_value(text);
	json_t *number = json_object_get(names->numbers, valid);
	if (!number) {
		number = json_number(json_array_size(names->list));
		json_put(names->numbers, valid, number);
		json_add(names->list, json_incref(text));
	}
	json_decref(text);
	return json_incref(number);
}

struct columns {
	json_t *parent, *name, *kind, *layer, *count, *time, *self, *bytes, *flops;
};

static void add_node(struct columns *to, struct names *names, const struct call_tree *tree,
	const struct call_node *node, json_int_t parent)
{
	char *name = tree_name(tree, node);
	json_add(to->parent, json_integer(parent));
	json_add(to->name, name_json(names, name));
	json_add(to->kind, json_number(node->kind));
	json_add(to->layer, json_integer(node->layer < 0 ? -1 : node->layer));
	json_add(to->count, json_number(node->count));
	json_add(to->time, json_number(node->time_ns));
	json_add(to->self, json_number(node->self_ns));
	json_add(to->bytes, json_number(node->bytes));
	json_add(to->flops, json_number(node->flops));
	free(name);
}

static size_t count_nodes(const struct call_tree *tree, int operations)
{
	size_t count = 0;
	for (size_t i = 0; i < tree->count; i++)
		count += operations || tree->nodes[i].kind != CALL_OPERATION;
	return count;
}

/* Numbers in the columns are those of the nodes that are shown. */
static json_t *nodes_json(const struct call_tree *tree, struct names *names, int operations)
{
	struct columns to = {json_array(), json_array(), json_array(), json_array(), json_array(),
		json_array(), json_array(), json_array(), json_array()};
	json_int_t *number = xcalloc(tree->count + 1, sizeof(*number));
	json_int_t next = 0;
	for (size_t i = 0; i < tree->count; i++) {
		const struct call_node *node = &tree->nodes[i];
		json_int_t parent = node->parent == RUN_NONE ? -1 : number[node->parent];
		bool left_out = (!operations && node->kind == CALL_OPERATION) || parent < -1 ||
				(i && parent == -1);
		number[i] = left_out ? -2 : next++;
		if (!left_out)
			add_node(&to, names, tree, node, parent);
	}
	free(number);
	json_t *object = json_object();
	json_put(object, "parent", to.parent);
	json_put(object, "name", to.name);
	json_put(object, "kind", to.kind);
	json_put(object, "layer", to.layer);
	json_put(object, "count", to.count);
	json_put(object, "time_ns", to.time);
	json_put(object, "self_ns", to.self);
	json_put(object, "bytes", to.bytes);
	json_put(object, "flops", to.flops);
	return object;
}

static json_t *tree_of(const struct page *page, const struct page_choice *choice,
	const struct call_tree *tree, struct names *names, size_t *left)
{
	const struct run_step *step = &page->run->steps[choice->step];
	const struct step_time *time = &page->times->steps[choice->step];
	int operations = count_nodes(tree, 1) <= *left;
	size_t nodes = count_nodes(tree, operations);
	if (nodes > *left)
		return NULL;
	*left -= nodes;
	json_t *object = json_object();
	json_put(object, "why", json_text(choice->why));
	json_put(object, "number",
		json_number(step_choice_number(page->run, &page->index, choice->step)));
	json_put(object, "phase", json_text(step_phase_name((int)step->phase)));
	json_put(object, "tokens", json_number(step->tokens));
	json_put(object, "total_ns", json_number(step_time_total_ns(time)));
	json_put(object, "unattributed_ns", json_number(time->unattributed_ns));
	json_put(object, "other_threads", json_number(tree->threads));
	json_put(object, "operations", json_boolean(operations));
	json_put(object, "nodes", nodes_json(tree, names, operations));
	return object;
}

json_t *page_trees(const struct page *page)
{
	static const char *const kinds[] = {
		[CALL_ROOT] = "root",
		[CALL_LAYER] = "layer",
		[CALL_BRICK] = "brick",
		[CALL_OPERATION] = "operation",
		[CALL_WAIT] = "wait",
		[CALL_KERNEL] = "kernel",
		[CALL_LEFT_OUT] = "left out",
	};
	struct page_choice choices[PAGE_CHOICES];
	struct names names = {json_array(), json_object()};
	struct call_tree *trees[PAGE_CHOICES];
	uint32_t chosen[PAGE_CHOICES];
	size_t count = page_choose(page, choices), left = NODES_MAX;
	json_t *object = json_object(), *steps = json_array(), *words = json_array();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		json_add(words, json_text(kinds[i]));
	for (size_t i = 0; i < count; i++)
		chosen[i] = choices[i].step;
	if (call_trees_of_steps(trees, page->run, &page->index, chosen, count) < 0)
		die(CLI_SYSTEM, "not enough memory for the trees of the page");
	for (size_t i = 0; i < count; i++) {
		json_t *tree = tree_of(page, &choices[i], trees[i], &names, &left);
		if (tree)
			json_add(steps, tree);
		call_tree_destroy(trees[i]);
	}
	json_put(object, "kinds", words);
	json_put(object, "names", names.list);
	json_put(object, "steps", steps);
	json_decref(names.numbers);
	return object;
}

static json_t *path_of(const struct page *page, uint32_t step)
{
	struct path *path;
	if (path_create_from(&path, &page->source, page->run, &page->index, step) < 0)
		return json_null();
	size_t hops = 0;
	for (size_t i = 0; i < path->section_count; i++)
		hops += path->sections[i].hop_count;
	const struct path_view view = {
		.run = page->run, .path = path, .index = &page->index, .all = 1};
	json_t *object = hops <= HOPS_MAX ? path_to_json(&view) : json_null();
	path_destroy(path);
	return object;
}

json_t *page_path(const struct page *page)
{
	json_t *object = json_object();
	uint32_t median = step_times_median(page->times, page->run, &page->index, STEP_DECODE);
	json_put(object, "all", path_of(page, RUN_NONE));
	json_put(object, "median_decode", median == RUN_NONE ? json_null() : path_of(page, median));
	return object;
}

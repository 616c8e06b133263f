/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single steps were made of, for the page. A tree is a table in columns, a parent before what
 * it holds; names are kept once for all trees. A few have their operations; of many others only
 * times are kept, and what their nodes are once for all steps that were made of the same. Called by
 * page.c.
 */
#include <stdlib.h>

#include "analysis/accounts/call_tree.h"
#include "analysis/path/path.h"
#include "ui/text/exit_code.h"
#include "ui/text/die.h"
#include "ui/text/json_out.h"
#include "ui/text/memory.h"
#include "ui/page/pack.h"
#include "ui/page/page.h"
#include "ui/text/path_view.h"
#include "ui/text/tree_view.h"

enum { NODES_MAX = 40000, HOPS_MAX = 4000 };

struct columns {
	json_t *parent, *name, *kind, *layer, *count, *time_ns, *self_ns, *bytes, *flops;
};

static void add_node(struct columns *to, struct page_names *names, const struct call_tree *tree,
	const struct call_node *node, json_int_t parent)
{
	SCOPED char *name = tree_name(tree, node);
	json_add(to->parent, json_integer(parent));
	json_add(to->name, json_integer(page_names_add(names, name)));
	json_add(to->kind, json_number(node->kind));
	json_add(to->layer, json_integer(node->layer < 0 ? -1 : node->layer));
	json_add(to->count, json_number(node->count));
	json_add(to->time_ns, json_number(node->time_ns));
	json_add(to->self_ns, json_number(node->self_ns));
	json_add(to->bytes, json_number(node->bytes));
	json_add(to->flops, json_number(node->flops));
}

static size_t count_nodes(const struct call_tree *tree, int operations)
{
	size_t count = 0;
	for (size_t i = 0; i < tree->count; i++)
		count += operations || tree->nodes[i].kind != CALL_OPERATION;
	return count;
}

/* Numbers in the columns are those of the nodes that are shown. */
static json_t *nodes_json(const struct call_tree *tree, struct page_names *names, int operations)
{
	struct columns to = {json_array(), json_array(), json_array(), json_array(), json_array(),
		json_array(), json_array(), json_array(), json_array()};
	SCOPED json_int_t *number = xcalloc(tree->count + 1, sizeof(*number));
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
	json_t *object = json_object();
#define PUT(object, to, m) json_put(object, #m, (to)->m);
	EACH(PUT, object, &to, parent, name, kind, layer, count, time_ns, self_ns, bytes, flops)
#undef PUT
	return object;
}

static json_t *head_of(
	const struct page *page, uint32_t number, const struct call_tree *tree, uint32_t shown)
{
	const struct run_step *step = &page->run->steps[number];
	const struct step_time *time = &page->times->steps[number];
	json_t *object = json_object();
	json_put(object, "number", json_number(shown));
	json_put(object, "phase", json_text(step_phase_name((int)step->phase)));
	json_put(object, "tokens", json_number(step->tokens));
	json_put(object, "total_ns", json_number(step_time_total_ns(time)));
	json_put(object, "unattributed_ns", json_number(time->unattributed_ns));
	json_put(object, "other_threads", json_number(tree->threads));
	return object;
}

/* 0: there are more than are left. */
static int add_nodes(json_t *object, const struct call_tree *tree, struct page_names *names,
	const char *why, size_t *left)
{
	int operations = count_nodes(tree, 1) <= *left;
	size_t nodes = count_nodes(tree, operations);
	if (nodes > *left)
		return 0;
	*left -= nodes;
	json_put(object, "why", json_text(why));
	json_put(object, "operations", json_boolean(operations));
	json_put(object, "nodes", nodes_json(tree, names, operations));
	return 1;
}

/* The nodes of a tree without operations: what they are, which trees share, and their times. */
static json_t *other_nodes(json_t *object, const struct call_tree *tree, struct page_names *names,
	struct page_names *shapes)
{
	struct pack shape = {0}, times = {0}, selves = {0};
	size_t *number = xcalloc(tree->count + 1, sizeof(*number)), next = 0;

	for (size_t i = 0; i < tree->count; i++) {
		const struct call_node *node = &tree->nodes[i];
		if (node->kind == CALL_OPERATION || (i && !number[node->parent]))
			continue; /* with all that is below it */
		SCOPED char *name = tree_name(tree, node);
		number[i] = ++next;
		pack_add(&shape, i ? number[node->parent] : 0);
		pack_add(&shape, (uint64_t)page_names_add(names, name));
		pack_add(&shape, node->kind);
		pack_add(&shape, node->layer < 0 ? 0 : (uint64_t)node->layer + 1);
		pack_add(&shape, node->count);
		pack_add(&times, node->time_ns);
		pack_add(&selves, node->self_ns);
	}
	free(number);
	json_t *text = pack_end(&shape);
	json_put(object, "shape", json_integer(page_names_add(shapes, json_string_value(text))));
	json_decref(text);
	json_put(object, "time_ns", pack_end(&times));
	json_put(object, "self_ns", pack_end(&selves));
	return object;
}

static uint32_t *steps_of(const struct page *page, bool whole, struct page_choice *choices,
	size_t *chosen, size_t *count)
{
	SCOPED uint32_t *kept = whole ? page_choose_kept(page, count) : NULL;
	*count = whole ? *count : 0;
	*chosen = page_choose(page, choices);
	uint32_t *steps = xcalloc(*chosen + *count + 1, sizeof(*steps));
	for (size_t i = 0; i < *chosen; i++)
		steps[i] = choices[i].step;
	size_t all = *chosen;
	for (size_t i = 0; i < *count; i++) {
		size_t k = 0;
		while (k < *chosen && choices[k].step != kept[i])
			k++;
		if (k == *chosen)
			steps[all++] = kept[i];
	}
	*count = all;
	return steps;
}

static json_t *kinds_json(void)
{
	json_t *words = json_array();
	for (int kind = 0; kind < CALL_KINDS; kind++)
		json_add(words, json_text(call_kind_name(kind)));
	return words;
}

static struct call_tree **make_trees(const struct page *page, const uint32_t *steps, size_t count)
{
	struct call_tree **trees = xcalloc(count + 1, sizeof(*trees));
	if (call_trees_of_steps(trees, page->run, &page->index, steps, count) < 0)
		die(CLI_SYSTEM, "not enough memory for the trees of the page");
	return trees;
}

json_t *page_trees(const struct page *page, bool whole)
{
	struct page_choice choices[PAGE_CHOICES];
	struct page_names names = page_names_begin(), shapes = page_names_begin();
	size_t chosen, count, left = NODES_MAX;
	SCOPED uint32_t *steps = steps_of(page, whole, choices, &chosen, &count);
	SCOPED struct call_tree **trees = make_trees(page, steps, count);
	SCOPED uint32_t *numbers = page_numbers(page);
	json_t *object = json_object(), *list = json_array(), *others = json_array();
	for (size_t i = 0; i < count; i++) {
		bool operations = i < chosen;
		json_t *head = head_of(page, steps[i], trees[i], numbers[steps[i]]);
		if (!operations || !add_nodes(head, trees[i], &names, choices[i].why, &left))
			json_add(others, other_nodes(head, trees[i], &names, &shapes));
		else
			json_add(list, head);
		call_tree_destroy(trees[i]);
	}
	json_put(object, "kinds", kinds_json());
	json_put(object, "names", page_names_end(&names));
	json_put(object, "steps", list);
	json_put(object, "shapes", page_names_end(&shapes));
	json_put(object, "others", others);
	return object;
}

json_t *page_step_json(const struct page *page, uint64_t number)
{
	struct page_names names = page_names_begin();
	uint32_t *numbers = page_numbers(page), step = 0;
	size_t left = NODES_MAX;
	while (step < page->run->step_count &&
		(numbers[step] != number || !page->index.finished[step]))
		step++;
	free(numbers);
	if (step == page->run->step_count) {
		json_decref(page_names_end(&names));
		return NULL;
	}
	SCOPED struct call_tree **trees = make_trees(page, &step, 1);
	json_t *object = json_object(), *head = head_of(page, step, trees[0], (uint32_t)number);
	int shown = add_nodes(head, trees[0], &names, "chosen", &left);
	call_tree_destroy(trees[0]);
	json_put(object, "kinds", kinds_json());
	json_put(object, "names", page_names_end(&names));
	json_put(object, "step", shown ? head : json_null());
	if (!shown)
		json_decref(head);
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

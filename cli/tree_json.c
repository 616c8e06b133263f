/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees as JSON, schema brick/tree/1: a node's time is the sum of its children's times and its
 * self time; times in ns, null where unknown. Called by `brick tree --json`.
 */
#include <stdlib.h>

#include "cli/json.h"
#include "cli/tree.h"

static json_t *node_json(const struct tree_view *view, const struct call_tree *tree,
	const struct call_node *node, unsigned depth)
{
	static const char *const kinds[] = {
		[CALL_ROOT] = "root",
		[CALL_LAYER] = "layer",
		[CALL_BRICK] = "brick",
		[CALL_OPERATION] = "operation",
		[CALL_WAIT] = "wait",
	};
	json_t *object = json_object(), *children = json_array();
	char *name = tree_name(tree, node);
	json_put(object, "name", json_text(name));
	json_put(object, "kind", json_text(kinds[node->kind]));
	json_put(object, "layer", node->layer >= 0 ? json_integer(node->layer) : json_null());
	json_put(object, "count", json_number(node->count));
	json_put(object, "time_ns", json_number(node->time_ns));
	json_put(object, "self_ns", json_number(node->self_ns));
	json_put(object, "elements", json_number(node->elements));
	json_put(object, "bytes", json_number(node->bytes));
	json_put(object, "flops", json_number(node->flops));
	for (uint32_t i = node->first; i != RUN_NONE; i = tree->nodes[i].next)
		if (tree_shows(view, &tree->nodes[i], depth + 1))
			json_add(children, node_json(view, tree, &tree->nodes[i], depth + 1));
	json_put(object, "children", children);
	free(name);
	return object;
}

static json_t *step_json(const struct tree_view *view, uint32_t number)
{
	const struct run_step *step = &view->run->steps[number];
	const struct step_time *times = &view->times->steps[number];
	json_t *object = json_object();
	json_put(object, "number", json_number(tree_step_number(view, number)));
	json_put(object, "of", json_number(view->index->count));
	json_put(object, "phase", json_text(step->decode ? "decode" : "prefill"));
	json_put(object, "tokens", json_number(step->tokens));
	json_put(object, "begin_ns",
		json_number(step->begin_ns > view->run->start_ns
				    ? step->begin_ns - view->run->start_ns
				    : 0));
	json_put(object, "span_ns", json_number(times->span_ns));
	json_put(object, "after_ns", json_number(times->after_ns));
	json_put(object, "total_ns", json_number(step_time_total_ns(times)));
	json_put(object, "unattributed_ns", json_number(times->unattributed_ns));
	return object;
}

void tree_json(
	const struct tree_view *view, const struct call_tree *const *trees, size_t count, FILE *out)
{
	json_t *root = json_object(), *array = json_array();
	json_put(root, "schema", json_text("brick/tree/1"));
	for (size_t i = 0; i < count; i++) {
		const struct call_tree *tree = trees[i];
		json_t *object = json_object();
		json_put(object, "step",
			tree->step == RUN_NONE ? json_null() : step_json(view, tree->step));
		json_put(object, "tid", json_number(view->run->lanes[tree->lane].tid));
		json_put(object, "other_threads", json_number(tree->threads));
		json_put(object, "tree", node_json(view, tree, &tree->nodes[0], 0));
		json_add(array, object);
	}
	json_put(root, "trees", array);
	json_print(root, out);
}

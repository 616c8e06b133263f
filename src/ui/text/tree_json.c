/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees as JSON, schema brick/tree/1: a node's time is the sum of its children's times and its
 * self time; times in ns, null where unknown. Kernels have times of a device, which are no part of
 * those above them. Called by `brick tree --json`.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "ui/text/json_out.h"
#include "ui/text/step_number.h"
#include "ui/text/tree_view.h"
#include "trace/trace_text.h"

static void put_kernel(json_t *object, const struct run_kernel *kernel)
{
	json_put_texts(object, kernel, name, backend);
	json_put(object, "launched", json_text(text_kernel_kind(kernel->kind)));
	json_put(object, "grid", json_sizes(kernel->grid));
	json_put(object, "block", json_sizes(kernel->block));
	json_put(object, "shared_bytes", json_number(kernel->shared_bytes));
}

static json_t *node_json(const struct tree_view *view, const struct call_tree *tree,
	const struct call_node *node, unsigned depth)
{
	json_t *object = json_object(), *children = json_array();
	SCOPED char *name = tree_name(tree, node);
	json_put(object, "name", json_text(name));
	json_put(object, "kind", json_text(call_kind_name(node->kind)));
	json_put(object, "layer", node->layer >= 0 ? json_integer(node->layer) : json_null());
	json_put_numbers(object, node, count, open, time_ns, self_ns);
	bool known = run_off_cpu_is_known(tree->run, 0, UINT64_MAX) && node->kind != CALL_KERNEL;
	uint64_t cpu_ns = node->time_ns > node->off_ns ? node->time_ns - node->off_ns : 0;
	json_put(object, "cpu_ns", known ? json_number(cpu_ns) : json_null());
	json_put(object, "off_ns", known ? json_number(node->off_ns) : json_null());
	json_put_numbers(object, node, elements, bytes, flops);
	for (uint32_t i = node->first; i != RUN_NONE; i = tree->nodes[i].next)
		if (tree_shows(view, &tree->nodes[i], depth + 1))
			json_add(children, node_json(view, tree, &tree->nodes[i], depth + 1));
	if (node->kind == CALL_KERNEL)
		put_kernel(object, &tree->run->kernels[node->kernel]);
	json_put(object, "children", children);
	return object;
}

static json_t *step_json(const struct tree_view *view, uint32_t number)
{
	const struct run_step *step = &view->run->steps[number];
	const struct step_time *times = &view->times->steps[number];
	json_t *object = json_object();
	json_put(object, "number", json_number(step_number(view->run, view->index, number)));
	json_put(object, "of", json_number(step_numbers(view->run, view->index)));
	json_put(object, "phase", json_text(step_phase_name((int)step->phase)));
	json_put(object, "tokens", json_number(step->tokens));
	json_put(object, "begin_ns",
		json_number(step->begin_ns > view->run->start_ns
				    ? step->begin_ns - view->run->start_ns
				    : 0));
	json_put_numbers(object, times, span_ns, after_ns);
	json_put(object, "total_ns", json_number(step_time_total_ns(times)));
	json_put(object, "unattributed_ns", json_number(times->unattributed_ns));
	return object;
}

/* The tree has the sums over them. */
static json_t *steps_json(const struct tree_view *view, const struct call_tree *tree)
{
	const struct step_phase_times *phase = tree_phase(view, tree);
	json_t *object = json_object();
	json_put(object, "count", json_number(tree->steps));
	json_put(object, "of", json_number(step_numbers(view->run, view->index)));
	json_put(object, "phase",
		json_text(step_phase_name((int)view->run->steps[tree->step].phase)));
	json_put_numbers(object, phase, tokens, after_ns, total_ns, unattributed_ns);
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
			tree->steps == 1 ? step_json(view, tree->step) : json_null());
		json_put(object, "steps", tree->steps > 1 ? steps_json(view, tree) : json_null());
		json_put(object, "tid", json_number(view->run->lanes[tree->lane].tid));
		json_put(object, "other_threads", json_number(tree->threads));
		json_put(object, "tree", node_json(view, tree, &tree->nodes[0], 0));
		json_add(array, object);
	}
	json_put(root, "trees", array);
	json_print(root, out);
}

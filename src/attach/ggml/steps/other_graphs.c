/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind of a graph (other_graphs.h). A graph with a loss evaluates, and a graph with gradients
 * or an optimizer's step trains. The encoders of llama.cpp's multimodal programs have their own
 * names of weights: v.blk.0.attn_q.weight, a.conv1d.1.weight. Weights that generate sounds (a.gen.)
 * are none of these.
 */
#include "attach/ggml/steps/other_graphs.h"

#include <pthread.h>
#include <string.h>
#include "attach/ggml/steps/phases.h"
#include "brick/brick.h"

/* The rows of a tensor, over all its outer dimensions (images of a batch); 0: too many. */
static uint32_t other_graphs_rows_of(const struct engine *e, const void *tensor)
{
	const int64_t *ne = tensor_ne(&e->layout, tensor);
	int64_t rows = 1;

	for (int i = 1; i < TENSOR_DIMS; i++)
		if (ne[i] <= 0 || __builtin_mul_overflow(rows, ne[i], &rows) || rows >= INT32_MAX)
			return 0;
	return (uint32_t)rows;
}

static bool other_graphs_begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static enum other_graph kind_of_weight(const char *name)
{
	if (other_graphs_begins(name, "v."))
		return OTHER_IMAGE;
	return other_graphs_begins(name, "mm.a.") || (other_graphs_begins(name, "a.") &&
							     !other_graphs_begins(name, "a.gen."))
		       ? OTHER_SOUND
		       : OTHER_NONE;
}

static bool other_graphs_is_readable(const struct engine *e)
{
	return e && e->layout_known && e->graph_node_count && e->graph_node && e->op_desc &&
	       e->get_name;
}

bool other_graphs_optimizes(const char *operation)
{
	return other_graphs_begins(operation, "OPT_STEP_");
}

/* ggml calls a gradient "grad for" its tensor. A graph that accumulates them changes no weights. */
static bool goes_back(const struct engine *e, const void *node)
{
	const char *operation = e->op_desc(node);

	return other_graphs_optimizes(operation) || !strcmp(operation, "CROSS_ENTROPY_LOSS_BACK") ||
	       other_graphs_begins(e->get_name(node), "grad for ");
}

bool other_graph_trains(const struct engine *e, const void *graph)
{
	int count = other_graphs_is_readable(e) ? e->graph_node_count(graph) : 0;
	const void *last = count > 0 ? e->graph_node(graph, count - 1) : NULL;
	const char *operation = last ? e->op_desc(last) : "";

	return last && (goes_back(e, last) || !strcmp(operation, "COUNT_EQUAL") ||
			       !strcmp(operation, "CROSS_ENTROPY_LOSS"));
}

enum other_graph other_graph_kind(const struct engine *e, const void *graph, uint32_t *positions)
{
	int count = other_graphs_is_readable(e) ? e->graph_node_count(graph) : 0;
	enum other_graph kind = OTHER_NONE;

	*positions = 0;
	for (int i = 0; i < count; i++) {
		const void *node = e->graph_node(graph, i);
		const char *operation = e->op_desc(node);
		if (goes_back(e, node))
			return OTHER_TRAINING; /* the loss came before, with its positions */
		if (!strcmp(operation, "CROSS_ENTROPY_LOSS")) {
			kind = OTHER_EVALUATION;
			*positions = other_graphs_rows_of(e, tensor_source(&e->layout, node, 0));
		}
		for (uint32_t s = 0; s < TENSOR_OPERANDS && kind == OTHER_NONE; s++) {
			const void *source = tensor_source(&e->layout, node, s);
			kind = source ? kind_of_weight(e->get_name(source)) : OTHER_NONE;
		}
	}
	if (kind == OTHER_IMAGE || kind == OTHER_SOUND)
		*positions = other_graphs_rows_of(e, e->graph_node(graph, count - 1));
	return kind;
}

static uint16_t other_graphs_bricks[OTHER_KINDS];

static void other_graphs_register_bricks(void)
{
	static const char *const names[OTHER_KINDS] = {
		NULL, "TrainingGraph", "EvaluationGraph", "ImageGraph", "SoundGraph"};

	phase_graph_bricks(other_graphs_bricks, names, OTHER_KINDS);
}

uint16_t other_graph_brick(enum other_graph kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, other_graphs_register_bricks);
	return other_graphs_bricks[kind];
}

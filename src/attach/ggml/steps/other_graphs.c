/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph is for (other_graphs.h). Only training computes a loss, and only training by
 * gradients goes back from it. The encoders of llama.cpp's multimodal programs have their own
 * names for weights: v.blk.0.attn_q.weight, a.blk.0.attn_q.weight.
 */
#include "attach/ggml/steps/other_graphs.h"

#include <pthread.h>
#include <string.h>
#include "attach/ggml/steps/phases.h"
#include "brick/brick.h"

enum { READ_SOURCES = 2 };

static uint32_t rows_of(const struct engine *e, const void *tensor)
{
	int64_t rows = tensor_ne(&e->layout, tensor)[1];

	return rows > 0 && rows < INT32_MAX ? (uint32_t)rows : 0;
}

/* By the weight that a node reads. */
static enum other_graph kind_of_node(const struct engine *e, const void *node)
{
	for (uint32_t i = 0; i < READ_SOURCES; i++) {
		const void *source = tensor_source(&e->layout, node, i);
		const char *name = source ? e->get_name(source) : "";
		if (!strncmp(name, "v.blk.", 6))
			return OTHER_IMAGE;
		if (!strncmp(name, "a.blk.", 6))
			return OTHER_SOUND;
	}
	return OTHER_NONE;
}

static bool is_readable(const struct engine *e)
{
	return e && e->layout_known && e->graph_node_count && e->graph_node && e->op_desc &&
	       e->get_name;
}

bool other_graphs_optimizes(const char *operation)
{
	return !strncmp(operation, "OPT_STEP_", 9);
}

static bool goes_back(const char *operation)
{
	return other_graphs_optimizes(operation) || !strcmp(operation, "CROSS_ENTROPY_LOSS_BACK");
}

bool other_graph_optimizes(const struct engine *e, const void *graph)
{
	int count = is_readable(e) ? e->graph_node_count(graph) : 0;

	return count > 0 && other_graphs_optimizes(e->op_desc(e->graph_node(graph, count - 1)));
}

enum other_graph other_graph_kind(const struct engine *e, const void *graph, uint32_t *positions)
{
	int count = is_readable(e) ? e->graph_node_count(graph) : 0;
	enum other_graph kind = OTHER_NONE;

	*positions = 0;
	for (int i = 0; i < count; i++) {
		const void *node = e->graph_node(graph, i);
		const char *operation = e->op_desc(node);
		if (goes_back(operation))
			return OTHER_TRAINING; /* the loss came before, with its positions */
		if (!strcmp(operation, "CROSS_ENTROPY_LOSS")) {
			kind = OTHER_EVALUATION;
			*positions = rows_of(e, tensor_source(&e->layout, node, 0));
		} else if (kind == OTHER_NONE) {
			kind = kind_of_node(e, node);
		}
	}
	if (kind == OTHER_IMAGE || kind == OTHER_SOUND)
		*positions = rows_of(e, e->graph_node(graph, count - 1));
	return kind;
}

static uint16_t bricks[OTHER_KINDS];

static void register_bricks(void)
{
	static const char *const names[OTHER_KINDS] = {
		NULL, "TrainingGraph", "EvaluationGraph", "ImageGraph", "SoundGraph"};

	for (int i = 0; i < OTHER_KINDS; i++) {
		int id = names[i] ? brick_register(names[i], BRICK_CATEGORY_ENGINE) : -1;
		bricks[i] = id >= 0 ? (uint16_t)id : phase_brick(PHASE_GRAPH_COMPUTE);
	}
}

uint16_t other_graph_brick(enum other_graph kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_bricks);
	return bricks[kind];
}

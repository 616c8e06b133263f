/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of an execution graph: adding them, finding them, forgetting them. A node that cannot be
 * added whole, with its links to what is open, is not added at all.
 */
#include "brick/graph.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "brick/error.h"
#include "graph/graph.h"

/* Bytes that a node of a kind has beside what all nodes have. */
static const size_t payload_bytes[BRICK_NODE_KINDS] = {
	[BRICK_NODE_KERNEL] = sizeof(struct brick_graph_kernel),
	[BRICK_NODE_TRANSFER] = sizeof(struct brick__transfer),
	[BRICK_NODE_FUNCTION] = sizeof(struct brick__function),
	[BRICK_NODE_TASK] = sizeof(struct brick_graph_task),
};

int brick__grow(void *array, size_t *capacity, size_t count, size_t bytes)
{
	void **p = array;

	if (count < *capacity)
		return 0;
	size_t larger = *capacity ? 2 * *capacity : 16;
	void *moved = reallocarray(*p, larger, bytes);
	if (!moved)
		return -ENOMEM;
	*p = moved;
	*capacity = larger;
	return 0;
}

int brick_graph_create(struct brick_graph **out)
{
	struct brick_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return -ENOMEM;
	*out = graph;
	return 0;
}

void brick_graph_clear(struct brick_graph *graph)
{
	brick__graph_changed(graph);
	brick__graph_scopes_fini(graph);
	brick__graph_codes_fini(graph);
	brick__names_fini(&graph->names);
	brick__map_fini(&graph->lane_names);
	for (int i = 0; i < BRICK_NODE_KINDS; i++) {
		free(graph->kinds[i].nodes);
		free(graph->kinds[i].payloads);
	}
	free(graph->nodes);
	free(graph->edges);
	free(graph->edge_kinds);
	memset(graph, 0, sizeof(*graph));
}

void brick_graph_destroy(struct brick_graph *graph)
{
	if (!graph)
		return;
	brick_graph_clear(graph);
	free(graph);
}

static int text_is_valid(const char *text)
{
	size_t n = strnlen(text, BRICK_GRAPH_NAME_BYTES + 1);
	return n > 0 && n <= BRICK_GRAPH_NAME_BYTES;
}

/* Optional texts: none is valid, too, and so is an empty one, which says nothing. */
static int text_is_valid_or_none(const char *text)
{
	return !text || !*text || text_is_valid(text);
}

static int number_is_valid(const struct brick_graph_node *node, unsigned flag, double value)
{
	return !(node->flags & flag) || (isfinite(value) && value >= 0);
}

static int node_is_valid(const struct brick_graph_node *node)
{
	if (node->kind >= BRICK_NODE_KINDS || !text_is_valid_or_none(node->label))
		return 0;
	if (node->name ? !text_is_valid(node->name) : node->kind != BRICK_NODE_LAYER)
		return 0;
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		return number_is_valid(node, BRICK_NODE_HAS_INTENSITY, node->kernel.intensity) &&
		       number_is_valid(node, BRICK_NODE_HAS_TFLOPS, node->kernel.tflops);
	case BRICK_NODE_TRANSFER:
		return text_is_valid_or_none(node->transfer.source) &&
		       text_is_valid_or_none(node->transfer.target) &&
		       node->transfer.direction <= BRICK_TRANSFER_D2D;
	case BRICK_NODE_FUNCTION:
		return text_is_valid_or_none(node->function.file);
	default:
		return 1;
	}
}

static int intern(struct brick_graph *graph, const char *text, uint32_t *number)
{
	*number = BRICK__NONE;
	return text && *text ? brick__names_add(&graph->names, text, number) : 0;
}

static int intern_name(
	struct brick_graph *graph, const struct brick_graph_node *node, uint32_t *number)
{
	char layer[32];

	snprintf(layer, sizeof(layer), "Layer %d", (int)node->layer);
	return intern(graph, node->name ? node->name : layer, number);
}

static int store_payload(struct brick_graph *graph, const struct brick_graph_node *node)
{
	struct brick__kind *kind = &graph->kinds[node->kind];

	if (brick__grow(&kind->nodes, &kind->capacity, kind->count, sizeof(*kind->nodes)) < 0)
		return -ENOMEM;
	if (payload_bytes[node->kind] && brick__grow(&kind->payloads, &kind->payload_capacity,
						 kind->count, payload_bytes[node->kind]) < 0)
		return -ENOMEM;
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		((struct brick_graph_kernel *)kind->payloads)[kind->count] = node->kernel;
		break;
	case BRICK_NODE_TRANSFER: {
		struct brick__transfer *to = (struct brick__transfer *)kind->payloads + kind->count;
		to->direction = node->transfer.direction;
		if (intern(graph, node->transfer.source, &to->source) < 0)
			return -ENOMEM;
		return intern(graph, node->transfer.target, &to->target);
	}
	case BRICK_NODE_FUNCTION: {
		struct brick__function *to = (struct brick__function *)kind->payloads + kind->count;
		to->line = node->function.line;
		return intern(graph, node->function.file, &to->file);
	}
	case BRICK_NODE_TASK:
		((struct brick_graph_task *)kind->payloads)[kind->count] = node->task;
		break;
	}
	return 0;
}

/* Append a node for which there is room everywhere. */
static void append(struct brick_graph *graph, const struct brick_graph_node *node, uint32_t name,
	uint32_t label)
{
	struct brick__kind *kind = &graph->kinds[node->kind];
	struct brick__name *same = &graph->names.entries[name];
	uint32_t id = graph->node_count++;

	graph->nodes[id] = (struct brick__node){.begin_ns = node->begin_ns,
		.time_ns = node->time_ns,
		.wait_ns = node->wait_ns,
		.elements = node->elements,
		.bytes = node->bytes,
		.name = name,
		.label = label,
		.lane = node->lane,
		.payload = kind->count,
		.next_same = BRICK__NONE,
		.layer = node->layer,
		.kind = (uint8_t)node->kind,
		.flags = (uint8_t)node->flags};
	if (node->kind == BRICK_NODE_LAYER)
		graph->nodes[id].flags |= BRICK_NODE_HAS_LAYER;
	kind->nodes[kind->count++] = id;
	if (same->last == BRICK__NONE)
		same->first = id;
	else
		graph->nodes[same->last].next_same = id;
	same->last = id;
}

int brick_graph_add(struct brick_graph *graph, const struct brick_graph_node *node)
{
	uint32_t name, label;

	if (!node_is_valid(node))
		return -EINVAL;
	if (graph->node_count == INT32_MAX)
		return BRICK_EFULL;
	int error = brick__graph_reserve_links(graph, node);
	if (error < 0)
		return error;
	if (brick__grow(&graph->nodes, &graph->node_capacity, graph->node_count,
		    sizeof(*graph->nodes)) < 0 ||
		intern_name(graph, node, &name) < 0 || intern(graph, node->label, &label) < 0 ||
		store_payload(graph, node) < 0)
		return -ENOMEM;
	append(graph, node, name, label);
	brick__graph_changed(graph);
	brick__graph_link(graph, graph->node_count - 1);
	return (int)graph->node_count - 1;
}

int brick_graph_time_set(
	struct brick_graph *graph, uint32_t node, uint64_t begin_ns, uint64_t time_ns)
{
	if (node >= graph->node_count)
		return -ENOENT;
	struct brick__node *n = &graph->nodes[node];
	n->begin_ns = begin_ns;
	n->time_ns = time_ns;
	n->flags |= BRICK_NODE_HAS_BEGIN | BRICK_NODE_HAS_TIME;
	brick__graph_retimed(graph);
	return 0;
}

int brick_graph_mark(struct brick_graph *graph, uint32_t node)
{
	if (node >= graph->node_count)
		return -ENOENT;
	graph->nodes[node].flags |= BRICK_NODE_MARKED;
	return 0;
}

int brick_graph_lane_name_set(struct brick_graph *graph, uint32_t lane, const char *name)
{
	uint32_t number;

	if (!name || !text_is_valid(name))
		return -EINVAL;
	int error = intern(graph, name, &number);
	return error < 0 ? error : brick__map_set(&graph->lane_names, lane, number);
}

const char *brick_graph_lane_name(const struct brick_graph *graph, uint32_t lane)
{
	return brick__graph_text(graph, brick__map_get(&graph->lane_names, lane));
}

size_t brick_graph_node_count(const struct brick_graph *graph)
{
	return graph->node_count;
}

static void get_payload(const struct brick_graph *graph, const struct brick__node *node,
	struct brick_graph_node *out)
{
	const void *payloads = graph->kinds[node->kind].payloads;

	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		out->kernel = ((const struct brick_graph_kernel *)payloads)[node->payload];
		break;
	case BRICK_NODE_TRANSFER: {
		const struct brick__transfer *t =
			(const struct brick__transfer *)payloads + node->payload;
		out->transfer = (struct brick_graph_transfer){brick__graph_text(graph, t->source),
			brick__graph_text(graph, t->target), t->direction};
		break;
	}
	case BRICK_NODE_FUNCTION: {
		const struct brick__function *f =
			(const struct brick__function *)payloads + node->payload;
		out->function =
			(struct brick_graph_function){brick__graph_text(graph, f->file), f->line};
		break;
	}
	case BRICK_NODE_TASK:
		out->task = ((const struct brick_graph_task *)payloads)[node->payload];
		break;
	}
}

int brick_graph_node_get(const struct brick_graph *graph, uint32_t id, struct brick_graph_node *out)
{
	if (id >= graph->node_count)
		return -ENOENT;
	const struct brick__node *node = &graph->nodes[id];
	*out = (struct brick_graph_node){.kind = node->kind,
		.flags = node->flags,
		.name = brick__graph_text(graph, node->name),
		.label = brick__graph_text(graph, node->label),
		.begin_ns = node->begin_ns,
		.time_ns = node->time_ns,
		.wait_ns = node->wait_ns,
		.elements = node->elements,
		.bytes = node->bytes,
		.lane = node->lane,
		.layer = node->layer};
	get_payload(graph, node, out);
	return 0;
}

int brick_graph_find(const struct brick_graph *graph, const char *name)
{
	uint32_t number = name ? brick__names_find(&graph->names, name) : BRICK__NONE;

	if (number == BRICK__NONE || graph->names.entries[number].first == BRICK__NONE)
		return -ENOENT;
	return (int)graph->names.entries[number].first;
}

int brick_graph_find_next(const struct brick_graph *graph, uint32_t node)
{
	if (node >= graph->node_count || graph->nodes[node].next_same == BRICK__NONE)
		return -ENOENT;
	return (int)graph->nodes[node].next_same;
}

int brick_graph_of_kind(const struct brick_graph *graph, int kind, const uint32_t **nodes)
{
	if (kind < 0 || kind >= BRICK_NODE_KINDS)
		return -EINVAL;
	*nodes = graph->kinds[kind].nodes;
	return (int)graph->kinds[kind].count;
}

int brick_graph_slowest_kernel(const struct brick_graph *graph)
{
	const struct brick__kind *kernels = &graph->kinds[BRICK_NODE_KERNEL];
	int slowest = BRICK_ENOTRECORDED;

	for (uint32_t i = 0; i < kernels->count; i++) {
		const struct brick__node *node = &graph->nodes[kernels->nodes[i]];
		if ((node->flags & BRICK_NODE_HAS_TIME) &&
			(slowest < 0 || node->time_ns > graph->nodes[slowest].time_ns))
			slowest = (int)kernels->nodes[i];
	}
	return slowest;
}

double brick_graph_task_efficiency(const struct brick_graph_node *node)
{
	if (node->kind != BRICK_NODE_TASK || !node->task.polls)
		return -1;
	return 1 / (double)node->task.polls;
}

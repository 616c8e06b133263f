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
#include "base/sized.h"
#include "brick/error.h"
#include "lib/graph/graph_core.h"

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
	hashmap_fini(&graph->lane_names);
	for (int i = 0; i < BRICK_NODE_KINDS; i++)
		array_fini(&graph->of_kind[i]);
	array_fini(&graph->kernels);
	array_fini(&graph->transfers);
	array_fini(&graph->functions);
	array_fini(&graph->tasks);
	array_fini(&graph->nodes);
	array_fini(&graph->edges);
	array_fini(&graph->edge_kinds);
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

/* Capacity for a node of that kind, so that adding it cannot fail. */
static int reserve_node(struct brick_graph *graph, uint32_t kind)
{
	int error = array_reserve(&graph->nodes, 1);

	if (!error)
		error = array_reserve(&graph->of_kind[kind], 1);
	if (error)
		return error;
	switch (kind) {
	case BRICK_NODE_KERNEL:
		return array_reserve(&graph->kernels, 1);
	case BRICK_NODE_TRANSFER:
		return array_reserve(&graph->transfers, 1);
	case BRICK_NODE_FUNCTION:
		return array_reserve(&graph->functions, 1);
	case BRICK_NODE_TASK:
		return array_reserve(&graph->tasks, 1);
	}
	return 0;
}

/* The numbers of a node's texts, which stand in its own order. */
struct texts {
	uint32_t name, label, first, second; /* first, second: of the kind's own */
};

static int intern_texts(
	struct brick_graph *graph, const struct brick_graph_node *node, struct texts *texts)
{
	int error = intern_name(graph, node, &texts->name);

	if (!error)
		error = intern(graph, node->label, &texts->label);
	if (!error && node->kind == BRICK_NODE_TRANSFER)
		error = intern(graph, node->transfer.source, &texts->first);
	if (!error && node->kind == BRICK_NODE_TRANSFER)
		error = intern(graph, node->transfer.target, &texts->second);
	if (!error && node->kind == BRICK_NODE_FUNCTION)
		error = intern(graph, node->function.file, &texts->first);
	return error;
}

/* As all pushes below: there is capacity. */
static void append_payload(
	struct brick_graph *graph, const struct brick_graph_node *node, const struct texts *texts)
{
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		array_push(&graph->kernels, node->kernel);
		break;
	case BRICK_NODE_TRANSFER:
		array_push(&graph->transfers, (struct brick__transfer){texts->first, texts->second,
						      node->transfer.direction});
		break;
	case BRICK_NODE_FUNCTION:
		array_push(&graph->functions,
			(struct brick__function){texts->first, node->function.line});
		break;
	case BRICK_NODE_TASK:
		array_push(&graph->tasks, node->task);
		break;
	}
}

static void append(
	struct brick_graph *graph, const struct brick_graph_node *node, const struct texts *texts)
{
	struct brick__name *same = &graph->names.entries.items[texts->name];
	uint32_t id = (uint32_t)graph->nodes.count;
	unsigned layer = node->kind == BRICK_NODE_LAYER ? BRICK_NODE_HAS_LAYER : 0;

	append_payload(graph, node, texts);
	array_push(&graph->nodes, (struct brick__node){.begin_ns = node->begin_ns,
					  .time_ns = node->time_ns,
					  .wait_ns = node->wait_ns,
					  .elements = node->elements,
					  .bytes = node->bytes,
					  .name = texts->name,
					  .label = texts->label,
					  .lane = node->lane,
					  .payload = (uint32_t)graph->of_kind[node->kind].count,
					  .next_same = BRICK__NONE,
					  .layer = node->layer,
					  .kind = (uint8_t)node->kind,
					  .flags = (uint8_t)(node->flags | layer)});
	array_push(&graph->of_kind[node->kind], id);
	if (same->last == BRICK__NONE)
		same->first = id;
	else
		graph->nodes.items[same->last].next_same = id;
	same->last = id;
}

static int add(struct brick_graph *graph, const struct brick_graph_node *node)
{
	struct texts texts;

	if (!node_is_valid(node))
		return -EINVAL;
	if (graph->nodes.count == INT32_MAX)
		return BRICK_EFULL;
	int error = brick__graph_reserve_links(graph, node);
	if (!error)
		error = reserve_node(graph, node->kind);
	if (!error)
		error = intern_texts(graph, node, &texts);
	if (error)
		return error;
	append(graph, node, &texts);
	brick__graph_changed(graph);
	brick__graph_link(graph, (uint32_t)graph->nodes.count - 1);
	return (int)graph->nodes.count - 1;
}

int brick_graph_add(struct brick_graph *graph, const struct brick_graph_node *given)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
	int error = sized_read(&node, sizeof node, given);

	return error ? error : add(graph, &node);
}

int brick_graph_time_set(
	struct brick_graph *graph, uint32_t node, uint64_t begin_ns, uint64_t time_ns)
{
	if (node >= graph->nodes.count)
		return -ENOENT;
	struct brick__node *n = &graph->nodes.items[node];
	n->begin_ns = begin_ns;
	n->time_ns = time_ns;
	n->flags |= BRICK_NODE_HAS_BEGIN | BRICK_NODE_HAS_TIME;
	brick__graph_plan_fini(graph);
	return 0;
}

int brick_graph_mark(struct brick_graph *graph, uint32_t node)
{
	if (node >= graph->nodes.count)
		return -ENOENT;
	graph->nodes.items[node].flags |= BRICK_NODE_MARKED;
	return 0;
}

int brick_graph_lane_name_set(struct brick_graph *graph, uint32_t lane, const char *name)
{
	uint32_t number;

	if (!name || !text_is_valid(name))
		return -EINVAL;
	int error = intern(graph, name, &number);
	return error < 0 ? error : hashmap_set(&graph->lane_names, lane, number);
}

const char *brick_graph_lane_name(const struct brick_graph *graph, uint32_t lane)
{
	return brick__graph_text(graph, brick__map_get(&graph->lane_names, lane));
}

size_t brick_graph_node_count(const struct brick_graph *graph)
{
	return graph->nodes.count;
}

static struct brick_graph_transfer get_transfer(
	const struct brick_graph *graph, const struct brick__transfer *t)
{
	return (struct brick_graph_transfer){brick__graph_text(graph, t->source),
		brick__graph_text(graph, t->target), t->direction};
}

static struct brick_graph_function get_function(
	const struct brick_graph *graph, const struct brick__function *f)
{
	return (struct brick_graph_function){brick__graph_text(graph, f->file), f->line};
}

static void get_payload(const struct brick_graph *graph, const struct brick__node *node,
	struct brick_graph_node *out)
{
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		out->kernel = graph->kernels.items[node->payload];
		break;
	case BRICK_NODE_TRANSFER:
		out->transfer = get_transfer(graph, &graph->transfers.items[node->payload]);
		break;
	case BRICK_NODE_FUNCTION:
		out->function = get_function(graph, &graph->functions.items[node->payload]);
		break;
	case BRICK_NODE_TASK:
		out->task = graph->tasks.items[node->payload];
		break;
	}
}

int brick_graph_node_get(const struct brick_graph *graph, uint32_t id, struct brick_graph_node *out)
{
	if (id >= graph->nodes.count)
		return -ENOENT;
	const struct brick__node *node = &graph->nodes.items[id];
	struct brick_graph_node n = {.kind = node->kind,
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
	get_payload(graph, node, &n);
	return sized_write(out, sizeof n, &n);
}

int brick_graph_find(const struct brick_graph *graph, const char *name)
{
	uint32_t number = name ? brick__names_find(&graph->names, name) : BRICK__NONE;

	if (number == BRICK__NONE || graph->names.entries.items[number].first == BRICK__NONE)
		return -ENOENT;
	return (int)graph->names.entries.items[number].first;
}

int brick_graph_find_next(const struct brick_graph *graph, uint32_t node)
{
	if (node >= graph->nodes.count || graph->nodes.items[node].next_same == BRICK__NONE)
		return -ENOENT;
	return (int)graph->nodes.items[node].next_same;
}

int brick_graph_of_kind(const struct brick_graph *graph, int kind, const uint32_t **nodes)
{
	if (kind < 0 || kind >= BRICK_NODE_KINDS)
		return -EINVAL;
	*nodes = graph->of_kind[kind].items;
	return (int)graph->of_kind[kind].count;
}

int brick_graph_slowest_kernel(const struct brick_graph *graph)
{
	const uint32_t *kernels = graph->of_kind[BRICK_NODE_KERNEL].items;
	int slowest = BRICK_ENOTRECORDED;

	for (size_t i = 0; i < graph->kernels.count; i++) {
		const struct brick__node *node = &graph->nodes.items[kernels[i]];
		if ((node->flags & BRICK_NODE_HAS_TIME) &&
			(slowest < 0 || node->time_ns > graph->nodes.items[slowest].time_ns))
			slowest = (int)kernels[i];
	}
	return slowest;
}

double brick_graph_task_efficiency(const struct brick_graph_node *node)
{
	if (node->kind != BRICK_NODE_TASK || !node->task.polls)
		return -1;
	return 1 / (double)node->task.polls;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph: adding, finding and forgetting nodes, edges and sources. A node that cannot
 * be added whole, with its links to what is open, is not added at all.
 */
#include "brick/graph.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/fnv.h"
#include "base/sized.h"
#include "brick/error.h"
#include "lib/graph/graph_core.h"

/*
 * Edges: a list in the order in which they were added, and rows by node that are made from it in
 * linear time when somebody asks.
 */

static void rows_fini(struct brick__rows *rows)
{
	free(rows->first);
	free(rows->edges);
	*rows = (struct brick__rows){0};
}

static void changed(struct brick_graph *graph)
{
	rows_fini(&graph->out);
	rows_fini(&graph->in);
	brick__graph_plan_fini(graph);
	free(graph->cycle);
	graph->cycle = NULL;
	graph->cycle_count = 0;
}

static int reserve_edges(struct brick_graph *graph, uint32_t edges)
{
	if (graph->edges.count > INT32_MAX - edges)
		return BRICK_EFULL;
	int error = array_reserve(&graph->edges, edges);
	return error ? error : array_reserve(&graph->edge_kinds, edges);
}

static void append_edge(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight)
{
	array_push(&graph->edges, (struct brick__edge){weight, from, to});
	array_push(&graph->edge_kinds, (uint8_t)kind);
}

int brick_graph_connect(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight)
{
	if (kind < 0 || kind >= BRICK_EDGE_KINDS || !isfinite(weight))
		return -EINVAL;
	if (from >= graph->nodes.count || to >= graph->nodes.count)
		return -ENOENT;
	int error = reserve_edges(graph, 1);
	if (error < 0)
		return error;
	append_edge(graph, from, to, kind, weight);
	changed(graph);
	return (int)graph->edges.count - 1;
}

size_t brick_graph_edge_count(const struct brick_graph *graph)
{
	return graph->edges.count;
}

int brick_graph_edge_get(const struct brick_graph *graph, uint32_t id, struct brick_graph_edge *out)
{
	if (id >= graph->edges.count)
		return -ENOENT;
	const struct brick__edge *edge = &graph->edges.items[id];
	const struct brick_graph_edge e = {.from = edge->from,
		.to = edge->to,
		.kind = graph->edge_kinds.items[id],
		.weight = edge->weight};
	return sized_write(out, sizeof(e), &e);
}

static int build_rows(const struct brick_graph *graph, struct brick__rows *rows, bool incoming)
{
	size_t nodes = graph->nodes.count;

	rows->first = calloc(nodes + 2, sizeof(*rows->first));
	rows->edges = malloc((graph->edges.count + 1) * sizeof(*rows->edges));
	if (!rows->first || !rows->edges) {
		rows_fini(rows);
		return -ENOMEM;
	}
	/* One place up: filling a row moves its begin to where it belongs. */
	uint32_t *next = rows->first + 1;
	for (uint32_t i = 0; i < graph->edges.count; i++)
		next[(incoming ? graph->edges.items[i].to : graph->edges.items[i].from) + 1]++;
	for (size_t v = 1; v < nodes; v++)
		next[v] += next[v - 1];
	for (uint32_t i = 0; i < graph->edges.count; i++)
		rows->edges[next[incoming ? graph->edges.items[i].to
					  : graph->edges.items[i].from]++] = i;
	return 0;
}

static int row(struct brick_graph *graph, struct brick__rows *rows, bool incoming, uint32_t node,
	const uint32_t **edges)
{
	if (node >= graph->nodes.count)
		return -ENOENT;
	int error = rows->first ? 0 : build_rows(graph, rows, incoming);
	if (error < 0)
		return error;
	*edges = rows->edges + rows->first[node];
	return (int)(rows->first[node + 1] - rows->first[node]);
}

int brick_graph_out(struct brick_graph *graph, uint32_t node, const uint32_t **edges)
{
	return row(graph, &graph->out, false, node, edges);
}

int brick_graph_in(struct brick_graph *graph, uint32_t node, const uint32_t **edges)
{
	return row(graph, &graph->in, true, node, edges);
}

/*
 * Scopes: a stack of nodes that are open, and for each of them and each lane the node that was
 * added last, which the next one follows.
 */

static const struct brick__node *scope_of(const struct brick_graph *graph)
{
	return graph->scopes.count
		       ? &graph->nodes.items[graph->scopes.items[graph->scopes.count - 1]]
		       : NULL;
}

/* Asynchronous work follows what its lane did last, whoever launched that. */
static uint64_t sequence_key(const struct brick_graph *graph, uint32_t kind, uint32_t lane)
{
	uint64_t scope = graph->scopes.items[graph->scopes.count - 1];

	if ((kind == BRICK_NODE_KERNEL || kind == BRICK_NODE_TRANSFER) &&
		scope_of(graph)->lane != lane)
		scope = BRICK__NONE;
	return scope << 32 | lane;
}

static int reserve_links(struct brick_graph *graph, const struct brick_graph_node *node)
{
	if (!graph->scopes.count)
		return 0;
	int error = reserve_edges(graph, 2);
	if (error < 0)
		return error;
	/* The entry in which the new node will be found; until then it says what it said. */
	uint64_t key = sequence_key(graph, node->kind, node->lane);
	uint32_t last = brick__map_get(&graph->last, key);
	return last == BRICK__NONE ? hashmap_set(&graph->last, key, BRICK__NONE - 1) : 0;
}

static int holding_kind(const struct brick__node *scope, const struct brick__node *node)
{
	if (node->kind == BRICK_NODE_KERNEL)
		return BRICK_EDGE_LAUNCHES;
	if (node->kind == BRICK_NODE_TRANSFER && node->lane != scope->lane)
		return BRICK_EDGE_LAUNCHES;
	if (node->kind == BRICK_NODE_FUNCTION && scope->kind == BRICK_NODE_FUNCTION)
		return BRICK_EDGE_CALLS;
	return BRICK_EDGE_CONTAINS;
}

static void link_node(struct brick_graph *graph, uint32_t id)
{
	if (!graph->scopes.count)
		return;
	const struct brick__node *node = &graph->nodes.items[id];
	uint64_t key = sequence_key(graph, node->kind, node->lane);
	uint32_t last = brick__map_get(&graph->last, key);

	append_edge(graph, graph->scopes.items[graph->scopes.count - 1], id,
		holding_kind(scope_of(graph), node), 1);
	if (last < id)
		append_edge(graph, last, id, BRICK_EDGE_SEQUENCE, 1);
	hashmap_set(&graph->last, key, id); /* the entry is there: cannot fail */
}

int brick_graph_push(struct brick_graph *graph, uint32_t node)
{
	if (node >= graph->nodes.count)
		return -ENOENT;
	return array_push(&graph->scopes, node);
}

int brick_graph_enter(struct brick_graph *graph, const struct brick_graph_node *node)
{
	/* Capacity first: a node that was added must be open. */
	int error = array_reserve(&graph->scopes, 1);
	if (error)
		return error;
	int id = brick_graph_add(graph, node);
	if (id >= 0)
		array_push(&graph->scopes, (uint32_t)id);
	return id;
}

int brick_graph_pop(struct brick_graph *graph)
{
	if (!graph->scopes.count) {
		graph->pops_missed = true;
		return BRICK_ESTATE;
	}
	return (int)graph->scopes.items[--graph->scopes.count];
}

int brick_graph_current(const struct brick_graph *graph)
{
	return graph->scopes.count ? (int)graph->scopes.items[graph->scopes.count - 1] : -ENOENT;
}

int brick_graph_is_balanced(const struct brick_graph *graph)
{
	return !graph->scopes.count && !graph->pops_missed;
}

/* Nodes: adding and finding them. */

static bool text_is_valid(const char *text)
{
	size_t n = strnlen(text, BRICK_GRAPH_NAME_BYTES + 1);
	return n > 0 && n <= BRICK_GRAPH_NAME_BYTES;
}

/* Optional texts: none is valid, too, and so is an empty one, which says nothing. */
static bool text_is_valid_or_none(const char *text)
{
	return !text || !*text || text_is_valid(text);
}

static bool number_is_valid(const struct brick_graph_node *node, unsigned flag, double value)
{
	return !(node->flags & flag) || (isfinite(value) && value >= 0);
}

static bool node_is_valid(const struct brick_graph_node *node)
{
	if (node->kind >= BRICK_NODE_KINDS || !text_is_valid_or_none(node->label))
		return false;
	if (node->name ? !text_is_valid(node->name) : node->kind != BRICK_NODE_LAYER)
		return false;
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
		return true;
	}
}

static int graph_intern(struct brick_graph *graph, const char *text, uint32_t *number)
{
	*number = BRICK__NONE;
	return text && *text ? brick__names_add(&graph->names, text, number) : 0;
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
	char layer[32];

	snprintf(layer, sizeof(layer), "Layer %d", (int)node->layer);
	int error = graph_intern(graph, node->name ? node->name : layer, &texts->name);
	if (!error)
		error = graph_intern(graph, node->label, &texts->label);
	if (!error && node->kind == BRICK_NODE_TRANSFER)
		error = graph_intern(graph, node->transfer.source, &texts->first);
	if (!error && node->kind == BRICK_NODE_TRANSFER)
		error = graph_intern(graph, node->transfer.target, &texts->second);
	if (!error && node->kind == BRICK_NODE_FUNCTION)
		error = graph_intern(graph, node->function.file, &texts->first);
	return error;
}

static int graph_add(struct brick_graph *graph, const struct brick_graph_node *node)
{
	struct texts texts;

	if (!node_is_valid(node))
		return -EINVAL;
	if (graph->nodes.count == INT32_MAX)
		return BRICK_EFULL;
	int error = reserve_links(graph, node);
	if (!error)
		error = reserve_node(graph, node->kind);
	if (!error)
		error = intern_texts(graph, node, &texts);
	if (error)
		return error;
	struct brick__name *same = &graph->names.entries.items[texts.name];
	uint32_t id = (uint32_t)graph->nodes.count;
	unsigned layer = node->kind == BRICK_NODE_LAYER ? BRICK_NODE_HAS_LAYER : 0;
	/* as all pushes below: there is capacity */
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		array_push(&graph->kernels, node->kernel);
		break;
	case BRICK_NODE_TRANSFER:
		array_push(&graph->transfers, (struct brick__transfer){texts.first, texts.second,
						      node->transfer.direction});
		break;
	case BRICK_NODE_FUNCTION:
		array_push(&graph->functions,
			(struct brick__function){texts.first, node->function.line});
		break;
	case BRICK_NODE_TASK:
		array_push(&graph->tasks, node->task);
		break;
	}
	array_push(&graph->nodes, (struct brick__node){.begin_ns = node->begin_ns,
					  .time_ns = node->time_ns,
					  .wait_ns = node->wait_ns,
					  .elements = node->elements,
					  .bytes = node->bytes,
					  .name = texts.name,
					  .label = texts.label,
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
	changed(graph);
	link_node(graph, (uint32_t)graph->nodes.count - 1);
	return (int)graph->nodes.count - 1;
}

int brick_graph_add(struct brick_graph *graph, const struct brick_graph_node *given)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
	int error = sized_read(&node, sizeof(node), given);

	return error ? error : graph_add(graph, &node);
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
	int error = graph_intern(graph, name, &number);
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

int brick_graph_node_get(const struct brick_graph *graph, uint32_t id, struct brick_graph_node *out)
{
	const struct brick__transfer *transfer;
	const struct brick__function *function;

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
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		n.kernel = graph->kernels.items[node->payload];
		break;
	case BRICK_NODE_TRANSFER:
		transfer = &graph->transfers.items[node->payload];
		n.transfer =
			(struct brick_graph_transfer){brick__graph_text(graph, transfer->source),
				brick__graph_text(graph, transfer->target), transfer->direction};
		break;
	case BRICK_NODE_FUNCTION:
		function = &graph->functions.items[node->payload];
		n.function = (struct brick_graph_function){
			brick__graph_text(graph, function->file), function->line};
		break;
	case BRICK_NODE_TASK:
		n.task = graph->tasks.items[node->payload];
		break;
	}
	return sized_write(out, sizeof(n), &n);
}

int brick_graph_find(const struct brick_graph *graph, const char *name)
{
	uint32_t node = brick__graph_named(graph, name);

	return node == BRICK__NONE ? -ENOENT : (int)node;
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

/* Sources of kernels, by the hash of their text: what `code` of a kernel node refers to. */

static void code_fini(struct brick__code *code)
{
	free(code->name);
	free(code->source);
	free(code->path);
}

static int code_init(struct brick__code *code, const struct brick_graph_code *from)
{
	*code = (struct brick__code){.hash = from->hash,
		.name = strdup(from->name),
		.source = strdup(from->source),
		.path = from->path ? strdup(from->path) : NULL};
	if (code->name && code->source && (code->path || !from->path))
		return 0;
	code_fini(code);
	return -ENOMEM;
}

static int graph_add_code(struct brick_graph *graph, struct brick_graph_code *code)
{
	if (!code->name || !*code->name || !code->source)
		return -EINVAL;
	code->hash = fnv1a_text(code->source);
	uint32_t known = brick__map_get(&graph->code_index, code->hash);
	if (known != BRICK__NONE)
		return strcmp(graph->codes.items[known].source, code->source) ? -EEXIST : 0;
	struct brick__code added;
	if (array_reserve(&graph->codes, 1) || code_init(&added, code) < 0)
		return -ENOMEM;
	if (hashmap_set(&graph->code_index, code->hash, graph->codes.count)) {
		code_fini(&added);
		return -ENOMEM;
	}
	return array_push(&graph->codes, added);
}

int brick_graph_code_add(struct brick_graph *graph, struct brick_graph_code *given)
{
	struct brick_graph_code code = BRICK_GRAPH_CODE_INIT;
	int error = sized_read(&code, sizeof(code), given);

	if (!error)
		error = graph_add_code(graph, &code);
	if (code.hash)
		given->hash = code.hash;
	return error;
}

int brick_graph_code_get(
	const struct brick_graph *graph, uint64_t hash, struct brick_graph_code *out)
{
	uint32_t known = brick__map_get(&graph->code_index, hash);

	if (known == BRICK__NONE)
		return -ENOENT;
	const struct brick__code *code = &graph->codes.items[known];
	const struct brick_graph_code c = {
		.hash = code->hash, .name = code->name, .source = code->source, .path = code->path};
	return sized_write(out, sizeof(c), &c);
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
	changed(graph);
	hashmap_fini(&graph->last);
	array_fini(&graph->scopes);
	for (uint32_t i = 0; i < graph->codes.count; i++)
		code_fini(&graph->codes.items[i]);
	array_fini(&graph->codes);
	hashmap_fini(&graph->code_index);
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

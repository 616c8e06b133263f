/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long an execution graph would be if some of it took less: its plan is run again with other
 * times. The opportunities among its names are tried in the order of what they can buy at most, so
 * that few are tried, however many there are.
 */
#include <errno.h>
#include <string.h>
#include "base/order.h"
#include "base/scope.h"
#include "brick/graph_path.h"
#include "base/sized.h"
#include "lib/graph/graph_core.h"

/* Beyond so many, names with less and less time on the path are not even tried. */
enum { TRIES_PER_RESULT = 8 };

/* Bricks and layers have their own names to ask about; all else belongs to what holds it. */
static int stands_alone(const struct brick__node *node)
{
	return node->kind == BRICK_NODE_BRICK || node->kind == BRICK_NODE_LAYER;
}

struct trial {
	const struct brick_graph *graph;
	uint64_t *duration, *finish; /* [activities] */
	uint8_t *scaled;	     /* [nodes] */
};

static void trial_fini(struct trial *trial)
{
	free(trial->duration);
	free(trial->finish);
	free(trial->scaled);
}

static int trial_init(struct trial *trial, const struct brick_graph *graph)
{
	size_t n = (size_t)graph->plan->dag.count + 1;

	*trial = (struct trial){graph, malloc(n * sizeof(uint64_t)), malloc(n * sizeof(uint64_t)),
		malloc(graph->nodes.count + 1)};
	if (trial->duration && trial->finish && trial->scaled)
		return 0;
	trial_fini(trial);
	return -ENOMEM;
}

/* Rounded up, so that no more is promised than there is; a thousandth of a ns is no more. */
static uint64_t scale(uint64_t ns, double factor)
{
	double scaled = (double)ns * factor;

	if (scaled >= 0x1p64)
		return UINT64_MAX;
	uint64_t whole = (uint64_t)scaled;
	return scaled - (double)whole > 1e-3 ? whole + 1 : whole;
}

static uint64_t run_trial(struct trial *trial, uint32_t name, double factor)
{
	const struct brick__plan *plan = trial->graph->plan;

	/* What holds a node comes before it in the order. */
	for (uint32_t i = 0; i < plan->dag.count; i++) {
		uint32_t v = plan->dag.order[i];
		trial->duration[v] = plan->own_ns[v];
		if (v >= trial->graph->nodes.count)
			continue;
		const struct brick__node *node = &trial->graph->nodes.items[v];
		uint32_t parent = plan->parent[v];
		trial->scaled[v] =
			node->name == name ||
			(!stands_alone(node) && parent != BRICK__NONE && trial->scaled[parent]);
		if (trial->scaled[v])
			trial->duration[v] = scale(plan->own_ns[v], factor);
	}
	return brick__dag_forward(&plan->dag, trial->duration, trial->finish);
}

int brick_graph_what_if(
	struct brick_graph *graph, const char *name, double factor, uint64_t *length_ns)
{
	struct trial trial;
	int first = brick_graph_find(graph, name);

	if (first < 0)
		return first;
	if (!(factor >= 0 && factor <= 1e6))
		return -EINVAL;
	int error = brick__graph_plan(graph);
	if (error == 0)
		error = trial_init(&trial, graph);
	if (error < 0)
		return error;
	*length_ns = run_trial(&trial, graph->nodes.items[first].name, factor);
	trial_fini(&trial);
	return 0;
}

struct candidate {
	uint64_t bound_ns; /* own times on the path of what its trial would scale, or more */
	uint32_t name;
};

/* Own times on the path, by node, with those of what belongs to the node. */
static uint64_t *path_times(struct brick_graph *graph, const struct brick_graph_path *path)
{
	const struct brick__plan *plan = graph->plan;
	uint64_t *ns = calloc(graph->nodes.count + 1, sizeof(*ns));

	if (!ns)
		return NULL;
	for (size_t i = 0; i < path->count; i++)
		ns[path->nodes[i]] = plan->own_ns[path->nodes[i]];
	for (uint32_t i = plan->dag.count; i-- > 0;) {
		uint32_t v = plan->dag.order[i];
		if (v < graph->nodes.count && plan->parent[v] != BRICK__NONE &&
			!stands_alone(&graph->nodes.items[v]))
			ns[plan->parent[v]] += ns[v];
	}
	return ns;
}

COMPARATOR(by_bound, struct candidate, ORDER(y->bound_ns, x->bound_ns) ?: ORDER(x->name, y->name))

/* Names with time on the path, those first that can buy most. NULL: no memory. */
static struct candidate *find_candidates(
	struct brick_graph *graph, const struct brick_graph_path *path, size_t *count)
{
	SCOPED uint64_t *ns = path_times(graph, path);
	size_t n = graph->names.entries.count;
	struct candidate *list = ns ? calloc(n + 1, sizeof(*list)) : NULL;

	*count = 0;
	if (list) {
		for (uint32_t i = 0; i < n; i++)
			list[i].name = i;
		for (uint32_t v = 0; v < graph->nodes.count; v++)
			list[graph->nodes.items[v].name].bound_ns += ns[v];
		qsort(list, n, sizeof(*list), by_bound);
		while (*count < n && list[*count].bound_ns)
			++*count;
	}
	return list;
}

static int is_better(
	const struct brick_graph_opportunity *a, const struct brick_graph_opportunity *b)
{
	if (a->less_ns != b->less_ns)
		return a->less_ns < b->less_ns;
	if (a->nothing_ns != b->nothing_ns)
		return a->nothing_ns < b->nothing_ns;
	return strcmp(a->name, b->name) < 0;
}

/* Keep the best `capacity`, in their order; returns how many there are now. */
static size_t insert(struct brick_graph_opportunity *list, size_t count, size_t capacity,
	const struct brick_graph_opportunity *one)
{
	size_t at = count;

	while (at > 0 && is_better(one, &list[at - 1]))
		at--;
	if (at == capacity)
		return count;
	size_t moved = (count < capacity ? count : capacity - 1) - at;
	memmove(&list[at + 1], &list[at], moved * sizeof(*list));
	list[at] = *one;
	return count < capacity ? count + 1 : capacity;
}

/* Own times on the path of what the last trial scaled. */
static uint64_t on_path_ns(const struct trial *trial, const struct brick_graph_path *path)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < path->count; i++)
		if (trial->scaled[path->nodes[i]])
			ns += trial->graph->plan->own_ns[path->nodes[i]];
	return ns;
}

static size_t try_candidates(struct trial *trial, const struct brick_graph_path *path,
	const struct candidate *candidates, size_t n, struct brick_graph_opportunity *out,
	size_t capacity)
{
	uint64_t length = trial->graph->plan->length_ns;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t most = candidates[i].bound_ns / 10;
		if (count == capacity && length - out[count - 1].less_ns >= most)
			break;
		struct brick_graph_opportunity one = {
			.name = trial->graph->names.entries.items[candidates[i].name].text,
			.less_ns = run_trial(trial, candidates[i].name, 0.9),
			.nothing_ns = run_trial(trial, candidates[i].name, 0)};
		one.on_path_ns = on_path_ns(trial, path);
		count = insert(out, count, capacity, &one);
	}
	return count;
}

/* Into the program's array, whose first element says how large each is. */
static void hand_out(
	struct brick_graph_opportunity *out, const struct brick_graph_opportunity *best, int count)
{
	for (int i = 0; i < count; i++) {
		struct brick_graph_opportunity *to = sized_at(out, (size_t)i);
		to->size = out->size;
		sized_write(to, sizeof *best, &best[i]);
	}
}

int brick_graph_opportunities(
	struct brick_graph *graph, struct brick_graph_opportunity *out, size_t capacity)
{
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	struct trial trial;
	size_t n;
	int error = capacity && !sized_bytes(out) ? -EINVAL : 0;

	if (!error)
		error = brick_graph_critical_path(graph, &path);
	if (error < 0 || !capacity)
		return error;
	capacity = capacity < graph->names.entries.count ? capacity : graph->names.entries.count;
	SCOPED struct brick_graph_opportunity *best = calloc(capacity + 1, sizeof *best);
	SCOPED struct candidate *candidates = find_candidates(graph, &path, &n);
	error = candidates && best ? trial_init(&trial, graph) : -ENOMEM;
	if (error == 0) {
		n = n / TRIES_PER_RESULT > capacity ? capacity * TRIES_PER_RESULT : n;
		error = (int)try_candidates(&trial, &path, candidates, n, best, capacity);
		trial_fini(&trial);
		hand_out(out, best, error);
	}
	return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an execution graph to activities with durations of their own. Holding is kept apart from
 * precedence: what holds others becomes a begin, which carries its own time, and an end; what it
 * holds lies between the two. A graph with a cycle has no plan but a list of the nodes on it.
 */
#include <errno.h>
#include <string.h>
#include "base/members.h"
#include "base/scope.h"
#include "brick/error.h"
#include "brick/graph_path.h"
#include "lib/graph/graph_core.h"

uint32_t *brick__graph_holders(const struct brick_graph *graph)
{
	uint32_t *holder = malloc((graph->nodes.count + 1) * sizeof(*holder));

	if (!holder)
		return NULL;
	for (uint32_t v = 0; v < graph->nodes.count; v++)
		holder[v] = BRICK__NONE;
	for (uint32_t i = 0; i < graph->edges.count; i++)
		if (brick__edge_holds(graph->edge_kinds.items[i]) &&
			holder[graph->edges.items[i].to] == BRICK__NONE)
			holder[graph->edges.items[i].to] = i;
	return holder;
}

/* Whether any edges at all, of whatever kind, go round in a circle. */
static int check_edges(struct brick_graph *graph)
{
	struct brick__dag dag;
	SCOPED struct brick__dag_edge *edges = malloc((graph->edges.count + 1) * sizeof(*edges));

	if (!edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->edges.count; i++)
		edges[i] = (struct brick__dag_edge){
			graph->edges.items[i].from, graph->edges.items[i].to};
	int error = brick__dag_init(&dag, graph->nodes.count, edges, graph->edges.count);
	if (error == 0)
		error = brick__dag_sort(&dag, &graph->cycle, &graph->cycle_count);
	brick__dag_fini(&dag);
	return error;
}

static int find_parents(const struct brick_graph *graph, struct brick__plan *plan)
{
	uint32_t *holder = brick__graph_holders(graph);

	plan->held = calloc(graph->nodes.count + 1, 1);
	if (!holder || !plan->held) {
		free(holder);
		return -ENOMEM;
	}
	for (uint32_t v = 0; v < graph->nodes.count; v++) {
		if (holder[v] == BRICK__NONE)
			continue;
		plan->held[v] = !brick__graph_is_async(graph, holder[v]);
		holder[v] = graph->edges.items[holder[v]].from;
	}
	plan->parent = holder;
	return 0;
}

/* Number the ends of nodes that hold others; returns the number of all activities. */
static uint32_t number_ends(const struct brick_graph *graph, struct brick__plan *plan)
{
	uint32_t n = graph->nodes.count;

	for (uint32_t v = 0; v < n; v++)
		plan->end[v] = v;
	for (uint32_t v = 0; v < n; v++)
		if (plan->held[v])
			plan->end[plan->parent[v]] = BRICK__NONE;
	uint32_t activities = n;
	for (uint32_t v = 0; v < n; v++) {
		if (plan->end[v] != BRICK__NONE)
			continue;
		plan->ends[activities - n] = v;
		plan->end[v] = activities++;
	}
	return activities;
}

static int connect_activities(
	const struct brick_graph *graph, struct brick__plan *plan, uint32_t activities)
{
	size_t most = graph->edges.count + 2 * graph->nodes.count, count = 0;
	SCOPED struct brick__dag_edge *edges = malloc((most + 1) * sizeof(*edges));

	if (!edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->edges.count; i++) {
		const struct brick__edge *e = &graph->edges.items[i];
		if (!brick__edge_holds(graph->edge_kinds.items[i]))
			edges[count++] = (struct brick__dag_edge){plan->end[e->from], e->to};
	}
	for (uint32_t v = 0; v < graph->nodes.count; v++) {
		uint32_t parent = plan->parent[v];
		if (parent == BRICK__NONE)
			continue;
		edges[count++] = (struct brick__dag_edge){parent, v};
		if (plan->held[v])
			edges[count++] = (struct brick__dag_edge){plan->end[v], plan->end[parent]};
	}
	return brick__dag_init(&plan->dag, activities, edges, count);
}

static uint32_t node_of(
	const struct brick_graph *graph, const struct brick__plan *plan, uint32_t activity)
{
	return activity < graph->nodes.count ? activity : plan->ends[activity - graph->nodes.count];
}

/*
 * Turn a cycle of activities into one of nodes. A node may be on it with its begin and its end:
 * the way from begin to end is no news, the way from its end back to its begin is the cycle.
 */
static int name_cycle(struct brick_graph *graph, const struct brick__plan *plan)
{
	struct hashmap seen = {0};
	uint32_t *list = graph->cycle, n = 0, from = 0, error = 0;

	for (uint32_t i = 0; i < graph->cycle_count && !error; i++) {
		uint32_t activity = list[i], node = node_of(graph, plan, activity);
		uint32_t at = brick__map_get(&seen, node);
		if (at != BRICK__NONE && at < n && list[at] == node) {
			if (activity == node) { /* the begin: all since its end is the cycle */
				from = at;
				break;
			}
			n = at;
		}
		list[n] = node;
		error = hashmap_set(&seen, node, n++) != 0;
	}
	hashmap_fini(&seen);
	if (error)
		return -ENOMEM;
	memmove(list, list + from, (n - from) * sizeof(*list));
	graph->cycle_count = n - from;
	return BRICK_ECYCLE;
}

static int sort_activities(struct brick_graph *graph, struct brick__plan *plan)
{
	int error = brick__dag_sort(&plan->dag, &graph->cycle, &graph->cycle_count);

	return error == BRICK_ECYCLE ? name_cycle(graph, plan) : error;
}

/* Time of a node less what it only waited; what is not known counts as none. */
static uint64_t busy_ns(const struct brick__node *node)
{
	if (!(node->flags & BRICK_NODE_HAS_TIME) || node->wait_ns > node->time_ns)
		return 0;
	return node->time_ns - node->wait_ns;
}

/* What the pass over the activities keeps: within its parent, when a node ends; what it holds. */
struct chains {
	uint64_t *end_ns, *held_ns; /* [nodes] */
};

static uint64_t begin_in_parent(const struct brick_graph *graph, const struct brick__plan *plan,
	const struct chains *chains, uint32_t v)
{
	uint64_t begin = 0;

	for (uint32_t i = plan->dag.first[v]; i < plan->dag.first[v + 1]; i++) {
		uint32_t before = plan->dag.before[i], u = node_of(graph, plan, before);
		if (plan->end[u] == before && plan->parent[u] == plan->parent[v] &&
			chains->end_ns[u] > begin)
			begin = chains->end_ns[u];
	}
	return begin;
}

static void end_in_parent(
	const struct brick__plan *plan, struct chains *chains, uint32_t v, uint64_t total_ns)
{
	if (!plan->held[v])
		return;
	uint64_t *held = &chains->held_ns[plan->parent[v]];
	if (__builtin_add_overflow(chains->end_ns[v], total_ns, &chains->end_ns[v]))
		chains->end_ns[v] = UINT64_MAX;
	if (chains->end_ns[v] > *held)
		*held = chains->end_ns[v];
}

static int find_own_times(const struct brick_graph *graph, struct brick__plan *plan)
{
	size_t n = graph->nodes.count + 1;
	struct chains chains = {calloc(n, sizeof(uint64_t)), calloc(n, sizeof(uint64_t))};
	int error = chains.end_ns && chains.held_ns ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < plan->dag.count; i++) {
		uint32_t activity = plan->dag.order[i], v = node_of(graph, plan, activity);
		if (activity == v && plan->held[v])
			chains.end_ns[v] = begin_in_parent(graph, plan, &chains, v);
		if (activity != plan->end[v])
			continue;
		uint64_t busy = busy_ns(&graph->nodes.items[v]), held = chains.held_ns[v];
		plan->own_ns[v] = busy > held ? busy - held : 0;
		end_in_parent(plan, &chains, v, busy > held ? busy : held);
	}
	free(chains.end_ns);
	free(chains.held_ns);
	return error;
}

static int make(struct brick_graph *graph, struct brick__plan *plan)
{
	size_t n = graph->nodes.count + 1;
	int error = check_edges(graph);

	if (error == 0)
		error = find_parents(graph, plan);
	if (error < 0)
		return error;
	plan->end = malloc(n * sizeof(*plan->end));
	plan->ends = malloc(n * sizeof(*plan->ends));
	if (!plan->end || !plan->ends)
		return -ENOMEM;
	size_t activities = number_ends(graph, plan);
	plan->own_ns = calloc(activities + 1, sizeof(*plan->own_ns));
	plan->finish_ns = malloc((activities + 1) * sizeof(*plan->finish_ns));
	if (!plan->own_ns || !plan->finish_ns)
		return -ENOMEM;
	error = connect_activities(graph, plan, (uint32_t)activities);
	if (error == 0)
		error = sort_activities(graph, plan);
	if (error == 0)
		error = find_own_times(graph, plan);
	if (error == 0)
		plan->length_ns = brick__dag_forward(&plan->dag, plan->own_ns, plan->finish_ns);
	return error;
}

int brick__graph_plan(struct brick_graph *graph)
{
	if (graph->plan)
		return 0;
	if (graph->cycle)
		return BRICK_ECYCLE;
	graph->plan = calloc(1, sizeof(*graph->plan));
	if (!graph->plan)
		return -ENOMEM;
	int error = make(graph, graph->plan);
	if (error == 0)
		return 0;
	brick__graph_plan_fini(graph);
	if (error != BRICK_ECYCLE) {
		free(graph->cycle);
		graph->cycle = NULL;
	}
	return error;
}

void brick__graph_plan_fini(struct brick_graph *graph)
{
	struct brick__plan *plan = graph->plan;

	if (!plan)
		return;
	brick__dag_fini(&plan->dag);
	members_free(plan, parent, held, end, ends, own_ns, finish_ns, latest_ns, path);
	free(plan);
	graph->plan = NULL;
}

int brick_graph_cycle(struct brick_graph *graph, const uint32_t **nodes)
{
	int error = brick__graph_plan(graph);

	if (error != BRICK_ECYCLE)
		return error;
	*nodes = graph->cycle;
	return (int)graph->cycle_count;
}

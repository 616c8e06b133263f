/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an execution graph to activities with durations of their own, and what those answer. Holding
 * is kept apart from precedence: what holds others becomes a begin, which carries its own time, and
 * an end; what it holds lies between the two. A graph with a cycle has no plan but a list of the
 * nodes on it.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/fnv.h"
#include "base/members.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/sized.h"
#include "brick/error.h"
#include "brick/graph_path.h"
#include "lib/graph/dag.h"
#include "lib/graph/forest.h"
#include "lib/graph/graph_core.h"

/*
 * Nodes as activities with their own times, sorted. Activity v is node v, or the begin of it when
 * it holds others; then another one is its end.
 */
struct brick__plan {
	struct brick__dag dag;
	uint32_t *parent; /* [nodes] what holds or launched it, or BRICK__NONE */
	uint8_t *held;	  /* [nodes] 1: its time is part of its parent's */
	uint32_t *end;	  /* [nodes] the activity that ends it */
	uint32_t *ends;	  /* [activities - nodes] the node that it ends */
	uint64_t *own_ns; /* [activities] */
	uint64_t *finish_ns;
	uint64_t *latest_ns; /* latest finish; NULL: not asked for yet */
	uint64_t length_ns;
	uint32_t *path; /* nodes; NULL: not asked for yet */
	size_t path_count;
};

/* BRICK_ECYCLE if edges of any kinds form a cycle. */
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

static uint32_t graph_plan_node_of(
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
		uint32_t activity = list[i], node = graph_plan_node_of(graph, plan, activity);
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

/* Time of a node less what it only waited; what is not known counts as none. */
static uint64_t busy_ns(const struct brick__node *node)
{
	if (!(node->flags & BRICK_NODE_HAS_TIME) || node->wait_ns > node->time_ns)
		return 0;
	return node->time_ns - node->wait_ns;
}

/*
 * Kept by the pass over the activities: when a node ends within its parent, and how much it holds.
 */
struct chains {
	uint64_t *end_ns, *held_ns; /* [nodes] */
};

static uint64_t begin_in_parent(const struct brick_graph *graph, const struct brick__plan *plan,
	const struct chains *chains, uint32_t v)
{
	uint64_t begin = 0;

	for (uint32_t i = plan->dag.first[v]; i < plan->dag.first[v + 1]; i++) {
		uint32_t before = plan->dag.before[i], u = graph_plan_node_of(graph, plan, before);
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
		uint32_t activity = plan->dag.order[i],
			 v = graph_plan_node_of(graph, plan, activity);
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

static int graph_plan_make(struct brick_graph *graph, struct brick__plan *plan)
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
		error = brick__dag_sort(&plan->dag, &graph->cycle, &graph->cycle_count);
	if (error == BRICK_ECYCLE)
		error = name_cycle(graph, plan);
	if (error == 0)
		error = find_own_times(graph, plan);
	if (error == 0)
		plan->length_ns = brick__dag_forward(&plan->dag, plan->own_ns, plan->finish_ns);
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

/* Make the plan if there is none. BRICK_ECYCLE: graph->cycle names it. -ENOMEM. */
static int make_plan(struct brick_graph *graph)
{
	if (graph->plan)
		return 0;
	if (graph->cycle)
		return BRICK_ECYCLE;
	graph->plan = calloc(1, sizeof(*graph->plan));
	if (!graph->plan)
		return -ENOMEM;
	int error = graph_plan_make(graph, graph->plan);
	if (error == 0)
		return 0;
	brick__graph_plan_fini(graph);
	if (error != BRICK_ECYCLE) {
		free(graph->cycle);
		graph->cycle = NULL;
	}
	return error;
}

int brick_graph_cycle(struct brick_graph *graph, const uint32_t **nodes)
{
	int error = make_plan(graph);

	if (error != BRICK_ECYCLE)
		return error;
	*nodes = graph->cycle;
	return (int)graph->cycle_count;
}

/*
 * Transfers that go back and forth. Each transfer looks for the nearest earlier one of the same
 * size the other way that has no partner yet, in lists that are found by hash.
 */

/* One list of waiting transfers: from where to where, how much. */
struct route {
	uint64_t bytes;
	uint32_t source, target;
	uint32_t newest; /* place among the transfers, or BRICK__NONE */
	uint32_t next;	 /* route with the same key, or BRICK__NONE */
};

struct routes {
	struct hashmap index;
	ARRAY(struct route) list;
};

static uint64_t graph_plan_key_of(uint32_t source, uint32_t target, uint64_t bytes)
{
	uint64_t parts[] = {(uint64_t)source << 32 | target, bytes};
	return fnv1a(parts, sizeof(parts));
}

static struct route *find_route(
	struct routes *routes, uint32_t source, uint32_t target, uint64_t bytes)
{
	uint32_t i = brick__map_get(&routes->index, graph_plan_key_of(source, target, bytes));

	for (; i != BRICK__NONE; i = routes->list.items[i].next) {
		struct route *r = &routes->list.items[i];
		if (r->source == source && r->target == target && r->bytes == bytes)
			return r;
	}
	return NULL;
}

static struct route *find_or_add_route(
	struct routes *routes, uint32_t source, uint32_t target, uint64_t bytes)
{
	struct route *known = find_route(routes, source, target, bytes);
	uint64_t key = graph_plan_key_of(source, target, bytes);

	if (known)
		return known;
	uint32_t next = brick__map_get(&routes->index, key);
	if (array_push(&routes->list, (struct route){bytes, source, target, BRICK__NONE, next}) ||
		hashmap_set(&routes->index, key, routes->list.count - 1))
		return NULL;
	return &routes->list.items[routes->list.count - 1];
}

/* A transfer whose route and size are known; others cannot be told apart. */
static bool graph_plan_is_usable(
	const struct brick__node *node, const struct brick__transfer *transfer)
{
	return (node->flags & BRICK_NODE_HAS_BYTES) && transfer->source != BRICK__NONE &&
	       transfer->target != BRICK__NONE && transfer->source != transfer->target;
}

static uint64_t graph_plan_time_of(const struct brick__node *node)
{
	return node->flags & BRICK_NODE_HAS_TIME ? node->time_ns : 0;
}

/* Into a program's array, whose first element says how large each is. */
static void graph_plan_put_pair(
	struct brick_graph_ping_pong *out, size_t at, const struct brick_graph_ping_pong *one)
{
	struct brick_graph_ping_pong *to = sized_at(out, at);

	to->size = out->size;
	sized_write(to, sizeof(*one), one);
}

static int graph_plan_match(const struct brick_graph *graph, struct routes *routes,
	uint32_t *waiting, struct brick_graph_ping_pong *out, size_t capacity, uint64_t *bytes)
{
	const uint32_t *nodes = graph->of_kind[BRICK_NODE_TRANSFER].items;
	size_t pairs = 0;

	for (uint32_t i = 0; i < graph->transfers.count; i++) {
		const struct brick__transfer *t = &graph->transfers.items[i];
		const struct brick__node *node = &graph->nodes.items[nodes[i]];
		if (!graph_plan_is_usable(node, t))
			continue;
		struct route *there = find_route(routes, t->target, t->source, node->bytes);
		if (!there || there->newest == BRICK__NONE) {
			struct route *own =
				find_or_add_route(routes, t->source, t->target, node->bytes);
			if (!own)
				return -ENOMEM;
			waiting[i] = own->newest;
			own->newest = i;
			continue;
		}
		uint32_t first = nodes[there->newest];
		there->newest = waiting[there->newest];
		*bytes += 2 * node->bytes;
		if (pairs < capacity)
			graph_plan_put_pair(out, pairs,
				&(struct brick_graph_ping_pong){.there = first,
					.back = nodes[i],
					.bytes = node->bytes,
					.time_ns = graph_plan_time_of(&graph->nodes.items[first]) +
						   graph_plan_time_of(node)});
		pairs++;
	}
	return (int)pairs;
}

static int ping_pongs(const struct brick_graph *graph, struct brick_graph_ping_pong *out,
	size_t capacity, uint64_t *bytes)
{
	struct routes routes = {0};
	size_t n = graph->transfers.count;
	SCOPED uint32_t *waiting =
		malloc((n + 1) * sizeof(*waiting)); /* the one that waited before */

	*bytes = 0;
	int pairs =
		waiting ? graph_plan_match(graph, &routes, waiting, out, capacity, bytes) : -ENOMEM;
	array_fini(&routes.list);
	hashmap_fini(&routes.index);
	return pairs;
}

int brick_graph_ping_pongs(
	struct brick_graph *graph, struct brick_graph_ping_pong *out, size_t capacity)
{
	uint64_t bytes;

	if (capacity && !sized_bytes(out))
		return -EINVAL;
	return ping_pongs(graph, out, capacity, &bytes);
}

/* Critical path, times and slack: questions to the plan. */

/* The activity that finishes last, the first of several. */
static uint32_t graph_plan_last_activity(const struct brick__plan *plan)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < plan->dag.count; i++)
		if (plan->finish_ns[i] > plan->finish_ns[last])
			last = i;
	return last;
}

/* Activities of the path become nodes; those that only hold others have no time there. */
static size_t keep_nodes(const struct brick_graph *graph, uint32_t *path, size_t count)
{
	const struct brick__plan *plan = graph->plan;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (path[i] < graph->nodes.count &&
			(plan->end[path[i]] == path[i] || plan->own_ns[path[i]]))
			path[kept++] = path[i];
	return kept;
}

int brick_graph_critical_path(struct brick_graph *graph, struct brick_graph_path *out)
{
	int error = make_plan(graph);

	if (error < 0)
		return error;
	struct brick__plan *plan = graph->plan;
	if (!plan->path) {
		plan->path = malloc(((size_t)plan->dag.count + 1) * sizeof(*plan->path));
		if (!plan->path)
			return -ENOMEM;
		if (plan->dag.count)
			plan->path_count = brick__dag_path(&plan->dag, plan->finish_ns,
				graph_plan_last_activity(plan), plan->path);
		plan->path_count = keep_nodes(graph, plan->path, plan->path_count);
	}
	const struct brick_graph_path path = {
		.length_ns = plan->length_ns, .nodes = plan->path, .count = plan->path_count};
	return sized_write(out, sizeof(path), &path);
}

static int find_latest(struct brick__plan *plan)
{
	if (plan->latest_ns)
		return 0;
	plan->latest_ns = malloc(((size_t)plan->dag.count + 1) * sizeof(*plan->latest_ns));
	if (!plan->latest_ns)
		return -ENOMEM;
	brick__dag_backward(
		&plan->dag, plan->own_ns, plan->length_ns, BRICK__DAG_ALL, plan->latest_ns);
	return 0;
}

int brick_graph_times_get(struct brick_graph *graph, uint32_t node, struct brick_graph_times *out)
{
	if (node >= graph->nodes.count)
		return -ENOENT;
	int error = make_plan(graph);
	if (error == 0)
		error = find_latest(graph->plan);
	if (error < 0)
		return error;
	const struct brick__plan *plan = graph->plan;
	uint64_t finish = plan->finish_ns[node], latest = plan->latest_ns[node];
	const struct brick_graph_times times = {.begin_ns = finish - plan->own_ns[node],
		.end_ns = plan->finish_ns[plan->end[node]],
		.own_ns = plan->own_ns[node],
		.slack_ns = latest > finish ? latest - finish : 0};
	return sized_write(out, sizeof(times), &times);
}

int brick_graph_summarize(struct brick_graph *graph, struct brick_graph_summary *out)
{
	int error = make_plan(graph);

	if (error < 0)
		return error;
	struct brick_graph_summary s = {.nodes = graph->nodes.count, .edges = graph->edges.count};
	for (int i = 0; i < BRICK_NODE_KINDS; i++)
		s.by_node_kind[i] = graph->of_kind[i].count;
	for (uint32_t i = 0; i < graph->edges.count; i++)
		s.by_edge_kind[graph->edge_kinds.items[i]]++;
	for (uint32_t i = 0; i < graph->nodes.count; i++) {
		const struct brick__node *node = &graph->nodes.items[i];
		s.work_ns += graph->plan->own_ns[i];
		if (node->kind == BRICK_NODE_KERNEL || node->kind == BRICK_NODE_TRANSFER)
			s.without_time += !(node->flags & BRICK_NODE_HAS_TIME);
	}
	s.length_ns = graph->plan->length_ns;
	s.parallelism = s.length_ns ? (double)s.work_ns / (double)s.length_ns : -1;
	int pairs = ping_pongs(graph, NULL, 0, &s.ping_pong_bytes);
	if (pairs < 0)
		return pairs;
	s.ping_pongs = (size_t)pairs;
	return sized_write(out, sizeof(s), &s);
}

/*
 * How long the graph would be if some of it took less: its plan is run again with other times. The
 * opportunities among its names are tried in the order of what they can buy at most, so that few
 * are tried, however many there are.
 */

/* Beyond so many, names with less and less time on the path are not even tried. */
enum { TRIES_PER_RESULT = 8 };

/* Bricks and layers have their own names to ask about; all else belongs to what holds it. */
static bool stands_alone(const struct brick__node *node)
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
	uint32_t first = brick__graph_named(graph, name);

	if (first == BRICK__NONE)
		return -ENOENT;
	if (!(factor >= 0 && factor <= 1e6))
		return -EINVAL;
	int error = make_plan(graph);
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

static bool is_better(
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
static void graph_plan_hand_out(
	struct brick_graph_opportunity *out, const struct brick_graph_opportunity *best, int count)
{
	for (int i = 0; i < count; i++) {
		struct brick_graph_opportunity *to = sized_at(out, (size_t)i);
		to->size = out->size;
		sized_write(to, sizeof(*best), &best[i]);
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
	SCOPED struct brick_graph_opportunity *best = calloc(capacity + 1, sizeof(*best));
	SCOPED struct candidate *candidates = find_candidates(graph, &path, &n);
	error = candidates && best ? trial_init(&trial, graph) : -ENOMEM;
	if (error == 0) {
		n = n / TRIES_PER_RESULT > capacity ? capacity * TRIES_PER_RESULT : n;
		error = (int)try_candidates(&trial, &path, candidates, n, best, capacity);
		trial_fini(&trial);
		graph_plan_hand_out(out, best, error);
	}
	return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical path, times and slack of an execution graph: questions to its plan.
 */
#include "brick/graph_path.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/sized.h"
#include "lib/graph/graph_core.h"

/* The activity that finishes last, the first of several. */
static uint32_t last_activity(const struct brick__plan *plan)
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
	int error = brick__graph_plan(graph);

	if (error < 0)
		return error;
	struct brick__plan *plan = graph->plan;
	if (!plan->path) {
		plan->path = malloc(((size_t)plan->dag.count + 1) * sizeof(*plan->path));
		if (!plan->path)
			return -ENOMEM;
		if (plan->dag.count)
			plan->path_count = brick__dag_path(
				&plan->dag, plan->finish_ns, last_activity(plan), plan->path);
		plan->path_count = keep_nodes(graph, plan->path, plan->path_count);
	}
	const struct brick_graph_path path = {
		.length_ns = plan->length_ns, .nodes = plan->path, .count = plan->path_count};
	return sized_write(out, sizeof path, &path);
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
	int error = brick__graph_plan(graph);
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
	return sized_write(out, sizeof times, &times);
}

int brick_graph_summarize(struct brick_graph *graph, struct brick_graph_summary *out)
{
	int error = brick__graph_plan(graph);

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
	int pairs = brick__graph_ping_pongs(graph, NULL, 0, &s.ping_pong_bytes);
	if (pairs < 0)
		return pairs;
	s.ping_pongs = (size_t)pairs;
	return sized_write(out, sizeof s, &s);
}

double brick_roofline_distance(double achieved, double peak, double intensity, double bandwidth)
{
	if (!(achieved >= 0) || !(peak > 0) || !(intensity > 0) || !(bandwidth > 0))
		return NAN;
	double slope = intensity * bandwidth;
	return 1 - achieved / (peak < slope ? peak : slope);
}

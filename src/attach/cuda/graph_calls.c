/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes get the brick that was open when they were made; their copies in an executable graph
 * inherit it (graph_calls.h). Copies may be announced as made and as copied, in either order: while
 * a graph is being instantiated only what is copied counts.
 */
#include "attach/cuda/graph_calls.h"

#include <stdio.h>
#include "attach/cuda/cupti.h"
#include "attach/cuda/graph_places.h"
#include "attach/cuda/nodes.h"

/* The executable graph that the thread is making. */
static __thread struct {
	uint32_t is_begun;
	cuda_handle copies; /* stands for it until it has a handle */
	uint32_t records;   /* that a launch brings */
	uint32_t varies;    /* the graph itself decides how many those are */
} making;

static int are_whole;

void graph_calls_are_whole(void)
{
	are_whole = 1;
}

static int id_of(cuda_handle node, uint64_t *id)
{
	return cupti.graph_node_id && cupti.graph_node_id(node, id) == CUPTI_FINE;
}

/* Odd, unlike handles of CUDA's, and never used again. */
static cuda_handle next_copies(void)
{
	static uintptr_t last = 1;

	return (cuda_handle)__atomic_add_fetch(&last, 2, __ATOMIC_RELAXED);
}

static int node_made(const struct cupti_graph *graph, const struct brick_launch *launch,
	const struct brick_launch_owner *work)
{
	struct brick_launch parent;
	uint64_t id;

	if (making.is_begun)
		return 0;
	if (launch)
		parent = *launch;
	else
		brick_launch_parent(&parent);
	if (id_of(graph->node, &id)) {
		nodes_created(id, parent.brick, parent.layer, work);
		graph_places_created(graph->graph, id);
	}
	return 1;
}

static void node_cloned(const struct cupti_graph *graph)
{
	uint64_t id, original;

	if (making.is_begun) {
		making.records += graph->node_type <= CUDA_NODE_MEMSET;
		making.varies |= graph->node_type == CUDA_NODE_GRAPH ||
				 graph->node_type == CUDA_NODE_CONDITIONAL;
	}
	if (id_of(graph->node, &id) && id_of(graph->original_node, &original)) {
		nodes_cloned(id, original);
		if (making.is_begun)
			graph_places_cloned(making.copies, id, original);
	}
}

int graph_calls_resource(uint32_t id, const struct cupti_graph *graph,
	const struct brick_launch *launch, const struct brick_launch_owner *work)
{
	uint64_t node;

	switch (id) {
	case CUPTI_GRAPH_NODE_CREATED:
		return node_made(graph, launch, work);
	case CUPTI_GRAPH_NODE_CLONED:
		node_cloned(graph);
		break;
	case CUPTI_GRAPH_NODE_DESTROYING:
		graph_places_forget(graph->graph);
		if (id_of(graph->node, &node))
			nodes_destroyed(node);
		break;
	case CUPTI_GRAPH_EXEC_STARTING:
		making.is_begun = 1;
		making.copies = next_copies();
		making.records = making.varies = 0;
		break;
	case CUPTI_GRAPH_EXEC_CREATED:
		nodes_exec(graph->exec, are_whole ? 1 : making.varies ? 0 : making.records);
		graph_places_exec(graph->exec, making.copies);
		making.is_begun = 0;
		break;
	case CUPTI_GRAPH_EXEC_DESTROYING:
		nodes_exec_gone(graph->exec);
		graph_places_forget(graph->exec);
		break;
	default:
		break;
	}
	return 0;
}

static struct {
	uint64_t done, refused; /* atomic */
} counts[GRAPH_CALLS];

void graph_calls_count(enum graph_call call, int has_failed)
{
	__atomic_fetch_add(
		has_failed ? &counts[call].refused : &counts[call].done, 1, __ATOMIC_RELAXED);
}

static int last_refusal; /* of an update: enum CUgraphExecUpdateResult, atomic */

void graph_calls_updated(const struct cuda_graph_update *update, int has_info, int has_failed)
{
	graph_calls_count(GRAPH_UPDATED, has_failed);
	if (update && !has_failed)
		graph_places_updated(update->exec, update->graph);
	else if (update && has_info && update->info)
		__atomic_store_n(&last_refusal, update->info->result, __ATOMIC_RELAXED);
}

/* By the values of CUgraphExecUpdateResult, from 2 on. */
static const char *refusal_text(void)
{
	static const char *const texts[] = {"its topology had changed",
		"the type of a node had changed", "the function of a node had changed",
		"the parameters of a node had changed in a way that cannot be updated",
		"something of a node cannot be updated",
		"the function of a node had changed in a way that cannot be updated",
		"the attributes of a node had changed in a way that cannot be updated"};
	unsigned value = (unsigned)__atomic_load_n(&last_refusal, __ATOMIC_RELAXED);

	return value - 2 < sizeof texts / sizeof *texts ? texts[value - 2] : NULL;
}

void graph_calls_instantiated(int has_failed)
{
	making.is_begun = 0;
	graph_calls_count(GRAPH_INSTANTIATED, has_failed);
}

static uint64_t launched_without; /* atomic */

void graph_calls_without(void)
{
	__atomic_fetch_add(&launched_without, 1, __ATOMIC_RELAXED);
}

int graph_calls_describe(char *text, size_t bytes)
{
	static const char *const names[] = {"captured", "instantiated", "updated", "launched"};
	const char *why = refusal_text();
	size_t at = 0;
	uint64_t all = 0;

	for (int i = 0; i < GRAPH_CALLS && at < bytes; i++) {
		uint64_t done = __atomic_load_n(&counts[i].done, __ATOMIC_RELAXED);
		uint64_t refused = __atomic_load_n(&counts[i].refused, __ATOMIC_RELAXED);
		all += done + refused;
		at += (size_t)snprintf(text + at, bytes - at, "%s%llu %s", i ? ", " : "",
			(unsigned long long)done, names[i]);
		if (refused && at < bytes)
			at += (size_t)snprintf(text + at, bytes - at, " (%llu refused%s%s)",
				(unsigned long long)refused, i == GRAPH_UPDATED && why ? ": " : "",
				i == GRAPH_UPDATED && why ? why : "");
	}
	if (at < bytes)
		snprintf(text + at, bytes - at, "; %llu kernels launched without",
			(unsigned long long)__atomic_load_n(&launched_without, __ATOMIC_RELAXED));
	return all != 0;
}

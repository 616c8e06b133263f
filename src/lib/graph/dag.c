/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Longest chains in a graph of activities. Sorting walks depth first against the edges with a stack
 * of its own, always in the order in which activities and edges were given, so that the order, and
 * with it the choice between equals, is the same on every machine.
 */
#include "lib/graph/dag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/members.h"
#include "brick/error.h"

int brick__dag_init(struct brick__dag *dag, uint32_t count, const struct brick__dag_edge *edges,
	size_t edge_count)
{
	memset(dag, 0, sizeof(*dag));
	if (edge_count > UINT32_MAX - 1)
		return -ENOMEM;
	dag->count = count;
	dag->first = calloc((size_t)count + 2, sizeof(*dag->first));
	dag->before = malloc((edge_count + 1) * sizeof(*dag->before));
	if (!dag->first || !dag->before) {
		brick__dag_fini(dag);
		return -ENOMEM;
	}
	/* Counts go two places up, so that filling moves each begin to where it belongs. */
	uint32_t *next = dag->first + 1;
	for (size_t i = 0; i < edge_count; i++)
		next[edges[i].to + 1]++;
	for (uint32_t v = 1; v < count; v++)
		next[v] += next[v - 1];
	for (size_t i = 0; i < edge_count; i++)
		dag->before[next[edges[i].to]++] = edges[i].from;
	return 0;
}

void brick__dag_fini(struct brick__dag *dag)
{
	members_free(dag, first, before, order);
	memset(dag, 0, sizeof(*dag));
}

enum state { NEW, OPEN, DONE };

struct walk {
	struct brick__dag *dag;
	uint8_t *state;
	uint32_t *next;	 /* the place in `before` to look at next */
	uint32_t *stack; /* activities that are open: each is before the one below it */
	uint32_t depth, sorted;
};

static void open_activity(struct walk *w, uint32_t v)
{
	w->state[v] = OPEN;
	w->next[v] = w->dag->first[v];
	w->stack[w->depth++] = v;
}

/* Go one edge on, or close the innermost activity. Returns what closes a cycle, or UINT32_MAX. */
static uint32_t dag_step(struct walk *w)
{
	uint32_t v = w->stack[w->depth - 1];

	if (w->next[v] == w->dag->first[v + 1]) {
		w->state[v] = DONE;
		w->dag->order[w->sorted++] = v;
		w->depth--;
		return UINT32_MAX;
	}
	uint32_t before = w->dag->before[w->next[v]++];
	if (w->state[before] == OPEN)
		return before;
	if (w->state[before] == NEW)
		open_activity(w, before);
	return UINT32_MAX;
}

/* The stack from `from` on was walked against the edges: hand it out from its end. */
static int take_cycle(struct walk *w, uint32_t from, uint32_t **cycle, uint32_t *cycle_count)
{
	uint32_t n = 0;

	while (w->stack[w->depth - 1 - n++] != from)
		;
	*cycle = malloc(n * sizeof(**cycle));
	if (!*cycle)
		return -ENOMEM;
	*cycle_count = n;
	for (uint32_t i = 0; i < n; i++)
		(*cycle)[i] = w->stack[w->depth - 1 - i];
	return BRICK_ECYCLE;
}

static int dag_walk_all(struct walk *w, uint32_t **cycle, uint32_t *cycle_count)
{
	for (uint32_t v = 0; v < w->dag->count; v++) {
		if (w->state[v] != NEW)
			continue;
		open_activity(w, v);
		while (w->depth) {
			uint32_t closing = dag_step(w);
			if (closing != UINT32_MAX)
				return take_cycle(w, closing, cycle, cycle_count);
		}
	}
	return 0;
}

int brick__dag_sort(struct brick__dag *dag, uint32_t **cycle, uint32_t *cycle_count)
{
	size_t count = (size_t)dag->count + 1;
	struct walk w = {.dag = dag,
		.state = calloc(count, 1),
		.next = malloc(count * sizeof(uint32_t)),
		.stack = malloc(count * sizeof(uint32_t))};
	int error = -ENOMEM;

	dag->order = malloc(count * sizeof(uint32_t));
	if (w.state && w.next && w.stack && dag->order)
		error = dag_walk_all(&w, cycle, cycle_count);
	if (error < 0) {
		free(dag->order);
		dag->order = NULL;
	}
	members_free(&w, state, next, stack);
	return error;
}

/* When an activity begins. */
static uint64_t brick__dag_begin(
	const struct brick__dag *dag, const uint64_t *finish, uint32_t activity)
{
	uint64_t begin = 0;

	for (uint32_t i = dag->first[activity]; i < dag->first[activity + 1]; i++)
		if (finish[dag->before[i]] > begin)
			begin = finish[dag->before[i]];
	return begin;
}

uint64_t brick__dag_forward(
	const struct brick__dag *dag, const uint64_t *duration, uint64_t *finish)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < dag->count; i++) {
		uint32_t v = dag->order[i];
		uint64_t begin = brick__dag_begin(dag, finish, v);
		if (__builtin_add_overflow(begin, duration[v], &finish[v]))
			finish[v] = UINT64_MAX;
		if (finish[v] > last)
			last = finish[v];
	}
	return last;
}

void brick__dag_backward(const struct brick__dag *dag, const uint64_t *duration, uint64_t deadline,
	uint32_t end, uint64_t *latest)
{
	for (uint32_t v = 0; v < dag->count; v++)
		latest[v] = end == BRICK__DAG_ALL || end == v ? deadline : UINT64_MAX;
	for (uint32_t i = dag->count; i-- > 0;) {
		uint32_t v = dag->order[i];
		if (latest[v] == UINT64_MAX)
			continue;
		uint64_t begin = latest[v] > duration[v] ? latest[v] - duration[v] : 0;
		for (uint32_t k = dag->first[v]; k < dag->first[v + 1]; k++)
			if (latest[dag->before[k]] > begin)
				latest[dag->before[k]] = begin;
	}
}

size_t brick__dag_path(
	const struct brick__dag *dag, const uint64_t *finish, uint32_t last, uint32_t *path)
{
	size_t n = 0;

	for (uint32_t v = last;;) {
		path[n++] = v;
		uint32_t best = UINT32_MAX;
		for (uint32_t i = dag->first[v]; i < dag->first[v + 1]; i++)
			if (best == UINT32_MAX || finish[dag->before[i]] > finish[best])
				best = dag->before[i];
		if (best == UINT32_MAX)
			break;
		v = best;
	}
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t v = path[i];
		path[i] = path[n - 1 - i];
		path[n - 1 - i] = v;
	}
	return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Counts stacks by their innermost call; then each call counts for all functions above it. */
#include "analysis/accounts/function_accounts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/stack_bricks.h"
#include "base/hashmap.h"
#include "base/order.h"
#include "base/path_name.h"
#include "base/scope.h"

#define Z_95 1.959964

void share_limits(uint64_t part, uint64_t all, double *low, double *high)
{
	double n = (double)all, p = all ? (double)part / n : 0, z2 = Z_95 * Z_95;
	double middle = all ? (p + z2 / (2 * n)) / (1 + z2 / n) : 0.5;
	double half = all ? Z_95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) : 0.5;

	*low = part ? fmax(0, middle - half) : 0;
	*high = part < all ? fmin(1, middle + half) : 1;
}

char *function_name(const struct run_function *function)
{
	const char *object = path_name(function->object);
	char *name;

	if (function->name)
		return strdup(function->name);
	if (!object)
		return strdup("[unknown]");
	if (!strncmp(object, "perf-",
		    5)) /* docs/FORMAT.md: the map of code that a process made at run time */
		return strdup("[made at run time]");
	int n = asprintf(&name, object[0] == '[' ? "%s" : "[%s]", object);
	return n < 0 ? NULL : name;
}

/* [run->call_count]: stacks whose innermost call it is. The caller frees. NULL: no memory. */
static uint64_t *count_calls(const struct run *run)
{
	uint64_t *stacks = calloc(run->call_count + 1, sizeof(*stacks));

	for (size_t i = 0; stacks && i < run->stack_count; i++)
		stacks[run->stacks[i].call]++;
	return stacks;
}

/* Fills stacks and total of rows. A function that calls itself counts once in a stack. */
static int count_functions(struct function_row *rows, const struct run *run)
{
	SCOPED uint64_t *stacks = count_calls(run);
	SCOPED size_t *seen_by = calloc(run->function_count + 1, sizeof(*seen_by));

	if (!stacks || !seen_by)
		return -ENOMEM;
	for (size_t i = 0; i < run->call_count; i++) {
		if (!stacks[i])
			continue;
		rows[run->calls[i].function].stacks += stacks[i];
		for (uint32_t c = (uint32_t)i; c != RUN_NONE; c = run->calls[c].caller) {
			uint32_t function = run->calls[c].function;
			rows[function].total += seen_by[function] == i + 1 ? 0 : stacks[i];
			seen_by[function] = i + 1;
		}
	}
	return 0;
}

/* Places. */

struct counted_place {
	uint32_t function;
	struct function_place place;
};

COMPARATOR(by_function, struct counted_place,
	ORDER(x->function, y->function)
		?: ORDER(y->place.stacks, x->place.stacks) ?: ORDER(x->place.brick, y->place.brick))

/* Counts stacks by function << 32 | brick; the brick is RUN_NONE outside of bricks. */
static int count_places(struct hashmap *counts, struct functions *f)
{
	const struct run *run = f->run;
	SCOPED struct stack_place *places = calloc(run->stack_count + 1, sizeof(*places));
	int rc = places ? stack_places_find(places, run, false) : -ENOMEM;

	for (size_t i = 0; i < run->stack_count && rc == 0; i++) {
		uint32_t function = run->calls[run->stacks[i].call].function;
		uint64_t key = (uint64_t)function << 32 | places[i].brick;
		uint64_t had = hashmap_get(counts, key);
		rc = hashmap_set(counts, key, had == HASHMAP_NONE ? 1 : had + 1);
		f->outside += places[i].brick == RUN_NONE;
	}
	return rc;
}

static int add_places(struct functions *f, struct function_row *rows)
{
	struct hashmap counts = {0};
	size_t count = 0;
	int rc = count_places(&counts, f);
	SCOPED struct counted_place *list = calloc(counts.count + 1, sizeof(*list));

	f->places = calloc(counts.count + 1, sizeof(*f->places));
	if (!list || !f->places)
		rc = -ENOMEM;
	for (struct hashmap_slot *s = NULL; rc == 0 && (s = hashmap_next(&counts, s));)
		list[count++] = (struct counted_place){
			(uint32_t)(s->key >> 32), {(uint32_t)s->key, s->value}};
	hashmap_fini(&counts);
	if (rc < 0)
		return rc;
	qsort(list, count, sizeof(*list), by_function);
	for (size_t i = 0; i < count; i++) {
		struct function_row *row = &rows[list[i].function];
		if (!row->place_count++)
			row->place = (uint32_t)i;
		f->places[i] = list[i].place;
	}
	f->place_count = count;
	return 0;
}

/* Equal functions keep the order of the recording, in which they are numbered. */
COMPARATOR(by_stacks, struct function_row,
	ORDER(y->stacks, x->stacks)
		?: ORDER(y->total, x->total) ?: ORDER(x->function, y->function))

int functions_measure(struct functions *f, const struct run *run)
{
	*f = (struct functions){.run = run, .stacks = run->stack_count};
	f->each_ns = run->stack_account.hz ? 1e9 / run->stack_account.hz : 0;
	if (run->machine.system_ns && run->program_cpu_ns > run->machine.system_ns)
		f->user_ns = run->program_cpu_ns - run->machine.system_ns;
	f->rows = calloc(run->function_count + 1, sizeof(*f->rows));
	int rc = f->rows ? count_functions(f->rows, run) : -ENOMEM;

	if (rc == 0)
		rc = add_places(f, f->rows);
	for (size_t i = 0; rc == 0 && i < run->function_count; i++) {
		struct function_row row = f->rows[i];
		row.function = (uint32_t)i;
		row.share = (double)row.stacks / (double)f->stacks;
		share_limits(row.stacks, f->stacks, &row.low, &row.high);
		if (row.total)
			f->rows[f->count++] = row;
	}
	if (rc < 0)
		functions_fini(f);
	else if (f->count)
		qsort(f->rows, f->count, sizeof(*f->rows), by_stacks);
	return rc;
}

void functions_fini(struct functions *f)
{
	free(f->rows);
	free(f->places);
	f->rows = NULL;
	f->places = NULL;
	f->count = f->place_count = 0;
}

/* The tree. */

struct tree_builder {
	struct call_tree *tree;
	const struct run *run;
	struct hashmap calls; /* nodes, by thread and call */
	uint32_t *threads;    /* nodes; 0: none yet */
};

static uint32_t functions_add_node(
	struct tree_builder *b, uint32_t parent, enum call_kind kind, uint32_t site)
{
	struct call_node node = call_node_of(kind, -1);

	node.site = site;
	return call_tree_add(b->tree, parent, node);
}

static uint32_t thread_node(struct tree_builder *b, uint32_t thread)
{
	if (!b->threads[thread]) {
		uint32_t node = functions_add_node(b, 0, CALL_THREAD, thread);
		b->threads[thread] = node == RUN_NONE ? 0 : node;
	}
	return b->threads[thread] ? b->threads[thread] : RUN_NONE;
}

/* The node of a call, below that of its caller; RUN_NONE: no memory. Depth is the stack's. */
static uint32_t call_node(struct tree_builder *b, uint32_t thread, uint32_t call)
{
	uint64_t key = (uint64_t)thread << 32 | call, known = hashmap_get(&b->calls, key);
	uint32_t caller = b->run->calls[call].caller;

	if (known != HASHMAP_NONE)
		return (uint32_t)known;
	uint32_t parent =
		caller == RUN_NONE ? thread_node(b, thread) : call_node(b, thread, caller);
	uint32_t node = parent == RUN_NONE ? RUN_NONE
					   : functions_add_node(b, parent, CALL_FUNCTION,
						     b->run->calls[call].function);
	if (node != RUN_NONE && hashmap_set(&b->calls, key, node))
		node = RUN_NONE;
	return node;
}

static int functions_build(struct tree_builder *b)
{
	const struct run *run = b->run;
	uint64_t each_ns = run->stack_account.hz ? 1000000000u / run->stack_account.hz : 0;
	struct call_tree *tree = b->tree;

	if (call_tree_add(tree, RUN_NONE, call_node_of(CALL_ROOT, -1)) == RUN_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < run->stack_count; i++) {
		uint32_t node = call_node(b, run->stacks[i].thread, run->stacks[i].call);
		if (node == RUN_NONE)
			return -ENOMEM;
		tree->nodes[node].count++;
		tree->nodes[node].self_ns += each_ns;
	}
	call_tree_sum(tree);
	return 0;
}

int functions_tree(struct call_tree **out, const struct run *run)
{
	struct tree_builder b = {.run = run, .tree = calloc(1, sizeof(*b.tree))};
	int rc = -ENOMEM;

	b.threads = calloc(run->stack_thread_count + 1, sizeof(*b.threads));
	if (b.tree && b.threads) {
		b.tree->run = run;
		b.tree->step = b.tree->lane = RUN_NONE;
		rc = functions_build(&b);
	}
	hashmap_fini(&b.calls);
	free(b.threads);
	if (rc < 0)
		call_tree_destroy(b.tree);
	else
		*out = b.tree;
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The recording's notes (ggml_notes.h). */
#include "attach/ggml/ggml_notes.h"

#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/method.h"
#include "attach/ggml/nodes/node_work.h"
#include "attach/ggml/nodes/site_table.h"
#include "attach/ggml/patched.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { MAX_GRAPHS = 16 };

/* Graphs seen, by nodes in it, seen and fused; a copy that is read without the lock. */
static uint64_t graphs[MAX_GRAPHS];

static void note_layout(const struct engine *e)
{
	const struct tensor_layout *l = &e->layout;

	if (!e->layout_known) {
		note_once("ggml.warning",
			"layout of tensors unknown (%s not found): names and counts by accessors "
			"only",
			e->layout_refused ? e->layout_refused : "constructors");
		return;
	}
	note_once("ggml.layout", "type %u, ne %u, op %u, src %u (%u of them), view_src %u, name %u",
		l->type, l->ne, l->op, l->source, l->source_count, l->view_source, l->name);
}

void notes_engine(const struct engine *e, uint32_t *told)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	char rules[256];

	if (*told == session || !e || brick_thread_ready())
		return;
	*told = session;
	note_once("ggml.version", "%s%s%s%s", e->version ? e->version() : "unknown",
		e->commit ? " (" : "", e->commit ? e->commit() : "", e->commit ? ")" : "");
	note_once("ggml.library", "%s", e->object.path[0] ? e->object.path : "the program itself");
	note_layout(e);
	patched_note();
	site_table_describe_rules(rules, sizeof(rules));
	note_once("rules", "%s", rules);
	method_note();
}

void notes_library(const char *key, uintptr_t address)
{
	struct loaded_object object;

	if (resolve_object(address, &object))
		note_once(key, "%s", object.path[0] ? object.path : "the program itself");
}

/* Nodes that are never executed: views and the like; *hollow: and others that have no elements. */
static int count_empty(const struct engine *e, const void *graph, int nodes, int *hollow)
{
	int empty = 0;

	*hollow = 0;
	if (!e->graph_node || !e->op_desc)
		return -1;
	for (int i = 0; i < nodes; i++) {
		const void *node = e->graph_node(graph, i);
		int is_empty = node && work_is_empty(e->op_desc(node));
		empty += is_empty;
		*hollow += node && !is_empty && e->element_count && !e->element_count(node);
	}
	return empty;
}

static int remember_graph(uint64_t key)
{
	static uint32_t heard; /* session that the graphs were noted in */
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (__atomic_exchange_n(&heard, now, __ATOMIC_RELAXED) != now)
		memset(graphs, 0, sizeof graphs);
	for (int i = 0; i < MAX_GRAPHS; i++) {
		uint64_t seen = __atomic_load_n(&graphs[i], __ATOMIC_RELAXED);
		if (seen == key)
			return 0;
		if (!seen) {
			__atomic_store_n(&graphs[i], key, __ATOMIC_RELAXED);
			return 1;
		}
	}
	return 0;
}

void notes_graph(const struct engine *e, const void *graph, uint32_t started, uint32_t fused)
{
	if (!e || !e->graph_node_count)
		return;
	int nodes = e->graph_node_count((void *)(uintptr_t)graph);
	uint64_t key = (uint64_t)(uint32_t)nodes << 40 | (uint64_t)(started & 0xfffff) << 20 |
		       (fused & 0xfffff);
	if (!remember_graph(key))
		return;
	int hollow, empty = count_empty(e, graph, nodes, &hollow), seen = (int)(started + fused);
	int expected = seen > nodes - empty ? nodes : nodes - empty; /* older ones pass on all */
	if (hollow > expected - seen) /* some pairs are executed all the same */
		hollow = expected - seen;
	note_once("graph",
		"%d nodes: %d of them do no work, %u were timed (%u of these as fused pairs), %d "
		"were missed",
		nodes, empty + hollow, started, fused, expected - seen - hollow);
}

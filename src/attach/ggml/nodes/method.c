/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing how nodes are timed, and the notes (method.h). The choice falls at two moments: when a
 * scheduler is made and nothing that is loaded has the hooks, or when a first graph was computed
 * and none was called, as in builds that bind their own calls. It never goes back.
 */
#include "attach/ggml/nodes/method.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/engine/node_work.h"
#include "attach/ggml/nodes/site_table.h"
#include "attach/ggml/engine/patched.h"
#include "attach/ggml/engine/resolve.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "lib/sys/cpu_features.h"
#include "lib/sys/environment.h"

static uint32_t is_forced;     /* by BRICK_ATTACH */
static uint32_t method_chosen; /* attach_shared.method is final */
static uint32_t has_device;    /* a backend of a device is a scheduler's, or computes */
static uint32_t is_blind;      /* a device's backend calls no hook for its graphs */

static void method_note(void);

static void use(enum method method)
{
	__atomic_store_n(&attach_shared.method, (uint32_t)method, __ATOMIC_RELAXED);
	__atomic_store_n(&method_chosen, 1, __ATOMIC_RELAXED);
	if (brick_enabled())
		method_note();
}

/* The method that BRICK_ATTACH forces; METHOD_PLAIN: none. */
static enum method forced_method(void)
{
	const char *wanted = brick__environment("BRICK_ATTACH");

	return !wanted || !*wanted || !strcmp(wanted, "auto") ? METHOD_PLAIN
	       : !strcmp(wanted, "callback")		      ? METHOD_CALLBACK
	       : !strcmp(wanted, "graph")		      ? METHOD_GRAPHS
							      : METHOD_NODES;
}

ENVIRONMENT_READER(method_read_environment)
{
	enum method forced = forced_method();

	if (forced == METHOD_PLAIN)
		return;
	is_forced = 1;
	use(forced);
}

bool method_may_be_nodes(void)
{
	enum method forced = forced_method();

	return forced == METHOD_PLAIN || forced == METHOD_NODES;
}

/* Words have commas between them. */
bool capture_wants(const char *word)
{
	const char *list = brick__environment("BRICK_CAPTURE");
	size_t length = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, ",");
		if (n == length && !memcmp(list, word, n))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void method_note(void)
{
	static const char *const texts[] = {
		[METHOD_NODES] = "node hooks",
		[METHOD_CALLBACK] = "eval callback: it splits the graph, times are inflated",
		[METHOD_GRAPHS] = "graphs only: no node is timed",
		[METHOD_PLAIN] = "node hooks",
	};
	uint32_t method = shared_get(&attach_shared.method);
	char text[96];

	if (brick_thread_ready())
		return;
	strcpy(text, texts[method]);
	if (is_forced)
		strcat(text, " (BRICK_ATTACH)");
	note_once("attach", "%s", text);
}

static bool may_choose(void)
{
	return brick_enabled() && !__atomic_load_n(&method_chosen, __ATOMIC_RELAXED);
}

bool method_is_chosen(void)
{
	return !may_choose();
}

void method_device_computes(void)
{
	if (method_cpu_only())
		__atomic_store_n(&has_device, 1, __ATOMIC_RELAXED);
}

bool method_cpu_only(void)
{
	return !__atomic_load_n(&has_device, __ATOMIC_RELAXED);
}

bool method_sees_backends(void)
{
	return !__atomic_load_n(&is_blind, __ATOMIC_RELAXED);
}

void method_scheduler_made(bool cpu_only, bool sees_others)
{
	if (!cpu_only)
		__atomic_store_n(&has_device, 1, __ATOMIC_RELAXED);
	if (!sees_others)
		__atomic_store_n(&is_blind, 1, __ATOMIC_RELAXED);
	/* also while recording is off, as it may be switched on after this */
	if (__atomic_load_n(&method_chosen, __ATOMIC_RELAXED))
		return;
	/*
	 * Which symbols the loaded objects define besides ours. Only those that decide between
	 * nodes and callback are looked for, as looking is slow.
	 */
	char reached[GGML_SYMBOL_COUNT] = {0};
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (ggml_symbols[i].use == GGML_FOR_NODES ||
			ggml_symbols[i].use == GGML_FOR_CALLBACK)
			reached[i] = resolve_exists((enum ggml_symbol_id)i);
	enum ggml_way way = ggml_way_of(
		reached, method_cpu_only(), capture_wants("digest") || capture_wants("digest-all"));
	if (way != GGML_WAY_NODES) /* a callback would stay in the engine when a recorder leaves */
		use(way == GGML_WAY_CALLBACK && !attach_shared.is_late ? METHOD_CALLBACK
								       : METHOD_GRAPHS);
}

void method_graph_computed(bool has_callback, uint32_t seen)
{
	if (may_choose())
		use(seen ? METHOD_NODES
			: has_callback && method_cpu_only() && !attach_shared.is_late
				? METHOD_CALLBACK
				: METHOD_GRAPHS);
}

enum { MAX_GRAPHS = 16 };

/* Keys of the graphs that this session has noted (see notes_graph()); 0: free. No lock. */
static uint64_t method_graphs[MAX_GRAPHS];

void notes_engine(const struct engine *e, uint32_t *told)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	char rules[256];

	if (*told == session || !e || !e->is_proved || brick_thread_ready())
		return;
	*told = session;
	note_once("ggml.version", "%s%s%s%s", e->version ? e->version() : "unknown",
		e->commit ? " (" : "", e->commit ? e->commit() : "", e->commit ? ")" : "");
	note_once("ggml.library", "%s", e->object.path[0] ? e->object.path : "the program itself");
	char features[128];
	brick__sys_cpu_features(features, sizeof(features));
	if (features[0])
		note_once("cpu.features", "%s", features);
	const struct tensor_layout *l = &e->layout;
	if (e->layout_known)
		note_once("ggml.layout",
			"type %u, ne %u, op %u, src %u (%u of them), view_src %u, name %u", l->type,
			l->ne, l->op, l->source, l->source_count, l->view_source, l->name);
	else
		note_once("ggml.warning",
			"layout of tensors unknown (%s not found): names and counts by accessors "
			"only",
			e->layout_refused ? e->layout_refused : "constructors");
	patched_note();
	site_table_describe_rules(rules, sizeof(rules));
	note_once("rules", "%s", rules);
	if (__atomic_load_n(&method_chosen, __ATOMIC_RELAXED))
		method_note();
}

void notes_library(const char *key, uintptr_t address)
{
	struct loaded_object object;

	if (resolve_object(address, &object))
		note_once(key, "%s", object.path[0] ? object.path : "the program itself");
}

/*
 * Counts nodes that are never executed (views and the like). *hollow: the other nodes that have no
 * elements. -1: the engine lacks the accessors.
 */
static int count_empty(const struct engine *e, const void *graph, int nodes, int *hollow)
{
	int empty = 0;

	*hollow = 0;
	if (!e->graph_node || !e->op_desc)
		return -1;
	for (int i = 0; i < nodes; i++) {
		const void *node = e->graph_node(graph, i);
		bool is_empty = node && work_is_empty(e->op_desc(node));
		empty += is_empty;
		*hollow += node && !is_empty && e->element_count && !e->element_count(node);
	}
	return empty;
}

/* False: the session has noted this graph, or there is no room. */
static bool remember_graph(uint64_t key)
{
	static uint32_t heard; /* session that the graphs were noted in */
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (__atomic_exchange_n(&heard, now, __ATOMIC_RELAXED) != now)
		memset(method_graphs, 0, sizeof(method_graphs));
	for (int i = 0; i < MAX_GRAPHS; i++) {
		uint64_t seen = __atomic_load_n(&method_graphs[i], __ATOMIC_RELAXED);
		if (seen == key)
			return false;
		if (!seen) {
			__atomic_store_n(&method_graphs[i], key, __ATOMIC_RELAXED);
			return true;
		}
	}
	return false;
}

/* Is the first element of an F32 node NaN? Views are left out: they may show a device's memory. */
static bool is_nan(const struct engine *e, const void *node)
{
	float first;

	if (!node || !e->layout_known || !engine_executes(e, node) ||
		tensor_int32(node, e->layout.type) != 0 || tensor_ne(&e->layout, node)[0] < 1)
		return false;
	const void *data = e->get_data(node);
	if (!data)
		return false;
	memcpy(&first, data, sizeof(first));
	return first != first;
}

void notes_result(const struct engine *e, const void *graph)
{
	static uint32_t told; /* the session that has this warning */
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (!e || !e->graph_node_count || !e->graph_node || !e->get_data || !e->get_name ||
		__atomic_load_n(&told, __ATOMIC_RELAXED) == now)
		return;
	int count = e->graph_node_count(graph), first = 0;
	if (count < 1 || !is_nan(e, e->graph_node(graph, count - 1)))
		return;
	while (first < count - 1 && !is_nan(e, e->graph_node(graph, first)))
		first++;
	__atomic_store_n(&told, now, __ATOMIC_RELAXED);
	note_once("graph.wrong", "results are no numbers (NaN), from %s on, node %d of %d",
		e->get_name(e->graph_node(graph, first)), first + 1, count);
}

void notes_graph(const struct engine *e, const void *graph, uint32_t started, uint32_t fused)
{
	if (!e || !e->graph_node_count || !brick_enabled()) /* a recorder may leave in its midst */
		return;
	int nodes = e->graph_node_count(graph);
	uint64_t key = (uint64_t)(uint32_t)nodes << 40 | (uint64_t)(started & 0xfffff) << 20 |
		       (fused & 0xfffff);
	if (!remember_graph(key))
		return;
	int hollow, empty = count_empty(e, graph, nodes, &hollow), seen = (int)(started + fused);
	int expected =
		seen > nodes - empty ? nodes : nodes - empty; /* older ggml executes no-ops, too */
	if (hollow > expected - seen) /* some nodes without elements were executed all the same */
		hollow = expected - seen;
	/*
	 * If less than a quarter of the nodes was executed, the graph was not computed. Graphs of
	 * fewer than 8 nodes prove nothing, nor does a graph without any: hooks may not be called.
	 */
	enum { FEW = 8, PART = 4 };
	int work = expected - hollow;
	if (seen && work >= FEW && seen < work / PART)
		note_once("graph.wrong",
			"not computed: %d of the %d nodes with work of a graph were executed", seen,
			work);
	note_once("graph",
		"%d nodes: %d are no-ops, %u were timed (%u of these as fused pairs), %d were "
		"missed",
		nodes, empty + hollow, started, fused, expected - seen - hollow);
}

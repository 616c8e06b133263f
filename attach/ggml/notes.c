/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording's notes (notes.h). What has been written in the running session is remembered by a
 * hash of key and value, so callers may say the same thing as often as they like; a new session,
 * after a fork for instance, hears everything again.
 */
#include "attach/ggml/notes.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "attach/ggml/method.h"
#include "attach/ggml/rule_set.h"
#include "attach/ggml/site_table.h"
#include "attach/ggml/work.h"
#include "brick/brick.h"

enum { MOST_NOTES = 64, MOST_GRAPHS = 16 };

static uint64_t written[MOST_NOTES];
static uint32_t written_count;
static uint32_t session;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Graphs seen, by nodes in it, seen and fused; a copy that is read without the lock. */
static uint64_t graphs[MOST_GRAPHS];

static void hold(void)
{
	pthread_mutex_lock(&lock);
}

static void let_go(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(hold, let_go, let_go);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash * 31;
}

/* Under the lock: is this new to the session? Then it is remembered. */
static int is_new(uint64_t hash)
{
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (now != session) {
		session = now;
		written_count = 0;
	}
	for (uint32_t i = 0; i < written_count; i++)
		if (written[i] == hash)
			return 0;
	if (written_count == MOST_NOTES)
		return 0;
	written[written_count++] = hash;
	return 1;
}

static void write_fact(const char *key, const char *value)
{
	int saved = errno;

	if (!brick_enabled())
		return;
	hold();
	if (is_new(hash_text(hash_text(0xcbf29ce484222325ull, key), value)))
		brick_note(key, "%s", value);
	let_go();
	errno = saved;
}

__attribute__((format(printf, 2, 3))) static void note(const char *key, const char *format, ...)
{
	char value[768];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(value, sizeof value, format, arguments);
	va_end(arguments);
	write_fact(key, value);
}

static void note_layout(const struct engine *e)
{
	const struct tensor_layout *l = &e->layout;

	if (!e->layout_known) {
		note("ggml.layout", "unknown (%s not found): names and counts by accessors only",
			e->layout_refused ? e->layout_refused : "constructors");
		return;
	}
	note("ggml.layout", "type %u, ne %u, op %u, src %u (%u of them), view_src %u, name %u",
		l->type, l->ne, l->op, l->source, l->source_count, l->view_source, l->name);
}

void notes_engine(const struct engine *e)
{
	char rules[256];

	if (!e)
		return;
	note("ggml.version", "%s%s%s%s", e->version ? e->version() : "unknown",
		e->commit ? " (" : "", e->commit ? e->commit() : "", e->commit ? ")" : "");
	note("ggml.library", "%s", e->object.path[0] ? e->object.path : "the program itself");
	note_layout(e);
	site_table_lock();
	rule_set_describe(rules, sizeof rules);
	site_table_unlock();
	note("rules", "%s", rules);
}

void notes_method(const char *method)
{
	write_fact("attach", method);
}

void notes_steps(const char *method)
{
	write_fact("steps", method);
}

void notes_backend(const char *name)
{
	write_fact("backend", name);
}

void notes_library(const char *key, uintptr_t address)
{
	struct loaded_object object;

	if (resolve_object(address, &object))
		write_fact(key, object.path[0] ? object.path : "the program itself");
}

/* Nodes that are never executed: views and the like. */
static int count_empty(const struct engine *e, const void *graph, int nodes)
{
	int empty = 0;

	if (!e->graph_node || !e->op_desc)
		return -1;
	for (int i = 0; i < nodes; i++) {
		const void *node = e->graph_node(graph, i);
		empty += node && work_is_empty(e->op_desc(node));
	}
	return empty;
}

static int remember_graph(uint64_t key)
{
	static uint32_t heard; /* session that the graphs were noted in */
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (__atomic_exchange_n(&heard, now, __ATOMIC_RELAXED) != now)
		memset(graphs, 0, sizeof graphs);
	for (int i = 0; i < MOST_GRAPHS; i++) {
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
	if (!brick_enabled() || !method_is(METHOD_NODES) || !e || !e->graph_node_count)
		return;
	int nodes = e->graph_node_count((void *)(uintptr_t)graph);
	uint64_t key = (uint64_t)(uint32_t)nodes << 40 | (uint64_t)(started & 0xfffff) << 20 |
		       (fused & 0xfffff);
	if (!remember_graph(key))
		return;
	int empty = count_empty(e, graph, nodes), seen = (int)(started + fused);
	int expected = seen > nodes - empty ? nodes : nodes - empty; /* older ones pass on all */
	note("graph",
		"%d nodes, %d of them without work, %u seen (%u of them two in one), %d not seen",
		nodes, empty, started, fused, expected - seen);
}

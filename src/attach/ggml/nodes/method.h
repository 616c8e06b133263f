/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How nodes are timed in this process, and what a recording is told about it. BRICK_ATTACH in the
 * environment forces one way: "nodes", "callback" or "graph"; otherwise ("auto") the hooks of the
 * CPU backend are used where they are called, else the scheduler's evaluation callback, which
 * splits graphs and is therefore never used without saying so, else whole graphs only. Every note
 * is written once per session. Any thread; without a session nothing happens.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "attach/ggml/engine/ggml_shared.h"
#include "brick/probe.h"

enum method {
	METHOD_NODES = 0, /* the default, until the first graph shows that no hook is called */
	METHOD_CALLBACK = 1,
	METHOD_GRAPHS = 2,
	METHOD_PLAIN = 3, /* not in this step, whatever it is in others (ggml_plain_steps.h) */
};

static inline int method_is(enum method method)
{
	return shared_get(&attach_shared.method) == (uint32_t)method;
}

/* Are nodes to be recorded by the hooks of the CPU backend? */
static inline int method_records_nodes(void)
{
	return BRICK_LIKELY(brick_enabled()) && BRICK_LIKELY(method_is(METHOD_NODES));
}

/* False: another way is forced, which needs no hook of a node. */
bool method_may_be_nodes(void);

/* Is there nothing left to find out? */
bool method_is_chosen(void);

/* Do all backends of the schedulers made so far run on the CPU? Then nothing is asynchronous. */
bool method_cpu_only(void);

/* Can a backend's graph be told from what its scheduler does around it? */
bool method_sees_backends(void);

/*
 * A scheduler was made. cpu_only: all of its backends run on the CPU. sees_others: each of the
 * others calls us for its graphs.
 */
void method_scheduler_made(bool cpu_only, bool sees_others);

/*
 * A graph was computed that has nodes with work, and `seen` of them were seen. has_callback: by a
 * scheduler that calls one.
 */
void method_graph_computed(bool has_callback, uint32_t seen);

/* Does BRICK_CAPTURE, what the recorder asks for besides times, have this word? */
bool capture_wants(const char *word);

/*
 * A thread found itself in that engine (NULL: none). Tells the session on this thread, if it has
 * not heard it yet: *told is the session that has.
 */
void notes_engine(const struct engine *engine, uint32_t *told);

/* The object that code at this address belongs to. */
void notes_library(const char *key, uintptr_t address);

/* A graph was computed in which `started` nodes were seen, `fused` of which stood for two. */
void notes_graph(const struct engine *engine, const void *graph, uint32_t started, uint32_t fused);

/* A graph was computed on the CPU: is its result made of numbers? */
void notes_result(const struct engine *engine, const void *graph);

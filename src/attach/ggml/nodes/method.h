/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The method by which nodes are timed in this process, and the notes about it in a recording.
 * BRICK_ATTACH in the environment forces a method: "nodes", "callback" or "graph". Otherwise
 * ("auto") the first method that works is chosen, once: the hooks of the CPU backend, the
 * scheduler's evaluation callback, or whole graphs only. The callback splits graphs and so makes
 * them slower, which a note says. Every note is written once per session. Any thread; without a
 * session nothing happens.
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
	METHOD_PLAIN = 3, /* no node is timed in this step (ggml_plain_steps.h) */
};

static inline int method_is(enum method method)
{
	return shared_get(&attach_shared.method) == (uint32_t)method;
}

/* Is a session recording, and do the hooks of the CPU backend record nodes? */
static inline int method_records_nodes(void)
{
	return BRICK_LIKELY(brick_enabled()) && BRICK_LIKELY(method_is(METHOD_NODES));
}

/* False: BRICK_ATTACH forces a method that needs no node hooks. */
bool method_may_be_nodes(void);

/* True if the method is final, or no session is on. */
bool method_is_chosen(void);

/* Do all backends that are known so far run on the CPU? Then nothing is asynchronous. */
bool method_cpu_only(void);

/* A device's backend computes. A recorder that came later has not seen its scheduler made. */
void method_device_computes(void);

/* False: a scheduler has a backend whose graphs call no hook (method_scheduler_made()). */
bool method_sees_backends(void);

/*
 * A scheduler was made. cpu_only: all of its backends run on the CPU. sees_others: each backend of
 * a device calls a hook for its graphs.
 */
void method_scheduler_made(bool cpu_only, bool sees_others);

/*
 * A graph with work was computed, and hooks saw `seen` of its nodes. This settles the method.
 * has_callback: its scheduler supports evaluation callbacks.
 */
void method_graph_computed(bool has_callback, uint32_t seen);

/* Is this word in BRICK_CAPTURE, the comma-separated list of wishes of the recorder? */
bool capture_wants(const char *word);

/*
 * Write the notes about the engine, unless the session has them. engine: NULL, or not proved:
 * nothing happens. *told: the caller's; the last session that was told (0 at first).
 */
void notes_engine(const struct engine *engine, uint32_t *told);

/* Note the path of the object that the address lies in, under `key`. */
void notes_library(const char *key, uintptr_t address);

/*
 * A graph was computed: note its nodes, and warn if few were executed. started: nodes that hooks
 * saw; fused: fused pairs among them, which stand for two nodes each.
 */
void notes_graph(const struct engine *engine, const void *graph, uint32_t started, uint32_t fused);

/* A graph was computed on the CPU: warn if its result begins with NaN. */
void notes_result(const struct engine *engine, const void *graph);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How nodes are timed in this process. BRICK_ATTACH in the environment forces one way: "nodes",
 * "callback" or "graph"; otherwise ("auto") the hooks of the CPU backend are used where they are
 * called, else the scheduler's evaluation callback, which splits graphs and is therefore never used
 * without saying so, else whole graphs only. And what is captured besides times: words in
 * BRICK_CAPTURE. Any thread.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/ggml_shared.h"
#include "brick/probe.h"

enum method {
	METHOD_NODES = 0, /* the default, until the first graph shows that no hook is called */
	METHOD_CALLBACK = 1,
	METHOD_GRAPHS = 2,
	METHOD_PLAIN = 3, /* not in this step, whatever it is in others (plain_steps.h) */
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

/* Is there nothing left to find out? */
int method_is_chosen(void);

/* Do all backends of the schedulers made so far run on the CPU? Then nothing is asynchronous. */
int method_cpu_only(void);

/* A scheduler was made. cpu_only: all of its backends run on the CPU. */
void method_scheduler_made(int cpu_only);

/* A graph of `nodes` nodes was computed through a scheduler, and `seen` of them were seen. */
void method_graph_computed(int nodes, uint32_t seen);

/* Tell the recording which method is in use; once per session. */
void method_note(void);

/* Whether the word is one of those, which have commas between them. */
static inline int capture_wants(const char *word)
{
	const char *list = getenv("BRICK_CAPTURE");
	size_t length = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, ",");
		if (n == length && !memcmp(list, word, n))
			return 1;
		list += n + (list[n] == ',');
	}
	return 0;
}

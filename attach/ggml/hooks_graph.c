/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: where they are split and allocated, computed by a scheduler, by one backend, and by the
 * CPU's threads. All are C functions that every version since 2024 has.
 */
#include "attach/ggml/hook_words.h"
#include "attach/ggml/nodes.h"
#include "attach/ggml/notes.h"
#include "attach/ggml/steps.h"
#include "brick/brick.h"

static __thread uint32_t scheduled __attribute__((tls_model("initial-exec")));

PHASE_HOOK(hook_sched_reset, "ggml_backend_sched_reset", PHASE_GRAPH_ALLOC)
PHASE_HOOK(hook_sched_reserve_graph, "ggml_backend_sched_reserve", PHASE_GRAPH_ALLOC)

/* Whatever graph gets its memory now may consist of tensors at the addresses of others. */
WORDS_HOOK(hook_sched_alloc_graph, "ggml_backend_sched_alloc_graph")
{
	static struct resolve_symbol original = {"ggml_backend_sched_alloc_graph", NULL};
	words_fn function = (words_fn)resolve(&original, __builtin_return_address(0));
	struct phase_scope scope;

	if (!function)
		return 0;
	graph_generation_next();
	phase_begin(&scope, PHASE_GRAPH_ALLOC, __builtin_frame_address(0));
	word_pair result = function(a, b, c, d, e, f);
	phase_end(&scope);
	return result;
}

WORDS_HOOK(hook_sched_graph_compute_async, "ggml_backend_sched_graph_compute_async")
{
	static struct resolve_symbol original = {"ggml_backend_sched_graph_compute_async", NULL};
	words_fn function = (words_fn)resolve(&original, __builtin_return_address(0));
	const void *frame = __builtin_frame_address(0);
	struct phase_scope step, scope;

	if (!function)
		return (word_pair)(word)-1;
	step_begin_graph(&step, frame);
	phase_begin(&scope, PHASE_GRAPH_COMPUTE, frame);
	scheduled++;
	word_pair result = function(a, b, c, d, e, f);
	scheduled--;
	phase_end(&scope);
	phase_end(&step);
	return result;
}

WORDS_HOOK(hook_backend_graph_compute_async, "ggml_backend_graph_compute_async")
{
	static struct resolve_symbol original = {"ggml_backend_graph_compute_async", NULL};
	const void *caller = __builtin_return_address(0);
	words_fn function = (words_fn)resolve(&original, caller);
	const void *frame = __builtin_frame_address(0);
	struct phase_scope step, scope;

	if (!function)
		return (word_pair)(word)-1;
	step_begin_graph(&step, frame);
	phase_begin(&scope, PHASE_GRAPH_COMPUTE, frame);
	word_pair result = function(a, b, c, d, e, f);
	phase_end(&scope);
	phase_end(&step);
	return result;
}

typedef int (*graph_compute_fn)(void *graph, void *plan);

static int compute(graph_compute_fn function, void *graph, void *plan, const void *frame)
{
	struct phase_scope step, scope;
	struct graph_scope outer;

	resolve_check();
	if (!scheduled)
		graph_generation_next();
	step_begin_graph(&step, frame);
	phase_begin(&scope, PHASE_GRAPH_COMPUTE, frame);
	node_graph_begin(&outer);
	int status = function(graph, plan);
	node_graph_end(&outer, graph);
	phase_end(&scope);
	phase_end(&step);
	return status;
}

BRICK_API int ggml_graph_compute(void *graph, void *plan);
int ggml_graph_compute(void *graph, void *plan)
{
	static struct resolve_symbol original = {"ggml_graph_compute", NULL};
	graph_compute_fn function =
		(graph_compute_fn)resolve(&original, __builtin_return_address(0));

	if (!function)
		return -1;
	if (!brick_enabled())
		return function(graph, plan);
	return compute(function, graph, plan, __builtin_frame_address(0));
}

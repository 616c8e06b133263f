/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of graphs: splitting and allocating, and computing by a scheduler, by one backend, and by
 * the CPU's threads. All are C functions that every version since 2024 has.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "attach/ggml/hooks/callback.h"
#include "attach/ggml/devices/backend_table.h"
#include "attach/ggml/devices/device_graph.h"
#include "attach/ggml/hooks/ggml_hooks.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/graphs/ggml_dataflow.h"
#include "attach/ggml/nodes/digests.h"
#include "attach/ggml/nodes/node_thread.h"
#include "attach/ggml/hooks/node_watch.h"
#include "attach/ggml/engine/node_work.h"
#include "attach/ggml/nodes/site_table.h"
#include "attach/ggml/hooks/node_graph.h"
#include "attach/ggml/graphs/node_ready.h"
#include "attach/common/notes_once.h"
#include "attach/ggml/engine/patched.h"
#include "attach/ggml/steps/other_graphs.h"
#include "attach/ggml/steps/phases.h"
#include "attach/ggml/steps/training.h"
#include "attach/ggml/steps/contexts.h"
#include "attach/ggml/steps/sent_batch.h"
#include "attach/ggml/steps/sent_graph.h"
#include "attach/ggml/steps/whisper.h"
#include "brick/attach.h"
#include "brick/brick.h"

/* Graphs that a scheduler computes on this thread, nested. */
static __thread uint32_t scheduled __attribute__((tls_model("initial-exec")));

/* The graph may have new tensors at old addresses, so graph_generation grows. */
word_pair hook_SCHED_ALLOC_GRAPH(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	words_fn function = (words_fn)resolve(GGML_SCHED_ALLOC_GRAPH, call->caller);
	struct phase_scope scope;

	if (!function)
		return 0;
	graph_generation_next();
	whisper_alloc_begin(
		(const void *)a, (const void *)b, call->caller, (uintptr_t)function, call);
	phase_begin(&scope, PHASE_GRAPH_ALLOC, call);
	word_pair result = sys_pass_on((const void *)function, call);
	phase_end(&scope);
	return result;
}

/* Is the code a proved engine's? Only then its other functions are called. */
static bool hooks_graph_is_engine(uintptr_t code)
{
	const struct engine *e = engine_at(code);

	return e && e->is_proved;
}

/* The engine's function that sets a scheduler's callback; NULL: not found. */
static set_callback_fn set_callback_of(words_fn scheduler_code)
{
	return (set_callback_fn)resolve(GGML_SCHED_SET_CALLBACK, (const void *)scheduler_code);
}

BRICK_API void ggml_backend_sched_set_eval_callback(
	void *scheduler, eval_callback_fn callback, void *data);
void ggml_backend_sched_set_eval_callback(void *scheduler, eval_callback_fn callback, void *data)
{
	set_callback_fn function =
		(set_callback_fn)resolve(GGML_SCHED_SET_CALLBACK, __builtin_return_address(0));

	if (function && hooks_graph_is_engine((uintptr_t)function))
		callback_set(function, scheduler, callback, data);
	else if (function)
		function(scheduler, callback, data);
}

static bool is_cpu(const char *backend)
{
	return !strcmp(backend, "CPU") || !strcmp(backend, "BLAS");
}

static word_pair compute_from_table(word a, word b, word c, word d, word e, word f);

/*
 * Note the backends, and hook the graphs of devices' backends. *is_seen: all such hooks are in
 * place. True: all backends run on the CPU. ggml's schedulers have at most 16 backends.
 */
static bool note_backends(void *const *backends, int count, uintptr_t scheduler_code, bool *is_seen)
{
	const struct engine *e = engine_at(scheduler_code);
	words_fn async = (words_fn)resolve(GGML_BACKEND_COMPUTE, (const void *)scheduler_code);
	bool cpu_only = true;

	*is_seen = true;
	for (int i = 0; i < count && i < 16; i++) {
		const char *name = e && e->backend_name ? e->backend_name(backends[i]) : NULL;
		if (!name)
			continue;
		if (!is_cpu(name)) {
			cpu_only = false;
			/* a table would keep our hook when a recorder leaves */
			if (!attach_shared.is_late)
				*is_seen &= async && backend_table_hook(backends[i], async,
							     compute_from_table);
		}
		if (brick_enabled() && !brick_thread_ready())
			note_once("backend", "%s", name);
	}
	if (!*is_seen && brick_enabled() && !brick_thread_ready())
		note_once("ggml.device",
			"nodes are not timed one by one: it is not seen when the backend begins a "
			"graph (link-time optimisation), so its work counts as GraphCompute");
	return cpu_only;
}

/* Arguments: backends, buffer types, number of backends, ... */
word_pair hook_SCHED_NEW(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	words_fn function = (words_fn)resolve(GGML_SCHED_NEW, call->caller);
	struct phase_scope scope;

	if (!function)
		return 0;
	phase_begin(&scope, PHASE_GRAPH_ALLOC, call);
	word_pair result = sys_pass_on((const void *)function, call);
	phase_end(&scope);
	warm_up_context_made();
	callback_scheduler_made((void *)(word)result);
	whisper_scheduler_made((const void *)(word)result);
	bool is_seen,
		cpu_only = note_backends((void *const *)a, (int)c, (uintptr_t)function, &is_seen);
	method_scheduler_made(cpu_only, is_seen);
	return result;
}

/* Has the graph nodes with work? Views have none. True also if that cannot be told. */
static bool hooks_graph_has_work(const struct engine *e, const void *graph)
{
	if (!e || !e->graph_node_count || !e->graph_node || !e->op_desc)
		return true;
	for (int i = 0, n = e->graph_node_count(graph); i < n; i++)
		if (!work_is_empty(e->op_desc(e->graph_node(graph, i))))
			return true;
	return false;
}

/* Settle the method by the first graph with work: are the node hooks called at all? */
static void judge_graph(uintptr_t code, const void *graph, bool has_callback, uint32_t seen)
{
	if (!method_is_chosen() && (seen || hooks_graph_has_work(engine_at(code), graph)))
		method_graph_computed(has_callback, seen);
}

/* Graphs that a backend computes on this thread, nested. */
static __thread uint32_t on_backend __attribute__((tls_model("initial-exec")));

/*
 * In engines without steps: begin a step for the graph, unless it is a part of the last graph's
 * batch. host: its inputs are in this process's memory.
 */
static void begin_graph_step(struct phase_scope *step, const struct engine *e, const void *graph,
	bool host, const void *frame)
{
	struct phase_tokens tokens;

	*step = (struct phase_scope){0, 0, 0};
	if (scheduled || on_backend || step_is_known() || !step_is_outside(frame) ||
		brick_thread_ready())
		return;
	uint64_t begin = brick__now();
	enum sent_batch batch = sent_batch_read(e, graph, host, &tokens);
	if (batch != SENT_UNKNOWN)
		node_record_span(phase_brick(PHASE_LOOKUP), begin, brick__now());
	if (batch != SENT_PART)
		step_begin_graph(step, batch == SENT_BATCH ? &tokens : NULL, frame);
}

/*
 * Begin the graph's step if it is one, and return the brick around its nodes. The step's frame is
 * one byte above `frame`, so that it encloses the phase that the same hook will begin.
 */
static uint16_t hooks_graph_begin_step(
	struct phase_scope *step, words_fn function, const void *graph, const void *frame)
{
	const struct engine *e = engine_at(patched_home((uintptr_t)function));
	enum other_graph kind = OTHER_NONE;
	uint32_t positions = 0;

	/* In engines without steps, only graphs that train or evaluate have a kind. */
	if (step_is_outside(frame) && (step_is_known() || other_graph_trains(e, graph)))
		kind = other_graph_kind(e, graph, &positions);
	if (kind == OTHER_NONE) {
		begin_graph_step(step, e, graph, method_cpu_only(), frame);
		return whisper_graph_brick(graph);
	}
	if (kind == OTHER_TRAINING) {
		training_begin(e, graph);
		node_watch_training();
	}
	const struct phase_tokens tokens = {.prompt = positions};
	phase_step_begin(step, &tokens, (const char *)frame + 1);
	return other_graph_brick(kind);
}

/* The graph that a scheduler computes on this thread; 0: none. */
static __thread word being_scheduled __attribute__((tls_model("initial-exec")));

static word_pair compute_scheduled(
	words_fn function, word scheduler, word graph, const struct sys_call *call)
{
	struct phase_scope step, scope;
	word outer = being_scheduled;
	uint64_t begun = node_thread.begun;

	if (!scheduled)
		step_switch(false);
	phase_begin_brick(
		&scope, hooks_graph_begin_step(&step, function, (const void *)graph, call), call);
	int by_callback = method_is(METHOD_CALLBACK);
	if (by_callback)
		callback_compute_begin(
			set_callback_of(function), (void *)scheduler, (const void *)graph);
	else if (method_is(METHOD_PLAIN))
		callback_compute_plain(set_callback_of(function), (void *)scheduler);
	being_scheduled = graph;
	scheduled++;
	word_pair result = sys_pass_on((const void *)function, call);
	scheduled--;
	being_scheduled = outer;
	if (by_callback)
		callback_compute_end((void *)scheduler);
	training_end();
	phase_end(&scope);
	step_end_graph(&step);
	whisper_computed((const void *)graph);
	judge_graph((uintptr_t)function, (const void *)graph, set_callback_of(function) != NULL,
		(uint32_t)(node_thread.begun - begun));
	return result;
}

word_pair hook_SCHED_COMPUTE(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	words_fn function = (words_fn)resolve(GGML_SCHED_COMPUTE, call->caller);

	if (!function)
		return (word_pair)(word)-1;
	if (being_scheduled == b)
		return sys_pass_on((const void *)function, call);
	return compute_scheduled(function, a, b, call);
}

/* The same, and then it waits; the function above may be inlined into it. */
word_pair hook_SCHED_COMPUTE_WAIT(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	words_fn function = (words_fn)resolve(GGML_SCHED_COMPUTE_WAIT, call->caller);

	if (!function)
		return (word_pair)(word)-1;
	return compute_scheduled(function, a, b, call);
}

/*
 * What a backend does with its part of a graph: the CPU's is GraphCompute, whose nodes are seen;
 * any other has a brick with its own name.
 */
static uint16_t brick_of_backend(const void *backend, words_fn backend_code)
{
	static const void *last;
	static uint16_t last_brick;
	const struct engine *e;
	char name[48];

	if (!brick_enabled() || !backend)
		return phase_brick(PHASE_GRAPH_COMPUTE);
	if (__atomic_load_n(&last, __ATOMIC_ACQUIRE) == backend)
		return __atomic_load_n(&last_brick, __ATOMIC_RELAXED);
	e = engine_at((uintptr_t)backend_code);
	const char *text = e && e->backend_name ? e->backend_name(backend) : NULL;
	if (!text || is_cpu(text))
		return phase_brick(PHASE_GRAPH_COMPUTE);
	method_device_computes();
	snprintf(name, sizeof(name), "Graph %.40s", text);
	int brick = brick_register(name, BRICK_CATEGORY_ENGINE);
	if (brick < 0)
		return phase_brick(PHASE_GRAPH_COMPUTE);
	__atomic_store_n(&last_brick, (uint16_t)brick, __ATOMIC_RELAXED);
	__atomic_store_n(&last, backend, __ATOMIC_RELEASE);
	return (uint16_t)brick;
}

/* Is it a BLAS backend, and are nodes recorded? *engine: the one that its graphs are read by. */
static bool is_blas(const void *backend, words_fn compute, const struct engine **engine)
{
	if (!method_records_nodes() || phase_is_muted())
		return false;
	const struct engine *e = *engine = engine_at(patched_home((uintptr_t)compute));
	if (!e || !e->layout_known || !e->op_desc || !e->backend_name || !e->graph_node ||
		!e->graph_node_count || !e->graph_view)
		return false;
	const char *name = e->backend_name(backend);
	return name && !strcmp(name, "BLAS");
}

/*
 * ggml's BLAS backend calls no hook for its nodes. In place of compute(backend, graph), we hand it
 * the nodes one by one, as views of the graph, just as the engine's own scheduler does for an
 * evaluation callback. What the backend does for a node besides the product, such as converting its
 * weights to f32, counts as that node's time. It keeps nothing from one node to the next, so its
 * results are the same. A view is of a node that does work and the nodes without work before it.
 */
static word_pair compute_blas(
	const struct engine *e, words_fn compute, word backend, word graph, const void *frame)
{
	struct node_thread *t = &node_thread;
	int count = e->graph_node_count((const void *)graph), begin = 0;
	uint32_t computed = 0;
	word_pair status = 0;

	dataflow_graph(e, (const void *)graph);
	digests_graph_begin();
	training_part_begin(frame);
	for (int i = 0; i < count && !(int)status; i++) {
		const void *node = e->graph_node((const void *)graph, i);
		struct site_found found;
		if (!engine_executes(e, node))
			continue;
		uint64_t entered = brick__now();
		training_node(node, true);
		site_table_find(e, node, NULL, 0, -1, &found);
		struct graph_view view = e->graph_view((const void *)graph, begin, i + 1);
		brick_span span = brick_begin_layer(found.brick, found.layer);
		uint64_t called = brick__now();
		status = compute(backend, (word)&view, 0, 0, 0, 0);
		uint64_t returned = brick__now();
		if (found.site)
			brick_end_site(span, found.site);
		else
			brick_end(span);
		node_cost_add(&t->hook_cost, 1, called - entered + (brick__now() - returned));
		if (digests_mode && !(int)status) {
			uintptr_t code = patched_home((uintptr_t)compute);
			if (!node_thread_knows(t, code))
				(void)node_thread_prepare(t, code);
			digests_take(t, node, NULL, found.site);
		}
		computed++;
		begin = i + 1;
	}
	training_part_end();
	digests_graph_end(t);
	notes_graph(e, (const void *)graph, computed, 0);
	t->begun += computed;
	return status;
}

/* Only the CPU's data can be looked at. */
static void begin_backend_step(struct phase_scope *step, const void *backend, words_fn engine_code,
	const void *graph, const void *frame)
{
	if (step_is_known() || !brick_enabled()) {
		*step = (struct phase_scope){0, 0, 0};
		return;
	}
	const struct engine *e = engine_at(patched_home((uintptr_t)engine_code));
	const char *name = e && e->backend_name ? e->backend_name(backend) : NULL;
	begin_graph_step(step, e, graph, name && is_cpu(name), frame);
}

/* Does this thread begin to compute a graph that another process has sent? */
static bool hooks_graph_is_received(void)
{
	return brick_enabled() && !scheduled && !on_backend && !step_is_known() &&
	       sent_graph_serves();
}

/*
 * engine_code: the engine's function for this, which tells which engine it is; function: what is
 * called, with what the call came with; NULL: it came by a backend's table.
 */
static word_pair compute_on_backend(words_fn engine_code, words_fn function, word backend,
	word graph, const struct sys_call *call, const void *frame)
{
	const struct engine *engine;
	struct phase_scope step, scope;

	uint16_t brick = brick_of_backend((const void *)backend, engine_code);
	bool on_device = brick != phase_brick(PHASE_GRAPH_COMPUTE);
	begin_backend_step(&step, (const void *)backend, engine_code, (const void *)graph, frame);
	phase_begin_brick(&scope, brick, frame);
	if (on_device && !scheduled)
		graph_generation_next();
	if (on_device && !phase_is_muted()) {
		training_part_begin(frame);
		device_graph_begin(engine_at((uintptr_t)engine_code), (const void *)backend,
			(const void *)graph, brick);
	}
	/* a server computes outside of steps and schedulers of its own */
	bool is_sent = on_device && sent_graph_is_sent(brick);
	bool is_received = hooks_graph_is_received() && !is_sent;
	on_backend++;
	word_pair result = is_blas((const void *)backend, engine_code, &engine)
				   ? compute_blas(engine, function, backend, graph, frame)
			   : call ? sys_pass_on((const void *)function, call)
				  : function(backend, graph, 0, 0, 0, 0);
	on_backend--;
	device_graph_end();
	training_part_end();
	if (on_device)
		training_part_pass(engine_at((uintptr_t)engine_code), (const void *)graph);
	bool is_muted = phase_is_muted();
	phase_end(&scope);
	if ((is_sent || is_received) && !is_muted)
		sent_graph_tell(engine_at(patched_home((uintptr_t)engine_code)),
			(const void *)graph, is_sent ? BRICK_MESSAGE_SENT : BRICK_MESSAGE_RECEIVED);
	step_end_graph(&step);
	return result;
}

/* What a thread's hook below computes on: the table of a backend leads to the other one. */
static __thread const void *computing __attribute__((tls_model("initial-exec")));

word_pair hook_BACKEND_COMPUTE(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	words_fn function = (words_fn)resolve(GGML_BACKEND_COMPUTE, call->caller);

	if (!function)
		return (word_pair)(word)-1;
	const void *outer = computing;
	computing = (const void *)a;
	word_pair result = compute_on_backend(function, function, a, b, call, call);
	computing = outer;
	return result;
}

static word_pair compute_from_table(word a, word b, word c, word d, word e, word f)
{
	words_fn function, async;

	if (!backend_table_of((const void *)a, &function, &async))
		return (word_pair)(word)-1;
	if (computing == (const void *)a)
		return function(a, b, c, d, e, f);
	return compute_on_backend(async, function, a, b, NULL, __builtin_frame_address(0));
}

word_pair hook_GRAPH_COMPUTE(
	word a, word b, word c, word d, word e, word f, const struct sys_call *call)
{
	const void *function = resolve(GGML_GRAPH_COMPUTE, call->caller);

	(void)c, (void)d, (void)e, (void)f;
	if (!function)
		return (word_pair)(word)-1;
	if (method_is(METHOD_CALLBACK) && hooks_graph_is_engine((uintptr_t)function))
		callback_part_computed((const void *)b);
	if (!scheduled && !on_backend)
		step_switch(false);
	if (!brick_enabled() || phase_is_muted())
		return sys_pass_on(function, call);
	struct phase_scope step, scope;
	struct graph_scope outer;
	const void *graph = (const void *)a;
	if (!scheduled)
		graph_generation_next();
	uintptr_t code = patched_home((uintptr_t)function);
	bool is_received = hooks_graph_is_received();
	begin_graph_step(&step, engine_at(code), graph, true, call);
	phase_begin(&scope, PHASE_GRAPH_COMPUTE, call);
	if (!node_thread_knows(&node_thread, code))
		(void)node_thread_prepare(&node_thread, code);
	node_graph_begin(&outer, graph);
	if (!outer.in_graph)
		training_part_begin(call);
	uint64_t begun = node_thread.begun;
	word_pair status = sys_pass_on(function, call);
	node_graph_end(&outer, graph);
	if (!outer.in_graph)
		training_part_end();
	phase_end(&scope);
	if (is_received)
		sent_graph_tell(engine_at(code), graph, BRICK_MESSAGE_RECEIVED);
	step_end_graph(&step);
	if (!scheduled) /* else the scheduler's graph is judged */
		judge_graph(code, graph, false, (uint32_t)(node_thread.begun - begun));
	return status;
}

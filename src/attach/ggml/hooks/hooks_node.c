/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Node timing, from a node's hook to its sample. The engine's CPU backend calls these hooks for
 * every node of every graph on every thread.
 *
 *  1. Before a graph's first node, node_graph.c has looked the graph up (known_graphs.c), so that
 *     the site of each of its nodes is known. The first hook that a thread meets in an engine
 *     finds out where the hooks lead on to (node_ready.c).
 *  2. ggml_cpu_extra_compute_forward() is called where a node begins, or the hook of the fused
 *     pair RMS_NORM and MUL. There the node before it ends, too. struct node_thread holds what is
 *     known of the thread and of its node (node_thread.h).
 *     - A graph on one thread, whose nodes come as expected, is a run (node_run.h): the hook
 *       compares one word, reads the clock twice and keeps 8 bytes.
 *     - Everything else goes through hooks_node_begin() below, which finds the site and opens the
 * node.
 *  3. ggml_barrier() is called where the threads of a team meet. Entering it ends the work; what
 *     follows is waiting. Only the next beginning, or the end of the graph, tells which barrier
 *     was the node's last; those before it were waits inside of the node. A thread that is alone
 *     waits for nobody, so its nodes end where the next hook is entered.
 *     An engine may have neither function, or they were inlined. Then ggml_compute_forward() is
 *     hooked, within which a thread computes its share of a node. What follows is waiting, up to
 *     the next node.
 *  4. A node that is over is kept as an event of 32 bytes (node_thread.h).
 *     Each of these hooks is entered and, around a wait or a whole node, left through code that
 *     passes on whatever the function takes and returns (pass_on.h): other versions of these
 *     functions have other arguments, and results. What a hook takes for a node is proved to be one
 *     before it is read (node_arguments.h).
 *  5. At the end of the graph, or before anything else is recorded on the thread, runs and events
 *     become samples, with the work that masks let through (masks.c). Recording a hundred samples
 *     in a row is far cheaper than each by itself between two nodes.
 *
 * A node's time begins as late as the hook can manage, after its site has been found and the node
 * before it has been put away. The engine's weights have pushed the hooks out of the caches when
 * they are called again, code as well as data: so the common case is a leaf of a few cache lines,
 * everything else leaves through a function of its own, and a barrier, which comes before nearly
 * every node, prefetches what the next beginning will need. A call or a memory access more in here
 * is paid for by every node: compare the disassembly before and after a change. This file is
 * compiled for general registers only, so it leaves those alone that may hold a function's vectors,
 * and calls all others by SYS_KEEPING().
 */
#include <stdbool.h>
#include "attach/ggml/devices/device_graph.h"
#include "attach/ggml/hooks/node_watch.h"
#include "attach/ggml/hooks/ggml_hooks.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/hooks/node_graph.h"
#include "attach/ggml/nodes/slots.h"
#include "attach/ggml/hooks/node_arguments.h"
#include "attach/ggml/graphs/node_ready.h"
#include "attach/ggml/nodes/node_thread.h"
#include "attach/ggml/nodes/node_run.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "brick/brick.h"
#include "lib/sys/pass_on.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define APART __attribute__((noinline))
#define HOT __attribute__((section(".text.brick_hot"), aligned(64)))
#define FROM_HOOK __attribute__((visibility("hidden"), used)) HOT
/* Bytes of a cache line; lines of code to prefetch for the next node's begin, in runs and in teams.
 */
enum { LINE = 64, ALONE_LINES = 4, TEAM_LINES = 10 };

static ALWAYS_INLINE uint64_t now(void)
{
	return BRICK_LIKELY(brick__counter_used) ? brick__counter()
						 : SYS_KEEPING(brick__monotonic_slow);
}

/* The node's site if it is the one that followed the last node before; 0: it is another node. */
static ALWAYS_INLINE uint32_t expected_site(
	const struct known_node *known, const void *node, uint64_t shape, int part)
{
	return known->node == node && known->shape == shape ? known->site[part] : 0;
}

static ALWAYS_INLINE void expect_next(struct node_thread *t, const struct known_node *known)
{
	t->node_now = t->node_next;
	t->node_next = known->next;
	__builtin_prefetch(&t->nodes[known->next]);
}

/* Checks a caller that `t` does not know. False: it is no engine, or its arguments are no node. */
static HOT APART bool hooks_node_is_engine(struct node_thread *t, uintptr_t caller,
	const void *params, const void *node, const void *mul)
{
	return SYS_KEEPING(node_thread_prepare, t, caller) & 1 &&
	       (!node || (SYS_KEEPING(node_arguments_hold, t, params, node, mul) & 1));
}

/* Begin a node, whatever the case. One call in about 64 is timed (struct node_cost). */
static HOT APART void hooks_node_begin(struct node_thread *t, uintptr_t caller,
	const struct compute_params *params, const void *node, const void *mul)
{
	if (BRICK_UNLIKELY(!node_thread_knows(t, caller)) &&
		!hooks_node_is_engine(t, caller, params, node, mul))
		return; /* not a node */
	if (BRICK_UNLIKELY(nodes_watched))
		SYS_KEEPING(node_watch_begin, t, params, node, mul);
	if (t->mode == NODE_MODE_OFF && !method_records_nodes())
		return;
	if (BRICK_UNLIKELY(t->plan != NULL) &&
		(int)SYS_KEEPING(node_run_refused, t, node, mul != NULL))
		return;
	uint32_t serial = shared_get(&attach_shared.graph_serial);
	int timed = --t->hook_left == 0;
	uint64_t entered = BRICK_UNLIKELY(timed || !t->end) ? now() : 0;
	if (BRICK_LIKELY(t->open)) {
		if (BRICK_UNLIKELY(t->last_barrier && t->last_barrier == t->final_barrier))
			SYS_KEEPING(node_final_refuted, t);
		node_finish(t, t->end ? t->end : entered);
	}
	if (BRICK_UNLIKELY(t->graph_serial != serial ||
			   ((params->nth == 1) != (t->mode == NODE_MODE_ALONE) && !t->is_whole)))
		SYS_KEEPING(node_graph_enter, t, node, params->nth, serial);
	if (t->mode == NODE_MODE_OFF ||
		node_run_begin(t, node, mul != NULL, brick__halves(t->run_base)))
		return;
	int part = params->ith != 0;
	uint64_t shape =
		shape_offsets_known(&t->shape_at) ? node_shape(&t->shape_at, node, mul != NULL) : 0;
	const struct known_node *known = &t->nodes[t->node_next];
	t->site = expected_site(known, node, shape, part);
	if (BRICK_LIKELY(t->site))
		expect_next(t, known);
	else
		t->site = (uint32_t)SYS_KEEPING(node_site_slow, t, node, mul, part);
	t->open = 1;
	t->started++;
	t->fused += mul != NULL;
	uint64_t left = t->end + t->wait;
	t->end = t->wait = t->inner = 0;
	t->last_barrier = 0;
	t->cost = 0;
	if (BRICK_UNLIKELY(timed)) {
		t->hook_left = (uint32_t)SYS_KEEPING(node_cost_draw, &t->hook_cost);
		t->cost = (uint32_t)(now() - entered);
		t->marked = 1;
	}
	t->begin = now();
	t->is_cold = t->begin - left > t->slow_begin;
}

/* Prefetch the code and the slot that the next node's begin will use. */
static ALWAYS_INLINE void expect_code(uintptr_t code, int lines)
{
	for (int i = 0; i < lines; i++)
		__builtin_prefetch((const char *)code + i * LINE);
	__builtin_prefetch((const void *)(uintptr_t)&ggml_is_empty);
}

/* A team's barrier is entered. hook_leave_barrier() follows when the thread leaves it. */
static HOT APART void wait_begin(struct node_thread *t, uintptr_t caller)
{
	int timed = --t->hook_left == 0;
	uint64_t entered = BRICK_UNLIKELY(timed) ? now() : 0;

	t->inner += t->wait;
	t->end = now();
	t->last_barrier = caller;
	t->barrier_cost = BRICK_UNLIKELY(timed) ? (uint32_t)(t->end - entered) + 1 : 0;
	if (BRICK_UNLIKELY(t->is_cold))
		expect_code((uintptr_t)&hooks_node_begin, TEAM_LINES);
	__builtin_prefetch(&t->nodes[t->node_next]);
	__builtin_prefetch(&t->events[t->event_count], 1);
}

void hook_leave_barrier(void) FROM_HOOK;
void hook_leave_barrier(void)
{
	struct node_thread *t = &node_thread;
	uint64_t left = now();

	t->wait = left - t->end;
	if (BRICK_UNLIKELY(t->barrier_cost)) {
		uint64_t cost = t->barrier_cost + (now() - left);
		t->hook_left = (uint32_t)SYS_KEEPING(node_cost_draw, &t->hook_cost);
		SYS_KEEPING(node_cost_report, &t->hook_cost, cost);
	}
	/* The thread that called for the graph records when it returns, all others here. */
	if (BRICK_UNLIKELY(t->last_barrier == t->final_barrier && !t->in_graph))
		SYS_KEEPING(node_flush_slow, t);
}

static HOT APART struct sys_lead other_barrier(uintptr_t caller, void *pool)
{
	struct node_thread *t = &node_thread;

	if (BRICK_UNLIKELY(nodes_watched))
		SYS_KEEPING(node_watch_barrier, pool);
	if (BRICK_UNLIKELY(!node_thread_knows(t, caller))) {
		(void)hooks_node_is_engine(t, caller, NULL, NULL, NULL);
	} else if (t->open && t->mode == NODE_MODE_TEAM) {
		wait_begin(t, caller);
		return (struct sys_lead){(const void *)t->barrier, 1};
	}
	return (struct sys_lead){(const void *)t->barrier, 0};
}

/* In a run the thread is alone and does not wait, so this only leads on, at the least cost. */
struct sys_lead hook_enter_barrier(void *pool, word b, word c, uintptr_t caller) FROM_HOOK;
struct sys_lead hook_enter_barrier(void *pool, word b, word c, uintptr_t caller)
{
	const struct node_thread *t = &node_thread;

	(void)b, (void)c;
	if (BRICK_UNLIKELY(caller - t->low >= t->run_bytes))
		return other_barrier(caller, pool);
	if (BRICK_UNLIKELY(node_run_last_call(t) > t->slow_call))
		expect_code((uintptr_t)&ggml_cpu_extra_compute_forward, ALONE_LINES);
	return (struct sys_lead){(const void *)t->barrier, 0};
}

SYS_AROUND("ggml_barrier", "hook_enter_barrier", "hook_leave_barrier");
SYS_AROUND_TOLD("hook_barrier_from", "hook_enter_barrier", "hook_leave_barrier");

const void *hook_enter_node(
	const struct compute_params *params, void *node, word c, uintptr_t caller) FROM_HOOK;
const void *hook_enter_node(
	const struct compute_params *params, void *node, word c, uintptr_t caller)
{
	struct node_thread *t = &node_thread;

	(void)c;
	if (BRICK_UNLIKELY(!t->run_bytes || !node_run_begin(t, node, 0, brick__counter_halves())))
		hooks_node_begin(t, caller, params, node, NULL);
	return (const void *)t->extra_forward;
}

const void *hook_enter_fused(
	const struct compute_params *params, void *norm, void *mul, uintptr_t caller) FROM_HOOK;
const void *hook_enter_fused(
	const struct compute_params *params, void *norm, void *mul, uintptr_t caller)
{
	struct node_thread *t = &node_thread;

	if (BRICK_UNLIKELY(!t->run_bytes || !node_run_begin(t, norm, 1, brick__counter_halves())))
		hooks_node_begin(t, caller, params, norm, mul);
	return (const void *)t->fused_forward;
}

SYS_ENTER("ggml_cpu_extra_compute_forward", "hook_enter_node");
SYS_ENTER("ggml_compute_forward_rms_norm_mul_fused", "hook_enter_fused");

static bool is_nothing_empty(void)
{
	return false;
}

static APART const void *is_empty_for(uintptr_t caller, const void *tensor)
{
	const struct node_thread *t = &node_thread;

	if (shared_is_caller(&attach_shared.empty[1], caller))
		return (const void *)attach_shared.is_empty;
	if (node_thread_knows(t, caller) && !t->on_device)
		return (const void *)t->is_empty;
	is_empty_fn function = (is_empty_fn)resolve(GGML_IS_EMPTY, (const void *)caller);
	if (t->on_device)
		device_graph_ask(tensor, caller);
	else
		slots_skip_is_empty_of(caller, function);
	return function ? (const void *)function : (const void *)is_nothing_empty;
}

const void *hook_enter_empty(const void *tensor, word b, word c, uintptr_t caller) FROM_HOOK;
const void *hook_enter_empty(const void *tensor, word b, word c, uintptr_t caller)
{
	(void)b, (void)c;
	if (BRICK_LIKELY(shared_is_caller(&attach_shared.empty[0], caller)))
		return (const void *)attach_shared.is_empty;
	return (const void *)SYS_KEEPING(is_empty_for, caller, tensor);
}

SYS_ENTER("ggml_is_empty", "hook_enter_empty");
SYS_ENTER_TOLD("hook_is_empty_from", "hook_enter_empty");

/* Read *of, the thread's place in its team. False: it is not known yet where params have it. */
static bool read_params(
	const struct engine *e, const struct compute_params *params, struct compute_params *of)
{
	const int *words = (const int *)params;
	uint32_t *kind = &e->profile->params, known = shared_get(kind);

	/*
	 * Always ith < nth. So [0] >= [1] is a task before ith, and [1] >= [2] is no task. With a
	 * task, [0] is 0 (prepare) only if ith is 0, too, which is the first case.
	 */
	if (known == PARAMS_UNKNOWN)
		known = words[0] >= words[1]		    ? PARAMS_WITH_TASK
			: !words[0] || words[1] >= words[2] ? PARAMS_PLAIN
							    : PARAMS_UNKNOWN;
	__atomic_store_n(kind, known, __ATOMIC_RELAXED);
	const int *at = known == PARAMS_WITH_TASK ? words + 1 : words;
	*of = (struct compute_params){at[0], at[1]};
	return known != PARAMS_UNKNOWN;
}

/* True if the thread goes on with the open node (it was prepared before): the gap is `inner`. */
static bool hooks_node_goes_on(struct node_thread *t, const void *node)
{
	if (!t->open || t->whole != node || !t->end ||
		t->graph_serial != shared_get(&attach_shared.graph_serial))
		return false;
	t->inner += now() - t->end;
	t->end = 0;
	return true;
}

/* Without a hooked barrier, the time between two nodes of a team is waiting of the former node. */
static void hooks_node_waited(struct node_thread *t, int threads)
{
	if (t->open && t->end && !t->last_barrier && threads > 1 &&
		t->graph_serial == shared_get(&attach_shared.graph_serial))
		t->wait = now() - t->end;
}

static APART const void *whole_function(const struct node_thread *t, uintptr_t caller)
{
	if (t->engine && t->engine->compute_forward)
		return (const void *)t->engine->compute_forward;
	const void *function = resolve_slow(GGML_COMPUTE_FORWARD, caller);
	return function ? function : (const void *)is_nothing_empty;
}

struct sys_lead hook_enter_whole(
	const struct compute_params *params, void *node, word c, uintptr_t caller) FROM_HOOK;
struct sys_lead hook_enter_whole(
	const struct compute_params *params, void *node, word c, uintptr_t caller)
{
	struct node_thread *t = &node_thread;
	struct compute_params of;

	(void)c;
	if (BRICK_UNLIKELY(!node_thread_knows(t, caller)))
		(void)hooks_node_is_engine(t, caller, params, node, NULL);
	const void *function = BRICK_LIKELY(t->engine && t->engine->compute_forward)
				       ? (const void *)t->engine->compute_forward
				       : (const void *)SYS_KEEPING(whole_function, t, caller);
	if (!method_records_nodes() || !t->engine || !t->engine->stands_in || !t->bytes ||
		!node_arguments_seem(t, params, node) || !read_params(t->engine, params, &of))
		return (struct sys_lead){function, 0};
	t->is_whole = 1;
	if (!hooks_node_goes_on(t, node)) {
		hooks_node_waited(t, of.nth);
		hooks_node_begin(t, caller, &of, node, NULL);
	}
	t->whole = node;
	return (struct sys_lead){function, 1};
}

void hook_leave_whole(void) FROM_HOOK;
void hook_leave_whole(void)
{
	struct node_thread *t = &node_thread;

	if (!t->open)
		return;
	t->inner += t->wait;
	t->wait = 0;
	t->last_barrier = 0;
	t->end = now();
}

SYS_AROUND("ggml_compute_forward", "hook_enter_whole", "hook_leave_whole");

__attribute__((constructor)) static void tell_slots(void)
{
	slots_init((uintptr_t)&ggml_is_empty, (uintptr_t)&ggml_barrier);
}

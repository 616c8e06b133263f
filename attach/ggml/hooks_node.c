/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three hooks of the CPU backend that are called for every node of every graph on every thread:
 * the hot path of the interposer. A node's time begins as late as the hook can manage, after its
 * site has been found and the node before it has been put away.
 */
#include "attach/ggml/hooks.h"
#include "attach/ggml/method.h"
#include "attach/ggml/nodes.h"
#include "brick/brick.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Nodes come in the same order again and again: look where the last one points. */
static ALWAYS_INLINE uint32_t find_site(struct node_thread *t, const void *node, const void *mul,
	int part)
{
	uint64_t shape = node_shape(t, node, part);
	const struct site_slot *slot = &t->slots[t->slot_next];

	if (BRICK_UNLIKELY(slot->node != node || slot->shape != shape ||
			slot->generation != shared_get(&attach_shared.graph_generation)))
		return node_site_slow(t, node, mul, part, shape);
	t->slot_now = t->slot_next;
	t->slot_next = slot->next;
	__builtin_prefetch(&t->slots[slot->next]);
	return slot->site;
}

/*
 * Begin a node; the caller jumps into it right after. What this costs is known of every call where
 * the clock is read at the entry anyway, and of one in 64 elsewhere.
 */
static ALWAYS_INLINE void begin(struct node_thread *t, const struct compute_params *params,
	const void *node, const void *mul)
{
	uint32_t serial = shared_get(&attach_shared.graph_serial);
	int timed = !t->alone && --t->hook_left == 0;
	uint64_t entered = t->alone || BRICK_UNLIKELY(timed) ? brick__now() : 0;

	if (BRICK_LIKELY(t->open)) {
		if (BRICK_UNLIKELY(!t->alone && t->last_barrier == t->final_barrier))
			node_final_refuted(t);
		node_finish(t, !t->alone && t->end ? t->end : entered ? entered : brick__now());
	}
	if (BRICK_UNLIKELY(t->graph_serial != serial))
		node_graph_enter(t, params->nth, serial);
	t->site = find_site(t, node, mul, params->ith != 0);
	t->open = 1;
	t->alone = params->nth == 1;
	t->started++;
	t->end = t->wait = t->inner = 0;
	t->last_barrier = 0;
	t->cost = 0;
	if (BRICK_UNLIKELY(timed)) {
		node_hook_draw(t);
		t->cost = (uint32_t)(brick__now() - entered);
	}
	t->begin = brick__now();
	if (!timed && entered) {
		t->cost_ticks += t->begin - entered;
		t->cost_calls++;
	}
}

_Bool ggml_cpu_extra_compute_forward(const struct compute_params *params, void *node)
{
	struct node_thread *t = &node_thread;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (BRICK_UNLIKELY(!node_thread_knows(t, caller)))
		node_thread_prepare(t, caller);
	if (method_records_nodes())
		begin(t, params, node, NULL);
	return t->extra_forward(params, node);
}

void ggml_compute_forward_rms_norm_mul_fused(const struct compute_params *params, void *norm,
	void *mul)
{
	struct node_thread *t = &node_thread;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (BRICK_UNLIKELY(!node_thread_knows(t, caller)))
		node_thread_prepare(t, caller);
	if (method_records_nodes()) {
		begin(t, params, norm, mul);
		t->fused++;
	}
	t->fused_forward(params, norm, mul);
}

/* A barrier with others to wait for. */
static ALWAYS_INLINE void wait_in(struct node_thread *t, void *pool, uintptr_t caller)
{
	int timed = --t->hook_left == 0;
	uint64_t entered = BRICK_UNLIKELY(timed) ? brick__now() : 0;
	uint64_t end = brick__now();

	t->barrier(pool);
	uint64_t left = brick__now();
	t->inner += t->wait;
	t->end = end;
	t->wait = left - end;
	t->last_barrier = caller;
	if (BRICK_UNLIKELY(timed)) {
		entered = end - entered + (brick__now() - left);
		node_hook_draw(t);
		node_hook_timed(entered);
	}
	/* Others have their graph recorded here, the thread that called for it when it gets it back. */
	if (BRICK_UNLIKELY(caller == t->final_barrier && !t->in_graph))
		node_settle();
}

void ggml_barrier(void *pool)
{
	struct node_thread *t = &node_thread;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (BRICK_UNLIKELY(!node_thread_knows(t, caller)))
		node_thread_prepare(t, caller);
	if (t->open && !t->alone)
		wait_in(t, pool, caller);
	else
		t->barrier(pool);
}

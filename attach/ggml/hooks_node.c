/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three hooks of the CPU backend that are called for every node of every graph on every thread:
 * the hot path of the interposer. A node's time begins as late as the hook can manage, after its
 * site has been found and the node before it has been recorded.
 */
#include "attach/ggml/hooks.h"
#include "attach/ggml/nodes.h"
#include "brick/brick.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Shape, type and operation in one word; without a known layout the pointer must do. */
static ALWAYS_INLINE uint64_t shape_of(const struct node_thread *t, const void *node, int part)
{
	if (BRICK_UNLIKELY(!t->has_layout))
		return (uint64_t)part;
	const int64_t *ne = tensor_field(node, t->ne_offset);
	uint64_t kind = (uint64_t)(uint32_t)tensor_int32(node, t->op_offset) << 32 |
		(uint32_t)tensor_int32(node, t->type_offset);
	return ((uint64_t)ne[0] * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)ne[1] * 0xc2b2ae3d27d4eb4full) ^
		((uint64_t)ne[2] * 0x165667b19e3779f9ull) ^
		((uint64_t)ne[3] * 0x27d4eb2f165667c5ull) ^ (kind << 1 | (uint64_t)part);
}

static ALWAYS_INLINE uint32_t find_site(struct node_thread *t, const void *node, const void *mul,
	int part)
{
	uint32_t generation = __atomic_load_n(&graph_generation, __ATOMIC_RELAXED);
	uint64_t shape = shape_of(t, node, part);
	const struct site_slot *slot = &t->slots[node_slot_index(t, node)];

	for (int i = 0; i < 2; i++)
		if (BRICK_LIKELY(slot[i].node == node && slot[i].shape == shape &&
				slot[i].generation == generation))
			return slot[i].site;
	return node_site_slow(t, node, mul, part, shape);
}

/* Begin a node; the caller jumps into it right after. */
static ALWAYS_INLINE void begin(struct node_thread *t, const struct compute_params *params,
	const void *node, const void *mul)
{
	uint64_t entered = 0, now = 0;

	if (BRICK_UNLIKELY(--t->hook_left == 0))
		entered = brick__now();
	if (BRICK_UNLIKELY(t->graph_entered != 0))
		node_graph_started(t, params->nth);
	if (BRICK_UNLIKELY(t->open && !t->end))
		now = brick__now();
	uint32_t site = find_site(t, node, mul, params->ith != 0);
	if (BRICK_LIKELY(t->open))
		node_finish(t, now);
	t->open = 1;
	t->alone = params->nth == 1;
	t->site = site;
	t->started++;
	t->end = t->wait = t->inner = 0;
	if (BRICK_UNLIKELY(entered != 0))
		node_hook_timed(t, brick__now() - entered);
	t->begin = brick__now();
}

_Bool ggml_cpu_extra_compute_forward(const struct compute_params *params, void *node)
{
	struct node_thread *t = &node_thread;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (BRICK_UNLIKELY(!node_thread_knows(t, caller)))
		node_thread_prepare(t, caller);
	if (BRICK_LIKELY(brick_enabled()))
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
	if (BRICK_LIKELY(brick_enabled())) {
		t->fused++;
		begin(t, params, norm, mul);
	}
	t->fused_forward(params, norm, mul);
}

/* A barrier with others to wait for. */
static ALWAYS_INLINE void wait_in(struct node_thread *t, barrier_fn barrier, void *pool)
{
	uint64_t timed = 0;

	if (BRICK_UNLIKELY(--t->hook_left == 0))
		timed = brick__now();
	uint64_t end = brick__now();
	barrier(pool);
	uint64_t left = brick__now();
	t->inner += t->wait;
	t->end = end;
	t->wait = left - end;
	if (BRICK_UNLIKELY(timed != 0))
		node_hook_timed(t, (end - timed) + (brick__now() - left));
}

void ggml_barrier(void *pool)
{
	struct node_thread *t = &node_thread;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (BRICK_UNLIKELY(!node_thread_knows(t, caller)))
		node_thread_prepare(t, caller);
	barrier_fn barrier = t->barrier;
	if (BRICK_LIKELY(t->open && !t->alone)) {
		wait_in(t, barrier, pool);
		return;
	}
	if (t->open) {
		if (BRICK_UNLIKELY(--t->hook_left == 0)) {
			uint64_t timed = brick__now();
			node_hook_timed(t, brick__now() - timed);
		}
		t->end = brick__now();
	}
	barrier(pool);
}

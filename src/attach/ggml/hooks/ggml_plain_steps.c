/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain steps (ggml_plain_steps.h). Calls skip the hooks of the hot path (slots.h), because the
 * code of a hook that does nothing still has to come from memory, where the engine's weights have
 * pushed it. Hooks that are reached all the same do nothing because of METHOD_PLAIN, on all
 * threads; phases are muted on the step's thread.
 */
#include "attach/ggml/hooks/ggml_plain_steps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/nodes/slots.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/hooks/node_graph.h"
#include "brick/abi/overhead.h"
#include "brick/attach.h"
#include "lib/sys/environment.h"

static __thread struct {
	struct phase_scope scope;
	const char *frame;  /* of the hook of the step that is plain now; NULL: none is */
	enum method method; /* of the other steps */
	bool is_open;
} plain_step __attribute__((tls_model("initial-exec")));

static uint32_t one_in;		       /* one step in so many is plain; 0: none */
static uint32_t plain_steps_block = 1; /* plain steps in a row; 1: single steps at random */
static uint32_t plain_steps_left = 3;  /* steps up to the next plain step, if single */
static uint32_t seed = 1;
static bool is_skipping; /* calls skip the hooks now */
static bool is_limited;	 /* the recorder says how long blocks are */

ENVIRONMENT_READER(plain_steps_read_environment)
{
	const char *wanted = brick__environment("BRICK_PLAIN_STEPS");

	char *end;

	is_limited = wanted && !strcmp(wanted, "limit");
	if (is_limited)
		wanted = "2,3";
	one_in = wanted ? (uint32_t)strtoul(wanted, &end, 10) & UINT16_MAX : 0;
	if (one_in && *end == ',')
		plain_steps_block = ((uint32_t)strtoul(end + 1, NULL, 10) & UINT16_MAX) | 1;
	if (plain_steps_block > 1)
		slots_skip_phases();
}

static void switch_method(enum method from, enum method to)
{
	uint32_t method = from;

	__atomic_compare_exchange_n(&attach_shared.method, &method, (uint32_t)to, 0,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static uint32_t next_by_chance(void)
{
	uint32_t next = __atomic_load_n(&seed, __ATOMIC_RELAXED) * 1664525u + 1013904223u;

	__atomic_store_n(&seed, next, __ATOMIC_RELAXED);
	return next >> 16;
}

/* Chance keeps blocks out of step with what the program repeats. */
static bool is_due_by_limit(void)
{
	enum { AT_FIRST = 16 };
	static bool is_plain = true;
	static int32_t left; /* steps of the block behind this one */

	if (__atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) < 0) {
		uint32_t blocks = brick_recorder_step_blocks();
		is_plain = !is_plain;
		uint32_t mean = !blocks ? AT_FIRST : is_plain ? blocks & UINT16_MAX : blocks >> 16;
		uint32_t next = mean / 2 + next_by_chance() % (mean + 1);
		__atomic_store_n(&left, next ? (int32_t)next - 1 : 0, __ATOMIC_RELAXED);
	}
	return is_plain;
}

static bool is_due(void)
{
	static uint32_t steps;

	if (is_limited)
		return is_due_by_limit();
	if (plain_steps_block > 1)
		return __atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED) / plain_steps_block %
			       one_in ==
		       one_in - 1;
	if (__atomic_sub_fetch(&plain_steps_left, 1, __ATOMIC_RELAXED))
		return false;
	/* For 5, the third to the seventh step from here: no two plain steps share a neighbour. */
	__atomic_store_n(
		&plain_steps_left, (one_in + 1) / 2 + next_by_chance() % one_in, __ATOMIC_RELAXED);
	return true;
}

static void stop_skipping(void)
{
	if (!is_skipping)
		return;
	slots_skip_all_end();
	is_skipping = 0;
	if (plain_steps_block > 1)
		graph_generation_next(); /* allocations of graphs were not seen meanwhile */
}

/*
 * While recording is off, no call of the hot path reaches a hook. Looks again at the 2nd, 4th, 8th
 * ... step, because a slot that was not called through yet could not be led past its hook.
 */
static void follow_switch(void)
{
	static uint32_t steps_off; /* 0: recording is on */
	bool is_off = !brick_enabled();
	uint32_t steps = __atomic_load_n(&steps_off, __ATOMIC_RELAXED);

	if (BRICK_LIKELY(!is_off && !steps))
		return;
	steps = is_off ? __atomic_add_fetch(&steps_off, 1, __ATOMIC_RELAXED)
		       : __atomic_exchange_n(&steps_off, 0, __ATOMIC_RELAXED);
	if (is_off ? (steps & (steps - 1)) != 0 : !steps)
		return;
	slots_skip_off(is_off);
	/* neither what threads know of their last graph nor its allocation holds for the next */
	__atomic_add_fetch(&attach_shared.graph_serial, 1, __ATOMIC_SEQ_CST);
	graph_generation_next();
}

void plain_step_before(const void *frame)
{
	if (BRICK_LIKELY(!one_in)) {
		follow_switch();
		return;
	}
	plain_step_end(frame);
	plain_step_after(frame);
	enum method method = (enum method)shared_get(&attach_shared.method);
	if (phase_in_step(frame))
		return;
	if (!method_is_chosen() || !method_cpu_only() || !brick_enabled() ||
		(method != METHOD_NODES && method != METHOD_CALLBACK) || !is_due()) {
		stop_skipping();
		return;
	}
	if (!is_skipping && slots_skip_all_begin())
		return;
	is_skipping = 1;
	plain_step.frame = frame;
	plain_step.method = method;
	switch_method(method, METHOD_PLAIN);
	/* What threads know of their last graph does not hold for the next. */
	__atomic_add_fetch(&attach_shared.graph_serial, 1, __ATOMIC_SEQ_CST);
}

void plain_step_begin(const struct phase_scope *step, const void *frame)
{
	if (BRICK_LIKELY(plain_step.frame != frame) || !step->depth)
		return;
	if (is_limited)
		note_once(BRICK_LIMITED_NOTE, "1");
	phase_begin(&plain_step.scope, PHASE_PLAIN, plain_step.frame - 1);
	phase_mute(true);
	plain_step.is_open = 1;
}

/* The stack grows down: a frame above ours, or ours, is of a hook that ours has left or leaves. */
static bool plain_steps_is_over(const void *frame)
{
	return BRICK_UNLIKELY(plain_step.frame != NULL) && plain_step.frame <= (const char *)frame;
}

void plain_step_end(const void *frame)
{
	if (!plain_steps_is_over(frame) || !plain_step.is_open)
		return;
	plain_step.is_open = 0;
	phase_mute(false);
	phase_end(&plain_step.scope);
}

void plain_step_after(const void *frame)
{
	if (!plain_steps_is_over(frame))
		return;
	plain_step.frame = NULL;
	switch_method(METHOD_PLAIN, plain_step.method);
	if (plain_steps_block == 1)
		stop_skipping();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bricks lie in: layers; and steps of an engine, which are bricks that are in the ring from
 * their begin, with their tokens, and that the thread's counters are read around.
 */
#include "brick/probe.h"

#include "lib/probe/counter_events.h"
#include "lib/probe/digest_record.h"
#include "lib/session/lane_thread.h"
#include "lib/probe/ring.h"

void brick_layer_set(int layer)
{
	if (brick_enabled() && (lane_is_current(&brick__thread) || brick__thread_attach()) &&
		layer >= -1 && layer <= INT16_MAX)
		brick__thread.lane->default_layer = (uint32_t)(layer + 1);
}

/* tokens: as a record of it has them (BRICK_STEP_TOKENS). */
static brick_span step_begin(
	uint32_t brick, enum brick_phase phase, uint64_t tokens, uint64_t count)
{
	int counted = brick_enabled() && brick__counters_now();

	if (counted)
		brick__counters_step_begin();
	brick_span span = brick_enabled() ? brick__begin_layer(brick, -1) : 0;
	if (counted && !span)
		brick__counters_step_forget();
	if (span) {
		brick__digests_step(phase, count);
		struct brick_lane *lane = brick__thread.lane;
		struct brick_frame *frame = &lane->frames[(span & 0xff) - 1];
		frame->tokens = tokens;
		frame->flags |= BRICK_FRAME_STEP | (counted ? BRICK_FRAME_COUNTED : 0);
		lane->stats[frame->brick].elements += count;
		brick__ring_open(&brick__thread);
	}
	return span;
}

brick_span brick_step_begin(enum brick_phase phase, uint64_t tokens)
{
	/* brick__begin_layer() counts what is no phase */
	uint32_t brick = phase == BRICK_PHASE_DECODE	? BRICK_DECODE
			 : phase == BRICK_PHASE_PREFILL ? BRICK_PREFILL
			 : phase == BRICK_PHASE_WARM_UP ? BRICK_WARM_UP
							: BRICK_NONE;
	return step_begin(brick, phase, tokens, tokens);
}

brick_span brick_step_begin_mixed(uint32_t prompt_tokens, uint32_t output_tokens)
{
	uint64_t count = (uint64_t)prompt_tokens + output_tokens;

	if (!output_tokens)
		return step_begin(BRICK_PREFILL, BRICK_PHASE_PREFILL, count, count);
	if (!prompt_tokens)
		return step_begin(BRICK_DECODE, BRICK_PHASE_DECODE, count, count);
	return step_begin(BRICK_MIXED, BRICK_PHASE_MIXED,
		brick_mixed_tokens(prompt_tokens, output_tokens), count);
}

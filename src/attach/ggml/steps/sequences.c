/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of sequences (sequences.h). A block is BRICK_SEQUENCE_BLOCK_TOKENS tokens that begin at a
 * multiple of that number. Its hash covers its own tokens only, so a sequence may lose its end and
 * go on. The hash is salted, so a recording does not tell whether a certain text was a prompt.
 */
#include "attach/ggml/steps/sequences.h"

#include <stdbool.h>
#include "base/hash.h"
#include "brick/attach.h"
#include "brick/clock.h"

enum { RECORDS = 32, BLOCK = BRICK_SEQUENCE_BLOCK_TOKENS };

/* Records on their way into the ring. */
struct told {
	uint32_t count;
	struct brick_sequence_record records[RECORDS];
};

static void sequences_flush(struct told *told)
{
	if (told->count)
		brick_record_sequences(told->records, told->count);
	told->count = 0;
}

static struct brick_sequence_record *sequences_add(
	struct told *told, enum brick_sequence_event event, uint16_t model, int32_t sequence)
{
	if (told->count == RECORDS)
		sequences_flush(told);
	struct brick_sequence_record *r = &told->records[told->count++];
	*r = (struct brick_sequence_record){
		.sequence = sequence, .event = (uint8_t)event, .model = model};
	return r;
}

/* The process's salt, never 0. */
static uint64_t salt(void)
{
	static uint64_t chosen;
	uint64_t now = __atomic_load_n(&chosen, __ATOMIC_RELAXED), none = 0;

	if (now)
		return now;
	now = hash_add(brick_ticks(), (uint64_t)(uintptr_t)&none) | 1;
	return __atomic_compare_exchange_n(
		       &chosen, &none, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
		       ? now
		       : none;
}

void sequences_tell_blocks(struct sequence_blocks *blocks, const struct batch_head *batch,
	const struct batch_past *past, uint16_t model)
{
	struct told told;

	told.count = 0;
	for (int32_t i = 0; batch->tokens && i < batch->n_tokens; i++) {
		int32_t id = batch_sequence_of(batch, i), position = batch_position(batch, past, i);
		if (id < 0 || position < 0 || position == INT32_MAX)
			continue;
		uint64_t *hash = &blocks->of[id].hash;
		int32_t *end = &blocks->of[id].end;
		if (position % BLOCK == 0)
			*hash = salt();
		else if (!*end || *end != position) {
			*end = 0;
			continue;
		}
		*hash = hash_add(*hash, (uint32_t)batch->tokens[i]);
		*end = position + 1;
		if (*end % BLOCK)
			continue;
		struct brick_sequence_record *r =
			sequences_add(&told, BRICK_SEQUENCE_BLOCK, model, id);
		r->tokens = (uint32_t)*end;
		r->number = *hash;
	}
	sequences_flush(&told);
}

void sequences_tell_step(const struct batch_sequences *sequences, uint16_t model, int is_prompt)
{
	struct told told;

	told.count = 0;
	for (int32_t id = -1; (id = batch_next_sequence(sequences, id + 1)) < BATCH_SEQUENCES;) {
		const struct batch_sequence *s = &sequences->of[id];
		struct brick_sequence_record *r =
			sequences_add(&told, BRICK_SEQUENCE_TOKENS, model, id);
		bool begins_shared = s->shared && (!s->tokens || s->shared_first < s->first);
		r->tokens = s->tokens + s->shared;
		r->prompt = is_prompt ? r->tokens : s->prompt + s->shared;
		r->position = begins_shared ? s->shared_first : s->first;
		r->end = (int32_t)s->outputs;
	}
	sequences_flush(&told);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches (batch.h). Recent prompts are kept in two rings, one of batches and one of their tokens.
 * A batch is compared only while all of its tokens are still in the ring.
 */
#include "attach/ggml/steps/batch.h"

#include <stdbool.h>
#include <string.h>
#include "base/lock.h"

int32_t batch_position(const struct batch_head *batch, const struct batch_past *past, int32_t i)
{
	if (batch->positions)
		return batch->positions[i];
	return past && past->goes_on ? past->goes_on - 1 + i : -1;
}

/*
 * How many of the sequence's outputs belong to the prompt that it is known to have. If drafts are
 * checked together with the prompt's last token, only that token does.
 */
static uint32_t of_prompt(const struct batch_sequence *s, const struct sequence_past *past)
{
	int32_t end = past->prompt_end;
	int goes_on = past->unfinished || (past->scored && s->tokens > BATCH_MOST_CHECKED);

	if (s->first != 0 && !goes_on && s->first >= end)
		return 0;
	if (s->first == 0 || s->tokens == 1 || s->tokens > BATCH_MOST_CHECKED)
		return s->tokens;
	uint32_t known = s->first < end ? (uint32_t)(end - s->first) : 1;
	return known < s->tokens ? known : s->tokens;
}

void batch_moved(struct batch_past *past, int32_t sequence, int32_t from, int32_t by)
{
	if (sequence < 0 || sequence >= BATCH_SEQUENCES)
		return;
	past->of[sequence].moved_from = from;
	past->of[sequence].moved_by = by;
}

static int32_t batch_behind(int64_t position)
{
	return position < INT32_MAX ? (int32_t)position + 1 : INT32_MAX;
}

/*
 * How many drafts were removed, as the sequence goes on before its end; 0 if more tokens than the
 * checked drafts were removed.
 */
static uint32_t refuted_behind(const struct sequence_past *past, int32_t goes_on)
{
	int64_t back = (int64_t)past->end - goes_on;

	return goes_on < 0 || back <= 0 || back > past->checked ? 0 : (uint32_t)back;
}

uint32_t batch_removed(struct batch_past *past, int32_t sequence, int32_t from, int32_t to)
{
	if (sequence < 0 || sequence >= BATCH_SEQUENCES)
		return 0;
	struct sequence_past *of = &past->of[sequence];
	if (to >= 0 && to < of->end)
		return 0;
	uint32_t refuted = refuted_behind(of, from);
	if (of->end - (int64_t)from > BATCH_MOST_CHECKED && !refuted)
		of->unfinished = 1; /* these were no drafts: another prompt goes on there */
	of->checked -= (int32_t)refuted;
	of->end -= (int32_t)refuted;
	return refuted;
}

/* The first token is the prompt's last, or was chosen before. */
static uint32_t drafts_in(uint32_t tokens, uint32_t prompt)
{
	return tokens - (prompt ? prompt : 1);
}

/* Adds the sequence to the sum, and brings its past up to date. */
static void add_sequence(struct batch_tokens *sum, struct batch_sequence *s,
	const struct batch_head *batch, struct batch_past *pasts, int32_t id)
{
	/* Where the batch names no outputs, those of several sequences with a token each are meant.
	 */
	bool is_meant = s->tokens == 1 && !batch->outputs;
	uint32_t prompt =
		batch_is_output(s->tokens, is_meant ? 1 : s->outputs, s->first) ? 0 : s->tokens;

	if (pasts && s->first >= 0) {
		struct sequence_past *past = &pasts->of[id];
		sum->refuted += refuted_behind(past, s->first);
		if (!s->first)
			memset(past, 0, sizeof(*past));
		/* Drafts that were wrong were taken out before the sequence was moved. */
		int64_t goes_on = (int64_t)past->end + past->moved_by;
		if (past->moved_by < 0 && s->first <= goes_on &&
			s->first > goes_on - BATCH_MOST_CHECKED) {
			int64_t end = past->prompt_end > past->moved_from ? past->prompt_end
									  : past->moved_from;
			end += past->moved_by;
			past->prompt_end = end < past->prompt_end ? (int32_t)end : past->prompt_end;
		}
		past->moved_by = 0;
		if (!prompt)
			prompt = of_prompt(s, past);
		if (prompt)
			past->prompt_end = batch_behind((int64_t)s->last - (s->tokens - prompt));
		past->end = batch_behind(s->last);
		past->lone_token = s->tokens == 1 ? s->token : -1;
		past->unfinished = prompt && batch->outputs && !s->outputs;
		past->scored = prompt == s->tokens && s->tokens > 1 && s->outputs == s->tokens;
		uint32_t checked = drafts_in(s->tokens, prompt);
		sum->checked += checked;
		past->checked = (int32_t)checked;
	}
	s->prompt = prompt;
	sum->prompt += prompt;
	sum->output += s->tokens - prompt;
}

int32_t batch_sequence_of(const struct batch_head *batch, int32_t i)
{
	if (!batch->sequence_counts || !batch->sequences)
		return 0;
	if (batch->sequence_counts[i] != 1 || !batch->sequences[i])
		return -1;
	int32_t id = batch->sequences[i][0];
	return id >= 0 && id < BATCH_SEQUENCES ? id : -1;
}

void batch_take_outputs(struct batch_head *batch, struct batch_last *last)
{
	const struct batch_head *before = &last->head;

	if (!batch->tokens || !batch->positions || batch->n_tokens <= 0 ||
		batch->n_tokens > BATCH_SEQUENCES)
		return;
	if (batch->outputs) {
		last->head = *batch;
		last->first = batch->positions[0];
		memcpy(last->outputs, batch->outputs, (size_t)batch->n_tokens);
	} else if (batch->tokens == before->tokens && batch->positions == before->positions &&
		   batch->sequences == before->sequences && batch->n_tokens == before->n_tokens &&
		   batch->positions[0] == last->first) {
		batch->outputs = last->outputs;
	}
}

static struct batch_sequence *see(struct batch_sequences *s, int32_t id)
{
	uint64_t *seen = &s->seen[id / 64], bit = UINT64_C(1) << id % 64;

	if (!(*seen & bit))
		memset(&s->of[id], 0, sizeof(s->of[id]));
	*seen |= bit;
	return &s->of[id];
}

struct batch_tokens batch_count_sequences(
	const struct batch_head *batch, struct batch_past *past, struct batch_sequences *sequences)
{
	struct batch_tokens sum = {0};

	memset(sequences->seen, 0, sizeof(sequences->seen));
	for (int32_t i = 0; i < batch->n_tokens; i++) {
		int32_t position = batch_position(batch, past, i);
		int32_t id = batch_sequence_of(batch, i);
		if (id >= 0) {
			struct batch_sequence *s = see(sequences, id);
			if (!s->tokens++)
				s->first = s->last = position;
			s->outputs +=
				batch->outputs ? batch->outputs[i] != 0 : i == batch->n_tokens - 1;
			s->first = position < s->first ? position : s->first;
			s->last = position > s->last ? position : s->last;
			s->token = batch->tokens ? batch->tokens[i] : -1;
			continue;
		}
		sum.prompt++;
		for (int32_t k = 0; k < batch->sequence_counts[i] && batch->sequences[i]; k++) {
			id = batch->sequences[i][k];
			if (id < 0 || id >= BATCH_SEQUENCES)
				continue;
			struct batch_sequence *s = see(sequences, id);
			if (!s->shared++)
				s->shared_first = position;
		}
	}
	if (batch->n_tokens == 1 && batch_position(batch, past, 0) < 0)
		return (struct batch_tokens){.output = 1};
	for (int32_t id = -1; (id = batch_next_sequence(sequences, id + 1)) < BATCH_SEQUENCES;)
		if (sequences->of[id].tokens)
			add_sequence(&sum, &sequences->of[id], batch, past, id);
	return sum;
}

struct batch_tokens batch_count(const struct batch_head *batch, struct batch_past *past)
{
	struct batch_sequences sequences;

	return batch_count_sequences(batch, past, &sequences);
}

bool batch_is_drafted_by(const struct batch_head *batch, const struct batch_sequences *sequences,
	const struct batch_past *past)
{
	for (int32_t i = 0; batch->tokens && batch->positions && i < batch->n_tokens; i++) {
		int32_t id = batch_sequence_of(batch, i);
		if (id < 0 || !drafts_in(sequences->of[id].tokens, sequences->of[id].prompt))
			continue;
		const struct sequence_past *of = &past->of[id];
		if (of->end == batch_behind(batch->positions[i]) &&
			of->lone_token == batch->tokens[i])
			return true;
	}
	return false;
}

enum {
	PROMPTS = 64,	  /* batches that are remembered */
	TOKENS = 1 << 16, /* of all of them together */
	MIN_TOKENS = 8,	  /* shorter batches are drafts, or tokens of several sequences */
};

struct prompt {
	uint64_t first;		 /* number of its first token, counted over all batches */
	int32_t count, position; /* tokens; position of the first, -1: not known */
	const void *context;
};

static struct {
	pthread_mutex_t lock;
	struct prompt prompts[PROMPTS];
	uint64_t prompt_count, token_count;
	int32_t tokens[TOKENS];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

int32_t prompt_memory_repeated(const void *context, const struct batch_head *batch)
{
	int32_t longest = 0;

	if (batch->n_tokens < MIN_TOKENS || batch->n_tokens > TOKENS || !batch->tokens ||
		lock_try(&memory.lock))
		return -1;
	int32_t position = batch->positions ? batch->positions[0] : -1;
	uint64_t kept = memory.prompt_count < PROMPTS ? memory.prompt_count : PROMPTS;
	for (uint64_t k = 0; k < kept; k++) {
		const struct prompt *prompt = &memory.prompts[k];
		if (prompt->context != context || prompt->position != position ||
			memory.token_count - prompt->first > TOKENS)
			continue;
		int32_t n = prompt->count < batch->n_tokens ? prompt->count : batch->n_tokens,
			i = 0;
		while (i < n &&
			memory.tokens[(prompt->first + (uint64_t)i) % TOKENS] == batch->tokens[i])
			i++;
		if (i >= MIN_TOKENS && i > longest)
			longest = i;
	}
	memory.prompts[memory.prompt_count++ % PROMPTS] =
		(struct prompt){memory.token_count, batch->n_tokens, position, context};
	for (int32_t i = 0; i < batch->n_tokens; i++)
		memory.tokens[memory.token_count++ % TOKENS] = batch->tokens[i];
	lock_give(&memory.lock);
	return longest;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Called by the hooks of steps, before the step. */
#include "attach/ggml/batch.h"

#include <string.h>

enum { MAX_SEQUENCES = 512 };

/* Tokens of one sequence in the batch. */
struct sequence {
	uint32_t tokens, outputs;
	uint32_t begins; /* its first token is among them */
};

static int wants_output(const struct batch_head *batch, int32_t i)
{
	return batch->outputs ? batch->outputs[i] != 0 : i == batch->n_tokens - 1;
}

static void add_token(struct sequence *s, const struct batch_head *batch, int32_t i)
{
	s->tokens++;
	s->outputs += (uint32_t)wants_output(batch, i);
	s->begins |= batch->positions && batch->positions[i] == 0;
}

/* Where the batch names no outputs, those of several sequences with a token each are meant. */
static void add_sequence(
	struct batch_tokens *sum, const struct sequence *s, const struct batch_head *batch)
{
	int is_output = s->tokens == 1 ? s->outputs || !batch->outputs
				       : s->outputs == s->tokens && !s->begins;

	*(is_output ? &sum->output : &sum->prompt) += s->tokens;
}

/* The sequence of a token; -1: there are several, or none that we count. */
static int32_t sequence_of(const struct batch_head *batch, int32_t i)
{
	if (!batch->sequence_counts || !batch->sequences)
		return 0;
	if (batch->sequence_counts[i] != 1 || !batch->sequences[i])
		return -1;
	int32_t id = batch->sequences[i][0];
	return id >= 0 && id < MAX_SEQUENCES ? id : -1;
}

struct batch_tokens batch_count(const struct batch_head *batch)
{
	struct batch_tokens sum = {0, 0};
	struct sequence sequences[MAX_SEQUENCES];

	if (batch->n_tokens <= 1)
		return (struct batch_tokens){0, batch->n_tokens == 1};
	memset(sequences, 0, sizeof sequences);
	for (int32_t i = 0; i < batch->n_tokens; i++) {
		int32_t id = sequence_of(batch, i);
		if (id < 0)
			sum.prompt++;
		else
			add_token(&sequences[id], batch, i);
	}
	for (int32_t id = 0; id < MAX_SEQUENCES; id++)
		if (sequences[id].tokens)
			add_sequence(&sum, &sequences[id], batch);
	return sum;
}

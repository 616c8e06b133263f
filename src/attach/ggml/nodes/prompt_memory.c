/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rings, of batches and of their tokens: what comes in pushes the oldest out. A batch counts
 * where it was kept whole. Called by the hooks of steps, before the step.
 */
#include "attach/ggml/nodes/prompt_memory.h"

#include <string.h>
#include "base/lock.h"

enum {
	PROMPTS = 64,
	TOKENS = 1 << 16, /* of all of them */
	MIN_TOKENS = 8,	  /* what is shorter are drafts, or the tokens of several sequences */
};

struct prompt {
	uint64_t first; /* where its tokens begin, counted from the first ever */
	int32_t count, position;
	const void *context;
};

static struct {
	pthread_mutex_t lock;
	struct prompt prompts[PROMPTS];
	uint64_t prompt_count, token_count;
	int32_t tokens[TOKENS];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int32_t common_begin(const struct prompt *prompt, const struct batch_head *batch)
{
	int32_t n = prompt->count < batch->n_tokens ? prompt->count : batch->n_tokens, i = 0;

	while (i < n && memory.tokens[(prompt->first + (uint64_t)i) % TOKENS] == batch->tokens[i])
		i++;
	return i >= MIN_TOKENS ? i : 0;
}

static int32_t longest_common(const void *context, const struct batch_head *batch, int32_t position)
{
	uint64_t n = memory.prompt_count < PROMPTS ? memory.prompt_count : PROMPTS;
	int32_t longest = 0;

	for (uint64_t k = 0; k < n; k++) {
		const struct prompt *prompt = &memory.prompts[k];
		if (prompt->context != context || prompt->position != position ||
			memory.token_count - prompt->first > TOKENS)
			continue;
		int32_t common = common_begin(prompt, batch);
		if (common > longest)
			longest = common;
	}
	return longest;
}

static void keep(const void *context, const struct batch_head *batch, int32_t position)
{
	struct prompt *prompt = &memory.prompts[memory.prompt_count++ % PROMPTS];

	*prompt = (struct prompt){memory.token_count, batch->n_tokens, position, context};
	for (int32_t i = 0; i < batch->n_tokens; i++)
		memory.tokens[memory.token_count++ % TOKENS] = batch->tokens[i];
}

int32_t prompt_memory_repeated(const void *context, const struct batch_head *batch)
{
	int32_t position, repeated;

	if (batch->n_tokens < MIN_TOKENS || batch->n_tokens > TOKENS || !batch->tokens ||
		lock_try(&memory.lock))
		return -1;
	position = batch->positions ? batch->positions[0] : -1;
	repeated = longest_common(context, batch, position);
	keep(context, batch, position);
	lock_give(&memory.lock);
	return repeated;
}

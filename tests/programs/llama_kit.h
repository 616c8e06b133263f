/* SPDX-License-Identifier: Apache-2.0 */
/* What programs share that use llama.cpp by its own headers: its log is not shown, errors end. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "llama.h"

static void be_silent(enum ggml_log_level level, const char *text, void *context)
{
	(void)level, (void)text, (void)context;
}

static void *must(void *what, const char *name)
{
	if (!what) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, name);
		exit(1);
	}
	return what;
}

static inline int32_t likeliest(struct llama_context *context, int32_t vocabulary, int at)
{
	const float *logits = llama_get_logits_ith(context, at);
	int32_t best = 0;

	for (int32_t t = 1; t < vocabulary; t++)
		if (logits[t] > logits[best])
			best = t;
	return best;
}

static inline void add(
	struct llama_batch *batch, int32_t token, int position, int sequence, int logits)
{
	int i = batch->n_tokens++;

	batch->token[i] = token;
	batch->pos[i] = position;
	batch->n_seq_id[i] = 1;
	batch->seq_id[i][0] = sequence;
	batch->logits[i] = (int8_t)logits;
}

/* As common_init_from_params() does. */
static inline void warm_up(struct llama_context *context)
{
	const struct llama_vocab *vocab = llama_model_get_vocab(llama_get_model(context));
	int32_t tokens[2], n = 0;

	if (llama_vocab_bos(vocab) != LLAMA_TOKEN_NULL)
		tokens[n++] = llama_vocab_bos(vocab);
	if (llama_vocab_eos(vocab) != LLAMA_TOKEN_NULL)
		tokens[n++] = llama_vocab_eos(vocab);
	if (!n)
		tokens[n++] = 0;
	llama_decode(context, llama_batch_get_one(tokens, n));
	llama_memory_clear(llama_get_memory(context), true);
	llama_synchronize(context);
	llama_perf_context_reset(context);
}

/* As common_context_can_seq_rm() does. */
static inline void try_removing(struct llama_context *context)
{
	int32_t tokens[2] = {0, 0};

	llama_decode(context, llama_batch_get_one(tokens, 2));
	llama_memory_seq_rm(llama_get_memory(context), 0, 1, -1);
	llama_memory_clear(llama_get_memory(context), true);
	llama_synchronize(context);
	llama_perf_context_reset(context);
}

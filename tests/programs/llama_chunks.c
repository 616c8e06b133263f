// SPDX-License-Identifier: Apache-2.0
//
// A prompt that takes several batches, read as llama.cpp's own programs read one: a sampler is told
// of each token as it goes into a batch. Run as: PROGRAM LIBRARIES MODEL; prints as JSON, in ns
// from before the first batch, when the last but one was evaluated and when a token was chosen; and
// how many tokens of the prompt and of outputs were evaluated. Of two batches at the end the first
// is refused, the second is stopped in the middle.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ggml-backend.h"
#include "llama.h"
#include "llama_kit.h"

enum { BATCH = 64, BATCHES = 4, PREDICTED = 8 };

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct llama_context *open_context(struct llama_model *model)
{
	struct llama_context_params params = llama_context_default_params();

	params.n_ctx = 512;
	params.n_batch = BATCH;
	params.n_ubatch = BATCH / 2;
	params.n_threads = params.n_threads_batch = 1;
	return must(llama_init_from_model(model, params), "no context");
}

static void evaluate(struct llama_context *context, int32_t *tokens, int n)
{
	if (llama_decode(context, llama_batch_get_one(tokens, n)))
		must(NULL, "llama_decode() failed");
}

// Of a sequence that there is none of.
static void be_refused(struct llama_context *context)
{
	struct llama_batch batch = llama_batch_init(BATCH, 0, 1);

	for (int i = 0; i < BATCH; i++) {
		batch.token[i] = 3;
		batch.pos[i] = i;
		batch.n_seq_id[i] = 1;
		batch.seq_id[i][0] = 7;
		batch.logits[i] = 0;
	}
	batch.n_tokens = BATCH;
	if (!llama_decode(context, batch))
		must(NULL, "llama_decode() took what it should not");
	llama_batch_free(batch);
}

static int64_t asked, stop_at = INT64_MAX;

static bool stops(void *context)
{
	(void)context;
	return __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED) > stop_at;
}

// In the second half of its nodes, so in the second of its two parts.
static void be_stopped(struct llama_context *context, int32_t *tokens)
{
	llama_set_abort_callback(context, stops, NULL);
	llama_memory_clear(llama_get_memory(context), true);
	evaluate(context, tokens, BATCH);
	stop_at = asked + asked * 3 / 4;
	llama_memory_clear(llama_get_memory(context), true);
	if (llama_decode(context, llama_batch_get_one(tokens, BATCH)) != 2)
		must(NULL, "llama_decode() was not stopped");
}

int main(int argc, char **argv)
{
	int32_t tokens[BATCH * BATCHES];
	int64_t begin, before_last = 0, chosen = 0;

	if (argc != 3)
		return 2;
	llama_log_set(be_silent, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	struct llama_model *model =
		must(llama_model_load_from_file(argv[2], llama_model_default_params()), "no model");
	struct llama_context *context = open_context(model);
	struct llama_sampler *sampler = must(llama_sampler_init_greedy(), "no sampler");

	begin = now_ns();
	for (int i = 0; i < BATCH * BATCHES; i++) {
		tokens[i] = 3 + i % 200;
		llama_sampler_accept(sampler, tokens[i]);
		if ((i + 1) % BATCH)
			continue;
		before_last = now_ns() - begin;
		if (i + 1 < BATCH * BATCHES)
			evaluate(context, &tokens[i + 1 - BATCH], BATCH);
	}
	evaluate(context, &tokens[BATCH * (BATCHES - 1)], BATCH);
	for (int i = 0; i < PREDICTED; i++) {
		int32_t token = llama_sampler_sample(sampler, context, -1);
		if (!i)
			chosen = now_ns() - begin;
		evaluate(context, &token, 1);
	}
	be_refused(context);
	be_stopped(context, tokens);
	printf("{\"before_last\": %lld, \"chosen\": %lld, \"prompt\": %d, \"outputs\": %d}\n",
		(long long)before_last, (long long)chosen, BATCH * (BATCHES + 1), PREDICTED);
	llama_sampler_free(sampler);
	llama_free(context);
	llama_model_free(model);
	return 0;
}

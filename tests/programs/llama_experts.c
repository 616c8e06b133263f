// SPDX-License-Identifier: Apache-2.0
//
// A mixture of experts on llama.cpp's public interface: prompts in several micro-batches, and
// tokens that follow. Run as: PROGRAM LIBRARIES MODEL THREADS plain|callback. callback: the
// evaluation callback reads the numbers of the experts that each product chose; prints as JSON, by
// layer, how many tokens chose each, and what was read of its weights.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "llama.h"
#include "llama_kit.h"

enum { LAYERS = 64, EXPERTS = 512, PROMPT = 50, MICRO_BATCH = 16, TOKENS = 12 };

static struct {
	long tokens[EXPERTS], bytes[EXPERTS];
	int experts, products;
	char first[64]; // the product whose rows count as tokens
} layers[LAYERS];

static void count(const struct ggml_tensor *t)
{
	const struct ggml_tensor *weights = t->src[0], *ids = t->src[2];
	const char *number = strrchr(t->name, '-');
	int layer = number ? atoi(number + 1) : 0;
	bool chosen[EXPERTS] = {false};

	if (!layers[layer].experts)
		snprintf(layers[layer].first, sizeof(layers[layer].first), "%s", t->name);
	layers[layer].experts = (int)weights->ne[2];
	layers[layer].products++;
	for (int64_t row = 0; row < ids->ne[1]; row++)
		for (int64_t i = 0; i < ids->ne[0]; i++) {
			int32_t id;
			ggml_backend_tensor_get(ids, &id, row * ids->nb[1] + i * ids->nb[0], 4);
			layers[layer].tokens[id] += !strcmp(layers[layer].first, t->name);
			chosen[id] = true;
		}
	for (int i = 0; i < layers[layer].experts; i++)
		layers[layer].bytes[i] +=
			chosen[i] ? (long)(ggml_nbytes(weights) / (size_t)weights->ne[2]) : 0;
}

static bool evaluated(struct ggml_tensor *t, bool ask, void *context)
{
	(void)context;
	if (t->op != GGML_OP_MUL_MAT_ID)
		return !ask;
	if (!ask)
		count(t);
	return true;
}

static void print(void)
{
	printf("[");
	for (int i = 0; i < LAYERS && layers[i].experts; i++) {
		printf("%s{\"products\": %d, \"tokens\": [", i ? ", " : "", layers[i].products);
		for (int k = 0; k < layers[i].experts; k++)
			printf("%s%ld", k ? ", " : "", layers[i].tokens[k]);
		printf("], \"bytes\": [");
		for (int k = 0; k < layers[i].experts; k++)
			printf("%s%ld", k ? ", " : "", layers[i].bytes[k]);
		printf("]}");
	}
	printf("]\n");
}

static void must_decode(struct llama_context *context, struct llama_batch batch)
{
	if (llama_decode(context, batch)) {
		fprintf(stderr, "a batch was refused\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct llama_context_params params = llama_context_default_params();

	if (argc < 5)
		return 2;
	llama_log_set(be_silent, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	struct llama_model *model =
		must(llama_model_load_from_file(argv[2], llama_model_default_params()), "no model");
	int32_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
	params.n_ctx = params.n_batch = 256;
	params.n_ubatch = MICRO_BATCH;
	params.n_threads = params.n_threads_batch = atoi(argv[3]);
	if (!strcmp(argv[4], "callback"))
		params.cb_eval = evaluated;
	struct llama_context *context = must(llama_init_from_model(model, params), "no context");
	struct llama_batch batch = llama_batch_init(PROMPT, 0, 1);
	for (int i = 0; i < PROMPT; i++) // all results are wanted: no layer leaves tokens out
		add(&batch, 3 + i * 7919 % (vocabulary - 3), i, 0, 1);
	must_decode(context, batch);
	for (int i = 0; i < TOKENS; i++) {
		batch.n_tokens = 0;
		add(&batch, 3 + i * 104729 % (vocabulary - 3), PROMPT + i, 0, 1);
		must_decode(context, batch);
	}
	print();
	llama_batch_free(batch);
	llama_free(context);
	llama_model_free(model);
	return 0;
}

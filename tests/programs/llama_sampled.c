// SPDX-License-Identifier: Apache-2.0
//
// A program of llama.cpp that samples by a function of another library, as llama.cpp's own programs
// do by libllama-common: that function asks several samplers for each token. Run as: PROGRAM
// LIBRARIES MODEL. Makes the same tokens again and again, and prints them, a line each time.
// -DCOMMON: the other library.
#include "llama_kit.h"

enum { PROMPT = 8, TOKENS = 24, CONTEXT = 64 };

struct common_sampler {
	struct llama_sampler *first, *last;
};

int32_t common_sample(struct common_sampler *sampler, struct llama_context *context, int index,
	int grammar_first) __asm__("_Z21common_sampler_sampleP14common_samplerP13llama_contextib");

#ifdef COMMON

int32_t common_sample(
	struct common_sampler *sampler, struct llama_context *context, int index, int grammar_first)
{
	static llama_token_data data[1 << 20];
	const float *logits = llama_get_logits_ith(context, index);
	int32_t n = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
	llama_token_data_array candidates = {data, (size_t)n, -1, false};

	(void)grammar_first, (void)ggml_time_us(); // as llama.cpp's, it measures its time
	for (int32_t i = 0; i < n; i++)
		data[i] = (llama_token_data){i, logits[i], 0};
	llama_sampler_apply(sampler->first, &candidates);
	llama_sampler_apply(sampler->last, &candidates);
	return data[candidates.selected].id;
}

#else

static void make_tokens(struct llama_context *context, struct common_sampler *sampler)
{
	int32_t tokens[PROMPT], token;

	for (int i = 0; i < PROMPT; i++)
		tokens[i] = i + 3;
	llama_memory_clear(llama_get_memory(context), true);
	llama_decode(context, llama_batch_get_one(tokens, PROMPT));
	for (int i = 0; i < TOKENS; i++) {
		token = common_sample(sampler, context, -1, 0);
		printf("%d ", token);
		llama_decode(context, llama_batch_get_one(&token, 1));
	}
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	llama_log_set(be_silent, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	struct llama_model *model =
		must(llama_model_load_from_file(argv[2], llama_model_default_params()), "no model");
	struct llama_context_params params = llama_context_default_params();
	params.n_ctx = CONTEXT;
	params.n_threads = params.n_threads_batch = 1;
	struct llama_context *context = must(llama_init_from_model(model, params), "no context");
	struct common_sampler sampler = {llama_sampler_init_top_k(8), llama_sampler_init_greedy()};

	for (;;)
		make_tokens(context, &sampler);
}

#endif

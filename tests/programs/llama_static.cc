// SPDX-License-Identifier: Apache-2.0
//
// llama.cpp inside of a program (examples/demo/engine-static.sh llama): reads 16 tokens, then takes
// the likeliest one TOKENS times. Run as: PROGRAM MODEL TOKENS THREADS; prints the tokens, and on
// stderr the CPU time in ms that one took.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#include "llama.h"

static double cpu_ms()
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static llama_context *open_context(const char *path, int threads)
{
	llama_model *model = llama_model_load_from_file(path, llama_model_default_params());
	llama_context_params params = llama_context_default_params();

	params.n_ctx = params.n_batch = 1024;
	params.n_threads = params.n_threads_batch = threads;
	return model ? llama_init_from_model(model, params) : nullptr;
}

static int decode(llama_context *context, llama_token *tokens, int count)
{
	return llama_decode(context, llama_batch_get_one(tokens, count));
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	int tokens = atoi(argv[2]);
	llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
	llama_context *context = open_context(argv[1], atoi(argv[3]));
	llama_sampler *sampler = llama_sampler_init_greedy();
	std::vector<llama_token> prompt;
	for (int i = 0; i < 16; i++)
		prompt.push_back(5 + i * 7);
	if (!context || decode(context, prompt.data(), (int)prompt.size()))
		return 1;
	double before = cpu_ms();
	for (int i = 0; i < tokens; i++) {
		llama_token token = llama_sampler_sample(sampler, context, -1);
		printf("%d ", token);
		if (decode(context, &token, 1))
			return 1;
	}
	fprintf(stderr, "%.4f\n", (cpu_ms() - before) / tokens);
	printf("\n");
	return 0;
}

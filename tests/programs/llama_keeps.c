// SPDX-License-Identifier: Apache-2.0
//
// A program of llama.cpp that decodes, and keeps the state of its sequence each EACH tokens as
// servers do in a prompt cache, and never lets go of it. Run as: PROGRAM LIBRARIES MODEL STEPS
// [drops]. drops: all states go into the same memory. Prints the bytes that are kept at the end.
// Beside that it makes empty buffers of types that not every machine has.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "llama.h"
#include "llama_kit.h"

enum { CONTEXT = 256, PROMPT = 120, EACH = 8 };

struct buffer_functions {
	void *all[16]; // at least as many as any version has
};
struct buffer_type {
	const char *(*name)(struct buffer_type *);
	void *functions[6];
	const char *context;
};
void *ggml_backend_buffer_init(struct buffer_type *, struct buffer_functions, void *, size_t bytes);

static const char *buffer_type_name(struct buffer_type *type)
{
	return type->context;
}

static void make_buffers(void)
{
	static struct buffer_type types[] = {{buffer_type_name, {0}, "AMX"},
		{buffer_type_name, {0}, "RPC0[host:50052]"}, {buffer_type_name, {0}, "CUDA1"}};

	for (size_t i = 0; i < 3; i++)
		must(ggml_backend_buffer_init(
			     &types[i], (struct buffer_functions){{0}}, NULL, (i + 1) << 30),
			"no buffer");
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	int steps = atoi(argv[3]), drops = argc > 4 && !strcmp(argv[4], "drops");
	llama_log_set(be_silent, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	struct llama_model *model =
		must(llama_model_load_from_file(argv[2], llama_model_default_params()), "no model");
	struct llama_context_params params = llama_context_default_params();
	params.n_ctx = CONTEXT;
	params.n_threads = params.n_threads_batch = 1;
	struct llama_context *context = must(llama_init_from_model(model, params), "no context");
	struct llama_batch batch = llama_batch_init(CONTEXT, 0, 1);
	size_t kept = 0;
	make_buffers();
	uint8_t *state = NULL;

	for (int i = 0; i < PROMPT; i++)
		add(&batch, 3 + i, i, 0, i == PROMPT - 1);
	if (llama_decode(context, batch))
		return 4;
	for (int i = 0; i < steps; i++) {
		batch.n_tokens = 0;
		add(&batch, 3 + i % 100, PROMPT, 0, 1);
		if (llama_decode(context, batch))
			return 4;
		llama_memory_seq_rm(llama_get_memory(context), 0, PROMPT, -1);
		if (i % EACH)
			continue;
		size_t bytes = llama_state_seq_get_size(context, 0);
		if (!drops || !state)
			state = must(malloc(bytes), "no memory"); // nobody ever frees it
		if (llama_state_seq_get_data(context, state, bytes, 0) != bytes)
			return 5;
		kept = drops ? bytes : kept + bytes;
	}
	printf("%zu\n", kept);
	return 0;
}

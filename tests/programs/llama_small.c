// SPDX-License-Identifier: Apache-2.0
//
// llama.cpp in miniature, of which a static program exports nothing: its functions stand in .symtab
// alone. It warms up as llama.cpp's programs do, reads a prompt and makes tokens; each batch takes
// one of ggml_static.c's graphs. Run as: PROGRAM.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOS = 1, EOS, PROMPT = 16, TOKENS = 4 };
#define SYMBOL __attribute__((noinline, noclone))

struct llama_context {
	int32_t held;
};

struct llama_batch {
	int32_t n_tokens, *token;
	void *embd, *pos, *n_seq_id, *seq_id, *logits;
};

int run_graphs(int threads, int graphs);
int32_t llama_decode(struct llama_context *context, struct llama_batch batch);
void *llama_get_model(struct llama_context *context);
void *llama_model_get_vocab(void *model);
int32_t llama_vocab_bos(void *vocab);
int32_t llama_vocab_eos(void *vocab);
struct llama_context *llama_get_memory(struct llama_context *context);
int32_t llama_memory_seq_pos_max(struct llama_context *memory, int32_t sequence);
void llama_memory_clear(struct llama_context *memory, bool data);
int32_t *llama_get_logits(struct llama_context *context);

SYMBOL int32_t llama_decode(struct llama_context *context, struct llama_batch batch)
{
	context->held += batch.n_tokens;
	return run_graphs(1, 1);
}

SYMBOL void *llama_get_model(struct llama_context *context)
{
	return context;
}

SYMBOL void *llama_model_get_vocab(void *model)
{
	return model;
}

SYMBOL int32_t llama_vocab_bos(void *vocab)
{
	return vocab ? BOS : -1;
}

SYMBOL int32_t llama_vocab_eos(void *vocab)
{
	return vocab ? EOS : -1;
}

SYMBOL struct llama_context *llama_get_memory(struct llama_context *context)
{
	return context;
}

SYMBOL int32_t llama_memory_seq_pos_max(struct llama_context *memory, int32_t sequence)
{
	return sequence ? -1 : memory->held - 1;
}

SYMBOL void llama_memory_clear(struct llama_context *memory, bool data)
{
	memory->held = data ? 0 : memory->held;
}

SYMBOL int32_t *llama_get_logits(struct llama_context *context)
{
	return context->held > 0 ? &context->held : NULL;
}

int main(void)
{
	static struct llama_context context;
	int32_t tokens[PROMPT] = {BOS, EOS};

	int failed = llama_decode(&context, (struct llama_batch){2, tokens});
	llama_memory_clear(llama_get_memory(&context), true);
	for (int i = 0; i < PROMPT; i++)
		tokens[i] = 5 + i * 7;
	failed += llama_decode(&context, (struct llama_batch){PROMPT, tokens});
	for (int i = 0; i < TOKENS && llama_get_logits(&context); i++)
		failed += llama_decode(&context, (struct llama_batch){1, tokens});
	/* what only Brick calls is linked, too */
	void *vocab = llama_model_get_vocab(llama_get_model(&context));
	return failed || llama_vocab_bos(vocab) != BOS || llama_vocab_eos(vocab) != EOS ||
	       llama_memory_seq_pos_max(&context, 0) + 1 != PROMPT + TOKENS;
}

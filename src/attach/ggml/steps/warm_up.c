/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the engine itself for its special tokens and for what its context holds, and only when a
 * batch of one or two plain tokens comes: what is asked takes some ns. Called by hooks_step.c.
 */
#include "attach/ggml/steps/warm_up.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/resolve.h"

enum { NO_TOKEN = -1 };

/* What one copy of llama.cpp has; never freed. */
struct vocabulary {
	const struct vocabulary *next;
	const void *code;
	const void *(*get_model)(const void *context);
	const void *(*get_vocab)(const void *model);
	int32_t (*bos)(const void *vocab);
	int32_t (*eos)(const void *vocab);
	void *(*get_memory)(const void *context);
	int32_t (*last_position)(void *memory, int32_t sequence);
};

static const struct vocabulary *vocabularies;

#define LOOK_UP(field, name)                                       \
	do {                                                       \
		void *function = resolve_from(&object, (name), 0); \
		memcpy(&(field), &function, sizeof function);      \
	} while (0)

static const struct vocabulary *look_up(const void *code)
{
	struct vocabulary *v = calloc(1, sizeof *v);
	struct loaded_object object;

	if (!v)
		return NULL;
	v->code = code;
	if (object_at(patched_home((uintptr_t)code), &object)) {
		LOOK_UP(v->get_model, "llama_get_model");
		LOOK_UP(v->get_vocab, "llama_model_get_vocab");
		LOOK_UP(v->bos, "llama_vocab_bos");
		LOOK_UP(v->eos, "llama_vocab_eos");
		LOOK_UP(v->get_memory, "llama_get_memory");
		LOOK_UP(v->last_position, "llama_memory_seq_pos_max");
	}
	v->next = __atomic_load_n(&vocabularies, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(
		&vocabularies, &v->next, v, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	return v;
}

static const struct vocabulary *vocabulary_of(const void *code)
{
	const struct vocabulary *v = __atomic_load_n(&vocabularies, __ATOMIC_ACQUIRE);

	while (v && v->code != code)
		v = v->next;
	return v ? v : look_up(code);
}

static void *memory_of(const struct vocabulary *v, const void *context)
{
	return context && v && v->get_memory ? v->get_memory(context) : NULL;
}

const void *context_memory(const void *context, const void *code)
{
	return memory_of(vocabulary_of(code), context);
}

int32_t context_tokens(const void *context, const void *code)
{
	const struct vocabulary *v = vocabulary_of(code);
	void *memory = memory_of(v, context);

	return memory && v->last_position ? v->last_position(memory, 0) + 1 : -1;
}

/* The tokens of an empty run; count 0: there is none. */
struct special {
	int32_t tokens[2], count;
};

static int is_whole(const struct vocabulary *v)
{
	return v && v->get_model && v->get_vocab && v->bos && v->eos && v->get_memory &&
	       v->last_position;
}

/* What BOS and EOS there are, but for BOS alone, which may be meant; token 0 without either. */
static struct special ask(const void *context, const void *code)
{
	const struct vocabulary *v = vocabulary_of(code);
	struct special special = {{0, 0}, 0};

	if (!is_whole(v))
		return special;
	const void *vocab = v->get_vocab(v->get_model(context));
	int32_t bos = v->bos(vocab), eos = v->eos(vocab);
	if (bos != NO_TOKEN)
		special.tokens[special.count++] = bos;
	if (eos != NO_TOKEN)
		special.tokens[special.count++] = eos;
	else if (bos != NO_TOKEN)
		special.count = 0;
	else
		special.tokens[special.count++] = 0;
	return special;
}

static uint32_t contexts_made;

void warm_up_context_made(void)
{
	__atomic_add_fetch(&contexts_made, 1, __ATOMIC_RELAXED);
}

/* As long as no other can be at its address, a context is asked once. */
static struct special special_of(const void *context, const void *code)
{
	static __thread struct {
		const void *context;
		uint32_t made;
		struct special special;
	} last __attribute__((tls_model("initial-exec")));
	uint32_t made = __atomic_load_n(&contexts_made, __ATOMIC_RELAXED);

	if (!made)
		return ask(context, code); /* we would not hear of another */
	if (BRICK_UNLIKELY(last.context != context || last.made != made)) {
		last.special = ask(context, code);
		last.context = context;
		last.made = made;
	}
	return last.special;
}

static int is_empty_run(const struct batch_head *batch, const void *context, const void *code)
{
	const struct special special = special_of(context, code);

	return batch->n_tokens == special.count &&
	       !memcmp(batch->tokens, special.tokens,
		       (size_t)special.count * sizeof special.tokens[0]);
}

static int is_trial(const struct batch_head *batch)
{
	return batch->n_tokens == 2 && !batch->tokens[0] && !batch->tokens[1];
}

int warm_up_is(const struct batch_head *batch, const void *context, const void *code)
{
	if (batch->n_tokens < 1 || batch->n_tokens > 2 || !batch->tokens || batch->embeddings ||
		batch->positions || batch->sequences || batch->outputs || !context)
		return 0;
	if (!is_trial(batch) && !is_empty_run(batch, context, code))
		return 0;
	return is_whole(vocabulary_of(code)) && context_tokens(context, code) == 0;
}

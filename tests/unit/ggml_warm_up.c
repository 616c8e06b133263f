/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warm-ups are known by the special tokens of the context's own vocabulary, also where a new
 * context has the address of one that is gone. A llama.cpp in miniature, whose context says which
 * tokens it has; the functions that find it in a process are stand-ins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "attach/ggml/engine/resolve.h"
#include "attach/ggml/steps/contexts.h"
#include "attach/ggml/steps/model_notes.h"

struct fake_context {
	int32_t bos, eos, last_position;
};

static int asked;

static const void *get_model(const void *context)
{
	asked++;
	return context;
}

static const void *get_vocab(const void *model)
{
	return model;
}

static int32_t bos(const void *vocab)
{
	return ((const struct fake_context *)vocab)->bos;
}

static int32_t eos(const void *vocab)
{
	return ((const struct fake_context *)vocab)->eos;
}

static void *get_memory(const void *context)
{
	return (void *)(uintptr_t)context;
}

static int32_t last_position(void *memory, int32_t sequence)
{
	(void)sequence;
	return ((const struct fake_context *)memory)->last_position;
}

#define FAKE(function, symbol)           \
	{                                \
		symbol, (void *)function \
	}

void note_model(const void *context, const void *code, int32_t number)
{
	(void)context, (void)code, (void)number;
}

void *resolve_from(const struct loaded_object *object, const char *name, bool hooked)
{
	static const struct {
		const char *name;
		void *function;
	} fakes[] = {
		FAKE(get_model, "llama_get_model"),
		FAKE(get_vocab, "llama_model_get_vocab"),
		FAKE(bos, "llama_vocab_bos"),
		FAKE(eos, "llama_vocab_eos"),
		FAKE(get_memory, "llama_get_memory"),
		FAKE(last_position, "llama_memory_seq_pos_max"),
	};

	(void)object;
	(void)hooked;
	for (size_t i = 0; i < sizeof fakes / sizeof fakes[0]; i++)
		if (!strcmp(fakes[i].name, name))
			return fakes[i].function;
	return NULL;
}

int object_at(uintptr_t address, struct loaded_object *object)
{
	(void)address;
	memset(object, 0, sizeof *object);
	return 1;
}

uintptr_t patched_home(uintptr_t inner)
{
	return inner;
}

void step_refuted(int32_t context, uint32_t drafts)
{
	(void)context, (void)drafts;
}

static const char code;

static int is_warm_up(const struct fake_context *context, int32_t first, int32_t second)
{
	const int32_t tokens[] = {first, second};
	const struct batch_head batch = {.n_tokens = 2, .tokens = tokens};

	return warm_up_is(&batch, context, &code);
}

static void a_context_is_asked_once(void **state)
{
	const struct fake_context context = {1, 2, -1};

	(void)state;
	warm_up_context_made();
	assert_true(is_warm_up(&context, 1, 2));
	int before = asked;
	assert_true(is_warm_up(&context, 1, 2));
	assert_false(is_warm_up(&context, 5, 6));
	assert_int_equal(asked, before);
}

static void a_new_one_at_an_old_address_is_asked_anew(void **state)
{
	struct fake_context context = {1, 2, -1};

	(void)state;
	warm_up_context_made();
	assert_true(is_warm_up(&context, 1, 2));
	context = (struct fake_context){7, 8, -1};
	warm_up_context_made();
	assert_true(is_warm_up(&context, 7, 8));
	assert_false(is_warm_up(&context, 1, 2));
}

static void what_holds_tokens_is_not_warmed_up(void **state)
{
	struct fake_context context = {1, 2, -1};

	(void)state;
	warm_up_context_made();
	assert_true(is_warm_up(&context, 1, 2));
	context.last_position = 3;
	assert_false(is_warm_up(&context, 1, 2));
	assert_false(is_warm_up(&context, 0, 0));
	context.last_position = -1;
	assert_true(is_warm_up(&context, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_context_is_asked_once),
		cmocka_unit_test(a_new_one_at_an_old_address_is_asked_anew),
		cmocka_unit_test(what_holds_tokens_is_not_warmed_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which prompts are seen to be evaluated again, and which are not. One process, one memory. */
#include "attach/ggml/steps/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { MANY = 1 << 16 };

/* `n` tokens that begin at a position: the same for the same seed. position -1: none is said. */
static int32_t ask_of(const void *context, int32_t seed, int32_t n, int32_t position)
{
	static int32_t tokens[MANY + 1], positions[1];
	struct batch_head batch = {.n_tokens = n, .tokens = tokens};

	for (int32_t i = 0; i < n; i++)
		tokens[i] = seed * 7919 + i;
	positions[0] = position;
	if (position >= 0)
		batch.positions = positions;
	return prompt_memory_repeated(context, &batch);
}

static int32_t ask(int32_t seed, int32_t n, int32_t position)
{
	return ask_of(NULL, seed, n, position);
}

static void prompts(void **state)
{
	(void)state;
	assert_int_equal(ask(1, 7, 0), -1);
	assert_int_equal(ask(1, MANY + 1, 0), -1);
	assert_int_equal(prompt_memory_repeated(NULL, &(struct batch_head){.n_tokens = 9}), -1);
	assert_int_equal(ask(1, 64, 0), 0);
	assert_int_equal(ask(1, 64, 0), 64);
	assert_int_equal(ask(1, 100, 0), 64);
	assert_int_equal(ask(1, 20, 0), 20);
	assert_int_equal(ask(1, 64, 64), 0); /* elsewhere in a context */
	assert_int_equal(ask(1, 64, -1), 0);
	assert_int_equal(ask(1, 64, -1), 64);
	assert_int_equal(ask(2, 64, 0), 0);
	assert_int_equal(ask_of(state, 2, 64, 0), 0); /* the draft model's */
	assert_int_equal(ask(2, 64, 0), 64);
}

/* What came long ago is forgotten: by number, and by length. */
static void forgetting(void **state)
{
	(void)state;
	for (int32_t i = 0; i < 64; i++)
		assert_int_equal(ask(100 + i, 16, 0), 0);
	assert_int_equal(ask(100, 16, 0), 16);
	assert_int_equal(ask(1, 64, 0), 0);
	assert_int_equal(ask(101, 16, 0), 0); /* two have come since the last of them */
	assert_int_equal(ask(300, MANY, 0), 0);
	assert_int_equal(ask(163, 16, 0), 0);
	assert_int_equal(ask(300, 20, 0), 0); /* no longer whole */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prompts),
		cmocka_unit_test(forgetting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

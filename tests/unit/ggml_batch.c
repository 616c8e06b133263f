/* SPDX-License-Identifier: Apache-2.0 */
/* What batches of llama.cpp are made of: prompts, new tokens, drafts that are checked, all at once.
 */
#include "attach/ggml/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { TOKENS = 64 };

/* A batch as a server fills it. */
struct builder {
	struct batch_head head;
	int32_t positions[TOKENS], counts[TOKENS], ids[TOKENS];
	const int32_t *sequences[TOKENS];
	int8_t outputs[TOKENS];
};

static void add(struct builder *b, int32_t sequence, int32_t position, int output)
{
	int32_t i = b->head.n_tokens++;

	b->positions[i] = position;
	b->counts[i] = 1;
	b->ids[i] = sequence;
	b->sequences[i] = &b->ids[i];
	b->outputs[i] = (int8_t)output;
	b->head.positions = b->positions;
	b->head.sequence_counts = b->counts;
	b->head.sequences = b->sequences;
	b->head.outputs = b->outputs;
}

static void expect(const struct batch_head *batch, uint32_t prompt, uint32_t output)
{
	struct batch_tokens tokens = batch_count(batch);

	assert_int_equal(tokens.prompt, prompt);
	assert_int_equal(tokens.output, output);
}

static void plain_batches(void **state)
{
	(void)state;
	expect(&(struct batch_head){.n_tokens = 1}, 0, 1);
	expect(&(struct batch_head){.n_tokens = 7}, 7, 0);
	expect(&(struct batch_head){.n_tokens = 0}, 0, 0);
	expect(&(struct batch_head){.n_tokens = -3}, 0, 0);
}

static void prompts(void **state)
{
	struct builder b = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		add(&b, 3, i, i == 9);
	expect(&b.head, 10, 0);
	for (int i = 0; i < 10; i++)
		b.outputs[i] = 1; /* of all of a text from its begin, to score it */
	expect(&b.head, 10, 0);
}

static void a_token_for_each_sequence(void **state)
{
	struct builder b = {0};

	(void)state;
	for (int i = 0; i < 8; i++)
		add(&b, i, 100 + i, 1);
	expect(&b.head, 0, 8);
	b.head.outputs = NULL;
	expect(&b.head, 0, 8);
}

/* A server decodes for three while it takes in the prompt of a fourth. */
static void mixed(void **state)
{
	struct builder b = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		add(&b, i, 50, 1);
	for (int i = 0; i < 20; i++)
		add(&b, 3, i, i == 19);
	expect(&b.head, 20, 3);
}

/* Five drafted tokens, all of which are looked at; and the end of a prompt, of which none is. */
static void drafts(void **state)
{
	struct builder b = {0};

	(void)state;
	for (int i = 0; i < 5; i++)
		add(&b, 0, 200 + i, 1);
	expect(&b.head, 0, 5);
	add(&b, 1, 31, 0);
	expect(&b.head, 1, 5);
}

static void odd_batches(void **state)
{
	struct builder b = {0};

	(void)state;
	add(&b, 0, 9, 1);
	add(&b, -4, 9, 1);
	add(&b, 100000, 9, 1);
	add(&b, 1, 9, 1);
	b.counts[3] = 2; /* shared by two sequences */
	expect(&b.head, 3, 1);
	b.sequences[0] = NULL;
	expect(&b.head, 4, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_batches),
		cmocka_unit_test(prompts),
		cmocka_unit_test(a_token_for_each_sequence),
		cmocka_unit_test(mixed),
		cmocka_unit_test(drafts),
		cmocka_unit_test(odd_batches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

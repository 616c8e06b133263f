/* SPDX-License-Identifier: Apache-2.0 */
/* What batches of llama.cpp are made of: prompts, new tokens, drafts that are checked, all at once.
 */
#include "attach/ggml/steps/batch.h"

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
	struct batch_tokens tokens = batch_count(batch, NULL);

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

static void take(struct batch_past *past, int32_t position, int n, int output, uint32_t prompt)
{
	struct builder b = {0};

	for (int i = 0; i < n; i++)
		add(&b, 5, position + i, output && i == n - 1);
	struct batch_tokens tokens = batch_count(&b.head, past);
	assert_int_equal(tokens.prompt, prompt);
	assert_int_equal(tokens.output, (uint32_t)n - prompt);
}

static void score(struct batch_past *past, int32_t position, int n, int output, uint32_t prompt)
{
	struct builder b = {0};

	for (int i = 0; i < n; i++)
		add(&b, 5, position + i, output);
	assert_int_equal(batch_count(&b.head, past).prompt, prompt);
}

/* The second half of a text is scored, as llama-perplexity does, in several batches. */
static void a_text_that_is_scored(void **state)
{
	struct batch_past past = {0};

	(void)state;
	score(&past, 0, 32, 0, 32);
	score(&past, 32, 32, 1, 32);
	score(&past, 64, 32, 1, 32);
	score(&past, 96, 32, 1, 32);
	score(&past, 128, 1, 1, 0); /* it is gone on with, */
	score(&past, 129, 5, 1, 0); /* and with drafts */
	score(&past, 0, 32, 1, 32);
	score(&past, 32, 32, 1, 32);
}

/* A prompt in pieces, of which the last is one token; the next with most of it kept; drafts. */
static void what_was_before(void **state)
{
	struct batch_past past = {0};
	struct builder drafts = {0};

	(void)state;
	take(&past, 0, 1, 1, 1); /* a prompt of one token */
	take(&past, 1, 1, 1, 0);
	take(&past, 0, 64, 0, 64);
	take(&past, 64, 1, 1, 1);
	take(&past, 65, 1, 1, 0);
	take(&past, 66, 1, 1, 0);
	take(&past, 64, 1, 1, 1); /* the same prompt again: only its last token */
	take(&past, 65, 1, 1, 0);
	for (int i = 0; i < 5; i++)
		add(&drafts, 5, 66 + i, 1);
	assert_int_equal(batch_count(&drafts.head, &past).output, 5);
	take(&past, 67, 1, 1, 0); /* four of the five were wrong */
	take(&past, 68, 3, 1, 3); /* the user goes on */
	take(&past, 71, 1, 1, 0);
	take(&past, 20, 10, 1, 10); /* a shorter prompt that begins alike */
	take(&past, 30, 1, 1, 0);
	take(&past, 31, 1, 1, 0);
}

/* A full context loses what is older, but for its begin, and the prompt moves. */
static void what_was_moved(void **state)
{
	struct batch_past past = {0};

	(void)state;
	take(&past, 0, 60, 1, 60);
	take(&past, 60, 1, 1, 0);
	batch_moved(&past, 5, 40, -36);
	take(&past, 25, 1, 1, 0);
	take(&past, 26, 1, 1, 0);
	take(&past, 22, 1, 1, 1); /* within what was the prompt, once more */
	take(&past, 23, 1, 1, 0);
	batch_moved(&past, 5, 20, -2); /* and no batch that goes on there */
	take(&past, 3, 1, 1, 1);
	batch_moved(&past, 5, 4, INT32_MIN);
	batch_moved(&past, -1, 4, -2);
	batch_moved(&past, BATCH_SEQUENCES, 4, -2);
	take(&past, 4, 1, 1, 0);
}

/*
 * A program that keeps the prompt's last token for the batch that checks the first drafts, and
 * whose draft model follows with the same batches.
 */
static void a_model_that_follows(void **state)
{
	struct batch_past target = {0}, draft = {0};
	struct batch_last last = {0};
	struct builder b = {0};

	(void)state;
	for (int i = 0; i < 8; i++)
		add(&b, 0, i, 0);
	for (int round = 0; round < 3; round++) {
		for (int follows = 0; follows < 2; follows++) {
			struct batch_head head = b.head;
			head.tokens = b.ids;
			head.outputs = follows ? NULL : b.outputs;
			batch_take_outputs(&head, &last);
			struct batch_tokens tokens = batch_count(&head, follows ? &draft : &target);
			assert_int_equal(tokens.prompt, round == 0 ? 8 : round == 1);
			assert_int_equal(tokens.output, round == 0 ? 0 : 4 - (round == 1));
		}
		b = (struct builder){0};
		for (int i = 0; i < 4; i++)
			add(&b, 0, 8 + 4 * round + i, 1);
	}
	struct batch_head other = b.head; /* as many, elsewhere */
	other.tokens = b.ids;
	other.outputs = NULL;
	batch_take_outputs(&other, &last);
	assert_null(other.outputs);
}

/* The engine says how many positions its context holds. */
static void without_positions(void **state)
{
	struct batch_past past = {.goes_on = 1};

	(void)state;
	assert_int_equal(batch_count(&(struct batch_head){.n_tokens = 1}, &past).prompt, 1);
	for (past.goes_on = 2; past.goes_on < 5; past.goes_on++)
		assert_int_equal(batch_count(&(struct batch_head){.n_tokens = 1}, &past).output, 1);
	past.goes_on = 1;
	assert_int_equal(batch_count(&(struct batch_head){.n_tokens = 1}, &past).prompt, 1);
	past.goes_on = 0;
	assert_int_equal(batch_count(&(struct batch_head){.n_tokens = 1}, &past).output, 1);
}

static struct batch_tokens check_drafts(struct batch_past *past, int position, int n, int first)
{
	struct builder b = {0};

	b.head.tokens = b.ids + TOKENS / 2;
	for (int i = 0; i < n; i++) {
		add(&b, 0, position + i, 1);
		b.ids[TOKENS / 2 + i] = first + i;
	}
	return batch_count(&b.head, past);
}

/* A server keeps the beginning that two requests share: what is left may be one token. */
static void a_cut_begins_a_prompt(void **state)
{
	struct batch_past past = {0};

	(void)state;
	take(&past, 0, 20, 1, 20);
	for (int i = 0; i < 30; i++)
		take(&past, 20 + i, 1, 1, 0);
	batch_removed(&past, 5, 25, -1);
	take(&past, 25, 1, 1, 1);
	take(&past, 26, 1, 1, 0);
	batch_removed(&past, 5, 3, 23); /* from its middle: it goes on */
	take(&past, 27, 1, 1, 0);
	batch_removed(&past, 5, 28, -1); /* nothing is there */
	take(&past, 28, 1, 1, 0);
	batch_removed(&past, 5, 27, -1); /* so few may be drafts for another context */
	take(&past, 27, 1, 1, 0);
}

/* Where a sequence goes on says how many drafts held; who evaluated them last has drafted them. */
static void drafts_that_hold(void **state)
{
	struct batch_past past = {0}, drafter = {0}, other = {0};
	struct batch_sequences counted;
	struct builder b = {0};

	(void)state;
	take(&past, 0, 20, 1, 20);
	assert_int_equal(check_drafts(&past, 20, 5, 100).checked, 4);
	struct batch_tokens next = check_drafts(&past, 23, 5, 200);
	assert_int_equal(next.refuted, 2);
	next = check_drafts(&past, 28, 1, 300);
	assert_int_equal(next.refuted, 0);
	assert_int_equal(next.checked, 0);
	take(&past, 0, 20, 1, 20); /* anew: nothing was refuted */
	assert_int_equal(check_drafts(&past, 20, 5, 100).refuted, 0);
	/* further back than the drafts: who goes on elsewhere says nothing of them */
	assert_int_equal(check_drafts(&past, 10, 5, 100).refuted, 0);

	/* who takes them out tells at once */
	assert_int_equal(batch_removed(&past, 0, 12, 14), 0); /* not up to the end */
	assert_int_equal(batch_removed(&past, 0, 13, -1), 2);
	assert_int_equal(batch_removed(&past, 0, 13, -1), 0);
	assert_int_equal(batch_removed(&past, 0, 12, 100), 1);
	assert_int_equal(batch_removed(&past, 0, 0, -1), 0); /* the request is over */
	assert_int_equal(batch_removed(&past, -1, 11, -1), 0);
	assert_int_equal(batch_removed(&past, BATCH_SEQUENCES, 11, -1), 0);
	assert_int_equal(check_drafts(&past, 12, 5, 100).refuted, 0);

	check_drafts(&drafter, 22, 1, 102);
	check_drafts(&other, 22, 1, 103);
	b.head.tokens = b.ids + TOKENS / 2;
	for (int i = 0; i < 4; i++) {
		add(&b, 0, 20 + i, 1);
		b.ids[TOKENS / 2 + i] = 100 + i;
	}
	batch_count_sequences(&b.head, &past, &counted);
	assert_true(batch_is_drafted_by(&b.head, &counted, &drafter));
	assert_false(batch_is_drafted_by(&b.head, &counted, &other));
	assert_false(batch_is_drafted_by(&b.head, &counted, &past));
}

/* A server checks one sequence's drafts beside a lone token of another; then both go to the model
 * that drafts. */
static void who_drafts_for_whom(void **state)
{
	struct batch_past checks = {0}, drafts = {0};
	struct batch_sequences counted;
	struct builder prompts = {0}, b = {0}, next = {0};

	(void)state;
	b.head.tokens = b.ids;
	for (int i = 0; i < 40; i++)
		add(&prompts, 1 + i / 20, i % 20, i % 20 == 19);
	batch_count(&prompts.head, &checks);
	batch_count(&prompts.head, &drafts);
	add(&next, 1, 20, 1);
	next.head.tokens = next.ids;
	batch_count(&next.head, &drafts);
	for (int i = 0; i < 3; i++)
		add(&b, 1, 20 + i, 1); /* the token's number is that of its sequence */
	add(&b, 2, 20, 1);
	assert_int_equal(batch_count_sequences(&b.head, &checks, &counted).checked, 2);
	assert_true(batch_is_drafted_by(&b.head, &counted, &drafts));
	assert_int_equal(batch_count_sequences(&b.head, &drafts, &counted).checked, 2);
	assert_false(batch_is_drafted_by(&b.head, &counted, &checks));
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
		cmocka_unit_test(a_text_that_is_scored),
		cmocka_unit_test(what_was_before),
		cmocka_unit_test(what_was_moved),
		cmocka_unit_test(a_model_that_follows),
		cmocka_unit_test(without_positions),
		cmocka_unit_test(a_cut_begins_a_prompt),
		cmocka_unit_test(drafts_that_hold),
		cmocka_unit_test(who_drafts_for_whom),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

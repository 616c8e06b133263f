/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: digests on their way through a session, its ring, the writer and the reader; the
 * alignment and the verdict of two runs.
 */
#include "tests/unit/digest_engine.h"

static void test_round_trip(void **state)
{
	struct brick_digest expected;
	float x[N];

	(void)state;
	record(file_a, &plain);
	struct run *run = load(file_a);
	assert_int_equal(run->digest_count, 3 * (1 + LAYERS * 4));
	const struct run_digest *d = &run->digests[0];
	assert_string_equal(run->bricks[d->brick].name, "Embedding");
	assert_int_equal(d->layer, -1);
	assert_int_equal(d->step, 1);
	assert_int_equal(d->tokens, 7);
	assert_int_equal(d->decode, 0);
	assert_string_equal(d->label, "embd--1");
	assert_true(d->ns >= run->start_ns && d->ns <= run->end_ns);
	for (int i = 0; i < N; i++)
		x[i] = sinf((float)(i * 3));
	struct brick_tensor t = {.size = sizeof(struct brick_tensor),
		.data = x,
		.dtype = BRICK_DTYPE_F32,
		.ne = {N, 1, 1, 1}};
	assert_int_equal(brick_digest_compute(&expected, &t), 0);
	assert_memory_equal(&d->digest, &expected, sizeof expected);
	d = &run->digests[1 + LAYERS * 4 + 3];
	assert_string_equal(run->bricks[d->brick].name, "RopeEmbedding");
	assert_int_equal(d->layer, 0);
	assert_int_equal(d->step, 2);
	assert_int_equal(d->decode, 1);
	assert_int_equal(d->output, 4);
	assert_int_equal(d->inputs[0], 2);
	/* the digests' own time is a brick of its own */
	assert_true(run_brick_find(run, "Digest") != RUN_NONE);
	run_destroy(run);
}

static void test_equal(void **state)
{
	struct outcome o = compare(&plain, &plain, -1);

	(void)state;
	assert_int_equal(o.d->place_count, 3 * (1 + LAYERS * 4));
	assert_int_equal(o.d->first, RUN_NONE);
	assert_true(o.d->places[o.d->worst].error == 0);
	done(&o);
}

/* The place is named, what it inherited is nothing, what it added is 1 %. */
static void check_wrong(const struct outcome *o, int layer)
{
	assert_int_not_equal(o->d->first, RUN_NONE);
	const struct diverge_place *p = &o->d->places[o->d->first];
	const struct run_digest *d = &o->a->digests[p->a];
	assert_string_equal(o->a->bricks[d->brick].name, "RopeEmbedding");
	assert_int_equal(d->layer, layer);
	assert_int_equal(d->step, 1);
	assert_true(fabs(p->error / 0.01 - 1) < 5 * BRICK_DIGEST_DEVIATION);
	assert_true(p->inherited < 1e-5);
	assert_true(fabs(p->added / 0.01 - 1) < 5 * BRICK_DIGEST_DEVIATION);
}

static void test_wrong(void **state)
{
	struct engine wrong = plain;

	(void)state;
	wrong.wrong_layer = 1;
	wrong.noise = 1e-6f;
	struct outcome o = compare(&plain, &wrong, -1);
	check_wrong(&o, 1);
	/* what follows it only hands it on */
	for (size_t i = o.d->first + 1; i < o.d->place_count; i++) {
		const struct diverge_place *p = &o.d->places[i];
		const struct run_digest *d = &o.a->digests[p->a];
		if (d->step == 1 && !strcmp(o.a->bricks[d->brick].name, "DownProjection") &&
			d->layer == 1) {
			assert_true(p->flags & DIVERGE_INPUTS);
			assert_true(p->inherited > 0.009 && p->added < 0.003);
			assert_true(p->from == o.d->first);
		}
	}
	done(&o);
	wrong.no_labels = wrong.no_inputs = 1;
	o = compare(&plain, &wrong, -1);
	check_wrong(&o, 1);
	done(&o);
	wrong.no_norm = 1;
	o = compare(&plain, &wrong, -1);
	check_wrong(&o, 1);
	assert_int_equal(o.d->place_count, 3 * (1 + LAYERS * 3));
	for (size_t i = 0; i < o.d->brick_count; i++)
		if (!strcmp(o.d->bricks[i].name, "RmsNorm"))
			assert_int_equal(o.d->bricks[i].only_a, 3 * LAYERS);
		else
			assert_int_equal(o.d->bricks[i].only_a + o.d->bricks[i].only_b, 0);
	done(&o);
}

/* A result that one layer of one run lacks moves no other layer's to its place. */
static void test_layers(void **state)
{
	struct engine engine = plain, other = plain;

	(void)state;
	engine.no_labels = other.no_labels = 1;
	other.no_norm_in = 2;
	struct outcome o = compare(&engine, &other, -1);
	assert_int_equal(o.d->place_count, 3 * (LAYERS * 4));
	assert_int_equal(o.d->first, RUN_NONE);
	for (size_t i = 0; i < o.d->place_count; i++)
		assert_int_equal(
			o.a->digests[o.d->places[i].a].layer, o.b->digests[o.d->places[i].b].layer);
	done(&o);
}

static void test_threshold(void **state)
{
	struct engine noisy = plain;

	(void)state;
	noisy.noise = 1e-5f;
	struct outcome o = compare(&plain, &noisy, -1);
	assert_int_equal(o.d->first, RUN_NONE);
	assert_true(o.d->places[o.d->worst].error > 1e-6);
	done(&o);
	o = compare(&plain, &noisy, 1e-14);
	assert_int_not_equal(o.d->first, RUN_NONE);
	done(&o);
}

/* Another token is no place of a divergence: inputs differ, and nothing after it is compared. */
static void test_other_tokens(void **state)
{
	struct engine other = plain;

	(void)state;
	other.other_token = 1;
	struct outcome o = compare(&plain, &other, -1);
	assert_int_equal(o.d->apart_step, 2);
	assert_int_equal(o.d->first, RUN_NONE);
	assert_int_equal(o.d->over, 0);
	assert_int_equal(o.d->place_count, 1 + LAYERS * 4);
	assert_true(o.d->diverges);
	done(&o);
}

static void test_nan(void **state)
{
	struct engine with_nan = plain;

	(void)state;
	with_nan.nan_step = 1;
	struct outcome o = compare(&plain, &with_nan, -1);
	assert_int_not_equal(o.d->first, RUN_NONE);
	const struct diverge_place *p = &o.d->places[o.d->first];
	assert_true(isinf(p->error));
	assert_int_equal(o.a->digests[p->a].step, 2);
	assert_int_equal(o.a->digests[p->a].layer, 1);
	done(&o);
	/* in both at the same place it is no difference */
	o = compare(&with_nan, &with_nan, -1);
	assert_int_equal(o.d->first, RUN_NONE);
	done(&o);
}

static void test_steps(void **state)
{
	struct engine warm = plain, other = plain;

	(void)state;
	warm.warm_up = 2;
	struct outcome o = compare(&plain, &warm, -1);
	assert_int_equal(o.d->skipped_b, 2);
	assert_int_equal(o.d->steps_compared, 3);
	assert_int_equal(o.d->first, RUN_NONE);
	assert_int_equal(o.d->place_count, 3 * (1 + LAYERS * 4));
	done(&o);
	/* another prompt: its step is not compared, and said so */
	other.first_tokens = 9;
	o = compare(&plain, &other, -1);
	assert_int_equal(o.d->unlike, 1);
	assert_int_equal(o.d->steps_compared, 2);
	done(&o);
}

static void test_none(void **state)
{
	struct engine nothing = plain;
	struct diverge_options options = {.threshold = -1};
	struct diverge *d;
	int which;

	(void)state;
	nothing.steps = 0;
	record(file_a, &plain);
	record(file_b, &nothing);
	struct run *a = load(file_a), *b = load(file_b);
	assert_int_equal(diverge_create(&d, a, b, &options, &which), BRICK_ENOTRECORDED);
	assert_int_equal(which, 1);
	assert_int_equal(diverge_create(&d, b, a, &options, &which), BRICK_ENOTRECORDED);
	assert_int_equal(which, 0);
	run_destroy(a);
	run_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_other_tokens),
		cmocka_unit_test(test_nan),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, make_names, remove_files);
}

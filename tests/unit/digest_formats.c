/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what the formats of two runs explain of their differences, and which mistakes stand
 * out all the same.
 */
#include "tests/unit/digest_engine.h"

/* Other formats: a divergence that the answer explains, or none if that is allowed. */
static void test_formats(void **state)
{
	struct engine half = plain;
	struct diverge_options options = {.threshold = 1e-7, .allow_formats = 1};
	struct diverge *d;
	int which;

	(void)state;
	half.half = 1;
	struct outcome o = compare(&plain, &half, 1e-7);
	assert_int_not_equal(o.d->first, RUN_NONE);
	assert_int_equal(o.d->explained, o.d->over);
	assert_true(o.d->places[o.d->first].error > 1e-4);
	assert_true(o.d->places[o.d->first].explained < 1e-4);
	assert_int_equal(diverge_create(&d, o.a, o.b, &options, &which), 0);
	assert_int_equal(d->first, RUN_NONE);
	diverge_destroy(d);
	done(&o);
	/* formats explain their own error, and no more */
	half.wrong_layer = 2;
	half.noise = 0.1f;
	o = compare(&plain, &half, 1e-7);
	assert_true(o.d->explained < o.d->over);
	done(&o);
}

struct first {
	int layer; /* -2: nothing diverges */
	enum diverge_shape shape;
};

/* The RopeEmbedding that diverges first with formats allowed. */
static struct first first_allowed(const struct engine *b)
{
	struct first first = {-2, DIVERGE_LIKE_ROUNDING};
	struct diverge_options options = {.threshold = 1e-7, .allow_formats = 1};
	struct diverge *d;
	int which;
	struct outcome o = compare(&plain, b, 1e-7);

	assert_int_equal(diverge_create(&d, o.a, o.b, &options, &which), 0);
	if (d->first != RUN_NONE) {
		const struct diverge_place *place = &d->places[d->first];
		const struct run_digest *digest = &o.a->digests[place->a];
		assert_string_equal(o.a->bricks[digest->brick].name, "RopeEmbedding");
		first = (struct first){digest->layer, place->shape};
	}
	diverge_destroy(d);
	done(&o);
	return first;
}

/*
 * In the last layer, errors that are more than what its inputs and its own format explain; or less,
 * but not like rounding, which is spread over all directions.
 */
static void test_formats_hide_nothing(void **state)
{
	static const struct {
		float factor, few;
		enum diverge_shape shape;
	} mistakes[] = {
		{1.02f, 0, DIVERGE_LIKE_ROUNDING},
		{1.005f, 0, DIVERGE_SCALED},
		{1, 0.018f, DIVERGE_FEW},
	};
	struct engine half = plain;

	(void)state;
	half.half = 1;
	assert_int_equal(first_allowed(&half).layer, -2);
	half.wrong_layer = LAYERS - 1;
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		half.factor = mistakes[i].factor;
		half.few = mistakes[i].few;
		struct first first = first_allowed(&half);
		assert_int_equal(first.layer, LAYERS - 1);
		assert_int_equal(first.shape, mistakes[i].shape);
	}
}

/* How coarse quantised weights are is read off the runs: fine or coarse, a mistake stands out. */
static void test_formats_coarse(void **state)
{
	static const float noise[] = {0.01f, 0.15f};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct engine coarse = plain;
		coarse.coarse = noise[i];
		assert_int_equal(first_allowed(&coarse).layer, -2);
		coarse.wrong_layer = 1;
		coarse.factor = 1 + 4 * noise[i];
		assert_int_equal(first_allowed(&coarse).layer, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_formats_hide_nothing),
		cmocka_unit_test(test_formats_coarse),
	};

	return cmocka_run_group_tests(tests, make_names, remove_files);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: digests against what they stand for: the checksum's known vectors, the moments, and
 * the error between two tensors against the exact one, on random data with NaN, Inf, -0.0, strides,
 * permutations and 16-bit types.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "brick/brick.h"

static uint64_t seed = 1;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(seed >> 11) * 0x1p-53;
}

static float normal(void)
{
	return (float)(sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform()));
}

static struct brick_tensor vector(const float *values, uint64_t n)
{
	return (struct brick_tensor){.size = sizeof(struct brick_tensor),
		.data = values,
		.dtype = BRICK_DTYPE_F32,
		.ne = {n, 1, 1, 1}};
}

static struct brick_digest digest_of(const struct brick_tensor *t)
{
	struct brick_digest d;

	assert_int_equal(brick_digest_compute(&d, t), 0);
	return d;
}

static struct brick_digest digest(const float *values, uint64_t n)
{
	struct brick_tensor t = vector(values, n);
	return digest_of(&t);
}

static void test_fnv_vectors(void **state)
{
	const float a[] = {1, 2, 3, 4}, b[] = {1, 2, 3, 5}, zero[4] = {0};
	const float minus[] = {-0.0f, -0.0f, -0.0f, -0.0f};
	float many[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		many[i] = (float)i;
	assert_int_equal(brick_digest_fnv64(NULL, 0), 0xcbf29ce484222325ull);
	assert_int_equal(brick_digest_fnv64(a, 4), 0x8faa0a18faf0fb98ull);
	assert_int_equal(brick_digest_fnv64(b, 4), 0x90174a18fb4e3a38ull);
	assert_int_equal(brick_digest_fnv64(many, 64), 0x335b076c7de57d88ull);
	assert_int_equal(brick_digest_fnv64(zero, 4), 0x88201fb960ff6465ull);
	assert_int_equal(brick_digest_fnv64(minus, 4), 0xed2c7c1ed19bb465ull);
	/* only the first 64 values count, here and in a tensor's digest */
	assert_int_equal(brick_digest_fnv64(many, 100), 0x335b076c7de57d88ull);
	assert_int_equal(digest(many, 100).fnv64, 0x335b076c7de57d88ull);
	assert_int_equal(digest(a, 4).fnv64, 0x8faa0a18faf0fb98ull);
	assert_int_equal(digest(NULL, 0).fnv64, 0xcbf29ce484222325ull);
}

static void test_moments(void **state)
{
	const float values[] = {1, -2, 3.5f, 0, -0.0f, 7, -9};
	struct brick_digest d = digest(values, 7);

	(void)state;
	assert_true(d.min == -9 && d.max == 7);
	assert_true(d.sum == 0.5 && d.square_sum == 1 + 4 + 12.25 + 49 + 81);
	assert_int_equal(d.nan_count + d.plus_infinite_count + d.minus_infinite_count, 0);
	assert_int_equal(brick_digest_elements(&d), 7);
}

static double exact_error(const float *x, const float *y, size_t n)
{
	double distance = 0, length = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i]) && isfinite(y[i])) {
			distance += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
			length += (double)x[i] * x[i];
		}
	return sqrt(distance / length);
}

enum { ELEMENTS = 5000, TRIALS = 200 };

/*
 * Mean and deviation of estimate / exact over many trials: no bias, and the deviation is that which
 * the header promises.
 */
static void check_estimates(void (*disturb)(float *y, const float *x, size_t n))
{
	static float x[ELEMENTS], y[ELEMENTS];
	double sum = 0, squares = 0;

	for (int trial = 0; trial < TRIALS; trial++) {
		for (size_t i = 0; i < ELEMENTS; i++)
			x[i] = normal();
		disturb(y, x, ELEMENTS);
		struct brick_digest dx = digest(x, ELEMENTS), dy = digest(y, ELEMENTS);
		double ratio = brick_digest_error(&dx, &dy) / exact_error(x, y, ELEMENTS);
		sum += ratio;
		squares += ratio * ratio;
	}
	double mean = sum / TRIALS, deviation = sqrt(squares / TRIALS - mean * mean);
	/* five standard errors */
	assert_true(fabs(mean - 1) < 5 * BRICK_DIGEST_DEVIATION / sqrt(TRIALS) + 0.001);
	assert_true(deviation < 1.3 * BRICK_DIGEST_DEVIATION);
}

static void disturb_all(float *y, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = x[i] + 1e-4f * normal();
}

static void disturb_scale(float *y, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = x[i] * 1.01f;
}

/* The same values in another order: a sum does not see it. */
static void disturb_order(float *y, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = x[n - 1 - i];
}

/* Everything behind the first 64 values. */
static void disturb_end(float *y, const float *x, size_t n)
{
	memcpy(y, x, n * sizeof *y);
	for (size_t i = 64; i < n; i++)
		y[i] += 0.01f;
}

static void test_estimates(void **state)
{
	(void)state;
	check_estimates(disturb_all);
	check_estimates(disturb_scale);
	check_estimates(disturb_order);
	check_estimates(disturb_end);
}

static void test_one_element(void **state)
{
	static float x[ELEMENTS], y[ELEMENTS];

	(void)state;
	for (size_t i = 0; i < ELEMENTS; i++)
		x[i] = y[i] = normal();
	struct brick_digest dx = digest(x, ELEMENTS), same = digest(y, ELEMENTS);
	assert_memory_equal(&dx, &same, sizeof dx);
	assert_true(brick_digest_error(&dx, &same) == 0);
	/* one rounding of one element is seen, and exactly: it meets no other in its bucket */
	y[4321] = nextafterf(y[4321], 100);
	struct brick_digest dy = digest(y, ELEMENTS);
	double ratio = brick_digest_error(&dx, &dy) / exact_error(x, y, ELEMENTS);
	assert_true(ratio > 0.99 && ratio < 1.01);
}

static void test_strides(void **state)
{
	enum { ROWS = 37, COLUMNS = 53, PLANES = 3 };
	static float x[PLANES * ROWS * COLUMNS], turned[PLANES * ROWS * COLUMNS];

	(void)state;
	/* turned[plane][column][row] holds what x[plane][row][column] does */
	for (int p = 0; p < PLANES; p++)
		for (int r = 0; r < ROWS; r++)
			for (int c = 0; c < COLUMNS; c++)
				turned[(p * COLUMNS + c) * ROWS + r] =
					x[(p * ROWS + r) * COLUMNS + c] = normal();
	struct brick_tensor plain = {.size = sizeof(struct brick_tensor),
		.data = x,
		.dtype = BRICK_DTYPE_F32,
		.ne = {COLUMNS, ROWS, PLANES, 1}};
	struct brick_tensor permuted = {.size = sizeof(struct brick_tensor),
		.data = turned,
		.dtype = BRICK_DTYPE_F32,
		.ne = {COLUMNS, ROWS, PLANES, 1},
		.nb = {4 * ROWS, 4, 4 * ROWS * COLUMNS, 4 * ROWS * COLUMNS * PLANES}};
	struct brick_digest a = digest_of(&plain), b = digest_of(&permuted);
	assert_memory_equal(&a, &b, sizeof a);
	/* as it lies in memory it is another tensor */
	struct brick_tensor transposed = plain;
	transposed.data = turned;
	b = digest_of(&transposed);
	assert_true(brick_digest_error(&a, &b) > 1);
	double ratio = brick_digest_error(&a, &b) / exact_error(x, turned, PLANES * ROWS * COLUMNS);
	assert_true(fabs(ratio - 1) < 5 * BRICK_DIGEST_DEVIATION);
	/* and so is every second column, of which the rest must not be looked at */
	struct brick_tensor half = plain;
	half.ne[0] = COLUMNS / 2;
	half.nb[0] = 8;
	half.nb[1] = 4 * COLUMNS;
	half.nb[2] = 4 * COLUMNS * ROWS;
	half.nb[3] = half.nb[2] * PLANES;
	for (int i = 1; i < COLUMNS; i += 2)
		x[i] = NAN;
	assert_int_equal(digest_of(&half).nan_count, 0);
	assert_true(digest_of(&plain).nan_count > 0);
}

static void test_nonfinite(void **state)
{
	static float x[ELEMENTS], y[ELEMENTS];

	(void)state;
	for (size_t i = 0; i < ELEMENTS; i++)
		x[i] = normal();
	x[7] = x[2000] = NAN;
	x[9] = INFINITY;
	x[4999] = -INFINITY;
	disturb_all(y, x, ELEMENTS);
	struct brick_digest dx = digest(x, ELEMENTS), dy = digest(y, ELEMENTS);
	assert_int_equal(dx.nan_count, 2);
	assert_int_equal(dx.plus_infinite_count, 1);
	assert_int_equal(dx.minus_infinite_count, 1);
	assert_true(isfinite(dx.sum) && isfinite(dx.square_sum) && isfinite(dx.max));
	assert_true(dx.max < 10 && dx.min > -10);
	double ratio = brick_digest_error(&dx, &dy) / exact_error(x, y, ELEMENTS);
	assert_true(fabs(ratio - 1) < 5 * BRICK_DIGEST_DEVIATION);
	/* the same number of them elsewhere, or another sign, is a difference */
	y[7] = 0;
	y[8] = NAN;
	dy = digest(y, ELEMENTS);
	assert_int_equal(dy.nan_count, 2);
	assert_true(isinf(brick_digest_error(&dx, &dy)));
	y[8] = 0;
	y[7] = NAN;
	y[9] = -INFINITY;
	dy = digest(y, ELEMENTS);
	assert_true(isinf(brick_digest_error(&dx, &dy)));
	/* all of them: there is no range */
	for (size_t i = 0; i < 5; i++)
		y[i] = NAN;
	dy = digest(y, 5);
	assert_true(dy.min == 0 && dy.max == 0 && dy.nan_count == 5 && dy.square_sum == 0);
}

/* A range must not hold the zeros that stand for what is not finite. */
static void test_range_without_zero(void **state)
{
	const float x[] = {3, NAN, 5, INFINITY}, y[] = {-3, -INFINITY, -5};

	(void)state;
	assert_true(digest(x, 4).min == 3 && digest(x, 4).max == 5);
	assert_true(digest(y, 3).min == -5 && digest(y, 3).max == -3);
}

static void test_zeros(void **state)
{
	const float zero[8] = {0}, one[8] = {1};
	float minus[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		minus[i] = -0.0f;
	struct brick_digest a = digest(zero, 8), b = digest(minus, 8), c = digest(one, 8);
	assert_true(brick_digest_error(&a, &b) == 0);
	assert_true(a.fnv64 != b.fnv64);
	assert_true(isinf(brick_digest_error(&a, &c)));
	assert_true(brick_digest_error(&c, &a) == 1);
}

static void test_half(void **state)
{
	/* 1, -2, 65504, 2^-24, -0, inf, nan, 1/3 */
	const uint16_t f16[] = {0x3c00, 0xc000, 0x7bff, 1, 0x8000, 0x7c00, 0x7e00, 0x3555};
	const uint16_t bf16[] = {0x3f80, 0xc000, 0x7f7f, 0x8000, 0x7f80, 0xffc0};
	struct brick_tensor t = {.size = sizeof(struct brick_tensor),
		.data = f16,
		.dtype = BRICK_DTYPE_F16,
		.ne = {8, 1, 1, 1}};

	(void)state;
	struct brick_digest d = digest_of(&t);
	const float values[] = {1, -2, 65504, 0x1p-24f, -0.0f, INFINITY, NAN, 0x1.554p-2f};
	struct brick_digest same = digest(values, 8);
	assert_true(d.sum == same.sum && d.square_sum == same.square_sum && d.min == -2);
	assert_memory_equal(d.sketch, same.sketch, sizeof d.sketch);
	assert_int_equal(d.nan_count, 1);
	assert_int_equal(d.plus_infinite_count, 1);
	t = (struct brick_tensor){.size = sizeof(struct brick_tensor),
		.data = bf16,
		.dtype = BRICK_DTYPE_BF16,
		.ne = {6, 1, 1, 1}};
	d = digest_of(&t);
	assert_true(d.min == -2 && d.max == 0x1.fep127);
	assert_int_equal(d.nan_count, 1);
	assert_int_equal(d.plus_infinite_count, 1);
}

static void test_refused(void **state)
{
	float x[4] = {0};
	struct brick_tensor t = vector(x, 4);
	struct brick_digest d;

	(void)state;
	t.dtype = BRICK_DTYPE_OTHER;
	assert_int_equal(brick_digest_compute(&d, &t), BRICK_EUNSUPPORTED);
	t.dtype = 77;
	assert_int_equal(brick_digest_compute(&d, &t), BRICK_EUNSUPPORTED);
	t = vector(x, UINT64_MAX);
	assert_int_equal(brick_digest_compute(&d, &t), BRICK_ERANGE);
	t.ne[0] = t.ne[1] = t.ne[2] = t.ne[3] = 1ull << 20;
	assert_int_equal(brick_digest_compute(&d, &t), BRICK_ERANGE);
	t = vector(NULL, 4);
	assert_int_equal(brick_digest_compute(&d, &t), -EINVAL);
	/* an empty tensor is a tensor */
	t = vector(NULL, 0);
	assert_int_equal(brick_digest_compute(&d, &t), 0);
	assert_true(d.min == 0 && d.max == 0 && d.sum == 0);
}

/* Nothing is recorded where nobody asked for it. */
static void test_not_wanted(void **state)
{
	float x[4] = {0};
	struct brick_tensor t = vector(x, 4);

	(void)state;
	assert_int_equal(brick_digest(BRICK_RMS_NORM, 0, &t), -ENOENT);
	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_digest(BRICK_RMS_NORM, 0, &t), -ENOENT);
	brick_digests_set(1);
	assert_true(brick_digests_wanted());
	/* a session without a consumer has no place for them */
	assert_int_equal(brick_digest(BRICK_RMS_NORM, 0, &t), -ENOENT);
	assert_int_equal(brick_digest(100000, 0, &t), -EINVAL);
	assert_int_equal(brick_digest_site(65535, &t), -EINVAL);
	brick_digests_set(0);
	assert_int_equal(brick_session_stop(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fnv_vectors),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_estimates),
		cmocka_unit_test(test_one_element),
		cmocka_unit_test(test_strides),
		cmocka_unit_test(test_nonfinite),
		cmocka_unit_test(test_range_without_zero),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

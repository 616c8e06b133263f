/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of digests: more than it holds, and nobody who empties it.
 */
#include "tests/unit/digest_files.h"

/* More digests than the ring holds, from two threads: the consumer catches up, nothing is lost. */
static void *flood(void *arg)
{
	float x[8] = {0};

	for (int i = 0; i < BRICK_DIGEST_RING; i++) {
		x[0] = (float)i;
		struct brick_tensor t = {.size = sizeof(struct brick_tensor),
			.data = x,
			.dtype = BRICK_DTYPE_F32,
			.ne = {8, 1, 1, 1}};
		if (brick_digest(*(uint32_t *)arg, i % 40, &t))
			abort();
	}
	return NULL;
}

static void test_flood(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	uint32_t bricks[] = {BRICK_RMS_NORM, BRICK_ROPE_EMBEDDING};
	pthread_t threads[2];

	(void)state;
	options.output = file_a;
	brick_digests_set(1);
	assert_int_equal(brick_session_start(&options), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, flood, &bricks[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(brick_session_stop(), 0);
	brick_digests_set(0);
	struct run *run = load(file_a);
	size_t next[2] = {0, 0};
	assert_int_equal(run->digest_count, 2 * BRICK_DIGEST_RING);
	for (size_t i = 0; i < run->digest_count; i++) {
		int which = !strcmp(run->bricks[run->digests[i].brick].name, "RopeEmbedding");
		assert_true(run->digests[i].digest.sum == (double)next[which]++);
	}
	run_destroy(run);
}

/* Nobody empties the ring: after one wait, what has no room is dropped at once, and counted. */
static void test_full(void **state)
{
	struct peek p = {0};
	float x[1] = {1};
	struct brick_tensor t = {.size = sizeof(struct brick_tensor),
		.data = x,
		.dtype = BRICK_DTYPE_F32,
		.ne = {1, 1, 1, 1}};

	(void)state;
	brick_digests_set(1);
	peek_start(&p, 1024);
	for (int i = 0; i < BRICK_DIGEST_RING; i++)
		assert_int_equal(brick_digest(BRICK_RMS_NORM, 0, &t), 0);
	for (int i = 0; i < 300; i++)
		assert_int_equal(brick_digest(BRICK_RMS_NORM, 0, &t), BRICK_EFULL);
	t.dtype = BRICK_DTYPE_OTHER;
	assert_int_equal(brick_digest(BRICK_RMS_NORM, 0, &t), BRICK_EUNSUPPORTED);
	peek_map(&p);
	assert_int_equal(peek_header(&p)->digest_head, BRICK_DIGEST_RING);
	assert_int_equal(peek_header(&p)->digest_dropped, 300);
	assert_int_equal(peek_header(&p)->ledger.dropped, 300);
	assert_int_equal(peek_header(&p)->ledger.unsupported, 1);
	peek_stop(&p);
	brick_digests_set(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, make_names, remove_files);
}

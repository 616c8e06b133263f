/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What begin and end take beside time: no allocation (F108), no page that was not touched before
 * (F155), a handle of at most 32 bytes.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>
#include "tests/unit/peek.h"

/* Calls of our own code; the linker leads them here. */
static uint64_t allocations;
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_realloc(old, bytes);
}

static void nothing_is_allocated(void **state)
{
	assert_true(sizeof(brick_span) <= 32);
	assert_int_equal(brick_session_start(NULL), 0);
	assert_true(allocations > 0); /* they do come here */
	brick_end(brick_begin(BRICK_RMS_NORM));
	uint64_t allocated = allocations;
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < 100000; i++) {
		brick_span outer = brick_begin_layer(BRICK_RMS_NORM, i % 40);
		brick_end_work(brick_begin((uint32_t)(i % 30)), 1, 2, 3);
		brick_end(outer);
	}
	struct mallinfo2 after = mallinfo2();
	assert_int_equal(allocations, allocated);
	assert_int_equal(after.uordblks, before.uordblks);
	assert_int_equal(after.hblks, before.hblks);
	assert_int_equal(brick_session_stop(), 0);
}

/* Rings and statistics are touched before. */
static void no_page_is_touched_first(void **state)
{
	struct rusage before, after;
	struct peek p = {0};

#ifdef BRICK_SANITIZED
	skip(); /* the sanitizer's own memory is touched on the way */
#endif
	peek_start(&p, 262144);
	for (uint32_t brick = 0; brick < 30; brick++)
		brick_end(brick_begin(brick));
	getrusage(RUSAGE_THREAD, &before);
	for (uint32_t i = 0; i < 200000; i++)
		brick_end(brick_begin(i % 30));
	getrusage(RUSAGE_THREAD, &after);
	peek_map(&p);
	assert_true(peek_lane(&p, 0)->head > 200000);
	peek_stop(&p);
	print_message("%ld page faults in 200000 pairs\n", after.ru_minflt - before.ru_minflt);
	assert_true(after.ru_minflt - before.ru_minflt < 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_allocated),
		cmocka_unit_test(no_page_is_touched_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of graph_compute in a backend's table is found wherever it lies, by what the engine
 * calls; and an engine that calls nothing there, or something out of reach, is left alone.
 */
#include "attach/ggml/devices/backend_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What backend_table.c calls; the test's own functions lie in an object. */
bool resolve_object(uintptr_t address, struct loaded_object *object)
{
	(void)object;
	return address > 4096;
}

enum { WORDS = 40, FIRST = 3, LATE = 14, BEYOND = 36 };

struct backend {
	words_fn table[WORDS];
};

static word_pair call(word backend, word graph, int place)
{
	return ((struct backend *)backend)->table[place](backend, graph, 0, 0, 0, 0);
}

#define ASYNC(place)                                                                   \
	static word_pair async_##place(word a, word b, word c, word d, word e, word f) \
	{                                                                              \
		(void)c, (void)d, (void)e, (void)f;                                    \
		return call(a, b, place);                                              \
	}

ASYNC(FIRST)
ASYNC(LATE)
ASYNC(BEYOND)

static word_pair silent(word a, word b, word c, word d, word e, word f)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	return 0;
}

/* As in 2023: it waits, too, which is another function of the table. */
static word_pair waiting(word a, word b, word c, word d, word e, word f)
{
	word_pair result = async_LATE(a, b, c, d, e, f);

	call(a, b, FIRST);
	return result;
}

static word_pair compute(word a, word b, word c, word d, word e, word f)
{
	(void)a, (void)c, (void)d, (void)e, (void)f;
	return b + 1;
}

static word_pair hook(word a, word b, word c, word d, word e, word f)
{
	words_fn function, engine;

	assert_true(backend_table_of((const void *)a, &function, &engine));
	return function(a, b, c, d, e, f) + 100;
}

static void finds(words_fn async, int place)
{
	struct backend *b = calloc(1, sizeof(*b));
	words_fn function, engine;

	assert_non_null(b);
	assert_false(backend_table_of(b, &function, &engine));
	b->table[place] = compute;
	assert_true(backend_table_hook(b, async, hook));
	assert_true(backend_table_hook(b, async, hook)); /* of another scheduler */
	for (int i = 0; i < WORDS; i++)
		assert_ptr_equal(b->table[i], i == place ? hook : NULL);
	assert_true(backend_table_of(b, &function, &engine));
	assert_ptr_equal(function, compute);
	assert_ptr_equal(engine, async);
	assert_int_equal(call((word)b, 7, place), 108);
}

static void places(void **state)
{
	(void)state;
	finds(async_FIRST, FIRST);
	finds(async_LATE, LATE);
	finds(waiting, LATE);
}

static void leaves_alone(words_fn async)
{
	struct backend b = {{NULL}}, before = b;

	assert_false(backend_table_hook(&b, async, hook));
	assert_memory_equal(&b, &before, sizeof(b));
}

static void unknown(void **state)
{
	(void)state;
	leaves_alone(silent);
	leaves_alone(async_BEYOND);
	leaves_alone(async_LATE); /* nothing is there */
}

static void one_that_was_freed(void **state)
{
	struct backend b = {{NULL}};

	(void)state;
	b.table[LATE] = silent;
	assert_true(backend_table_hook(&b, async_LATE, hook));
	b.table[LATE] = compute;
	assert_true(backend_table_hook(&b, async_LATE, hook));
	assert_int_equal(call((word)&b, 7, LATE), 108);
}

static void too_many(void **state)
{
	static struct backend many[100];
	int hooked = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		many[i].table[LATE] = compute;
		hooked += backend_table_hook(&many[i], async_LATE, hook);
	}
	assert_in_range(hooked, 32, 99);
	for (int i = 0; i < 100; i++)
		assert_int_equal(call((word)&many[i], 7, LATE), i < hooked ? 108 : 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(unknown),
		cmocka_unit_test(one_that_was_freed),
		cmocka_unit_test(too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

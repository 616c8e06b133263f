/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the fields of a tensor whose struct is not known: against a stand-in for ggml's
 * constructors that can place each field anywhere, leave it out, or write it twice.
 */
#include "attach/ggml/engine/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "brick/error.h"

enum { NOWHERE = 0xffff, HEADER = 32 };

/* Where the stand-in keeps what; NOWHERE: not at all. */
static struct model {
	uint16_t type, ne, op, source, view_source, name, copy_of_ne, copy_of_name;
	size_t bytes;
} model;

static char *next;

static void *fake_init(struct tensor_init_params params)
{
	assert_true(params.no_alloc);
	assert_non_null(params.buffer);
	next = params.buffer;
	return &model;
}

static void fake_free(void *context)
{
	assert_ptr_equal(context, &model);
}

static void put(char *tensor, uint16_t offset, const void *value, size_t bytes)
{
	if (offset != NOWHERE)
		memcpy(tensor + offset, value, bytes);
}

static char *make(int32_t type, int64_t ne0, int64_t ne1, int32_t op, void *a, void *b)
{
	const int64_t ne[4] = {ne0, ne1, 1, 1};
	void *sources[2] = {a, b};
	char *tensor = next + HEADER;

	next += HEADER + model.bytes;
	put(tensor, model.type, &type, sizeof type);
	put(tensor, model.ne, ne, sizeof ne);
	put(tensor, model.copy_of_ne, ne, sizeof ne);
	put(tensor, model.op, &op, sizeof op);
	put(tensor, model.source, sources, sizeof sources);
	return tensor;
}

static void *fake_new_2d(void *context, int type, int64_t ne0, int64_t ne1)
{
	assert_ptr_equal(context, &model);
	return make(type, ne0, ne1, 0, NULL, NULL);
}

static void *fake_mul_mat(void *context, void *a, void *b)
{
	(void)context;
	return make(0, 96, 96, 29, a, b);
}

static void *fake_add(void *context, void *a, void *b)
{
	(void)context;
	return make(0, 96, 96, 2, a, b);
}

static void *fake_view_1d(void *context, void *a, int64_t ne0, size_t offset)
{
	(void)context;
	(void)offset;
	char *tensor = make(0, ne0, 1, 35, a, NULL);
	put(tensor, model.view_source, &a, sizeof a);
	return tensor;
}

static void *fake_set_name(void *tensor, const char *name)
{
	put(tensor, model.name, name, strlen(name) + 1);
	put(tensor, model.copy_of_name, name, strlen(name) + 1);
	return tensor;
}

static size_t fake_overhead(void)
{
	return HEADER + model.bytes;
}

static const struct tensor_constructors constructors = {fake_init, fake_free, fake_new_2d,
	fake_mul_mat, fake_add, fake_view_1d, fake_set_name, fake_overhead};

static void reset_model(void)
{
	model = (struct model){0, 16, 80, 152, 232, 256, NOWHERE, NOWHERE, 336};
}

static void assert_found(void)
{
	struct tensor_layout layout;
	const char *refused;

	assert_int_equal(tensor_layout_infer(&layout, &constructors, &refused), 0);
	assert_int_equal(layout.type, model.type);
	assert_int_equal(layout.ne, model.ne);
	assert_int_equal(layout.op, model.op);
	assert_int_equal(layout.source, model.source);
	assert_int_equal(layout.view_source, model.view_source);
	assert_int_equal(layout.name, model.name);
}

static void assert_refused(const char *field)
{
	struct tensor_layout layout;
	const char *refused = NULL;

	assert_int_equal(tensor_layout_infer(&layout, &constructors, &refused), BRICK_EUNSUPPORTED);
	assert_string_equal(refused, field);
}

static void known_layouts_are_found(void **state)
{
	(void)state;
	reset_model();
	assert_found();
	/* an older one, and one that nobody has */
	model = (struct model){0, 16, 80, 160, 240, 264, NOWHERE, NOWHERE, 352};
	assert_found();
	model = (struct model){200, 8, 196, 48, 128, 205, NOWHERE, NOWHERE, 304};
	assert_found();
}

static void sources_end_where_the_view_begins(void **state)
{
	struct tensor_layout layout;
	const char *refused;

	(void)state;
	reset_model();
	assert_int_equal(tensor_layout_infer(&layout, &constructors, &refused), 0);
	assert_int_equal(layout.source_count, 10);
	model.view_source = 152 + 6 * 8;
	assert_int_equal(tensor_layout_infer(&layout, &constructors, &refused), 0);
	assert_int_equal(layout.source_count, 6);
}

static void a_field_that_is_not_there_is_refused(void **state)
{
	(void)state;
	reset_model();
	model.type = NOWHERE;
	assert_refused("type");
	reset_model();
	model.ne = NOWHERE;
	assert_refused("ne");
	reset_model();
	model.op = NOWHERE;
	assert_refused("op");
	reset_model();
	model.source = NOWHERE;
	assert_refused("src");
	reset_model();
	model.view_source = NOWHERE;
	assert_refused("view_src");
	reset_model();
	model.name = NOWHERE;
	assert_refused("name");
}

static void a_field_in_two_places_is_refused(void **state)
{
	(void)state;
	reset_model();
	model.copy_of_ne = 96;
	assert_refused("ne");
	reset_model();
	model.copy_of_name = 100;
	assert_refused("name");
}

static void what_cannot_be_searched_is_refused(void **state)
{
	struct tensor_constructors some = constructors;
	struct tensor_layout layout;
	const char *refused;

	(void)state;
	reset_model();
	some.mul_mat = NULL;
	assert_int_equal(tensor_layout_infer(&layout, &some, &refused), BRICK_EUNSUPPORTED);
	assert_string_equal(refused, "constructors");
	model.bytes = 1 << 20; /* longer than any tensor: it does not fit the buffer */
	assert_refused("constructors");
}

static void fields_are_read(void **state)
{
	struct tensor_layout layout;
	const char *refused;
	char buffer[2048] = {0};

	(void)state;
	reset_model();
	assert_int_equal(tensor_layout_infer(&layout, &constructors, &refused), 0);
	next = buffer;
	char *a = make(8, 7, 6, 0, NULL, NULL), *c = make(1, 5, 4, 29, NULL, a);
	assert_int_equal(tensor_int32(a, layout.type), 8);
	assert_int_equal(tensor_int32(c, layout.op), 29);
	assert_int_equal(tensor_ne(&layout, c)[1], 4);
	assert_null(tensor_source(&layout, c, 0));
	assert_ptr_equal(tensor_source(&layout, c, 1), a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_layouts_are_found),
		cmocka_unit_test(sources_end_where_the_view_begins),
		cmocka_unit_test(a_field_that_is_not_there_is_refused),
		cmocka_unit_test(a_field_in_two_places_is_refused),
		cmocka_unit_test(what_cannot_be_searched_is_refused),
		cmocka_unit_test(fields_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of kernels and sources: one entry for each that differs, texts cut at whole
 * characters, published to sessions that run and to those that come, full tables counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/peek.h"

static const struct brick_session_kernel *kernel_at(struct peek *p, uint32_t index)
{
	assert_true(index < peek_header(p)->kernel_count);
	return (void *)(p->base + peek_header(p)->kernel_offset +
			index * sizeof(struct brick_session_kernel));
}

/* The entry with that hash, and where its source begins. */
static const struct brick_session_code *code_of(struct peek *p, uint64_t hash, const char **source)
{
	const struct brick_session_header *h = peek_header(p);

	for (uint64_t at = 0; at < h->code_bytes;) {
		const struct brick_session_code *c = (void *)(p->base + h->code_offset + at);
		uint64_t texts = (uint64_t)c->name_bytes + c->path_bytes + c->source_bytes;
		assert_int_equal(at % 8, 0);
		assert_true(at + sizeof *c + texts <= h->code_bytes);
		if (c->hash == hash) {
			*source = (const char *)(c + 1) + c->name_bytes + c->path_bytes;
			return c;
		}
		at += (sizeof *c + texts + 7) & ~7ull;
	}
	return NULL;
}

static void kernels(void **state)
{
	struct peek p = {0};
	struct brick_kernel k = {.size = sizeof(struct brick_kernel),
		.name = "gemv",
		.backend = "test",
		.kind = BRICK_KERNEL_COMPUTE,
		.grid = {1, 2, 3},
		.block = {64, 1, 1},
		.registers = 32,
		.shared_bytes = 4096,
		.code = 99};

	uint32_t before = brick_kernel_register(&k); /* no session yet */
	assert_true(before > 0);
	peek_start(&p, 1024);
	assert_int_equal(brick_kernel_register(&k), before);
	k.grid[0] = 8;
	uint32_t other = brick_kernel_register(&k);
	assert_int_not_equal(other, before);
	char name[300];
	memset(name, 'x', sizeof name);
	memcpy(name + 190, "\xe2\x82\xac", 3); /* would end behind byte 191 */
	name[299] = '\0';
	k.name = name;
	uint32_t cut = brick_kernel_register(&k);
	k.name = NULL;
	k.backend = "a backend with a long name";
	k.shared_bytes = UINT64_C(1) << 40; /* nobody has that much */
	uint32_t nameless = brick_kernel_register(&k);
	assert_int_equal(brick_kernel_register(NULL), 0);

	peek_map(&p);
	const struct brick_session_kernel *e = kernel_at(&p, before);
	assert_string_equal(e->name, "gemv");
	assert_string_equal(e->backend, "test");
	assert_int_equal(e->grid[2], 3);
	assert_int_equal(e->block[0], 64);
	assert_int_equal(e->registers, 32);
	assert_int_equal(e->shared_bytes, 4096);
	assert_int_equal(e->code, 99);
	assert_int_equal(kernel_at(&p, other)->grid[0], 8);
	assert_int_equal(strlen(kernel_at(&p, cut)->name), 190);
	assert_string_equal(kernel_at(&p, nameless)->name, "");
	assert_int_equal(strlen(kernel_at(&p, nameless)->backend), 15);
	assert_int_equal(kernel_at(&p, nameless)->shared_bytes, 0);
	assert_int_equal(peek_header(&p)->ledger.table_full, 0);
	peek_stop(&p);
}

static void sources(void **state)
{
	struct peek p = {0};
	const char *text = "__kernel void a() {}", *found;

	uint64_t a = brick_code_register(text, strlen(text), "a", "dir/a.cl");
	assert_int_equal(a, brick_code_hash(text, strlen(text)));
	peek_start(&p, 1024);
	uint64_t b = brick_code_register("other", 5, NULL, NULL);
	assert_int_equal(brick_code_register(text, strlen(text), "again", NULL), a);
	uint64_t empty = brick_code_register("", 0, "empty", NULL);
	assert_int_equal(brick_code_register(NULL, 5, NULL, NULL), empty);
	peek_map(&p);
	const struct brick_session_code *c = code_of(&p, a, &found);
	assert_non_null(c);
	assert_int_equal(c->source_bytes, strlen(text));
	assert_memory_equal(found, text, strlen(text));
	assert_memory_equal(c + 1, "adir/a.cl", 9);
	assert_int_equal(c->flags, 0);
	assert_non_null(code_of(&p, b, &found));
	assert_int_equal(code_of(&p, empty, &found)->source_bytes, 0);
	uint32_t bytes = peek_header(&p)->code_bytes;
	assert_int_equal(bytes, 56 + 32 + 32); /* 24 and the texts, in whole eights */
	peek_stop(&p);
	peek_start(&p, 1024); /* a later session has them all */
	peek_map(&p);
	assert_int_equal(peek_header(&p)->code_bytes, bytes);
	assert_non_null(code_of(&p, a, &found));
	peek_stop(&p);
}

/* What does not fit is cut and says so; after that nothing is kept, and counted. */
static void full_code_area(void **state)
{
	struct peek p = {0};
	size_t large = 6 << 20;
	char *text = malloc(large);
	const char *found;
	uint64_t hash[4];

	peek_start(&p, 1024);
	for (int i = 0; i < 4; i++) {
		memset(text, 'a' + i, large);
		hash[i] = brick_code_register(text, large, "large", NULL);
	}
	peek_map(&p);
	assert_int_equal(code_of(&p, hash[0], &found)->flags, 0);
	assert_int_equal(code_of(&p, hash[1], &found)->source_bytes, large);
	const struct brick_session_code *cut = code_of(&p, hash[2], &found);
	assert_int_equal(cut->flags, 1);
	assert_in_range(cut->source_bytes, (3 << 20), (4 << 20));
	assert_int_equal(found[cut->source_bytes - 1], 'c');
	assert_null(code_of(&p, hash[3], &found));
	assert_int_equal(peek_header(&p)->code_bytes, BRICK_CODE_BYTES);
	assert_int_equal(peek_header(&p)->ledger.table_full, 2);
	free(text);
	peek_stop(&p);
}

static void full_kernel_table(void **state)
{
	struct peek p = {0};
	struct brick_kernel k = {
		.size = sizeof(struct brick_kernel), .name = "k", .backend = "test"};
	uint32_t last = 0, index;

	peek_start(&p, 1024);
	for (uint32_t i = 1; i <= BRICK_MAX_KERNELS; i++) {
		k.registers = i;
		index = brick_kernel_register(&k);
		if (!index)
			break;
		last = index;
	}
	assert_int_equal(last, BRICK_MAX_KERNELS - 1);
	assert_int_equal(brick_kernel_register(&k), 0);
	k.registers = 1;
	assert_true(brick_kernel_register(&k) > 0); /* known before */
	peek_map(&p);
	assert_int_equal(peek_header(&p)->kernel_count, BRICK_MAX_KERNELS);
	for (uint32_t i = 1; i < BRICK_MAX_KERNELS; i++)
		assert_true(kernel_at(&p, i)->backend[0]);
	assert_int_equal(peek_header(&p)->ledger.table_full, 2);
	peek_stop(&p);
	peek_start(&p, 1024);
	peek_map(&p);
	assert_int_equal(peek_header(&p)->kernel_count, BRICK_MAX_KERNELS);
	/* the first few are of the tests before */
	assert_in_range(
		kernel_at(&p, last)->registers, BRICK_MAX_KERNELS - 10, BRICK_MAX_KERNELS - 1);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels),
		cmocka_unit_test(sources),
		cmocka_unit_test(full_code_area),
		cmocka_unit_test(full_kernel_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

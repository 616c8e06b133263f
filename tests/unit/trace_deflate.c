/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the writer's compressor and the reader's decompressor, against each other and zlib.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#ifdef BRICK_HAVE_ZLIB
#include <zlib.h>
#endif
#include "brick/error.h"
#include "lib/writer/deflate.h"
#include "trace/prefetch.h"

enum { MAX_BYTES = 300000 };

static uint64_t state_of_random = 88172645463325252ull;
static struct inflater *inflater;

static uint32_t random_below(uint32_t limit)
{
	state_of_random ^= state_of_random << 13;
	state_of_random ^= state_of_random >> 7;
	state_of_random ^= state_of_random << 17;
	return (uint32_t)(state_of_random >> 20) % limit;
}

/* Data of several kinds: constant, text of few letters, random, runs that repeat further back. */
static void make_data(uint8_t *data, uint32_t size, int kind)
{
	for (uint32_t i = 0; i < size; i++)
		switch (kind) {
		case 0:
			data[i] = 7;
			break;
		case 1:
			data[i] = (uint8_t)("etaoin shrdlu"[random_below(13)]);
			break;
		case 2:
			data[i] = (uint8_t)random_below(256);
			break;
		default:
			data[i] = i > 5000 && i % 97 ? data[i - 4096 - (uint32_t)kind]
						     : (uint8_t)random_below(256);
		}
}

/* What the reader makes of a stream; 0: it refuses it. */
static int inflates(const uint8_t *in, size_t in_bytes, const uint8_t *data, size_t size)
{
	struct pb_reader out;

	if (!inflater)
		inflater = inflater_create();
	assert_non_null(inflater);
	int result = inflate_packet(inflater, pb_reader(in, in_bytes), &out);
	assert_true(result == 0 || result == BRICK_EFORMAT);
	if (result)
		return 0;
	assert_int_equal(pb_size(out), size);
	assert_memory_equal(out.at, data, size);
	return 1;
}

static void check_inflates(const struct pb_buffer *packed, const uint8_t *data, uint32_t size)
{
	assert_true(inflates(packed->data, packed->size, data, size));
#ifdef BRICK_HAVE_ZLIB
	uint8_t *out = malloc(size + 3);
	uLongf length = size + 3;
	assert_non_null(out);
	assert_int_equal(uncompress(out, &length, packed->data, packed->size), Z_OK);
	assert_int_equal(length, size);
	assert_memory_equal(out, data, size);
	free(out);
#endif
}

/* How far back the bytes up to `end` stood before; 0: nowhere near. */
static uint32_t find_same(const uint8_t *data, uint32_t from, uint32_t end)
{
	for (uint32_t back = 1; back <= from && back < 200; back++)
		if (!memcmp(data + from, data + from - back, end - from))
			return back;
	return 0;
}

/* Packets of any length with any hints, right and wrong ones: what comes out is what went in. */
static void any_hints(void **state)
{
	struct deflater *d = deflate_create(MAX_BYTES);
	struct pb_buffer packed = {0};
	uint8_t *data = malloc(MAX_BYTES);
	(void)state;

	assert_non_null(d);
	assert_non_null(data);
	for (int round = 0; round < 60; round++) {
		uint32_t size = round < 8 ? (uint32_t)round : random_below(MAX_BYTES), end = 0;
		make_data(data, size, round % 6);
		deflate_start(d, data);
		while (end < size) {
			uint32_t n = 1 + random_below(random_below(50) ? 60 : 5000);
			if (n > size - end)
				n = size - end;
			uint32_t rest = end + random_below(n + 1);
			uint32_t like = random_below(4) ? random_below(end + 2)
							: 4096 + (uint32_t)(round % 6);
			uint32_t other = random_below(3) ? random_below(40000) : DEFLATE_UNKNOWN;
			uint32_t same = random_below(2) ? find_same(data, rest, end + n) : 0;
			end += n;
			deflate_add(d, end, rest, same ? same : like, same ? DEFLATE_SAME : other);
		}
		packed.size = 0;
		deflate_finish(d, &packed);
		assert_false(packed.failed);
		check_inflates(&packed, data, size);
	}
	pb_buffer_fini(&packed);
	deflate_destroy(d);
	free(data);
}

/* With right hints, repetitions all but vanish. */
static void repetitions_vanish(void **state)
{
	struct deflater *d = deflate_create(MAX_BYTES);
	struct pb_buffer packed = {0};
	uint8_t *data = malloc(MAX_BYTES);
	uint32_t end = 0, packets = 0;
	(void)state;

	assert_non_null(d);
	assert_non_null(data);
	deflate_start(d, data);
	for (; end + 40 < MAX_BYTES; packets++) {
		for (uint32_t i = 0; i < 38; i++)
			data[end + i] = (uint8_t)(i * 5 + 1);
		data[end + 20] = (uint8_t)(0x80 | random_below(128));
		data[end + 21] = (uint8_t)random_below(128);
		end += 38;
		deflate_add(d, end, end - 16, packets ? 38 : DEFLATE_UNKNOWN,
			packets % 2 ? DEFLATE_SAME : DEFLATE_UNKNOWN);
	}
	deflate_finish(d, &packed);
	check_inflates(&packed, data, end);
	/* two bytes of each packet are random; the rest is a match */
	assert_true(packed.size < packets * 4);
	pb_buffer_fini(&packed);
	deflate_destroy(d);
	free(data);
}

#ifdef BRICK_HAVE_ZLIB
static uint8_t *pack(const uint8_t *data, uint32_t size, int level, int strategy, size_t *packed)
{
	z_stream z = {0};
	uint8_t *out = malloc(MAX_BYTES * 2);

	assert_non_null(out);
	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15, 8, strategy), Z_OK);
	z.next_in = (Bytef *)data;
	z.avail_in = size;
	z.next_out = out;
	z.avail_out = MAX_BYTES * 2;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*packed = z.total_out;
	deflateEnd(&z);
	return out;
}

/* Whatever zlib writes: stored, fixed and dynamic blocks, long codes, all levels. */
static void others_streams(void **state)
{
	static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
	uint8_t *data = malloc(MAX_BYTES);
	(void)state;

	assert_non_null(data);
	for (int kind = 0; kind < 6; kind++)
		for (int level = 0; level <= 9; level += 3)
			for (int i = 0; i < 4; i++) {
				uint32_t size = random_below(MAX_BYTES);
				size_t packed;
				make_data(data, size, kind);
				uint8_t *in = pack(data, size, level, strategies[i], &packed);
				assert_true(inflates(in, packed, data, size));
				free(in);
			}
	free(data);
}

/*
 * Damaged streams: never an overrun; what zlib takes comes out the same, what it refuses is refused
 * or, where the damage changes nothing (a header's window size), comes out as it went in.
 */
static void damaged_streams(void **state)
{
	uint8_t *data = malloc(5000), *theirs = malloc(MAX_BYTES);
	(void)state;

	assert_non_null(data);
	for (int round = 0; round < 20000; round++) {
		size_t packed;
		uint32_t size = 1 + random_below(5000);
		make_data(data, size, round % 6);
		uint8_t *in = pack(data, size, 1 + round % 9, round % 5, &packed), *copy;
		for (int i = 0; i <= round % 3; i++)
			in[random_below((uint32_t)packed)] ^= (uint8_t)(1 << random_below(8));
		if (round % 7 == 0)
			packed = random_below((uint32_t)packed + 1);
		copy = malloc(packed + 1);
		assert_non_null(copy);
		memcpy(copy, in, packed);
		uLongf length = MAX_BYTES;
		int result = uncompress(theirs, &length, copy, packed);
		if (result == Z_OK)
			assert_true(inflates(copy, packed, theirs, length));
		else
			(void)inflates(copy, packed, data, size);
		free(copy);
		free(in);
	}
	free(data);
	free(theirs);
}
#else
static void others_streams(void **state)
{
	(void)state;
	skip();
}

static void damaged_streams(void **state)
{
	(void)state;
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_hints),
		cmocka_unit_test(repetitions_vanish),
		cmocka_unit_test(others_streams),
		cmocka_unit_test(damaged_streams),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	inflater_destroy(inflater);
	return failed;
}

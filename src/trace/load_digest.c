/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of a recording: one event each (writer_digest.c). What is not a whole and possible digest
 * is refused, so that nobody compares a sketch of zeros. Times stay in ticks until build_finish().
 */
#include <stdlib.h>
#include "trace/load_own.h"

static double find_double(struct pb_reader event, const char *name, int *good)
{
	struct load_annotation a;
	struct pb_field f;

	if (load_find(event, EVENT_ANNOTATIONS, name, &a))
		for (struct pb_reader r = a.inside; pb_next(&r, &f) > 0;)
			if (f.number == ANNOTATION_DOUBLE && f.wire == PB_FIXED64)
				return pb_double_value(f.value);
	*good = 0;
	return 0;
}

/* A list of exactly `count` numbers. */
static int find_list(struct pb_reader event, const char *name, uint64_t *values, size_t count)
{
	struct load_annotation list, item;
	size_t n = 0;

	if (!load_find(event, EVENT_ANNOTATIONS, name, &list))
		return 0;
	for (struct pb_reader r = list.inside; load_next(&r, ANNOTATION_ARRAY, &item) > 0; n++) {
		if (n == count)
			return 0;
		values[n] = item.value;
	}
	return n == count;
}

static int digit_of(uint8_t c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'	      ? 62
	       : c == '/'	      ? 63
				      : -1;
}

/* Exactly `bytes` bytes, which must be no multiple of 3. */
static int unbase64(uint8_t *to, size_t bytes, struct pb_reader text)
{
	size_t digits = (bytes * 8 + 5) / 6;
	uint32_t word = 0, bits = 0;

	if (pb_size(text) != (bytes + 2) / 3 * 4)
		return 0;
	for (size_t i = 0, n = 0; i < digits; i++) {
		int digit = digit_of(text.at[i]);
		if (digit < 0)
			return 0;
		word = word << 6 | (uint32_t)digit;
		bits += 6;
		if (bits >= 8 && n < bytes) {
			bits -= 8;
			to[n++] = (uint8_t)(word >> bits);
		}
	}
	return 1;
}

static int find_sketch(struct pb_reader event, double *sketch)
{
	uint8_t bytes[BRICK_DIGEST_BUCKETS * 8];
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "sketch", &a) || !a.text.at ||
		!unbase64(bytes, sizeof bytes, a.text))
		return 0;
	for (size_t i = 0; i < BRICK_DIGEST_BUCKETS; i++) {
		uint64_t bits = 0;
		for (size_t k = 0; k < 8; k++)
			bits |= (uint64_t)bytes[i * 8 + k] << (8 * k);
		sketch[i] = pb_double_value(bits);
	}
	return 1;
}

static int read_digest(struct pb_reader event, struct brick_digest *d)
{
	int good = 1;

	d->dtype = (uint32_t)load_uint(event, "dtype", BRICK_DTYPE_OTHER);
	d->flags = (uint32_t)load_uint(event, "flags", 0);
	d->nan_count = load_uint(event, "nan", 0);
	d->plus_infinite_count = load_uint(event, "plus_infinite", 0);
	d->minus_infinite_count = load_uint(event, "minus_infinite", 0);
	d->nonfinite = load_uint(event, "nonfinite", 0);
	d->fnv64 = load_uint(event, "fnv64", 0);
	d->min = find_double(event, "min", &good);
	d->max = find_double(event, "max", &good);
	d->sum = find_double(event, "sum", &good);
	d->square_sum = find_double(event, "square_sum", &good);
	return good && find_list(event, "ne", d->ne, 4) && find_sketch(event, d->sketch) &&
	       build_digest_possible(d);
}

int load_digest(struct load *l, struct pb_reader event)
{
	struct run_digest digest = {.operation = NULL};
	struct load_annotation name;
	uint64_t process;

	if (!load_process(l, event, &process) || !read_digest(event, &digest.digest) ||
		!load_find(event, EVENT_ANNOTATIONS, "brick", &name) || !name.text.at)
		return 0;
	digest.process = (uint32_t)process;
	digest.brick = build_brick(&l->build, (const char *)name.text.at, pb_size(name.text));
	digest.layer = (int32_t)load_uint(event, "layer", (uint64_t)-1);
	digest.step = load_uint(event, "step", 0);
	digest.tokens = load_uint(event, "tokens", 0);
	digest.decode = load_uint(event, "decode", 0) != 0;
	digest.output = load_uint(event, "output", 0);
	find_list(event, "inputs", digest.inputs, BRICK_DIGEST_INPUTS);
	digest.ns = load_uint(event, "ticks", 0);
	if (digest.brick == RUN_NONE)
		return 0;
	load_text_of(l, event, "op", &digest.operation);
	load_text_of(l, event, "tensor", &digest.label);
	return build_digest(&l->build, &digest);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the fields of struct ggml_tensor (layout.h). All tensors are made in a zeroed buffer of
 * ours and without data, so the library computes and keeps nothing. Searches look at the bytes of
 * one tensor only: a tensor is shorter than ggml_tensor_overhead(), which includes an object
 * header.
 */
#include "attach/ggml/engine/layout.h"

#include <stdbool.h>
#include <stdlib.h>
#include "brick/error.h"

enum {
	NE0 = 1237,
	NE1 = 911,
	SIDE = 96, /* of the square tensors that differ in their operation only */
	BUFFER_BYTES = 1 << 16,
	OBJECT_BYTES = 32, /* least length of the header before each tensor */
};

struct specimens {
	const char *f32, *f16, *i32; /* NE0 x NE1 */
	const char *a, *b;	     /* SIDE x SIDE */
	const char *product, *sum;   /* of a and b */
	const char *view;	     /* of a */
	size_t bytes;		     /* that may be searched in each */
};

static const char probe_name[] = "brick: where is the name?";

static bool make_specimens(
	struct specimens *s, const struct tensor_constructors *make, void *context)
{
	size_t overhead = make->overhead();

	if (overhead <= OBJECT_BYTES || overhead * 10 > BUFFER_BYTES)
		return false;
	s->bytes = overhead - OBJECT_BYTES;
	s->f32 = make->new_2d(context, TENSOR_TYPE_F32, NE0, NE1);
	s->f16 = make->new_2d(context, TENSOR_TYPE_F16, NE0, NE1);
	s->i32 = make->new_2d(context, TENSOR_TYPE_I32, NE0, NE1);
	void *a = make->new_2d(context, TENSOR_TYPE_F32, SIDE, SIDE);
	void *b = make->new_2d(context, TENSOR_TYPE_F32, SIDE, SIDE);
	if (!s->f32 || !s->f16 || !s->i32 || !a || !b)
		return false;
	make->set_name((void *)s->f32, probe_name);
	s->a = a;
	s->b = b;
	s->product = make->mul_mat(context, a, b);
	s->sum = make->add(context, a, b);
	s->view = make->view_1d(context, a, SIDE, 0);
	return s->product && s->sum && s->view;
}

static int64_t int64_at(const char *tensor, size_t offset)
{
	int64_t value;
	memcpy(&value, tensor + offset, sizeof(value));
	return value;
}

static const char *pointer_at(const char *tensor, size_t offset)
{
	const char *value;
	memcpy(&value, tensor + offset, sizeof(value));
	return value;
}

/* What a field looks like: does it stand at this offset? */
typedef bool (*field_fn)(const struct specimens *s, size_t offset);

static bool is_type(const struct specimens *s, size_t at)
{
	return tensor_int32(s->f32, (uint16_t)at) == TENSOR_TYPE_F32 &&
	       tensor_int32(s->f16, (uint16_t)at) == TENSOR_TYPE_F16 &&
	       tensor_int32(s->i32, (uint16_t)at) == TENSOR_TYPE_I32;
}

static bool is_ne(const struct specimens *s, size_t at)
{
	return at + 32 <= s->bytes && int64_at(s->f32, at) == NE0 &&
	       int64_at(s->f32, at + 8) == NE1 && int64_at(s->f32, at + 16) == 1 &&
	       int64_at(s->f32, at + 24) == 1 && int64_at(s->view, at) == SIDE &&
	       int64_at(s->view, at + 8) == 1;
}

/* Operations: none for a leaf; a small number, different from each other, for the two results. */
static bool is_op(const struct specimens *s, size_t at)
{
	int32_t product = tensor_int32(s->product, (uint16_t)at),
		sum = tensor_int32(s->sum, (uint16_t)at);

	return tensor_int32(s->f32, (uint16_t)at) == 0 && tensor_int32(s->a, (uint16_t)at) == 0 &&
	       product != sum && product > 0 && product < 1024 && sum > 0 && sum < 1024;
}

static bool is_sources(const struct specimens *s, size_t at)
{
	return at + 16 <= s->bytes && pointer_at(s->product, at) == s->a &&
	       pointer_at(s->product, at + 8) == s->b && pointer_at(s->sum, at) == s->a &&
	       pointer_at(s->sum, at + 8) == s->b && pointer_at(s->view, at) == s->a;
}

static bool is_view_source(const struct specimens *s, size_t at)
{
	return pointer_at(s->view, at) == s->a && !pointer_at(s->product, at) &&
	       !pointer_at(s->f32, at);
}

static bool layout_is_name(const struct specimens *s, size_t at)
{
	return at + TENSOR_NAME_BYTES <= s->bytes &&
	       !memcmp(s->f32 + at, probe_name, sizeof(probe_name));
}

static int find_fields(
	struct tensor_layout *layout, const struct specimens *s, const char **refused)
{
	const struct {
		const char *name;
		field_fn looks_right;
		size_t width, step;
		uint16_t *offset;
	} fields[] = {
		{"type", is_type, 4, 4, &layout->type},
		{"ne", is_ne, 8, 8, &layout->ne},
		{"op", is_op, 4, 4, &layout->op},
		{"src", is_sources, 8, 8, &layout->source},
		{"view_src", is_view_source, 8, 8, &layout->view_source},
		{"name", layout_is_name, 1, 1, &layout->name},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint32_t places = 0;
		for (size_t at = 0; at + fields[i].width <= s->bytes; at += fields[i].step) {
			if (!fields[i].looks_right(s, at))
				continue;
			places++;
			*fields[i].offset = (uint16_t)at;
		}
		if (places != 1) {
			*refused = fields[i].name;
			return BRICK_EUNSUPPORTED;
		}
	}
	/* The sources end where the next known field begins, whatever is in between. */
	size_t capacity = layout->view_source > layout->source
				  ? (size_t)(layout->view_source - layout->source) / sizeof(void *)
				  : 2;
	layout->source_count = (uint16_t)(capacity < TENSOR_SOURCES ? capacity : TENSOR_SOURCES);
	return 0;
}

int tensor_layout_infer(
	struct tensor_layout *layout, const struct tensor_constructors *make, const char **refused)
{
	struct specimens specimens = {0};
	int status = BRICK_EUNSUPPORTED;

	*refused = "constructors";
	if (!make->init || !make->free || !make->new_2d || !make->mul_mat || !make->add ||
		!make->view_1d || !make->set_name || !make->overhead)
		return status;
	void *buffer = calloc(1, BUFFER_BYTES);
	if (!buffer)
		return status;
	void *context = make->init((struct tensor_init_params){BUFFER_BYTES, buffer, 1});
	if (context) {
		if (make_specimens(&specimens, make, context))
			status = find_fields(layout, &specimens, refused);
		make->free(context);
	}
	free(buffer);
	return status;
}

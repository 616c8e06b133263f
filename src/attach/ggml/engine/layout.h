/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the fields of struct ggml_tensor lie in the copy of ggml at hand. Its headers are not ours
 * and the struct changes between versions, so the offsets are found by building small tensors with
 * the library's own constructors and searching them for what was put in. Each field must be found
 * in exactly one place; if any is not, the layout is refused as a whole. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	TENSOR_DIMS = 4,
	TENSOR_SOURCES = 10, /* most that are read; engines have as many or fewer */
	TENSOR_OPERANDS =
		2, /* the first sources, which an operation works on, such as its weight */
	TENSOR_NAME_BYTES = 64,
	TENSOR_TYPE_F32 = 0, /* types: the numbers of the GGUF format, so all versions agree */
	TENSOR_TYPE_F16 = 1,
	TENSOR_TYPE_I32 = 26,
	TENSOR_TYPE_BF16 = 30,
	TENSOR_OP_NONE = 0,
};

/* Offsets in bytes. */
struct tensor_layout {
	uint16_t type;	 /* int32 */
	uint16_t ne;	 /* int64[4]: elements per dimension */
	uint16_t op;	 /* int32 */
	uint16_t source; /* pointers to tensors, source_count of them, NULL where unused */
	uint16_t source_count;
	uint16_t view_source; /* pointer to the tensor that this is a view of */
	uint16_t name;	      /* char[64] */
};

/* The argument of ggml_init(), by value: ggml's own layout. */
struct tensor_init_params {
	size_t bytes;
	void *buffer;
	_Bool no_alloc;
};

/* The constructors that the search needs, as the library exports them. */
struct tensor_constructors {
	void *(*init)(struct tensor_init_params params);
	void (*free)(void *context);
	void *(*new_2d)(void *context, int type, int64_t ne0, int64_t ne1);
	void *(*mul_mat)(void *context, void *a, void *b);
	void *(*add)(void *context, void *a, void *b);
	void *(*view_1d)(void *context, void *a, int64_t ne0, size_t offset);
	void *(*set_name)(void *tensor, const char *name);
	size_t (*overhead)(void);
};

/* 0 and *layout; or BRICK_EUNSUPPORTED and the field that was not found, a static text. */
int tensor_layout_infer(
	struct tensor_layout *layout, const struct tensor_constructors *make, const char **refused);

static inline const void *tensor_field(const void *tensor, uint16_t offset)
{
	return (const char *)tensor + offset;
}

static inline int32_t tensor_int32(const void *tensor, uint16_t offset)
{
	int32_t value;
	memcpy(&value, tensor_field(tensor, offset), sizeof(value));
	return value;
}

static inline const int64_t *tensor_ne(const struct tensor_layout *layout, const void *tensor)
{
	return tensor_field(tensor, layout->ne);
}

/*
 * Strides in bytes. They stand behind the shape in all versions seen, but the search does not prove
 * that: compare them with the engine's size of the tensor.
 */
static inline const uint64_t *tensor_nb(const struct tensor_layout *layout, const void *tensor)
{
	return (const uint64_t *)(tensor_ne(layout, tensor) + TENSOR_DIMS);
}

static inline const void *tensor_source(
	const struct tensor_layout *layout, const void *tensor, uint32_t index)
{
	const void *source;
	memcpy(&source, tensor_field(tensor, (uint16_t)(layout->source + index * sizeof(source))),
		sizeof(source));
	return source;
}

/* The tensor that this is a view of; NULL: it is no view. */
static inline const void *tensor_view_source(const struct tensor_layout *layout, const void *tensor)
{
	const void *source;
	memcpy(&source, tensor_field(tensor, layout->view_source), sizeof(source));
	return source;
}

/* True for a weight or an input: it has no operation, and is no view. */
static inline _Bool tensor_is_leaf(const struct tensor_layout *layout, const void *tensor)
{
	return tensor_int32(tensor, layout->op) == TENSOR_OP_NONE &&
	       !tensor_view_source(layout, tensor);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens (torch_tokens.h): nothing is computed, and no operator runs. A call makes new tokens if
 *   each sequence has one token;
 *   it has no cache, and each sequence is one token longer than in the module's call before, which
 *   transformers' generate() asks for, or which happens several times in a row: the inputs of an
 *   encoder that are sorted by length grow so now and then;
 *   drafted tokens are checked: the cache holds some, and transformers' assisted decoding calls.
 */
#include "attach/torch/torch_tokens.h"

#include <stdint.h>
#include <string.h>

enum {
	FRAMES = 16,  /* from the call of the model to the function that decodes */
	IN_A_ROW = 3, /* calls that grow, before they are generation */
};

struct shape {
	ptrdiff_t dimensions;
	long long rows, length; /* of one or two dimensions, each at least 1 */
};

static python_object *argument_named(const struct torch_arguments *a, const char *name)
{
	for (ptrdiff_t i = 0; a->names && i < py.Tuple_Size(a->names); i++) {
		const char *letters = py.Unicode_AsUTF8(py.Tuple_GetItem(a->names, i));
		if (letters && !strcmp(letters, name))
			return a->values[a->count + (size_t)i];
	}
	py.Err_Clear();
	return NULL;
}

/* False if it is no tensor, or of other dimensions. */
static bool read_shape(python_object *tensor, struct shape *shape)
{
	python_object *sizes = tensor ? python_attribute(tensor, "shape") : NULL;
	ptrdiff_t dimensions = sizes ? py.Tuple_Size(sizes) : 0;

	*shape = (struct shape){.dimensions = dimensions, .rows = 1};
	if (dimensions == 1 || dimensions == 2)
		shape->length = python_number(py.Tuple_GetItem(sizes, dimensions - 1));
	if (dimensions == 2)
		shape->rows = python_number(py.Tuple_GetItem(sizes, 0));
	py.Err_Clear();
	python_drop(sizes);
	return shape->rows > 0 && shape->length > 0;
}

/* Entries of a mask that are 0; 0: it has another shape, or lies elsewhere than in memory of ours.
 */
static uint64_t masked(python_object *mask, const struct shape *tokens)
{
	struct shape shape;
	python_object *device = NULL, *kind = NULL, *bytes = NULL, *address = NULL;
	uint64_t count = 0;

	if (!mask || !read_shape(mask, &shape) || shape.dimensions != 2 ||
		shape.rows != tokens->rows || shape.length != tokens->length)
		return 0;
	device = python_attribute(mask, "device");
	kind = device ? python_attribute(device, "type") : NULL;
	const char *letters = kind ? py.Unicode_AsUTF8(kind) : NULL;
	if (letters && !strcmp(letters, "cpu") && python_true(python_ask(mask, "is_contiguous")) &&
		!python_true(python_ask(mask, "is_floating_point"))) {
		bytes = python_ask(mask, "element_size");
		address = python_ask(mask, "data_ptr");
	}
	const char *at = address ? py.Long_AsVoidPtr(address) : NULL;
	size_t each = bytes ? (size_t)python_number(bytes) : 0;
	for (long long i = 0; at && (each == 1 || each == 8) && i < shape.rows * shape.length; i++)
		count += !memcmp(at + (size_t)i * each, (const char[8]){0}, each);
	py.Err_Clear();
	python_drop(address);
	python_drop(bytes);
	python_drop(kind);
	python_drop(device);
	return count;
}

/* Tokens in it; 0: it is empty, or a kind that would have to compute them. */
static long long cached(python_object *cache)
{
	char class[32];

	python_class(cache, class, sizeof(class));
	if (strcmp(class, "DynamicCache") != 0)
		return 0;
	python_object *length = python_ask(cache, "get_seq_length");
	long long tokens = python_number(length);
	python_drop(length);
	return tokens;
}

static void torch_tokens_pad(
	const struct torch_arguments *arguments, const struct shape *shape, struct torch_call *call)
{
	call->padding = masked(argument_named(arguments, "attention_mask"), shape);
	call->tokens -= call->padding;
}

void torch_tokens_count(
	struct torch_thread *t, const struct torch_arguments *arguments, struct torch_call *call)
{
	struct torch_length before = t->more->length;
	python_object *input = argument_named(arguments, "input_ids");
	python_object *cache = argument_named(arguments, "past_key_values");
	struct shape shape;

	t->more->length = (struct torch_length){0};
	if (!input && arguments->count)
		input = arguments->values[0];
	if (!cache || cache == py.none)
		cache = argument_named(arguments, "cache");
	if (!input || !read_shape(input, &shape) ||
		python_true(python_ask(input, "is_floating_point")))
		return;
	call->tokens = (uint64_t)(shape.rows * shape.length);
	if (call->is_training) {
		torch_tokens_pad(arguments, &shape, call);
		return;
	}
	bool has_cache = cache && cache != py.none;
	bool grows = !has_cache && before.module == call->module && before.rows == shape.rows &&
		     before.length + 1 == shape.length;
	unsigned grown = grows ? before.grown + 1 : 0;
	if (!has_cache)
		t->more->length =
			(struct torch_length){call->module, shape.rows, shape.length, grown};
	if (shape.dimensions == 2 && shape.length == 1) {
		call->is_decode = true;
	} else if (has_cache) {
		call->is_decode =
			cached(cache) > 0 && python_is_called_by("assisted_decoding", true, FRAMES);
	} else if (shape.dimensions == 2 && grows &&
		   (grown >= IN_A_ROW || python_is_called_by("generate", false, FRAMES))) {
		call->is_decode = true;
		call->tokens = (uint64_t)shape.rows;
		call->repeated = (uint64_t)(shape.rows * before.length);
	}
	if (!call->is_decode)
		torch_tokens_pad(arguments, &shape, call);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens (torch_tokens.h): nothing is computed, and no operator runs. A call makes new tokens if
 *   each sequence has one token;
 *   each sequence is one token longer than in the module's call before, which a generate() asks
 *   for, or which happens several times in a row: the inputs of an encoder that are sorted by
 *   length grow so now and then (without a cache the other tokens are computed again);
 *   drafted tokens are checked: the cache holds some, and transformers' assisted decoding calls;
 *   its sequences lie in one row, and each has one token (transformers' continuous batching). If
 *   others have more, these are prompts, and the batch is mixed.
 * What classifier-free guidance calls the model for is no token of the answer.
 */
#include "attach/torch/torch_tokens.h"

#include <stdint.h>
#include <string.h>
#include "attach/torch/torch_batch.h"

enum {
	FRAMES = 16,  /* from the call of the model to the function that decodes */
	IN_A_ROW = 3, /* calls that grow, before they are generation */
};

struct shape {
	ptrdiff_t dimensions;
	long long rows, length; /* of one or two dimensions, each at least 1 */
};

/*
 * The argument of this name; NULL: there is none. Models of sentence-transformers get a dictionary
 * of arguments as their first one.
 */
static python_object *argument_named(const struct torch_arguments *a, const char *name)
{
	for (ptrdiff_t i = 0; a->names && i < py.Tuple_Size(a->names); i++) {
		const char *letters = py.Unicode_AsUTF8(py.Tuple_GetItem(a->names, i));
		if (letters && !strcmp(letters, name))
			return a->values[a->count + (size_t)i];
	}
	py.Err_Clear();
	return a->count && py.Object_IsInstance(a->values[0], py.dict_type) == 1
		       ? py.Dict_GetItemString(a->values[0], name)
		       : NULL;
}

/* The same, but NULL for None. */
static python_object *argument_given(const struct torch_arguments *a, const char *name)
{
	python_object *argument = argument_named(a, name);

	return argument == py.none ? NULL : argument;
}

/* False if it is no tensor, or of other dimensions. embedded: 1 if each token is a vector. */
static bool read_shape(python_object *tensor, ptrdiff_t embedded, struct shape *shape)
{
	python_object *sizes = tensor ? python_attribute(tensor, "shape") : NULL;
	ptrdiff_t dimensions = sizes ? py.Tuple_Size(sizes) - embedded : 0;

	*shape = (struct shape){.dimensions = dimensions, .rows = 1};
	if (dimensions == 1 || dimensions == 2)
		shape->length = python_number(py.Tuple_GetItem(sizes, dimensions - 1));
	if (dimensions == 2)
		shape->rows = python_number(py.Tuple_GetItem(sizes, 0));
	py.Err_Clear();
	python_drop(sizes);
	return shape->rows > 0 && shape->length > 0;
}

/* Whole numbers, and the bytes of each, in memory of ours. NULL: it is another tensor. */
static const char *torch_tokens_numbers(python_object *tensor, size_t *each)
{
	python_object *device = python_attribute(tensor, "device"), *bytes = NULL, *address = NULL;
	python_object *kind = device ? python_attribute(device, "type") : NULL;
	const char *letters = kind ? py.Unicode_AsUTF8(kind) : NULL;

	if (letters && !strcmp(letters, "cpu") &&
		python_true(python_ask(tensor, "is_contiguous")) &&
		!python_true(python_ask(tensor, "is_floating_point"))) {
		bytes = python_ask(tensor, "element_size");
		address = python_ask(tensor, "data_ptr");
	}
	const char *at = address ? py.Long_AsVoidPtr(address) : NULL;
	*each = bytes ? (size_t)python_number(bytes) : 0;
	py.Err_Clear();
	python_drop(address);
	python_drop(bytes);
	python_drop(kind);
	python_drop(device);
	return *each == 1 || *each == 4 || *each == 8 ? at : NULL;
}

static bool torch_tokens_is_masked(const char *at, size_t each, long long place)
{
	return !memcmp(at + (size_t)place * each, (const char[8]){0}, each);
}

/*
 * Masked tokens of a mask of attention, [rows][1][length][total]: generate() makes one for a cache
 * of fixed size. Each token may attend up to itself, and a masked one not even to that. The last
 * one is a token of the prompt, so its own place is the last that it may attend to.
 */
static uint64_t torch_tokens_masked_in_square(
	const char *at, size_t each, const struct shape *tokens, long long total)
{
	uint64_t count = 0;

	for (long long row = 0; row < tokens->rows; row++) {
		long long from = row * tokens->length * total, last = total - 1;
		long long end = from + (tokens->length - 1) * total;
		while (last >= 0 && torch_tokens_is_masked(at, each, end + last))
			last--;
		long long first = last + 1 - tokens->length;
		for (long long i = 0; first >= 0 && i < tokens->length; i++)
			count += torch_tokens_is_masked(at, each, from + i * total + first + i);
	}
	return count;
}

/* Tokens that a mask masks; 0: it has another shape, or lies elsewhere than in memory of ours. */
static uint64_t masked(python_object *mask, const struct shape *tokens)
{
	long long sizes[4] = {0};
	size_t each;
	uint64_t count = 0;
	python_object *shape = mask ? python_attribute(mask, "shape") : NULL;
	ptrdiff_t dimensions = shape ? py.Tuple_Size(shape) : 0;

	for (ptrdiff_t i = 0; i < dimensions && dimensions <= 4; i++)
		sizes[i] = python_number(py.Tuple_GetItem(shape, i));
	py.Err_Clear();
	python_drop(shape);
	bool is_square = dimensions == 4 && sizes[1] == 1 && sizes[2] == tokens->length &&
			 sizes[3] >= tokens->length;
	bool is_plain = dimensions == 2 && sizes[1] == tokens->length;
	if (sizes[0] != tokens->rows || (!is_square && !is_plain))
		return 0;
	const char *at = torch_tokens_numbers(mask, &each);
	if (at && is_square)
		return torch_tokens_masked_in_square(at, each, tokens, sizes[3]);
	for (long long i = 0; at && i < tokens->rows * tokens->length; i++)
		count += torch_tokens_is_masked(at, each, i);
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

/*
 * The input whose tokens count: a decoder is given its own beside the output of an encoder, and
 * tokens may be vectors already.
 */
struct torch_tokens_input {
	python_object *ids;
	ptrdiff_t embedded;
	const char *mask;
};

static struct torch_tokens_input torch_tokens_input(const struct torch_arguments *a)
{
	python_object *first = a->count && a->values[0] != py.none ? a->values[0] : NULL;
	python_object *ids = argument_given(a, "input_ids");

	if (ids)
		return (struct torch_tokens_input){ids, 0, "attention_mask"};
	if (first && !python_true(python_ask(first, "is_floating_point")))
		return (struct torch_tokens_input){first, 0, "attention_mask"};
	if ((ids = argument_given(a, "tokens")))
		return (struct torch_tokens_input){ids, 0, "attention_mask"};
	if ((ids = argument_given(a, "decoder_input_ids")))
		return (struct torch_tokens_input){ids, 0, "decoder_attention_mask"};
	return (struct torch_tokens_input){argument_given(a, "inputs_embeds"), 1, "attention_mask"};
}

static void torch_tokens_pad(
	python_object *mask, const struct shape *shape, struct torch_call *call)
{
	call->padding = masked(mask, shape);
	call->tokens -= call->padding;
}

static long long torch_tokens_end(const char *ends, size_t each, long long sequence)
{
	int32_t narrow = 0;
	int64_t wide = 0;

	memcpy(each == 4 ? (void *)&narrow : (void *)&wide, ends + (size_t)sequence * each, each);
	return each == 4 ? narrow : wide;
}

/*
 * A batch that packs its sequences into one row, up to the row's end or to where it is filled up.
 * If no scheduler has said more, a sequence of one token makes a new one, and others are prompts.
 * False: it is another batch, or only the device knows its sequences.
 */
static bool torch_tokens_unpack(
	const struct torch_arguments *a, const struct shape *row, struct torch_call *call)
{
	python_object *tensor = argument_given(a, "cu_seq_lens_q");
	struct shape ends;
	size_t each = 0;
	const char *at = tensor && read_shape(tensor, 0, &ends) && ends.dimensions == 1
				 ? torch_tokens_numbers(tensor, &each)
				 : NULL;
	uint64_t outputs = 0;
	long long begin = 0;

	if (!at || each == 1)
		return false;
	for (long long i = 1; i < ends.length; i++) {
		long long end = torch_tokens_end(at, each, i);
		if (end < begin || end > row->length)
			return false;
		outputs += end - begin == 1;
		begin = end;
	}
	if (row->rows != 1 || !begin)
		return false;
	uint64_t prompt;
	call->has_requests = torch_batch_take((uint64_t)begin, &prompt);
	outputs = call->has_requests ? (uint64_t)begin - prompt : outputs;
	call->tokens = (uint64_t)begin;
	call->padding = (uint64_t)(row->length - begin);
	call->outputs = outputs;
	call->is_decode = outputs == call->tokens;
	return true;
}

/* The same of a device's batch: true if each sequence has one token. */
static bool torch_tokens_each_has_one(const struct torch_arguments *a, const struct shape *tokens)
{
	python_object *most = argument_given(a, "max_length_q");
	struct shape ends;

	return most && read_shape(argument_given(a, "cu_seq_lens_q"), 0, &ends) &&
	       ends.dimensions == 1 && ends.length == tokens->length + 1 &&
	       python_number(most) == 1;
}

/* What the model would say without the prompt, or to another prompt, stands beside each token. */
static void torch_tokens_guide(struct torch_call *call)
{
	call->guidance = call->tokens + call->repeated;
	call->tokens = call->repeated = 0;
}

void torch_tokens_count(
	struct torch_thread *t, const struct torch_arguments *arguments, struct torch_call *call)
{
	bool guides =
		!call->is_training && python_is_called_by("get_unconditional_logits", false, 1);
	struct torch_length *last = &t->more->lengths[guides], before = *last;
	const struct torch_tokens_input input = torch_tokens_input(arguments);
	python_object *cache = argument_given(arguments, "past_key_values");
	python_object *mask = argument_given(arguments, input.mask);
	struct shape shape;

	*last = (struct torch_length){0};
	cache = cache ? cache : argument_given(arguments, "cache");
	if (!input.ids || !read_shape(input.ids, input.embedded, &shape) ||
		(!input.embedded && python_true(python_ask(input.ids, "is_floating_point"))))
		return;
	call->tokens = (uint64_t)(shape.rows * shape.length);
	if (call->is_training) {
		torch_tokens_pad(mask, &shape, call);
		return;
	}
	bool grows = before.module == call->module && before.rows == shape.rows &&
		     before.length + 1 == shape.length;
	unsigned grown = grows ? before.grown + 1 : 0;
	if (!cache || shape.length > 1)
		*last = (struct torch_length){call->module, shape.rows, shape.length, grown};
	if (cache && torch_tokens_unpack(arguments, &shape, call))
		return;
	if (shape.dimensions == 2 && shape.length == 1) {
		call->is_decode = true;
	} else if (cache && (torch_tokens_each_has_one(arguments, &shape) ||
				    (cached(cache) > 0 && python_is_called_by("assisted_decoding",
								  true, FRAMES)))) {
		call->is_decode = true;
	} else if (shape.dimensions == 2 && grows &&
		   (grown >= IN_A_ROW || python_is_called_by("generate", false, FRAMES))) {
		call->is_decode = true;
		call->tokens = (uint64_t)shape.rows;
		call->repeated = cache ? 0 : (uint64_t)(shape.rows * before.length);
	}
	if (!call->is_decode)
		torch_tokens_pad(mask, &shape, call);
	else if (guides)
		torch_tokens_guide(call);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of an operation from shapes and types; the formulas stand in node_work.h. Shapes come from
 * the profiled program's memory: products are checked for overflow. A mask of a long prompt has
 * millions of values: they are compared as integers, a block of columns at a time, in loops that
 * compilers vectorize.
 */
#include "attach/ggml/engine/node_work.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "base/words_among.h"
#include "brick/registry.h"

/* A count that knows when it has stopped being one. */
struct count {
	uint64_t value;
	int overflow;
};

static struct count node_work_times(struct count a, uint64_t b)
{
	a.overflow |= __builtin_mul_overflow(a.value, b, &a.value);
	return a;
}

static struct count plus(struct count a, struct count b)
{
	a.overflow |= b.overflow | __builtin_add_overflow(a.value, b.value, &a.value);
	return a;
}

static struct count node_work_number(int64_t value)
{
	return (struct count){value < 0 ? 0 : (uint64_t)value, value < 0};
}

static struct count elements_of(const struct work_tensor *t)
{
	struct count n = node_work_number(t->ne[0]);

	for (int i = 1; i < WORK_DIMS; i++)
		n = node_work_times(n, node_work_number(t->ne[i]).value);
	return n;
}

static struct count node_work_rows_of(const struct work_tensor *t)
{
	struct count n = node_work_number(t->ne[1]);

	return node_work_times(node_work_times(n, node_work_number(t->ne[2]).value),
		node_work_number(t->ne[3]).value);
}

/* Bytes of one row. */
static struct count row_bytes(const struct work_tensor *t)
{
	if (!t->block)
		return (struct count){0, t->ne[0] != 0};
	return node_work_times(node_work_number(t->ne[0] / (int64_t)t->block), t->block_bytes);
}

static struct count node_work_size_of(const struct work_tensor *t)
{
	return node_work_times(row_bytes(t), node_work_rows_of(t).value);
}

uint64_t work_tensor_bytes(const struct work_tensor *t)
{
	struct count size = node_work_size_of(t);

	return size.overflow ? 0 : size.value;
}

static struct count double_of(struct count a)
{
	return node_work_times(a, 2);
}

/* The three counts of a node while they are made. */
struct accumulator {
	struct count elements, bytes, flops;
	int bytes_known, flops_known;
	uint32_t flags;
};

typedef void (*work_fn)(const struct work_node *node, struct accumulator *t);

static void node_work_count_all(
	const struct work_node *node, struct accumulator *t, struct count flops)
{
	t->elements = elements_of(&node->out);
	t->bytes = node_work_size_of(&node->out);
	for (int i = 0; i < WORK_SOURCES; i++)
		t->bytes = plus(t->bytes, node_work_size_of(&node->source[i]));
	t->flops = flops;
	t->bytes_known = t->flops_known = 1;
}

static void node_work_product(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0];

	node_work_count_all(node, t,
		double_of(node_work_times(
			elements_of(&node->out), node_work_number(a->ne[0]).value)));
}

static void outer_product(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0];

	node_work_count_all(node, t,
		double_of(node_work_times(
			elements_of(&node->out), node_work_number(a->ne[1]).value)));
}

/*
 * Of the experts' weights, which are all in source[which], only those that ids choose are read; ids
 * is experts used x tokens. One token chooses different experts. Several tokens may share some,
 * which no shape shows.
 */
static void only_chosen(const struct work_node *node, struct accumulator *t, int which,
	int64_t experts, struct count each)
{
	const struct work_tensor *ids = &node->source[2];
	struct count pairs = elements_of(ids), all = node_work_number(experts);

	t->bytes = plus(node_work_size_of(&node->out),
		plus(node_work_size_of(&node->source[!which]), node_work_size_of(ids)));
	t->bytes = plus(
		t->bytes, node_work_times(each, pairs.value < all.value ? pairs.value : all.value));
	if (node_work_rows_of(ids).value > 1 && ids->ne[0] < experts)
		t->flags = BRICK_SITE_AT_MOST;
}

/* a: K x M x experts */
static void expert_product(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0];

	node_work_product(node, t);
	only_chosen(node, t, 0, a->ne[2],
		node_work_times(row_bytes(a), node_work_number(a->ne[1]).value));
}

enum { MASK = 3 };

/* q: D x queries x heads x batch; k: D x KV x ...; v: Dv x KV x ...; mask: KV x queries x ... */
static void attention(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *q = &node->source[0], *k = &node->source[1];
	const struct work_tensor *v = &node->source[2];
	struct count widths = plus(node_work_number(q->ne[0]), node_work_number(v->ne[0]));
	struct count scores =
		node_work_times(node_work_rows_of(q), node_work_number(k->ne[1]).value);

	node_work_count_all(node, t, double_of(node_work_times(scores, widths.value)));
	if (node->source[MASK].ne[0])
		t->flags = BRICK_SITE_AT_MOST;
}

/* A mask of one plane for all heads, or one for each part of the batch. */
static bool mask_fits(const struct work_node *node)
{
	const struct work_tensor *q = &node->source[0], *k = &node->source[1];
	const struct work_tensor *v = &node->source[2], *mask = &node->source[MASK];

	return mask->ne[0] == k->ne[1] && v->ne[1] == k->ne[1] && mask->ne[1] >= q->ne[1] &&
	       q->ne[1] > 0 && mask->ne[2] == 1 && mask->ne[3] > 0 && q->ne[3] % mask->ne[3] == 0 &&
	       k->ne[3] % mask->ne[3] == 0 && v->ne[3] % mask->ne[3] == 0;
}

/* Bytes of one position, in all heads of a plane's part of the batch. */
static struct count position_bytes(const struct work_tensor *t, uint64_t planes)
{
	return node_work_times(node_work_times(row_bytes(t), node_work_number(t->ne[2]).value),
		node_work_number(t->ne[3]).value / planes);
}

bool work_mask_of(struct work_masked *masked, const struct work_node *node)
{
	const struct work_tensor *q = &node->source[0], *k = &node->source[1];
	const struct work_tensor *v = &node->source[2], *mask = &node->source[MASK];

	if (strcmp(node->operation, "FLASH_ATTN_EXT") || !mask_fits(node))
		return false;
	uint64_t planes = node_work_number(mask->ne[3]).value;
	struct count heads = node_work_times(
		node_work_number(q->ne[2]), node_work_number(q->ne[3]).value / planes);
	struct count widths = plus(node_work_number(q->ne[0]), node_work_number(v->ne[0]));
	struct count pair = double_of(node_work_times(heads, widths.value));
	struct count column = plus(position_bytes(k, planes), position_bytes(v, planes));
	struct count fixed = plus(plus(node_work_size_of(q), node_work_size_of(&node->out)),
		node_work_size_of(&node->source[4]));

	fixed = plus(fixed,
		node_work_times(node_work_times(row_bytes(mask), node_work_number(q->ne[1]).value),
			planes));
	*masked = (struct work_masked){MASK, node_work_number(k->ne[1]).value,
		node_work_number(q->ne[1]).value, planes, pair.value, column.value, fixed.value};
	return !(pair.overflow | column.overflow | fixed.overflow | widths.overflow);
}

int work_seen(const struct work_masked *masked, uint64_t pairs, uint64_t columns,
	struct work_counts *counts)
{
	struct count flops = node_work_times((struct count){pairs, 0}, masked->pair_flops);
	struct count bytes = node_work_times((struct count){columns, 0}, masked->column_bytes);

	bytes = plus(bytes, (struct count){masked->fixed_bytes, 0});
	counts->flops = flops.value;
	counts->bytes = bytes.value;
	return flops.overflow | bytes.overflow ? -EOVERFLOW : 0;
}

static void per_element(const struct work_node *node, struct accumulator *t, uint64_t flops)
{
	node_work_count_all(node, t, node_work_times(elements_of(&node->out), flops));
}

/* The mask may be padded to more rows than are asked for. */
static void softmax(const struct work_node *node, struct accumulator *t)
{
	struct work_node bare = *node;

	if (bare.source[1].ne[1] > node->out.ne[1])
		bare.source[1].ne[1] = node->out.ne[1];
	per_element(&bare, t, 5);
}

/* b: M x experts */
static void expert_sum(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 1);
	only_chosen(node, t, 1, node->source[1].ne[1], row_bytes(&node->source[1]));
}

/* Of the kernel only the shape is asked for. */
static void columns_of_image(const struct work_node *node, struct accumulator *t)
{
	node_work_count_all(node, t, node_work_number(0));
	t->bytes = plus(node_work_size_of(&node->source[1]), node_work_size_of(&node->out));
}

static void reduction(const struct work_node *node, struct accumulator *t)
{
	node_work_count_all(node, t, elements_of(&node->source[0]));
}

/* kernel: KW x KH x channels in x channels out */
static void convolution(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *kernel = &node->source[0];
	struct count reach = node_work_times(node_work_times(node_work_number(kernel->ne[0]),
						     node_work_number(kernel->ne[1]).value),
		node_work_number(kernel->ne[2]).value);

	node_work_count_all(
		node, t, double_of(node_work_times(elements_of(&node->out), reach.value)));
}

/* As many rows are read from a, in its type, as come out. */
static void node_work_gather(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0], *ids = &node->source[1];

	per_element(node, t, 0);
	t->bytes = plus(node_work_times(row_bytes(a), node_work_rows_of(&node->out).value),
		plus(node_work_size_of(ids), node_work_size_of(&node->out)));
}

/* b's rows go into a view of a whole cache, in the cache's type. */
static void scatter(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *b = &node->source[0], *ids = &node->source[1];

	per_element(node, t, 0);
	t->elements = elements_of(b);
	t->bytes = plus(node_work_times(row_bytes(&node->out), node_work_rows_of(b).value),
		plus(node_work_size_of(ids), node_work_size_of(b)));
}

/* The source that a copy goes into is the result itself: counted once. */
static void node_work_copy(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 0);
	t->bytes = plus(node_work_size_of(&node->source[0]), node_work_size_of(&node->out));
}

static void node_work_nothing(const struct work_node *node, struct accumulator *t)
{
	t->bytes_known = t->flops_known = 1;
}

/* Operations that are counted alike, with blanks between their names. */
static const struct operations {
	const char *names;
	work_fn count; /* NULL: so many flops of each element are all there is to count */
	uint64_t flops;
} node_work_operations[] = {
	{"MUL_MAT", node_work_product, 0},
	{"MUL_MAT_ID", expert_product, 0},
	{"OUT_PROD", outer_product, 0},
	{"FLASH_ATTN_EXT", attention, 0},
	{"SOFT_MAX", softmax, 0},
	{"NORM GROUP_NORM", NULL, 5},
	{"RMS_NORM+MUL", NULL, 4},
	{"RMS_NORM L2_NORM ROPE", NULL, 3},
	{"GET_ROWS", node_work_gather, 0},
	{"SET_ROWS", scatter, 0},
	{"CPY DUP CONT", node_work_copy, 0},
	{"CONV_2D", convolution, 0},
	{"SUM SUM_ROWS CUMSUM MEAN ARGMAX", reduction, 0},
	{"ADD ADD1 SUB MUL DIV SCALE SQR SQRT LOG SIN COS CLAMP ABS SGN NEG STEP TANH ELU RELU "
	 "SIGMOID GELU GELU_QUICK GELU_ERF SILU HARDSWISH HARDSIGMOID EXP SOFTPLUS LEAKY_RELU",
		NULL, 1},
	{"ADD_ID", expert_sum, 0},
	{"REGLU GEGLU SWIGLU SWIGLU_OAI GEGLU_ERF GEGLU_QUICK", NULL, 2},
	{"REPEAT CONCAT PAD FILL", NULL, 0},
	{"IM2COL", columns_of_image, 0},
	{"NONE RESHAPE VIEW PERMUTE TRANSPOSE", node_work_nothing, 0},
};

static const struct operations *node_work_find(const char *name)
{
	for (size_t i = 0; i < sizeof(node_work_operations) / sizeof(*node_work_operations); i++)
		if (words_among(node_work_operations[i].names, name, strlen(name)))
			return &node_work_operations[i];
	return NULL;
}

static uint32_t node_work_keep(uint64_t *out, struct count count, int known, uint32_t flag)
{
	*out = known && !count.overflow ? count.value : 0;
	return known && !count.overflow ? flag : 0;
}

void work_count(const struct work_node *node, struct work_counts *counts)
{
	struct accumulator t = {0};
	const struct operations *operation = node_work_find(node->operation);

	if (!operation)
		t.elements = elements_of(&node->out);
	else if (operation->count)
		operation->count(node, &t);
	else
		per_element(node, &t, operation->flops);
	counts->flags =
		t.flags |
		node_work_keep(&counts->elements, t.elements, 1, BRICK_SITE_HAS_ELEMENTS) |
		node_work_keep(&counts->bytes, t.bytes, t.bytes_known, BRICK_SITE_HAS_BYTES) |
		node_work_keep(&counts->flops, t.flops, t.flops_known, BRICK_SITE_HAS_FLOPS);
}

bool work_is_empty(const char *operation)
{
	const struct operations *known = node_work_find(operation);

	return known && known->count == node_work_nothing;
}

enum { BLOCK = 1024 };

/*
 * visible_*: how many values of a row are not minus infinity. seen_*: the same, and marks the
 * columns in which it meets them.
 */
#define COUNT_VISIBLE(suffix, type, minus_infinity)                                       \
	static uint32_t visible_##suffix(const type *values, uint32_t count)              \
	{                                                                                 \
		uint32_t visible = 0;                                                     \
                                                                                          \
		for (uint32_t i = 0; i < count; i++)                                      \
			visible += values[i] != (minus_infinity);                         \
		return visible;                                                           \
	}                                                                                 \
	static uint32_t seen_##suffix(const type *values, uint32_t *seen, uint32_t count) \
	{                                                                                 \
		uint32_t visible = 0;                                                     \
                                                                                          \
		for (uint32_t i = 0; i < count; i++) {                                    \
			uint32_t is = values[i] != (minus_infinity);                      \
			visible += is;                                                    \
			seen[i] |= is;                                                    \
		}                                                                         \
		return visible;                                                           \
	}

COUNT_VISIBLE(f32, uint32_t, 0xff800000)
COUNT_VISIBLE(f16, uint16_t, 0xfc00)

static void count_block(const char *first, const struct mask_shape *s, uint32_t width,
	uint64_t *pairs, uint64_t *columns)
{
	uint64_t row_bytes = s->columns * (s->half ? 2 : 4);
	uint32_t seen[BLOCK];

	if (s->rows == 1) {
		/* one row alone, as every step of one token has: its columns are its pairs */
		uint32_t visible = s->half ? visible_f16((const uint16_t *)first, width)
					   : visible_f32((const uint32_t *)first, width);
		*pairs += visible;
		*columns += visible;
		return;
	}
	memset(seen, 0, width * sizeof(*seen));
	for (uint64_t row = 0; row < s->rows; row++) {
		const void *values = first + row * row_bytes;
		*pairs += s->half ? seen_f16(values, seen, width) : seen_f32(values, seen, width);
	}
	for (uint32_t i = 0; i < width; i++)
		*columns += seen[i];
}

void mask_count(const void *values, const struct mask_shape *s, uint64_t *pairs, uint64_t *seen)
{
	uint64_t bytes = s->half ? 2 : 4;

	*pairs = *seen = 0;
	for (uint64_t plane = 0; plane < s->planes; plane++) {
		const char *first = (const char *)values + plane * s->stride * s->columns * bytes;
		for (uint64_t at = 0; at < s->columns; at += BLOCK) {
			uint64_t left = s->columns - at;
			count_block(first + at * bytes, s, left < BLOCK ? (uint32_t)left : BLOCK,
				pairs, seen);
		}
	}
}

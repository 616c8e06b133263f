/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of an operation from shapes and types; the formulas stand in work.h. Shapes come from the
 * profiled program's memory: products are checked for overflow. Called on the slow path only.
 */
#include "attach/ggml/work.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "brick/registry.h"

/* A count that knows when it has stopped being one. */
struct count {
	uint64_t value;
	int overflow;
};

static struct count times(struct count a, uint64_t b)
{
	a.overflow |= __builtin_mul_overflow(a.value, b, &a.value);
	return a;
}

static struct count plus(struct count a, struct count b)
{
	a.overflow |= b.overflow | __builtin_add_overflow(a.value, b.value, &a.value);
	return a;
}

static struct count number(int64_t value)
{
	return (struct count){value < 0 ? 0 : (uint64_t)value, value < 0};
}

static struct count elements_of(const struct work_tensor *t)
{
	struct count n = number(t->ne[0]);

	for (int i = 1; i < WORK_DIMS; i++)
		n = times(n, number(t->ne[i]).value);
	return n;
}

static struct count rows_of(const struct work_tensor *t)
{
	struct count n = number(t->ne[1]);

	return times(times(n, number(t->ne[2]).value), number(t->ne[3]).value);
}

/* Bytes of one row. */
static struct count row_bytes(const struct work_tensor *t)
{
	if (!t->block)
		return (struct count){0, t->ne[0] != 0};
	return times(number(t->ne[0] / (int64_t)t->block), t->block_bytes);
}

static struct count size_of(const struct work_tensor *t)
{
	return times(row_bytes(t), rows_of(t).value);
}

uint64_t work_tensor_bytes(const struct work_tensor *t)
{
	struct count size = size_of(t);

	return size.overflow ? 0 : size.value;
}

static struct count size_of_all(const struct work_node *node)
{
	struct count sum = size_of(&node->out);

	for (int i = 0; i < WORK_SOURCES; i++)
		sum = plus(sum, size_of(&node->source[i]));
	return sum;
}

static struct count double_of(struct count a)
{
	return times(a, 2);
}

/* The three counts of a node while they are made. */
struct accumulator {
	struct count elements, bytes, flops;
	int bytes_known, flops_known;
	uint32_t flags;
};

typedef void (*work_fn)(const struct work_node *node, struct accumulator *t);

static void count_all(const struct work_node *node, struct accumulator *t, struct count flops)
{
	t->elements = elements_of(&node->out);
	t->bytes = size_of_all(node);
	t->flops = flops;
	t->bytes_known = t->flops_known = 1;
}

static void product(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0];

	count_all(node, t, double_of(times(elements_of(&node->out), number(a->ne[0]).value)));
}

static void outer_product(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0];

	count_all(node, t, double_of(times(elements_of(&node->out), number(a->ne[1]).value)));
}

/*
 * a: K x M x experts; ids: experts used x tokens. One token's are different ones; several may share
 * some, and which is in no shape.
 */
static void expert_product(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0], *ids = &node->source[2];
	struct count pairs = elements_of(ids), experts = number(a->ne[2]);
	uint64_t read = pairs.value < experts.value ? pairs.value : experts.value;

	product(node, t);
	t->bytes = plus(size_of(&node->out), plus(size_of(&node->source[1]), size_of(ids)));
	t->bytes = plus(t->bytes, times(times(row_bytes(a), number(a->ne[1]).value), read));
	if (rows_of(ids).value > 1 && ids->ne[0] < a->ne[2])
		t->flags = BRICK_SITE_AT_MOST;
}

enum { MASK = 3 };

/* q: D x queries x heads x batch; k: D x KV x ...; v: Dv x KV x ...; mask: KV x queries x ... */
static void attention(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *q = &node->source[0], *k = &node->source[1];
	const struct work_tensor *v = &node->source[2];
	struct count widths = plus(number(q->ne[0]), number(v->ne[0]));
	struct count scores = times(rows_of(q), number(k->ne[1]).value);

	count_all(node, t, double_of(times(scores, widths.value)));
	if (node->source[MASK].ne[0])
		t->flags = BRICK_SITE_AT_MOST;
}

/* A mask of one plane for all heads, or one for each part of the batch. */
static int mask_fits(const struct work_node *node)
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
	return times(times(row_bytes(t), number(t->ne[2]).value), number(t->ne[3]).value / planes);
}

int work_mask_of(struct work_masked *masked, const struct work_node *node)
{
	const struct work_tensor *q = &node->source[0], *k = &node->source[1];
	const struct work_tensor *v = &node->source[2], *mask = &node->source[MASK];

	if (strcmp(node->operation, "FLASH_ATTN_EXT") || !mask_fits(node))
		return 0;
	uint64_t planes = number(mask->ne[3]).value;
	struct count heads = times(number(q->ne[2]), number(q->ne[3]).value / planes);
	struct count widths = plus(number(q->ne[0]), number(v->ne[0]));
	struct count pair = double_of(times(heads, widths.value));
	struct count column = plus(position_bytes(k, planes), position_bytes(v, planes));
	struct count fixed = plus(plus(size_of(q), size_of(&node->out)), size_of(&node->source[4]));

	fixed = plus(fixed, times(times(row_bytes(mask), number(q->ne[1]).value), planes));
	*masked = (struct work_masked){MASK, number(k->ne[1]).value, number(q->ne[1]).value, planes,
		pair.value, column.value, fixed.value};
	return !(pair.overflow | column.overflow | fixed.overflow | widths.overflow);
}

int work_seen(const struct work_masked *masked, uint64_t pairs, uint64_t columns,
	struct work_counts *counts)
{
	struct count flops = times((struct count){pairs, 0}, masked->pair_flops);
	struct count bytes = times((struct count){columns, 0}, masked->column_bytes);

	bytes = plus(bytes, (struct count){masked->fixed_bytes, 0});
	counts->flops = flops.value;
	counts->bytes = bytes.value;
	return flops.overflow | bytes.overflow ? -EOVERFLOW : 0;
}

static void per_element(const struct work_node *node, struct accumulator *t, uint64_t flops)
{
	count_all(node, t, times(elements_of(&node->out), flops));
}

static void one_flop(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 1);
}

static void two_flops(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 2);
}

static void three_flops(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 3);
}

static void four_flops(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 4);
}

static void five_flops(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 5);
}

static void no_flops(const struct work_node *node, struct accumulator *t)
{
	per_element(node, t, 0);
}

static void reduction(const struct work_node *node, struct accumulator *t)
{
	count_all(node, t, elements_of(&node->source[0]));
}

/* kernel: KW x KH x channels in x channels out */
static void convolution(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *kernel = &node->source[0];
	struct count reach = times(times(number(kernel->ne[0]), number(kernel->ne[1]).value),
		number(kernel->ne[2]).value);

	count_all(node, t, double_of(times(elements_of(&node->out), reach.value)));
}

/* As many rows are read from a as come out; the type they are read in is a's. */
static void gather(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *a = &node->source[0], *ids = &node->source[1];

	no_flops(node, t);
	t->bytes = plus(times(row_bytes(a), rows_of(&node->out).value),
		plus(size_of(ids), size_of(&node->out)));
}

/* b's rows go into a view of a whole cache, in the cache's type. */
static void scatter(const struct work_node *node, struct accumulator *t)
{
	const struct work_tensor *b = &node->source[0], *ids = &node->source[1];

	no_flops(node, t);
	t->elements = elements_of(b);
	t->bytes = plus(
		times(row_bytes(&node->out), rows_of(b).value), plus(size_of(ids), size_of(b)));
}

/* The source that a copy goes into is the result itself: counted once. */
static void copy(const struct work_node *node, struct accumulator *t)
{
	no_flops(node, t);
	t->bytes = plus(size_of(&node->source[0]), size_of(&node->out));
}

static void nothing(const struct work_node *node, struct accumulator *t)
{
	t->bytes_known = t->flops_known = 1;
}

static const struct {
	const char *operation;
	work_fn count;
} operations[] = {
	{"MUL_MAT", product},
	{"MUL_MAT_ID", expert_product},
	{"OUT_PROD", outer_product},
	{"FLASH_ATTN_EXT", attention},
	{"SOFT_MAX", five_flops},
	{"RMS_NORM", three_flops},
	{"RMS_NORM+MUL", four_flops},
	{"NORM", five_flops},
	{"GROUP_NORM", five_flops},
	{"L2_NORM", three_flops},
	{"ROPE", three_flops},
	{"GET_ROWS", gather},
	{"SET_ROWS", scatter},
	{"CPY", copy},
	{"DUP", copy},
	{"CONT", copy},
	{"CONV_2D", convolution},
	{"SUM", reduction},
	{"SUM_ROWS", reduction},
	{"CUMSUM", reduction},
	{"MEAN", reduction},
	{"ARGMAX", reduction},
	{"ADD", one_flop},
	{"ADD_ID", one_flop},
	{"ADD1", one_flop},
	{"SUB", one_flop},
	{"MUL", one_flop},
	{"DIV", one_flop},
	{"SCALE", one_flop},
	{"SQR", one_flop},
	{"SQRT", one_flop},
	{"LOG", one_flop},
	{"SIN", one_flop},
	{"COS", one_flop},
	{"CLAMP", one_flop},
	{"ABS", one_flop},
	{"SGN", one_flop},
	{"NEG", one_flop},
	{"STEP", one_flop},
	{"TANH", one_flop},
	{"ELU", one_flop},
	{"RELU", one_flop},
	{"SIGMOID", one_flop},
	{"GELU", one_flop},
	{"GELU_QUICK", one_flop},
	{"GELU_ERF", one_flop},
	{"SILU", one_flop},
	{"HARDSWISH", one_flop},
	{"HARDSIGMOID", one_flop},
	{"EXP", one_flop},
	{"SOFTPLUS", one_flop},
	{"LEAKY_RELU", one_flop},
	{"REGLU", two_flops},
	{"GEGLU", two_flops},
	{"SWIGLU", two_flops},
	{"SWIGLU_OAI", two_flops},
	{"GEGLU_ERF", two_flops},
	{"GEGLU_QUICK", two_flops},
	{"REPEAT", no_flops},
	{"CONCAT", no_flops},
	{"PAD", no_flops},
	{"IM2COL", no_flops},
	{"FILL", no_flops},
	{"NONE", nothing},
	{"RESHAPE", nothing},
	{"VIEW", nothing},
	{"PERMUTE", nothing},
	{"TRANSPOSE", nothing},
};

static work_fn find(const char *operation)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (!strcmp(operations[i].operation, operation))
			return operations[i].count;
	return NULL;
}

static uint32_t keep(uint64_t *out, struct count count, int known, uint32_t flag)
{
	*out = known && !count.overflow ? count.value : 0;
	return known && !count.overflow ? flag : 0;
}

void work_count(const struct work_node *node, struct work_counts *counts)
{
	struct accumulator t = {0};
	work_fn count = find(node->operation);

	if (count)
		count(node, &t);
	else
		t.elements = elements_of(&node->out);
	counts->flags = t.flags | keep(&counts->elements, t.elements, 1, BRICK_SITE_HAS_ELEMENTS) |
			keep(&counts->bytes, t.bytes, t.bytes_known, BRICK_SITE_HAS_BYTES) |
			keep(&counts->flops, t.flops, t.flops_known, BRICK_SITE_HAS_FLOPS);
}

int work_is_empty(const char *operation)
{
	return find(operation) == nothing;
}

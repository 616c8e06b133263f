/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which graphs without names have layers, and which have something else that repeats. Graphs are
 * made node by node: a letter is an operation, upper case with a weight of its own.
 */
#include "attach/ggml/graphs/derived_layers.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/nodes/site_table.h"

/* What derived_layers() calls, which reads graphs of an engine. */
bool given_names_any(void)
{
	return false;
}

int site_table_layer(const struct engine *engine, const void *node)
{
	(void)engine, (void)node;
	return -1;
}

enum operation_class engine_operation_new(const struct engine *engine, const void *node)
{
	(void)engine, (void)node;
	return OPERATION_WORK;
}

void note_once(const char *key, const char *format, ...)
{
	(void)key, (void)format;
}

enum { MAX = 1 << 13 };

static struct repetition_node nodes[MAX + 1];
static uint32_t count;
static uint64_t weights;

static int32_t add(char kind, int32_t first, int32_t second)
{
	nodes[count] = (struct repetition_node){
		(uint64_t)kind, isupper(kind) ? ++weights : 0, {first, second, -1, -1}};
	return (int32_t)count++;
}

static void begin(void)
{
	count = 0;
	weights = 0;
}

static struct repetition find(void)
{
	struct repetition r;

	assert_int_equal(repetition_find(nodes, count, &r), 0);
	return r;
}

static void assert_layers(uint32_t first, uint32_t period, uint32_t blocks)
{
	struct repetition r = find();

	assert_int_equal(r.begin, first);
	assert_int_equal(r.period, period);
	assert_int_equal(r.count, blocks);
}

static void assert_none(void)
{
	assert_int_equal(find().count, 0);
}

/* norm, attention, sum; norm, feed-forward, sum: 10 nodes. */
static int32_t transformer(int32_t x)
{
	int32_t norm = add('n', x, -1), q = add('Q', norm, -1), k = add('Q', norm, -1);
	int32_t score = add('s', q, k), out = add('O', score, -1);
	int32_t y = add('+', x, out);
	int32_t up = add('U', add('n', y, -1), -1);

	return add('+', y, add('D', up, -1));
}

static int32_t transformers(int32_t x, int blocks)
{
	for (int i = 0; i < blocks; i++)
		x = transformer(x);
	return x;
}

static void layers(void **state)
{
	(void)state;
	begin();
	int32_t x = transformers(add('e', -1, -1), 6);
	add('H', add('n', x, -1), -1);
	assert_layers(1, 10, 6);
}

/* What precedes ends like a block, what follows begins like one. */
static void surrounded(void **state)
{
	(void)state;
	begin();
	int32_t token = add('e', -1, -1), place = add('e', -1, -1);
	int32_t x = transformers(add('+', token, place), 5);
	x = add('n', x, -1);
	add('Q', x, -1);
	assert_layers(3, 10, 5);
}

/* In each of four layers, three equal heads one behind the other. */
static void within_layers(void **state)
{
	(void)state;
	begin();
	int32_t x = add('e', -1, -1);
	for (int i = 0; i < 4; i++) {
		int32_t norm = add('n', x, -1), sum = add('C', norm, -1);
		for (int head = 0; head < 3; head++)
			sum = add('+', sum, add('Q', norm, -1));
		x = add('+', x, sum);
	}
	assert_layers(1, 9, 4);
}

/* A cell that is unrolled over time has one weight; two cells in turn have two. */
static void unrolled(void **state)
{
	(void)state;
	for (uint64_t cells = 1; cells <= 2; cells++) {
		begin();
		int32_t x = add('e', -1, -1);
		for (uint32_t i = 0; i < 12; i++) {
			x = add('t', add('W', x, -1), -1);
			nodes[x - 1].weight = 1 + i % cells;
		}
		assert_none();
	}
}

/* Heads, or experts: none reads what another has made. */
static void side_by_side(void **state)
{
	(void)state;
	begin();
	int32_t x = add('e', -1, -1);
	for (int i = 0; i < 8; i++)
		add('a', add('W', x, -1), -1);
	assert_none();
}

/* Two blocks are no row; three that hold the lesser part of the products are not what the graph is
 * made of. */
static void too_few(void **state)
{
	(void)state;
	begin();
	transformers(add('e', -1, -1), 2);
	assert_none();
	begin();
	int32_t x = transformers(add('e', -1, -1), 3);
	for (int i = 0; i < 16; i++)
		x = add((char)('A' + i), x, -1);
	assert_none();
}

static void irregular(void **state)
{
	uint32_t seed = 1;

	(void)state;
	begin();
	int32_t x = add('e', -1, -1);
	for (int i = 0; i < 400; i++) {
		seed = seed * 1664525u + 1013904223u;
		x = add((char)((seed >> 31 ? 'A' : 'a') + (seed >> 16) % 20), x, -1);
	}
	assert_none();
	begin();
	assert_none();
}

static void too_long(void **state)
{
	(void)state;
	begin();
	transformers(add('e', -1, -1), 819);
	assert_layers(1, 10, 819);
	add('x', -1, -1);
	add('x', -1, -1);
	assert_none();
}

/* Tensors of an engine; views are not executed. */
struct tensor {
	const struct tensor *source[2], *view_source;
	int64_t ne[TENSOR_DIMS];
	int32_t op, type;
	char name[TENSOR_NAME_BYTES];
};

enum { EXECUTED, SEEN_THROUGH };

static const char *name_of(const void *tensor)
{
	return ((const struct tensor *)tensor)->name;
}

static const char *op_of(const void *tensor)
{
	return ((const struct tensor *)tensor)->op == SEEN_THROUGH ? "VIEW" : "MUL";
}

static uint8_t classes[OPERATION_CLASSES] = {
	[EXECUTED] = OPERATION_WORK, [SEEN_THROUGH] = OPERATION_EMPTY};
static const struct engine engine = {
	.op_desc = op_of,
	.get_name = name_of,
	.layout = {offsetof(struct tensor, type), offsetof(struct tensor, ne),
		offsetof(struct tensor, op), offsetof(struct tensor, source), 2,
		offsetof(struct tensor, view_source), offsetof(struct tensor, name)},
	.layout_known = 1,
	.operation_class = classes,
};

/* scores -> softmax -> a view of it -> products; what two layers read, and what names say. */
static void between_names(void **state)
{
	struct tensor score = {.name = "node_1"}, soft = {{&score}, .name = "node_2"},
		      view = {{&soft}, &soft, .op = SEEN_THROUGH, .name = "node_2 (view)"},
		      product = {{&view}, .name = "node_3"}, mask = {.name = "node_4"},
		      first = {{&product, &mask}, .name = "out-1"},
		      shared = {{&first}, .name = "node_5"}, named = {{&first}, .name = "norm"},
		      second = {{&shared, &mask}, .name = "out-2"},
		      after = {{&second, &named}, .name = "node_6"},
		      last = {{&after}, .name = "result"};
	struct executed_node all[] = {{&score, 0, 1, false}, {&soft, 1, -1, false},
		{&product, 1, -1, false}, {&mask, 0, -1, false}, {&first, 0, 1, false},
		{&shared, 0, -1, false}, {&named, 0, -1, false}, {&second, 0, 2, false},
		{&after, 0, -1, false}, {&last, 0, -1, false}};
	enum { COUNT = sizeof(all) / sizeof(*all) };
	struct executed_node before[COUNT];

	(void)state;
	memcpy(before, all, sizeof(all));
	surrounded_layers(&engine, all, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) { /* place: it is found */
		assert_int_equal(all[i].is_settled, before[i].place);
		assert_int_equal(all[i].layer, before[i].place ? 1 : before[i].layer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers),
		cmocka_unit_test(surrounded),
		cmocka_unit_test(between_names),
		cmocka_unit_test(within_layers),
		cmocka_unit_test(unrolled),
		cmocka_unit_test(side_by_side),
		cmocka_unit_test(too_few),
		cmocka_unit_test(irregular),
		cmocka_unit_test(too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

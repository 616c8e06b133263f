/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which graph it is that is built anew (attach/ggml/known_graphs.h), held against the truth: what
 * is recorded of each node must be the site that its own text gives, whatever other graph at the
 * same addresses was computed before. Graphs are computed by one thread in runs and as by a team.
 */
#include <stdio.h>
#include "attach/ggml/derived_layers.h"
#include "attach/ggml/known_graphs.h"
#include "attach/ggml/node_sites.h"
#include "attach/ggml/note_engine.h"
#include "attach/ggml/shared.h"
#include "attach/ggml/site_table.h"
#include "base/hash.h"
#include "tests/unit/node_run_kit.h"

enum { LAYERS = 24, TOKENS = 4, KV = 256, MAX_TENSORS = 1024, MAX_SITES = 1 << 20, FUZZ = 1000 };
enum { NONE, VIEW, MUL_MAT, ADD, CPY, FLASH_ATTN, ROPE, OPERATIONS };

struct tensor {
	int32_t type;
	int64_t ne[TENSOR_DIMS];
	int32_t op;
	struct tensor *source[TENSOR_SOURCES];
	char name[TENSOR_NAME_BYTES];
};

struct attach_shared attach_shared;
int site_table_wants_parts;

/* Weights lie apart; a graph is built in `arena`, from its begin on. */
static struct tensor weights[LAYERS][4], cache, arena[MAX_TENSORS];
static const void *nodes[MAX_TENSORS];
static int node_count, tokens, kv, sites_asked;
static uint64_t site_hashes[MAX_SITES];
static uint8_t classes[OPERATION_CLASSES];

static const char *op_desc(const void *tensor)
{
	static const char *const names[] = {
		"NONE", "VIEW", "MUL_MAT", "ADD", "CPY", "FLASH_ATTN_EXT", "ROPE"};

	return names[((const struct tensor *)tensor)->op];
}

static int graph_node_count(const void *graph)
{
	(void)graph;
	return node_count;
}

static const void *graph_node(const void *graph, int index)
{
	(void)graph;
	return nodes[index];
}

static const void *const *graph_nodes(const void *graph)
{
	(void)graph;
	return nodes;
}

static struct engine engine = {
	.op_desc = op_desc,
	.graph_node_count = graph_node_count,
	.graph_node = graph_node,
	.graph_nodes = graph_nodes,
	.layout = {offsetof(struct tensor, type), offsetof(struct tensor, ne),
		offsetof(struct tensor, op), offsetof(struct tensor, source), TENSOR_SOURCES, 0,
		offsetof(struct tensor, name)},
	.layout_known = 1,
	.operation_class = classes,
};

enum operation_class engine_operation_new(const struct engine *e, const void *node)
{
	(void)e, (void)node;
	fail();
	return OPERATION_WORK;
}

const void *engine_fused(const struct engine *e, const void *norm, const void *next)
{
	(void)e, (void)norm, (void)next;
	return NULL;
}

int16_t *derived_layers(const struct engine *e, const void *graph, uint32_t count)
{
	(void)e, (void)graph, (void)count;
	return NULL;
}

struct masks *masks_find(const struct engine *e, const struct known_node *known, uint32_t count)
{
	(void)e, (void)known, (void)count;
	return NULL;
}

void note_engine(struct node_thread *t)
{
	(void)t;
}

static uint64_t hash_tensor(uint64_t hash, const struct tensor *t)
{
	for (size_t i = 0; i < sizeof t->name; i += 8) {
		uint64_t word;
		memcpy(&word, t->name + i, 8);
		hash = hash_add(hash, word);
	}
	for (int i = 0; i < TENSOR_DIMS; i++)
		hash = hash_add(hash, (uint64_t)t->ne[i]);
	return hash_add(hash, (uint64_t)t->type << 32 | (uint64_t)t->op);
}

/* The truth: of a node and what it reads. */
static uint32_t true_site(const struct tensor *node)
{
	uint64_t hash = hash_tensor(0, node);

	for (int i = 0; i < TENSOR_SOURCES; i++)
		hash = node->source[i] ? hash_tensor(hash_add(hash, (uint64_t)i), node->source[i])
				       : hash;
	uint32_t site = (uint32_t)(hash % MAX_SITES);
	while (!site || (site_hashes[site] && site_hashes[site] != hash))
		site = (site + 1) % MAX_SITES;
	site_hashes[site] = hash;
	return site;
}

void site_table_find(const struct engine *e, const void *node, const void *mul, int part, int layer,
	struct site_found *found)
{
	(void)e, (void)mul, (void)part, (void)layer;
	sites_asked++;
	*found = (struct site_found){true_site(node), 1, -1};
}

static struct tensor *tensor(int op, int64_t a, int64_t b, int64_t c, struct tensor *x,
	struct tensor *y, struct tensor *z)
{
	struct tensor *t = &arena[node_count];

	assert_in_range(node_count, 0, MAX_TENSORS - 1);
	*t = (struct tensor){0, {a, b, c, 1}, op, {x, y, z}, ""};
	snprintf(t->name, sizeof t->name, "%d", node_count);
	nodes[node_count++] = t;
	return t;
}

static struct tensor *layer(struct tensor *x, int il)
{
	struct tensor *w = weights[il];
	struct tensor *q = tensor(MUL_MAT, 64, tokens, 1, &w[0], x, NULL);

	q = tensor(VIEW, 16, 4, tokens, q, NULL, NULL);
	q = tensor(ROPE, 16, 4, tokens, q, NULL, NULL);
	q = tensor(VIEW, 16, tokens, 4, q, NULL, NULL);
	struct tensor *k = tensor(VIEW, 16, kv, 2, &cache, NULL, NULL);
	struct tensor *v = tensor(VIEW, 16, kv, 2, &cache, NULL, NULL);
	struct tensor *a = tensor(FLASH_ATTN, 16, 4, tokens, q, k, v);
	a = tensor(VIEW, 64, tokens, 1, a, NULL, NULL);
	a = tensor(MUL_MAT, 64, tokens, 1, &w[1], a, NULL);
	a = tensor(ADD, 64, tokens, 1, a, x, NULL);
	struct tensor *up = tensor(MUL_MAT, 176, tokens, 1, &w[2], a, NULL);
	up = tensor(MUL_MAT, 64, tokens, 1, &w[3], up, NULL);
	return tensor(ADD, 64, tokens, 1, up, a, NULL);
}

static void build(int with_tokens, int with_kv)
{
	static struct tensor input = {0, {64, TOKENS, 1, 1}, NONE, {NULL}, "input"};

	node_count = 0;
	tokens = with_tokens;
	kv = with_kv;
	input.ne[1] = tokens;
	struct tensor *x = tensor(CPY, 64, tokens, 1, &input, NULL, NULL);
	for (int il = 0; il < LAYERS; il++)
		x = layer(x, il);
	attach_shared.graph_generation++;
}

/* As hooks_node.c does it. */
static void begin(struct node_thread *t, const void *node)
{
	if (node_run_begin(t, node, 0, brick__counter()) ||
		(t->plan && node_run_refused(t, node, 0)))
		return;
	const struct known_node *known = &t->nodes[t->node_next];
	t->site = known->node == node && known->shape == node_shape(&t->shape_at, node, 0)
			  ? known->site[0]
			  : 0;
	if (t->site) {
		t->node_now = t->node_next;
		t->node_next = known->next;
	} else {
		t->site = node_site_slow(t, node, NULL, 0);
	}
	node_record(t, t->begin);
}

/* Whether it was taken by its looks. */
static int compute(int is_team)
{
	struct node_thread *t = &node_thread;
	uint32_t n = 0;
	int looked;

	recorded_count = 0;
	struct known_graph *g = known_graph_hold(&engine, nodes, 1, &looked);
	assert_non_null(g);
	int by_looks = g->is_taken_by_looks;
	node_sites_of(t, g, g->nodes[g->count].next);
	if (!is_team)
		node_run_arm(t);
	assert_int_equal(t->plan != NULL, !is_team);
	for (int i = 0; i < node_count; i++)
		if (classes[arena[i].op] == OPERATION_WORK)
			begin(t, &arena[i]);
	node_run_leave(t);
	known_graph_release(g);
	node_sites_of(t, NULL, 0);
	for (int i = 0; i < node_count; i++)
		if (classes[arena[i].op] == OPERATION_WORK)
			assert_int_equal(recorded[n++].site, true_site(&arena[i]));
	assert_int_equal(recorded_count, n);
	return by_looks;
}

static int set_up(void **state)
{
	struct node_thread *t = &node_thread;
	(void)state;

	classes[NONE] = classes[VIEW] = OPERATION_EMPTY;
	for (int i = MUL_MAT; i < OPERATIONS; i++)
		classes[i] = OPERATION_WORK;
	for (int il = 0; il < LAYERS; il++)
		for (int i = 0; i < 4; i++) {
			weights[il][i] =
				(struct tensor){1, {i == 3 ? 176 : 64, 64, 1, 1}, NONE, {NULL}, ""};
			snprintf(weights[il][i].name, TENSOR_NAME_BYTES, "blk.%d.%d", il, i);
		}
	t->run = t->run_from = NODE_RUN_NONE;
	node_run_none[NODE_PLAN_BEFORE].mark = NODE_KEY_NONE;
	t->engine = &engine;
	t->shape_at = engine_shape_offsets(&engine);
	t->bytes = t->in_graph = 1;
	node_sites_of(t, NULL, 0);
	return 0;
}

/* Batches of other sizes, and a cache that fills: each is looked up once, then seen by its looks.
 */
static void shapes_in_turns(void **state)
{
	(void)state;
	for (int round = 0; round < 4; round++) {
		for (int n = 1; n <= 5; n++) {
			build(n, n > 3 ? KV : 2 * KV);
			sites_asked = 0;
			assert_int_equal(compute(round == 1), round > 0);
			assert_int_equal(sites_asked > 0, round == 0);
		}
	}
}

/* The node of that operation in the middle of the graph, of no layer's that is in the outline. */
static struct tensor *middle(int op, int which)
{
	int from = node_count / 2 + 9;

	for (int i = from;; i++)
		if (arena[i].op == op && !which--)
			return &arena[i];
}

static struct tensor other_weight = {1, {80, 64, 1, 1}, NONE, {NULL}, "blk.77.other"};

static void of_another_shape(void)
{
	middle(MUL_MAT, 1)->ne[1]++;
}

static void of_another_height(void)
{
	middle(ADD, 1)->ne[3]++;
}

static void much_wider(void)
{
	middle(ADD, 1)->ne[0] += 4096;
}

static void of_another_operation(void)
{
	middle(ADD, 1)->op = ROPE;
}

static void longer_cache(void)
{
	middle(FLASH_ATTN, 0)->source[1]->ne[1] *= 2;
}

static void another_weight(void)
{
	middle(MUL_MAT, 2)->source[0] = &other_weight;
}

/* All that shows it is what is multiplied by it, which is executed before. */
static void another_inner_dimension(void)
{
	struct tensor *up = middle(MUL_MAT, 2);

	while (up->ne[0] != 176)
		up++;
	up->ne[0] = 80;
}

static struct tensor *copy;

static void with_copy(void)
{
	copy = middle(ADD, 1);
	copy->op = CPY;
}

static void of_another_type(void)
{
	copy->type = 5;
}

/*
 * In turns with the one that it looks like, which nothing has been found out about yet, on one
 * thread or on more.
 */
static void check_alike(void (*change)(void), void (*always)(void))
{
	static int size = 6;

	for (int is_team = 0; is_team < 2; is_team++, size++)
		for (int step = 0; step < 12; step++) {
			build(size, KV);
			if (always)
				always();
			if (step % 2)
				change();
			compute(is_team);
		}
}

static void alike_but_for_one_node(void **state)
{
	(void)state;
	check_alike(of_another_shape, NULL);
	check_alike(of_another_height, NULL);
	check_alike(much_wider, NULL);
	check_alike(of_another_operation, NULL);
	check_alike(longer_cache, NULL);
	check_alike(another_weight, NULL);
	check_alike(another_inner_dimension, NULL);
	check_alike(of_another_type, with_copy);
}

static uint32_t draw(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Whatever a site depends on but names, and types of what is no copy. */
static void change_any(void)
{
	struct tensor *t = &arena[1 + draw((uint32_t)node_count - 1)];

	switch (draw(4)) {
	case 0:
		t->ne[draw(TENSOR_DIMS)] += 1 + draw(3);
		break;
	case 1:
		t->ne[draw(2)] *= 2;
		break;
	case 2:
		t->source[draw(2)] = draw(2) ? &arena[draw((uint32_t)(t - arena))]
					     : &weights[draw(LAYERS)][draw(4)];
		break;
	default:
		if (t->op >= ADD && t->op != CPY)
			t->op = t->op == ADD ? ROPE : ADD;
	}
}

static void any_that_differ(void **state)
{
	int by_looks = 0;
	(void)state;

	for (int i = 0; i < FUZZ; i++) {
		int is_team = (int)draw(2);
		build(2 * TOKENS + i, KV);
		compute(is_team);
		build(2 * TOKENS + i, KV);
		for (uint32_t n = 1 + draw(3); n; n--)
			change_any();
		by_looks += compute(is_team);
		build(2 * TOKENS + i, KV);
		compute(is_team);
	}
	assert_in_range(by_looks, FUZZ / 8, FUZZ);
}

int main(void)
{
	brick_clock_get();
	if (!brick__counter_used)
		return 77; /* there are no runs by another clock */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(shapes_in_turns, set_up),
		cmocka_unit_test_setup(alike_but_for_one_node, set_up),
		cmocka_unit_test_setup(any_that_differ, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

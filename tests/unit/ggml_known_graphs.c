/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which graph it is that is built anew (src/attach/ggml/graphs/known_graphs.h), held against the
 * truth: what is recorded of each node must be the site that its own text gives, whatever other
 * graph at the same addresses was computed before. Graphs are computed by one thread in runs and as
 * by a team.
 */
#include "attach/ggml/graphs/known_graphs.h"
#include "tests/unit/known_graphs_engine.h"

enum { FUZZ = 1000, KEYS = 1 << 20 };

/* As hooks_node.c does it. */
static void begin(struct node_thread *t, const void *node)
{
	if (node_run_begin(t, node, 0, brick__counter_halves()) ||
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
	bool looked;

	recorded_count = 0;
	struct known_graph *g = known_graph_hold(&engine, nodes, 1, &looked);
	assert_non_null(g);
	int by_looks = g->is_matched_quickly;
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
	node_run_none[NODE_RUN_BEFORE].mark = NODE_KEY_NONE;
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

/* As much longer in all as one in the midst of them is shorter. */
static void caches_that_balance(void)
{
	static const int by[] = {1, -2, 1};

	for (int i = 0; i < 3; i++)
		middle(FLASH_ATTN, i)->source[1]->ne[1] += by[i];
}

static void sources_in_turns(void)
{
	struct tensor *add = middle(ADD, 1), *first = add->source[0];

	add->source[0] = add->source[1];
	add->source[1] = first;
}

static void another_second_source(void)
{
	middle(MUL_MAT, 2)->source[1] = &other_weight;
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
	check_alike(caches_that_balance, NULL);
	check_alike(another_weight, NULL);
	check_alike(another_second_source, NULL);
	check_alike(sources_in_turns, NULL);
	check_alike(another_inner_dimension, NULL);
	check_alike(of_another_type, with_copy);
}

/* Attention that does not ask for queries as wide as keys. */
static void wide_query(void)
{
	middle(FLASH_ATTN, 0)->source[0]->ne[0] = 20;
}

static void wider_query(void)
{
	middle(FLASH_ATTN, 0)->source[0]->ne[0] = 24;
}

static uint32_t looked_at(int with_tokens, int with_kv)
{
	struct shown_graph s;

	build(with_tokens, with_kv);
	assert_int_equal(shown_graph_read(&s, &engine, nodes), 1);
	struct unseen_nodes *o = unseen_nodes(&s);
	assert_non_null(o);
	uint32_t count = o->count;
	free(o);
	return count;
}

/*
 * Keys, values and the copy, also where a cache happens to have the shape of what comes out; what
 * is rotated, queries and what is multiplied are seen by their readers.
 */
static void views_that_are_looked_at(void **state)
{
	(void)state;
	assert_int_equal(looked_at(TOKENS, KV), 1 + 2 * LAYERS);
	assert_int_equal(looked_at(2, 4), 1 + 2 * LAYERS);
	check_alike(wider_query, wide_query);
}

static uint32_t draw(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Two of what a node's key is made of, by as much as tensors and their addresses may differ. */
static struct tensor changed_twice(const struct tensor *t)
{
	struct tensor other = *t;

	for (uint32_t first = draw(6), i = 0; i < 2; i++) {
		uint32_t field = i ? (first + 1 + draw(5)) % 6 : first;
		if (field < TENSOR_DIMS)
			other.ne[field] += 1 + draw(1 << 14);
		else
			other.source[field - TENSOR_DIMS] =
				(struct tensor *)((uintptr_t)other.source[field - TENSOR_DIMS] +
						  (1 + draw(1 << 12)) * sizeof other);
	}
	return other;
}

static void keys_that_differ(void **state)
{
	static struct tensor place;
	const struct shape_offsets at = engine_shape_offsets(&engine);
	(void)state;

	build(1, KV);
	for (int i = 0; i < KEYS; i++) {
		place = arena[1 + draw((uint32_t)node_count - 1)];
		uint32_t key = node_key(&at, &place, 0);
		uint64_t shape = node_shape(&at, &place, 0);
		place = changed_twice(&place);
		assert_int_not_equal(node_key(&at, &place, 0), key);
		assert_int_not_equal(node_shape(&at, &place, 0), shape);
	}
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

/* As the engine asserts it of a view: the shape that its reader gives it. 1: it had another one. */
static int shape_by_reader(const struct tensor *reader)
{
	const struct tensor *other = reader->source[reader->op == MUL_MAT ? 0 : 1];
	struct tensor *view = reader->source[reader->op == MUL_MAT];
	int64_t ne[TENSOR_DIMS];

	if ((reader->op != MUL_MAT && reader->op != FLASH_ATTN && reader->op != ROPE) || !view ||
		view->op != VIEW)
		return 0;
	memcpy(ne, reader->ne, sizeof ne);
	if (reader->op == FLASH_ATTN) {
		ne[1] = reader->ne[2];
		ne[2] = reader->ne[1];
	}
	if (reader->op != ROPE && other)
		ne[0] = other->ne[0];
	if (!memcmp(ne, view->ne, sizeof ne))
		return 0;
	memcpy(view->ne, ne, sizeof ne);
	return 1;
}

/* 0: the engine would not build such a graph. */
static int give_views_shapes(void)
{
	int changed = 1;

	for (int pass = 0; pass < 4 && changed; pass++) {
		changed = 0;
		for (int i = 0; i < node_count; i++)
			changed |= shape_by_reader(&arena[i]);
	}
	return !changed;
}

static void any_that_differ(void **state)
{
	int by_looks = 0;
	(void)state;

	for (int i = 0; i < FUZZ; i++) {
		int is_team = (int)draw(2);
		build(2 * TOKENS + i, KV);
		compute(is_team);
		do {
			build(2 * TOKENS + i, KV);
			for (uint32_t n = 1 + draw(3); n; n--)
				change_any();
		} while (!give_views_shapes());
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
		cmocka_unit_test_setup(views_that_are_looked_at, set_up),
		cmocka_unit_test_setup(any_that_differ, set_up),
		cmocka_unit_test_setup(keys_that_differ, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, slack and what-if of random graphs, against a reference that tries every chain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "tests/unit/graph_kit.h"

enum { MAX_NODES = 8 };

struct reference {
	int n;
	uint64_t busy[MAX_NODES], extra[MAX_NODES];
	int parent[MAX_NODES], held[MAX_NODES];
	int any[MAX_NODES][MAX_NODES];	  /* an edge of any kind */
	int before[MAX_NODES][MAX_NODES]; /* a precedence edge */
	int open[MAX_NODES][2], cyclic;
};

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t total(const struct reference *r, int v);

/* Longest chain of siblings that ends with v. */
static uint64_t chain_to(const struct reference *r, int v)
{
	uint64_t longest = 0;

	for (int u = 0; u < r->n; u++)
		if (r->before[u][v] && r->held[u] && r->parent[u] == r->parent[v])
			longest = max(longest, chain_to(r, u));
	return longest + total(r, v);
}

static uint64_t chain_in(const struct reference *r, int v)
{
	uint64_t longest = 0;

	for (int c = 0; c < r->n; c++)
		if (r->held[c] && r->parent[c] == v)
			longest = max(longest, chain_to(r, c));
	return longest;
}

static uint64_t total(const struct reference *r, int v)
{
	return max(r->busy[v], chain_in(r, v));
}

static uint64_t own(const struct reference *r, int v)
{
	return total(r, v) - chain_in(r, v) + r->extra[v];
}

static uint64_t end_of(struct reference *r, int v);

/* When v's own time is over. */
static uint64_t own_end_of(struct reference *r, int v)
{
	uint64_t begin = 0;

	if (r->cyclic || r->open[v][0]) {
		r->cyclic = 1;
		return 0;
	}
	r->open[v][0] = 1;
	for (int u = 0; u < r->n; u++)
		if (r->before[u][v])
			begin = max(begin, end_of(r, u));
	if (r->parent[v] >= 0)
		begin = max(begin, own_end_of(r, r->parent[v]));
	r->open[v][0] = 0;
	return begin + own(r, v);
}

static uint64_t end_of(struct reference *r, int v)
{
	if (r->cyclic || r->open[v][1]) {
		r->cyclic = 1;
		return 0;
	}
	r->open[v][1] = 1;
	uint64_t end = own_end_of(r, v);
	for (int c = 0; c < r->n; c++)
		if (r->held[c] && r->parent[c] == v)
			end = max(end, end_of(r, c));
	r->open[v][1] = 0;
	return end;
}

static uint64_t length_of(struct reference *r)
{
	uint64_t length = 0;

	for (int v = 0; v < r->n; v++)
		length = max(length, end_of(r, v));
	return length;
}

/* Whether a chain of edges leads from a to b. */
static int leads(const struct reference *r, int a, int b, unsigned seen)
{
	for (int v = 0; v < r->n; v++)
		if (r->any[a][v] &&
			(v == b || (!(seen >> v & 1) && leads(r, v, b, seen | 1u << v))))
			return 1;
	return 0;
}

static int is_cyclic(struct reference *r)
{
	for (int v = 0; v < r->n; v++)
		if (leads(r, v, v, 0))
			return 1;
	length_of(r);
	return r->cyclic;
}

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

/* The same random graph twice. Mostly without cycles: edges mostly go up in a random order. */
static void make_random(struct brick_graph *g, struct reference *r)
{
	static const uint64_t times[] = {0, 0, 1, 1, 2, 3, 10};
	int rank[MAX_NODES], lane[MAX_NODES];

	memset(r, 0, sizeof(*r));
	r->n = 1 + (int)below(MAX_NODES);
	for (int v = 0; v < r->n; v++) {
		struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
			.kind = below(2) ? BRICK_NODE_KERNEL : BRICK_NODE_BRICK,
			.name = (const char *[]){"a", "b", "c"}[below(3)],
			.flags = below(5) ? BRICK_NODE_HAS_TIME : 0,
			.time_ns = times[below(7)],
			.lane = below(2)};
		if (!below(6))
			node.wait_ns = below((uint32_t)node.time_ns + 1);
		lane[v] = (int)node.lane;
		brick_graph_add(g, &node);
		r->busy[v] = node.flags & BRICK_NODE_HAS_TIME ? node.time_ns - node.wait_ns : 0;
		r->parent[v] = -1;
		rank[v] = (int)below(1000);
	}
	for (int i = (int)below(3 * MAX_NODES); i > 0; i--) {
		int a = (int)below((uint32_t)r->n), b = (int)below((uint32_t)r->n);
		int kind = (int)below(BRICK_EDGE_KINDS);
		if (rank[a] >= rank[b] && below(40))
			continue;
		connect(g, (uint32_t)a, (uint32_t)b, kind);
		r->any[a][b] = 1;
		if (kind >= BRICK_EDGE_SEQUENCE)
			r->before[a][b] = 1;
		else if (r->parent[b] < 0) {
			r->parent[b] = a;
			r->held[b] = kind != BRICK_EDGE_LAUNCHES || lane[a] == lane[b];
		}
	}
}

/*
 * Whether following the nodes leads round to a moment that lies before the one it left from:
 * begins are 0, ends are 1. What holds nothing begins and ends as one.
 */
static int goes_round(const struct reference *r, const uint32_t *nodes, int count, int from)
{
	int at = from;

	for (int i = 0; i < count; i++) {
		int u = (int)nodes[i], v = (int)nodes[(i + 1) % count];
		int u_holds = 0, v_holds = 0;
		for (int c = 0; c < r->n; c++) {
			u_holds |= r->held[c] && r->parent[c] == u;
			v_holds |= r->held[c] && r->parent[c] == v;
		}
		if (r->parent[v] == u && (at == 0 || !u_holds))
			at = !v_holds;
		else if (r->before[u][v])
			at = !v_holds;
		else if (r->held[u] && r->parent[u] == v)
			at = 1;
		else
			return 0;
	}
	return at <= from;
}

static int is_real_cycle(const struct reference *r, const uint32_t *nodes, int count)
{
	int edges = 0;

	for (int i = 0; i < count; i++) {
		if ((int)nodes[i] >= r->n)
			return 0;
		for (int k = 0; k < i; k++)
			if (nodes[k] == nodes[i])
				return 0;
		edges += r->any[nodes[i]][nodes[(i + 1) % count]];
	}
	return edges == count || goes_round(r, nodes, count, 0) || goes_round(r, nodes, count, 1);
}

static void check_path(struct brick_graph *g, struct reference *r, uint64_t length)
{
	struct brick_graph_path path = path_of(g);
	uint64_t sum = 0;

	assert_int_equal(path.length_ns, length);
	for (size_t i = 0; i < path.count; i++) {
		struct brick_graph_times times = times_of(g, path.nodes[i]);
		sum += own(r, (int)path.nodes[i]);
		assert_int_equal(times.slack_ns, 0);
	}
	assert_int_equal(sum, length);
}

static void check_times(struct brick_graph *g, struct reference *r, uint64_t length)
{
	enum { LARGE = 1000000 };

	for (int v = 0; v < r->n; v++) {
		struct brick_graph_times times = times_of(g, (uint32_t)v);
		assert_int_equal(times.own_ns, own(r, v));
		assert_int_equal(times.begin_ns, own_end_of(r, v) - own(r, v));
		assert_int_equal(times.end_ns, end_of(r, v));
		/* so much longer that all goes through it: what is left is the longest way there */
		r->extra[v] = LARGE;
		uint64_t through = length_of(r) - LARGE;
		r->extra[v] = times.slack_ns;
		assert_int_equal(length_of(r), length);
		r->extra[v] = 0;
		assert_int_equal(times.slack_ns, length - through);
	}
}

static void random_graphs(void **state)
{
	struct brick_graph *g = *state;
	static struct reference r;
	int cyclic = 0, acyclic = 0;

	seed = 42;
	while (acyclic < 10000) {
		const uint32_t *nodes;
		brick_graph_clear(g);
		make_random(g, &r);
		int count = brick_graph_cycle(g, &nodes);
		assert_int_equal(count > 0, is_cyclic(&r));
		if (count > 0) {
			assert_true(is_real_cycle(&r, nodes, count));
			cyclic++;
			continue;
		}
		uint64_t length = length_of(&r);
		check_path(g, &r, length);
		check_times(g, &r, length);
		acyclic++;
	}
	assert_true(cyclic > 1000);
}

/* The same graph gives the same answers, made twice in one process. */
static void answers_do_not_change(void **state)
{
	struct brick_graph *pair[2];
	struct reference r;

	for (int round = 0; round < 200; round++) {
		char *text[2][BRICK_GRAPH_FORMATS];
		struct brick_graph_path path[2] = {BRICK_GRAPH_PATH_INIT, BRICK_GRAPH_PATH_INIT};
		struct brick_graph_opportunity best[2][8] = {
			{BRICK_GRAPH_OPPORTUNITY_INIT}, {BRICK_GRAPH_OPPORTUNITY_INIT}};
		int error[2], found[2];
		for (int i = 0; i < 2; i++) {
			seed = 1000 + (uint64_t)round;
			brick_graph_create(&pair[i]);
			make_random(pair[i], &r);
			error[i] = brick_graph_critical_path(pair[i], &path[i]);
			found[i] = brick_graph_opportunities(pair[i], best[i], 8);
			for (int f = 0; f < BRICK_GRAPH_FORMATS; f++)
				text[i][f] = graph_text(pair[i], f);
		}
		assert_int_equal(error[0], error[1]);
		assert_int_equal(found[0], found[1]);
		for (int i = 0; i < found[0]; i++) {
			assert_string_equal(best[0][i].name, best[1][i].name);
			assert_int_equal(best[0][i].less_ns, best[1][i].less_ns);
		}
		if (!error[0]) {
			assert_int_equal(path[0].count, path[1].count);
			assert_memory_equal(
				path[0].nodes, path[1].nodes, path[0].count * sizeof(uint32_t));
		}
		for (int f = 0; f < BRICK_GRAPH_FORMATS; f++) {
			assert_int_equal(!text[0][f], !text[1][f]);
			if (text[0][f])
				assert_string_equal(text[0][f], text[1][f]);
			free(text[0][f]);
			free(text[1][f]);
		}
		brick_graph_destroy(pair[0]);
		brick_graph_destroy(pair[1]);
	}
}

/* Sums that do not fit end at the largest number instead of starting again at 0. */
static void absurd_times(void **state)
{
	struct brick_graph *g = *state;

	for (int i = 0; i < 3; i++)
		brick(g, "n", UINT64_MAX - 1);
	connect(g, 0, 1, BRICK_EDGE_SEQUENCE);
	connect(g, 1, 2, BRICK_EDGE_SEQUENCE);
	assert_int_equal(path_of(g).length_ns, UINT64_MAX);
	for (uint32_t i = 0; i < 3; i++)
		times_of(g, i);
	uint64_t ns;
	assert_int_equal(brick_graph_what_if(g, "n", 1e6, &ns), 0);
	assert_int_equal(ns, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(random_graphs),
		cmocka_unit_test(answers_do_not_change),
		GRAPH_TEST(absurd_times),
	};
	return cmocka_run_group_tests_name("graph_reference", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical path, slack, what-if and the rest of graph_path.h: the protocols F128 to F135, and
 * random graphs against a reference that tries every chain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "brick/graph_path.h"
#include "tests/unit/graph_text.h"

static uint32_t add(struct brick_graph *g, int kind, const char *name, uint64_t time_ns)
{
	struct brick_graph_node node = {.kind = (uint32_t)kind,
		.name = name,
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = time_ns};
	int id = brick_graph_add(g, &node);
	assert_true(id >= 0);
	return (uint32_t)id;
}

static uint32_t brick(struct brick_graph *g, const char *name, uint64_t time_ns)
{
	return add(g, BRICK_NODE_BRICK, name, time_ns);
}

static void connect(struct brick_graph *g, uint32_t from, uint32_t to, int kind)
{
	assert_true(brick_graph_connect(g, from, to, kind, 1) >= 0);
}

static struct brick_graph_path path_of(struct brick_graph *g)
{
	struct brick_graph_path path;
	assert_int_equal(brick_graph_critical_path(g, &path), 0);
	return path;
}

static struct brick_graph_times times_of(struct brick_graph *g, uint32_t node)
{
	struct brick_graph_times times;
	assert_int_equal(brick_graph_times_get(g, node, &times), 0);
	return times;
}

static int create(void **state)
{
	return brick_graph_create((struct brick_graph **)state);
}

static int destroy(void **state)
{
	brick_graph_destroy(*state);
	return 0;
}

/* A chain is as long as its parts, whatever the order of their ids. */
static void f128_path_of_a_chain(void **state)
{
	struct brick_graph *g = *state;

	assert_int_equal(path_of(g).length_ns, 0);
	assert_int_equal(path_of(g).count, 0);
	for (uint64_t i = 0; i < 10; i++)
		brick(g, "n", i + 1);
	for (uint32_t i = 9; i > 0; i--)
		connect(g, i, i - 1, BRICK_EDGE_SEQUENCE);
	assert_int_equal(path_of(g).length_ns, 55);
	assert_int_equal(path_of(g).count, 10);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(path_of(g).nodes[i], 9 - i);
}

/* Of branches the longest counts; what holds something adds only what is its own. */
static void f129_path_of_branches(void **state)
{
	struct brick_graph *g = *state;

	uint32_t outer = brick(g, "AttentionScore", 200);
	uint32_t inner = add(g, BRICK_NODE_KERNEL, "gemm", 180);
	connect(g, outer, inner, BRICK_EDGE_LAUNCHES);
	assert_int_equal(path_of(g).length_ns, 200); /* not 380 */
	uint32_t beside = brick(g, "RmsNorm", 150), last = brick(g, "LmHead", 10);
	connect(g, outer, last, BRICK_EDGE_DEPENDS_ON);
	connect(g, beside, last, BRICK_EDGE_TRANSFER);
	struct brick_graph_path path = path_of(g);
	assert_int_equal(path.length_ns, 210);
	assert_int_equal(path.count, 3);
	assert_int_equal(path.nodes[0], outer);
	assert_int_equal(path.nodes[1], inner);
	assert_int_equal(path.nodes[2], last);
}

/* Bricks added to one scope one after the other ran one after the other. */
static void siblings_are_serial(void **state)
{
	struct brick_graph *g = *state;

	brick_graph_enter(g, &(struct brick_graph_node){.kind = BRICK_NODE_LAYER});
	for (int i = 0; i < 4; i++)
		brick(g, "b", 100);
	assert_int_equal(path_of(g).length_ns, 400);
	assert_int_equal(times_of(g, 0).end_ns, 400);
	/* on another lane they run beside it */
	for (int i = 0; i < 3; i++)
		brick_graph_add(g, &(struct brick_graph_node){.kind = BRICK_NODE_BRICK,
					   .name = "c",
					   .flags = BRICK_NODE_HAS_TIME,
					   .time_ns = 120,
					   .lane = 1});
	assert_int_equal(path_of(g).length_ns, 400);
	assert_int_equal(times_of(g, 7).slack_ns, 40);
}

/* A brick's kernels and functions are its own; bricks inside of it are not. */
static void what_belongs_to_a_brick(void **state)
{
	struct brick_graph *g = *state;
	uint64_t ns;

	uint32_t outer = brick(g, "outer", 100), inner = brick(g, "inner", 60);
	uint32_t call = add(g, BRICK_NODE_FUNCTION, "call", 30);
	uint32_t kernel = add(g, BRICK_NODE_KERNEL, "kernel", 20);
	connect(g, outer, inner, BRICK_EDGE_CONTAINS);
	connect(g, outer, call, BRICK_EDGE_CONTAINS);
	connect(g, call, kernel, BRICK_EDGE_LAUNCHES);
	connect(g, inner, call, BRICK_EDGE_SEQUENCE);
	assert_int_equal(path_of(g).length_ns, 100);
	assert_int_equal(brick_graph_what_if(g, "outer", 0, &ns), 0);
	assert_int_equal(ns, 60);
	assert_int_equal(brick_graph_what_if(g, "inner", 0, &ns), 0);
	assert_int_equal(ns, 40);
	assert_int_equal(brick_graph_what_if(g, "call", 0, &ns), 0);
	assert_int_equal(ns, 70);
	struct brick_graph_opportunity o[4];
	assert_int_equal(brick_graph_opportunities(g, o, 4), 4);
	assert_string_equal(o[0].name, "inner");
	assert_string_equal(o[1].name, "outer");
	assert_int_equal(o[1].on_path_ns, 40);
}

/* Launched onto a queue, a kernel is not held up by what launched it, nor part of its time. */
static void asynchronous_launch(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_node kernel = {.kind = BRICK_NODE_KERNEL,
		.name = "k",
		.lane = 1,
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = 500};
	struct brick_graph_node step = {.kind = BRICK_NODE_BRICK, .name = "Decode"};
	struct brick_graph_node launch = {.kind = BRICK_NODE_BRICK,
		.name = "Gate",
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = 10};
	struct brick_graph_node wait = {.kind = BRICK_NODE_BRICK,
		.name = "Synchronize",
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = 985,
		.wait_ns = 980};

	brick_graph_enter(g, &step);
	uint32_t kernels[2];
	for (int i = 0; i < 2; i++) {
		brick_graph_enter(g, &launch);
		kernels[i] = (uint32_t)brick_graph_add(g, &kernel);
		brick_graph_pop(g);
	}
	uint32_t sync = (uint32_t)brick_graph_add(g, &wait);
	connect(g, kernels[1], sync, BRICK_EDGE_DEPENDS_ON);
	/* launch 10, kernel 500, kernel 500, and 5 to notice that it is done */
	assert_int_equal(path_of(g).length_ns, 1015);
	assert_int_equal(times_of(g, 0).end_ns, 1015);
	uint64_t ns;
	assert_int_equal(brick_graph_what_if(g, "Gate", 0, &ns), 0);
	assert_int_equal(ns, 5); /* its kernels are part of it */
	assert_int_equal(brick_graph_what_if(g, "k", 0.5, &ns), 0);
	assert_int_equal(ns, 515);
}

static void f130_slack_on_path_is_none(void **state)
{
	struct brick_graph *g = *state;

	uint32_t a = brick(g, "a", 5), b = brick(g, "b", 7), c = brick(g, "c", 9);
	connect(g, c, a, BRICK_EDGE_SEQUENCE);
	connect(g, a, b, BRICK_EDGE_SEQUENCE);
	struct brick_graph_path path = path_of(g);
	for (size_t i = 0; i < path.count; i++)
		assert_int_equal(times_of(g, path.nodes[i]).slack_ns, 0);
	assert_int_equal(times_of(g, b).begin_ns, 14);
	assert_int_equal(times_of(g, b).end_ns, 21);
}

static void f131_slack_beside_path(void **state)
{
	struct brick_graph *g = *state;

	uint32_t end = brick(g, "end", 1), slow = brick(g, "long", 100);
	uint32_t first = brick(g, "short", 30), second = brick(g, "short", 20);
	connect(g, slow, end, BRICK_EDGE_DEPENDS_ON);
	connect(g, first, second, BRICK_EDGE_SEQUENCE);
	connect(g, second, end, BRICK_EDGE_DEPENDS_ON);
	assert_int_equal(times_of(g, first).slack_ns, 50);
	assert_int_equal(times_of(g, second).slack_ns, 50);
	assert_int_equal(times_of(g, slow).slack_ns, 0);
	/* slack is what it says: as much longer changes nothing, one more does */
	brick_graph_time_set(g, first, 0, 80);
	assert_int_equal(path_of(g).length_ns, 101);
	brick_graph_time_set(g, first, 0, 81);
	assert_int_equal(path_of(g).length_ns, 102);
}

static void f132_roofline_distance(void **state)
{
	/* at 2 FLOP per byte and 100 GB/s the roof is 200 GFLOP/s, though the peak is 1000 */
	assert_true(fabs(brick_roofline_distance(150e9, 1e12, 2, 100e9) - 0.25) < 1e-12);
	assert_true(fabs(brick_roofline_distance(500e9, 1e12, 50, 100e9) - 0.5) < 1e-12);
	assert_true(brick_roofline_distance(200e9, 1e12, 2, 100e9) == 0);
	assert_true(brick_roofline_distance(0, 1e12, 2, 100e9) == 1);
	/* what cannot be is not made to look as if it could */
	assert_true(fabs(brick_roofline_distance(300e9, 1e12, 2, 100e9) + 0.5) < 1e-12);
	assert_true(isnan(brick_roofline_distance(1, 0, 2, 1)));
	assert_true(isnan(brick_roofline_distance(-1, 1, 2, 1)));
	assert_true(isnan(brick_roofline_distance(NAN, 1, 2, 1)));
	assert_true(isnan(brick_roofline_distance(1, 1, 0, 1)));
}

static uint32_t transfer(struct brick_graph *g, const char *from, const char *to, uint64_t bytes)
{
	struct brick_graph_node node = {.kind = BRICK_NODE_TRANSFER,
		.name = "copy",
		.flags = BRICK_NODE_HAS_BYTES | BRICK_NODE_HAS_TIME,
		.bytes = bytes,
		.time_ns = 7,
		.transfer = {.source = from, .target = to}};
	return (uint32_t)brick_graph_add(g, &node);
}

static void f133_ping_pong(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_ping_pong pairs[4];

	assert_int_equal(brick_graph_ping_pongs(g, pairs, 4), 0);
	uint32_t first = transfer(g, "host", "gpu", 100);
	transfer(g, "gpu", "host", 99);	  /* another size */
	transfer(g, "gpu2", "host", 100); /* from elsewhere */
	uint32_t second = transfer(g, "host", "gpu", 100);
	uint32_t back = transfer(g, "gpu", "host", 100);
	uint32_t again = transfer(g, "gpu", "host", 100);
	transfer(g, "gpu", "host", 100); /* nothing is left that it could bring back */
	assert_int_equal(brick_graph_ping_pongs(g, pairs, 4), 2);
	assert_int_equal(pairs[0].there, second);
	assert_int_equal(pairs[0].back, back);
	assert_int_equal(pairs[0].bytes, 100);
	assert_int_equal(pairs[0].time_ns, 14);
	assert_int_equal(pairs[1].there, first);
	assert_int_equal(pairs[1].back, again);
	assert_int_equal(brick_graph_ping_pongs(g, pairs, 1), 2);
	/* what came last is on its way: it may come back */
	transfer(g, "host", "gpu", 100);
	assert_int_equal(brick_graph_ping_pongs(g, pairs, 4), 3);
}

static void f134_opportunities(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_opportunity o[4];

	uint32_t a = brick(g, "big", 1000), b = brick(g, "beside", 950), c = brick(g, "small", 400);
	connect(g, a, c, BRICK_EDGE_SEQUENCE);
	connect(g, b, c, BRICK_EDGE_SEQUENCE);
	assert_int_equal(brick_graph_opportunities(g, o, 4), 2);
	assert_string_equal(o[0].name, "big"); /* 50 of its 100: then "beside" is the longest */
	assert_int_equal(o[0].less_ns, 1350);
	assert_int_equal(o[0].nothing_ns, 1350);
	assert_int_equal(o[0].on_path_ns, 1000);
	assert_string_equal(o[1].name, "small");
	assert_int_equal(o[1].less_ns, 1360);
	assert_int_equal(o[1].nothing_ns, 1000);
	assert_int_equal(brick_graph_opportunities(g, o, 1), 1);
	assert_string_equal(o[0].name, "big");
	assert_int_equal(brick_graph_opportunities(g, o, 0), 0);
	uint64_t ns;
	assert_int_equal(brick_graph_what_if(g, "big", 2, &ns), 0);
	assert_int_equal(ns, 2400);
	assert_int_equal(brick_graph_what_if(g, "nobody", 1, &ns), -ENOENT);
	assert_int_equal(brick_graph_what_if(g, "big", -1, &ns), -EINVAL);
	assert_int_equal(brick_graph_what_if(g, "big", NAN, &ns), -EINVAL);
}

static void f135_summary(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_summary s;

	uint32_t a = brick(g, "a", 100), b = brick(g, "b", 300);
	uint32_t k = add(g, BRICK_NODE_KERNEL, "k", 40);
	connect(g, a, k, BRICK_EDGE_LAUNCHES);
	brick_graph_add(g, &(struct brick_graph_node){.kind = BRICK_NODE_KERNEL, .name = "?"});
	connect(g, a, b, BRICK_EDGE_SEQUENCE);
	transfer(g, "x", "y", 8);
	transfer(g, "y", "x", 8);
	assert_int_equal(brick_graph_summarize(g, &s), 0);
	assert_int_equal(s.nodes, 6);
	assert_int_equal(s.edges, 2);
	assert_int_equal(s.by_node_kind[BRICK_NODE_KERNEL], 2);
	assert_int_equal(s.by_edge_kind[BRICK_EDGE_LAUNCHES], 1);
	assert_int_equal(s.without_time, 1);
	assert_int_equal(s.length_ns, 400);
	assert_int_equal(s.work_ns, 414); /* the kernel's 40 are part of the brick's 100 */
	assert_true(fabs(s.parallelism - 414.0 / 400) < 1e-12);
	assert_int_equal(s.ping_pongs, 1);
	assert_int_equal(s.ping_pong_bytes, 16);
}

static void cycles_are_named(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_path path;
	struct brick_graph_times times;
	const uint32_t *nodes;

	for (int i = 0; i < 6; i++)
		brick(g, "n", 1);
	assert_int_equal(brick_graph_cycle(g, &nodes), 0);
	connect(g, 0, 1, BRICK_EDGE_SEQUENCE);
	connect(g, 1, 4, BRICK_EDGE_CONTAINS);
	connect(g, 4, 2, BRICK_EDGE_SEQUENCE);
	connect(g, 2, 1, BRICK_EDGE_DEPENDS_ON);
	assert_int_equal(brick_graph_critical_path(g, &path), BRICK_ECYCLE);
	assert_int_equal(brick_graph_times_get(g, 0, &times), BRICK_ECYCLE);
	assert_int_equal(brick_graph_cycle(g, &nodes), 3);
	assert_true((nodes[0] == 1 && nodes[1] == 4 && nodes[2] == 2) ||
		    (nodes[0] == 4 && nodes[1] == 2 && nodes[2] == 1) ||
		    (nodes[0] == 2 && nodes[1] == 1 && nodes[2] == 4));
	/* a node that must have ended before what is inside of it begins */
	brick_graph_clear(g);
	for (int i = 0; i < 3; i++)
		brick(g, "n", 1);
	connect(g, 0, 1, BRICK_EDGE_CONTAINS);
	connect(g, 1, 2, BRICK_EDGE_CONTAINS);
	connect(g, 0, 2, BRICK_EDGE_SEQUENCE);
	assert_int_equal(brick_graph_cycle(g, &nodes), 3);
	/* a node and itself */
	brick_graph_clear(g);
	brick(g, "n", 1);
	connect(g, 0, 0, BRICK_EDGE_CALLS);
	assert_int_equal(brick_graph_cycle(g, &nodes), 1);
	assert_int_equal(nodes[0], 0);
	char *text = graph_text(g, BRICK_GRAPH_TREE);
	assert_null(text);
	text = graph_text(g, BRICK_GRAPH_DOT); /* can be drawn all the same */
	assert_non_null(strstr(text, "n0 -> n0"));
	free(text);
}

/* A small stack is enough for a chain of any depth. */
static void *deep_chains(void *unused)
{
	struct brick_graph *g;
	enum { DEPTH = 100000 };
	struct brick_graph_path path;

	for (int kind = 0; kind < BRICK_EDGE_KINDS; kind++) {
		if (brick_graph_create(&g) < 0)
			return "create";
		for (int i = 0; i < DEPTH; i++)
			brick_graph_add(g, &(struct brick_graph_node){.kind = BRICK_NODE_FUNCTION,
						   .name = i % 2 ? "f" : "g",
						   .flags = BRICK_NODE_HAS_TIME,
						   .time_ns = (uint64_t)DEPTH - (uint64_t)i});
		for (uint32_t i = 1; i < DEPTH; i++)
			brick_graph_connect(g, i - 1, i, kind, 1);
		if (brick_graph_critical_path(g, &path) < 0)
			return "path";
		uint64_t sum = (uint64_t)DEPTH * (DEPTH + 1) / 2;
		if (path.length_ns != (kind < BRICK_EDGE_SEQUENCE ? DEPTH : sum) ||
			path.count != DEPTH)
			return "length";
		struct brick_graph_opportunity one;
		if (brick_graph_opportunities(g, &one, 1) != 1)
			return "opportunities";
		for (int format = 0; format < BRICK_GRAPH_FORMATS; format++) {
			char *text = graph_text(g, format);
			if (!text)
				return "format";
			free(text);
		}
		brick_graph_connect(g, DEPTH - 1, 0, kind, 1);
		const uint32_t *nodes;
		if (brick_graph_cycle(g, &nodes) != DEPTH)
			return "cycle";
		brick_graph_destroy(g);
	}
	return NULL;
}

static void deep_chains_need_no_stack(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *failed;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	assert_int_equal(pthread_create(&thread, &attr, deep_chains, NULL), 0);
	pthread_join(thread, &failed);
	pthread_attr_destroy(&attr);
	if (failed)
		fail_msg("%s", (const char *)failed);
}

/* ---- The reference: what graph_path.h says, said again without any regard for speed. ---- */

enum { MOST = 8 };

struct reference {
	int n;
	uint64_t busy[MOST], extra[MOST];
	int parent[MOST], held[MOST];
	int any[MOST][MOST];	/* an edge of any kind */
	int before[MOST][MOST]; /* a precedence edge */
	int open[MOST][2], cyclic;
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
	int rank[MOST], lane[MOST];

	memset(r, 0, sizeof(*r));
	r->n = 1 + (int)below(MOST);
	for (int v = 0; v < r->n; v++) {
		struct brick_graph_node node = {
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
	for (int i = (int)below(3 * MOST); i > 0; i--) {
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
		struct brick_graph_path path[2];
		struct brick_graph_opportunity best[2][8] = {0};
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

#define GRAPH_TEST(test) cmocka_unit_test_setup_teardown(test, create, destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(f128_path_of_a_chain),
		GRAPH_TEST(f129_path_of_branches),
		GRAPH_TEST(siblings_are_serial),
		GRAPH_TEST(what_belongs_to_a_brick),
		GRAPH_TEST(asynchronous_launch),
		GRAPH_TEST(f130_slack_on_path_is_none),
		GRAPH_TEST(f131_slack_beside_path),
		cmocka_unit_test(f132_roofline_distance),
		GRAPH_TEST(f133_ping_pong),
		GRAPH_TEST(f134_opportunities),
		GRAPH_TEST(f135_summary),
		GRAPH_TEST(cycles_are_named),
		cmocka_unit_test(deep_chains_need_no_stack),
		GRAPH_TEST(random_graphs),
		cmocka_unit_test(answers_do_not_change),
		GRAPH_TEST(absurd_times),
	};
	return cmocka_run_group_tests_name("graph_path", tests, NULL, NULL);
}

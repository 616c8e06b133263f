/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small ggml of our own whose functions have other arguments and results than those that Brick
 * knows by their names, one kind for each FORK. It computes a graph, and prints what came of it.
 *
 *   ggml_forks THREADS GRAPHS
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone, noipa))
#define API APART __attribute__((used))

enum {
	F32,
	I32 = 26,
	OP_NONE = 0,
	OP_ADD = 2,
	OP_MUL_MAT = 30,
	OP_NORM = 24,
	OP_MUL = 7,
	OP_VIEW = 35
};
enum { HEADER = 32, LAYERS = 6, MOST = 64, MOST_THREADS = 8 };

struct ggml_tensor {
	int type;
	void *buffer;
	int64_t ne[4];
	size_t nb[4];
	int op;
	int32_t op_params[16];
	int32_t flags;
	struct ggml_tensor *src[10];
	struct ggml_tensor *view_src;
	size_t view_offs;
	void *data;
	char name[64];
	void *extra;
	char padding[8];
};

struct ggml_init_params {
	size_t mem_size;
	void *mem_buffer;
	bool no_alloc;
};

struct ggml_context {
	char *at;
	int of_itself;
};

API struct ggml_context *ggml_init(struct ggml_init_params params)
{
	struct ggml_context *c = malloc(sizeof(*c));

	c->of_itself = !params.mem_buffer;
	c->at = params.mem_buffer ? params.mem_buffer : calloc(1, params.mem_size);
	return c;
}

API void ggml_free(struct ggml_context *c)
{
	free(c);
}

API struct ggml_tensor *ggml_new_tensor_2d(
	struct ggml_context *c, int type, int64_t ne0, int64_t ne1)
{
	struct ggml_tensor *t = (struct ggml_tensor *)c->at;

	c->at += sizeof(*t) + HEADER;
	*t = (struct ggml_tensor){
		.type = type, .ne = {ne0, ne1, 1, 1}, .nb = {4, 4 * (size_t)ne0, 0, 0}};
	if (c->of_itself)
		t->data = calloc((size_t)(ne0 * ne1), 4);
	return t;
}

static struct ggml_tensor *make(
	struct ggml_context *c, int op, struct ggml_tensor *a, struct ggml_tensor *b)
{
	struct ggml_tensor *t = ggml_new_tensor_2d(c, F32, a->ne[op == OP_MUL_MAT], b->ne[1]);

	t->op = op;
	t->src[0] = a;
	t->src[1] = b;
	return t;
}

API struct ggml_tensor *ggml_mul_mat(
	struct ggml_context *c, struct ggml_tensor *a, struct ggml_tensor *b)
{
	return make(c, OP_MUL_MAT, a, b);
}

API struct ggml_tensor *ggml_add(
	struct ggml_context *c, struct ggml_tensor *a, struct ggml_tensor *b)
{
	return make(c, OP_ADD, a, b);
}

API struct ggml_tensor *ggml_view_1d(
	struct ggml_context *c, struct ggml_tensor *a, int64_t ne0, size_t offset)
{
	struct ggml_tensor *t = ggml_new_tensor_2d(c, a->type, ne0, 1);

	t->op = OP_VIEW;
	t->src[0] = t->view_src = a;
	t->view_offs = offset;
	return t;
}

API struct ggml_tensor *ggml_set_name(struct ggml_tensor *t, const char *name)
{
	snprintf(t->name, sizeof(t->name), "%s", name);
	return t;
}

API size_t ggml_tensor_overhead(void)
{
	return sizeof(struct ggml_tensor) + HEADER;
}
API const char *ggml_get_name(const struct ggml_tensor *t)
{
	return t->name;
}
API int64_t ggml_blck_size(int type)
{
	return 1 + 0 * type;
}
API size_t ggml_type_size(int type)
{
	return 4 + 0 * (size_t)type;
}
API int64_t ggml_nelements(const struct ggml_tensor *t)
{
	return t->ne[0] * t->ne[1];
}
API size_t ggml_nbytes(const struct ggml_tensor *t)
{
	return 4 * (size_t)ggml_nelements(t);
}
API void *ggml_get_data(const struct ggml_tensor *t)
{
	return t->data;
}
API bool ggml_is_empty(const struct ggml_tensor *t)
{
	return !t->ne[0] || !t->ne[1];
}

API const char *ggml_op_desc(const struct ggml_tensor *t)
{
	return t->op == OP_ADD	     ? "ADD"
	       : t->op == OP_MUL_MAT ? "MUL_MAT"
	       : t->op == OP_NORM    ? "RMS_NORM"
	       : t->op == OP_MUL     ? "MUL"
	       : t->op == OP_VIEW    ? "VIEW"
				     : "NONE";
}

struct graph {
	struct ggml_tensor *nodes[MOST];
	int n_nodes;
};

API int ggml_graph_n_nodes(const struct graph *g)
{
	return g->n_nodes;
}
API struct ggml_tensor *ggml_graph_node(struct graph *g, int i)
{
	return g->nodes[i];
}

/* What a thread computes with. */
struct pool {
	pthread_barrier_t all;
	int count;
};
struct params {
	int ith, nth;
	size_t size;
	void *data;
	struct pool *pool;
};
static volatile int calls;

static APART void work(const struct params *p, struct ggml_tensor *t)
{
	float *to = t->data;
	const float *a = t->src[0]->data, *b = t->src[1] ? t->src[1]->data : a;

	for (int64_t i = p->ith; i < ggml_nelements(t); i += p->nth)
		to[i] = t->op == OP_NORM      ? a[i] * 0.5f
			: t->op == OP_MUL     ? a[i] * b[i % t->src[1]->ne[0]]
			: t->op == OP_MUL_MAT ? b[i] * 0.25f + a[i % 7]
					      : a[i] + b[i];
	if (!p->ith)
		calls++;
}

struct pair {
	long a, b;
};
struct large {
	long of[9];
};
typedef double two __attribute__((vector_size(16)));

/* FORWARD is how it is declared, CALL how it is called for a node, and both look at what passes. */
static volatile long wrong;
#define NEXT(is_right) (wrong += !(is_right))
static struct graph *now;
static jmp_buf back[MOST_THREADS];

#if FORK == 0 /* as Brick knows it */
#define FORWARD void ggml_compute_forward(struct params *p, struct ggml_tensor *t)
#define BODY work(p, t);
#define CALL          \
	if (node->op) \
	ggml_compute_forward(p, node)
#elif FORK == \
	1 /* the index of the last node that it computed, and no tensor where there is no work */
#define FORWARD                   \
	int ggml_compute_forward( \
		struct params *p, struct ggml_tensor *t, const struct graph *g, int i)
#define BODY                                                     \
	if (!t)                                                  \
		return i;                                        \
	work(p, t);                                              \
	if (t->op == OP_NORM && g->nodes[i + 1]->op == OP_MUL) { \
		barrier(p);                                      \
		work(p, g->nodes[++i]);                          \
	}                                                        \
	return i;
#define CALL i = ggml_compute_forward(p, node->op && node->op != OP_VIEW ? node : NULL, g, i)
#elif FORK == 2
#define FORWARD int ggml_compute_forward(struct ggml_tensor *t, struct params *p)
#define BODY        \
	work(p, t); \
	return 77;
#define CALL NEXT(ggml_compute_forward(node, p) == 77)
#elif FORK == 3 /* on the stack */
#define FORWARD                                                                   \
	long ggml_compute_forward(long a, long b, long c, long d, long e, long f, \
		struct params *p, struct ggml_tensor *t, long h, long i)
#define BODY        \
	work(p, t); \
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * h + 8 * i;
#define CALL NEXT(ggml_compute_forward(1, 2, 3, 4, 5, 6, p, node, 7, 8) == 204)
#elif FORK == 4
#define FORWARD struct pair ggml_compute_forward(struct params *p, struct ggml_tensor *t)
#define BODY        \
	work(p, t); \
	return (struct pair){(long)p, -5};
#define CALL                                           \
	struct pair r = ggml_compute_forward(p, node); \
	NEXT(r.a == (long)p && r.b == -5)
#elif FORK == 5 /* through a hidden pointer */
#define FORWARD struct large ggml_compute_forward(struct params *p, struct ggml_tensor *t)
#define BODY        \
	work(p, t); \
	return (struct large){{1, 2, 3, 4, 5, 6, 7, 8, (long)t}};
#define CALL                                            \
	struct large r = ggml_compute_forward(p, node); \
	NEXT(r.of[7] == 8 && r.of[8] == (long)node)
#elif FORK == 6 /* by value */
#define FORWARD long ggml_compute_forward(struct large l, struct params *p, struct ggml_tensor *t)
#define BODY        \
	work(p, t); \
	return l.of[8];
#define CALL                       \
	NEXT(ggml_compute_forward( \
		     (struct large){{9, 8, 7, 6, 5, 4, 3, 2, (long)node}}, p, node) == (long)node)
#elif FORK == 7
#define FORWARD                      \
	double ggml_compute_forward( \
		struct params *p, struct ggml_tensor *t, double a, float b, double c)
#define BODY        \
	work(p, t); \
	return a * 2 + (double)b + c / 2;
#define CALL NEXT(ggml_compute_forward(p, node, 1.5, 0.25f, 5) == 5.75)
#elif FORK == 8
#define FORWARD \
	long double ggml_compute_forward(struct params *p, struct ggml_tensor *t, long double a)
#define BODY        \
	work(p, t); \
	return a / 3;
#define CALL                        \
	volatile long double a = 7; \
	NEXT(ggml_compute_forward(p, node, a) == a / 3)
#elif FORK == 9
#define FORWARD double ggml_compute_forward(struct params *p, ...)
#define BODY                                                   \
	va_list list;                                          \
	va_start(list, p);                                     \
	work(p, va_arg(list, struct ggml_tensor *));           \
	double sum = va_arg(list, double) + va_arg(list, int); \
	for (int k = 0; k < 9; k++)                            \
		sum += va_arg(list, double);                   \
	va_end(list);                                          \
	return sum;
#define CALL NEXT(ggml_compute_forward(p, node, 0.5, 2, 1., 2., 3., 4., 5., 6., 7., 8., 9.) == 47.5)
#elif FORK == 10 /* ends with a jump */
#define FORWARD long ggml_compute_forward(struct params *p, struct ggml_tensor *t, long a)
static APART long behind(struct params *p, struct ggml_tensor *t, long a)
{
	work(p, t);
	return a + 1;
}
#define BODY return behind(p, t, a * 2);
#define CALL NEXT(ggml_compute_forward(p, node, 4) == 9)
#elif FORK == 11 /* does not come back */
#define FORWARD void ggml_compute_forward(struct params *p, struct ggml_tensor *t)
#define BODY        \
	work(p, t); \
	longjmp(back[p->ith], 3);
#define CALL                                   \
	if (!setjmp(back[p->ith]))             \
		ggml_compute_forward(p, node); \
	else                                   \
		node = NULL;                   \
	NEXT(!node)
#elif FORK == 12
#define FORWARD two ggml_compute_forward(struct params *p, struct ggml_tensor *t, two a, two b)
#define BODY        \
	work(p, t); \
	return a - b;
#define CALL                                                             \
	two r = ggml_compute_forward(p, node, (two){5, 6}, (two){1, 4}); \
	NEXT(r[0] == 4 && r[1] == 2)
#elif FORK == 13 /* a number for a node */
#define FORWARD bool ggml_compute_forward(struct params *p, int i, const char *why)
#define BODY                    \
	work(p, now->nodes[i]); \
	return why[0] == 'w';
#define CALL NEXT(ggml_compute_forward(p, i, "why"))
#elif FORK == 14 /* small numbers where pointers were */
#define FORWARD int ggml_compute_forward(int ith, int i, struct params *p)
#define BODY                    \
	work(p, now->nodes[i]); \
	return -ith;
#define CALL NEXT(ggml_compute_forward(p->ith, i, p) == -p->ith)
#elif FORK == 15 /* stops after a node, as one whose index was lost */
#define FORWARD int ggml_compute_forward(struct params *p, struct ggml_tensor *t)
#define BODY        \
	work(p, t); \
	return 1 << 20;
#define CALL i = ggml_compute_forward(p, node)
#elif FORK == 16 /* NaN from its second node on */
#define FORWARD int ggml_compute_forward(struct params *p, struct ggml_tensor *t)
#define BODY                                                \
	work(p, t);                                         \
	for (int k = 0; t->op == OP_MUL && k < 64 * 8; k++) \
		((float *)t->data)[k] = __builtin_nanf(""); \
	return 0;
#define CALL ggml_compute_forward(p, node)
#endif

/* A barrier with arguments and results of its own. */
API long ggml_barrier(struct pool *pool, double a, long b);
API long ggml_barrier(struct pool *pool, double a, long b)
{
	if (pool->count > 1)
		pthread_barrier_wait(&pool->all);
	return (long)(a * 2) + b;
}

static void barrier(struct params *p)
{
	NEXT(ggml_barrier(p->pool, 2.5, 4) == 9);
}

static APART FORWARD
{
	wrong += 0; /* room for a jump before the first call */
	BODY
}

static APART void compute_thread(struct params *p, struct graph *g)
{
	for (volatile int index = 0; index < g->n_nodes; index++) {
		int i = index;
		struct ggml_tensor *volatile node = g->nodes[i];
		if (!node->op || (FORK != 1 && node->op == OP_VIEW))
			continue;
		{
			CALL;
		}
		index = i;
		barrier(p);
	}
}

struct team {
	struct params params;
	struct graph *graph;
	pthread_t thread;
};

static void *run(void *team)
{
	struct team *t = team;

	compute_thread(&t->params, t->graph);
	return NULL;
}

/* With more arguments than two, and a result that is not a status. */
API double ggml_graph_compute(
	struct graph *g, struct pool *pool, long a, double b, struct large l, float c);
API double ggml_graph_compute(
	struct graph *g, struct pool *pool, long a, double b, struct large l, float c)
{
	struct team team[MOST_THREADS];

	now = g;
	for (int i = pool->count - 1; i >= 0; i--) {
		team[i].params = (struct params){i, pool->count, 0, NULL, pool};
		team[i].graph = g;
		if (i)
			pthread_create(&team[i].thread, NULL, run, &team[i]);
		else
			run(&team[i]);
	}
	for (int i = 1; i < pool->count; i++)
		pthread_join(team[i].thread, NULL);
	return (double)a + b + (double)l.of[8] + (double)c;
}

static struct ggml_tensor *named(struct ggml_tensor *t, const char *name, int layer)
{
	char text[64];

	snprintf(text, sizeof(text), "%s-%d", name, layer);
	return ggml_set_name(t, text);
}

static struct ggml_tensor *add_node(
	struct graph *g, struct ggml_tensor *t, const char *name, int layer)
{
	return g->nodes[g->n_nodes++] = named(t, name, layer);
}

static void build(struct graph *g)
{
	enum { SIDE = 64, ROWS = 8 };
	struct ggml_context *c = ggml_init((struct ggml_init_params){1 << 20, NULL, false});
	struct ggml_tensor *x = named(ggml_new_tensor_2d(c, F32, SIDE, ROWS), "inp", 0);

	for (int i = 0; i < SIDE * ROWS; i++)
		((float *)x->data)[i] = (float)(i % 13) - 6;
	for (int l = 0; l < LAYERS; l++) {
		struct ggml_tensor *w = named(ggml_new_tensor_2d(c, F32, SIDE, SIDE), "weight", l);
		struct ggml_tensor *n =
			named(ggml_new_tensor_2d(c, F32, SIDE, 1), "norm_weight", l);
		for (int i = 0; i < SIDE; i++)
			((float *)n->data)[i] = 1 + (float)i / 64;
		((float *)w->data)[l] = 1;
		struct ggml_tensor *norm = add_node(g, make(c, OP_NORM, x, x), "norm", l);
		norm->src[1] = NULL;
		struct ggml_tensor *scaled = add_node(g, make(c, OP_MUL, norm, n), "ffn_norm", l);
		scaled->ne[1] = ROWS;
		scaled->data = calloc(SIDE * ROWS, 4);
		add_node(g, ggml_view_1d(c, scaled, SIDE, 0), "view", l);
		x = add_node(g,
			ggml_add(c, add_node(g, ggml_mul_mat(c, w, scaled), "ffn_up", l), x),
			"l_out", l);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, graphs = argc > 2 ? atoi(argv[2]) : 1;
	static struct graph graph;
	struct pool pool = {.count = threads};
	double sum = 0;

	pthread_barrier_init(&pool.all, NULL, (unsigned)threads);
	build(&graph);
	for (int i = 0; i < graphs; i++)
		sum += ggml_graph_compute(
			&graph, &pool, i, 0.5, (struct large){{0, 0, 0, 0, 0, 0, 0, 0, 3}}, 0.25f);
	for (int i = 0; i < graph.n_nodes; i++) {
		uint32_t hash = 5381;
		for (int64_t k = 0;
			graph.nodes[i]->op != OP_VIEW && k < ggml_nelements(graph.nodes[i]); k++)
			hash = hash * 33 ^ ((uint32_t *)graph.nodes[i]->data)[k];
		printf("%s %08x\n", graph.nodes[i]->name, hash);
	}
	printf("ggml: %d calls, %ld wrong, %g\n", calls, wrong, sum);
	return 0;
}

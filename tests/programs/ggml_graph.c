/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small graphs on an installed ggml, for tests of the interposer: the same program is run with and
 * without it, and must print the same. Run as: program-ggml_graph LIBS MODE [THREADS [GRAPHS]],
 * where LIBS holds libggml-base.so and libggml-cpu-x64.so. Modes:
 *
 *   plain     one graph after the other, without a scheduler
 *   sched     through a scheduler, with an evaluation callback of the program's own
 *   local     the CPU backend opened RTLD_LOCAL, called through its own pointers
 *   reload    the CPU backend closed and opened again between graphs, another variant if it can
 *   grow      alone at first, then with other threads
 *   nested    an operation of the program's own that computes another graph
 *   parallel  two threads with a context each at the same time
 *   fork      a graph, then one in a child and one in the parent
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct init_params {
	size_t bytes;
	void *buffer;
	_Bool no_alloc;
};

typedef void (*custom_fn)(void *out, const void *in, int ith, int nth, void *data);
typedef _Bool (*eval_fn)(void *tensor, _Bool ask, void *data);

static void *(*init)(struct init_params params);
static void (*free_context)(void *context);
static void *(*new_2d)(void *context, int type, int64_t ne0, int64_t ne1);
static void *(*mul_mat)(void *context, void *a, void *b);
static void *(*add)(void *context, void *a, void *b);
static void *(*silu)(void *context, void *a);
static void *(*map_custom1)(void *context, void *a, custom_fn fn, int tasks, void *data);
static void *(*set_name)(void *tensor, const char *name);
static const char *(*get_name)(const void *tensor);
static float *(*data_of)(const void *tensor);
static void *(*new_graph)(void *context);
static void (*expand)(void *graph, void *tensor);
static int (*compute_with_ctx)(void *context, void *graph, int threads);

static void *base, *cpu;
static int threads = 1, graphs = 3;

static void *open_library(const char *dir, const char *name, int flags)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	void *handle = dlopen(path, RTLD_NOW | flags);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return handle;
}

static void *find(void *handle, const char *name)
{
	void *symbol = dlsym(handle, name);

	if (!symbol) {
		fprintf(stderr, "no %s\n", name);
		exit(77);
	}
	return symbol;
}

static void find_cpu(void)
{
	compute_with_ctx = (int (*)(void *, void *, int))find(cpu, "ggml_graph_compute_with_ctx");
}

static void open_engine(const char *dir, int cpu_flags)
{
	base = open_library(dir, "libggml-base.so", RTLD_GLOBAL);
	cpu = open_library(dir, "libggml-cpu-x64.so", cpu_flags);
	init = (void *(*)(struct init_params))find(base, "ggml_init");
	free_context = (void (*)(void *))find(base, "ggml_free");
	new_2d = (void *(*)(void *, int, int64_t, int64_t))find(base, "ggml_new_tensor_2d");
	mul_mat = (void *(*)(void *, void *, void *))find(base, "ggml_mul_mat");
	add = (void *(*)(void *, void *, void *))find(base, "ggml_add");
	silu = (void *(*)(void *, void *))find(base, "ggml_silu");
	map_custom1 =
		(void *(*)(void *, void *, custom_fn, int, void *))find(base, "ggml_map_custom1");
	set_name = (void *(*)(void *, const char *))find(base, "ggml_set_name");
	get_name = (const char *(*)(const void *))find(base, "ggml_get_name");
	data_of = (float *(*)(const void *))find(base, "ggml_get_data_f32");
	new_graph = (void *(*)(void *))find(base, "ggml_new_graph");
	expand = (void (*)(void *, void *))find(base, "ggml_build_forward_expand");
	find_cpu();
}

/* An interposer of the program's own, which stands in front of every library. */
static int own_calls;

__attribute__((visibility("default"))) int ggml_graph_compute(void *graph, void *plan);
int ggml_graph_compute(void *graph, void *plan)
{
	int (*next)(void *, void *) =
		(int (*)(void *, void *))dlsym(RTLD_NEXT, "ggml_graph_compute");

	if (!next)
		next = (int (*)(void *, void *))dlsym(cpu, "ggml_graph_compute");
	__atomic_add_fetch(&own_calls, 1, __ATOMIC_RELAXED);
	return next(graph, plan);
}

static void *new_context(int no_alloc)
{
	return init((struct init_params){16 << 20, NULL, no_alloc});
}

static void fill(void *tensor, int n, float scale)
{
	float *value = data_of(tensor);

	for (int i = 0; i < n; i++)
		value[i] = scale * (float)((i * 37 + 11) % 23 - 11);
}

enum { SIDE = 64, NODES = 4 };

struct model {
	void *context, *weight, *other, *input, *output, *graph;
};

/* output = silu(weight x input) + input, then once more: named like a layer's tensors. */
static void build(struct model *m, custom_fn custom, int no_alloc)
{
	m->context = new_context(no_alloc);
	m->weight = new_2d(m->context, 0, SIDE, SIDE);
	m->other = new_2d(m->context, 0, SIDE, SIDE);
	m->input = new_2d(m->context, 0, SIDE, 8);
	set_name(m->weight, "blk.3.ffn_up.weight");
	set_name(m->input, "l_out-2");
	if (!no_alloc) {
		fill(m->weight, SIDE * SIDE, 0.01f);
		fill(m->other, SIDE * SIDE, 0.02f);
		fill(m->input, SIDE * 8, 0.1f);
	}
	void *x = set_name(mul_mat(m->context, m->weight, m->input), "ffn_up-3");
	x = set_name(silu(m->context, x), "ffn_silu-3");
	if (custom)
		x = set_name(map_custom1(m->context, x, custom, 1, NULL), "mine-3");
	x = set_name(add(m->context, x, m->input), "l_out-3");
	m->output = set_name(mul_mat(m->context, m->other, x), "mystery");
	m->graph = new_graph(m->context);
	expand(m->graph, m->output);
}

static double sum_of(const struct model *m)
{
	const float *value = data_of(m->output);
	double sum = 0;

	for (int i = 0; i < SIDE * 8; i++)
		sum += value[i] * (i % 7 + 1);
	return sum;
}

static void compute(struct model *m)
{
	int status = compute_with_ctx(m->context, m->graph, threads);

	printf("%d %.6f\n", status, sum_of(m));
	fflush(stdout);
}

static void run_plain(void)
{
	struct model m;

	build(&m, NULL, 0);
	for (int i = 0; i < graphs; i++)
		compute(&m);
	free_context(m.context);
}

/* Alone at first, then with others: until then nobody wants to know of barriers. */
static void run_grow(void)
{
	int wanted = threads;

	threads = 1;
	run_plain();
	threads = wanted;
	run_plain();
}

static int asked, called;

static _Bool on_node(void *tensor, _Bool ask, void *data)
{
	_Bool mine = !strcmp(get_name(tensor), "ffn_silu-3");

	if (data != &asked)
		abort();
	asked += ask;
	called += !ask;
	if (!ask && !mine)
		abort(); /* for a node that was not wanted */
	return ask ? mine : 1;
}

static void run_sched(void)
{
	void *(*backend_init)(void) = (void *(*)(void))find(cpu, "ggml_backend_cpu_init");
	void (*set_threads)(void *, int) =
		(void (*)(void *, int))find(cpu, "ggml_backend_cpu_set_n_threads");
	void *(*make)(void **, void *, int, size_t, _Bool, _Bool) = (void *(*)(void **, void *, int,
		size_t, _Bool, _Bool))find(RTLD_DEFAULT, "ggml_backend_sched_new");
	void (*set_callback)(void *, eval_fn, void *) = (void (*)(void *, eval_fn, void *))find(
		RTLD_DEFAULT, "ggml_backend_sched_set_eval_callback");
	_Bool (*alloc)(void *, void *) =
		(_Bool(*)(void *, void *))find(RTLD_DEFAULT, "ggml_backend_sched_alloc_graph");
	int (*go)(void *, void *) = (int (*)(void *, void *))find(
		RTLD_DEFAULT, "ggml_backend_sched_graph_compute_async");
	void *backend = backend_init();
	struct model m;

	set_threads(backend, threads);
	void *scheduler = make(&backend, NULL, 1, 256, 0, 0);
	build(&m, NULL, 1);
	if (!alloc(scheduler, m.graph))
		exit(1);
	for (int i = 0; i < graphs; i++) {
		/* Nodes may have been put where these were. */
		fill(m.weight, SIDE * SIDE, 0.01f);
		fill(m.other, SIDE * SIDE, 0.02f);
		fill(m.input, SIDE * 8, 0.1f);
		set_callback(scheduler, i % 2 ? on_node : NULL, i % 2 ? &asked : NULL);
		int status = go(scheduler, m.graph);
		printf("%d %.6f\n", status, sum_of(&m));
	}
	printf("asked %s, called %d\n", asked >= called ? "enough" : "too little", called);
}

static const char *other_variant(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/libggml-cpu-sse42.so", dir);
	return access(path, R_OK) ? "libggml-cpu-x64.so" : "libggml-cpu-sse42.so";
}

static void run_reload(const char *dir)
{
	struct model m;

	build(&m, NULL, 0);
	for (int i = 0; i < graphs; i++) {
		compute(&m);
		dlclose(cpu);
		cpu = open_library(
			dir, i % 2 ? "libggml-cpu-x64.so" : other_variant(dir), RTLD_LOCAL);
		find_cpu();
	}
	compute(&m);
}

static struct model inner;

static void custom(void *out, const void *in, int ith, int nth, void *data)
{
	(void)nth;
	(void)data;
	if (ith)
		return;
	memcpy(data_of(out), data_of(in), SIDE * 8 * sizeof(float));
	compute_with_ctx(inner.context, inner.graph, 1);
	data_of(out)[0] += (float)sum_of(&inner) * 1e-3f;
}

static void run_nested(void)
{
	struct model m;

	build(&inner, NULL, 0);
	build(&m, custom, 0);
	for (int i = 0; i < graphs; i++)
		compute(&m);
}

static void *compute_many(void *sum)
{
	struct model m;

	build(&m, NULL, 0);
	for (int i = 0; i < graphs; i++) {
		compute_with_ctx(m.context, m.graph, threads);
		*(double *)sum += sum_of(&m);
	}
	free_context(m.context);
	return NULL;
}

static void run_parallel(void)
{
	pthread_t thread[2];
	double sum[2] = {0, 0};

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, compute_many, &sum[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%.4f %.4f\n", sum[0], sum[1]);
}

static int run_fork(void)
{
	struct model m;
	int status = 0;

	build(&m, NULL, 0);
	compute(&m);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		compute(&m);
		exit(5);
	}
	waitpid(child, &status, 0);
	compute(&m);
	printf("child %d\n", WEXITSTATUS(status));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const char *mode = argv[2];
	threads = argc > 3 ? atoi(argv[3]) : threads;
	graphs = argc > 4 ? atoi(argv[4]) : graphs;
	open_engine(argv[1],
		!strcmp(mode, "local") || !strcmp(mode, "reload") ? RTLD_LOCAL : RTLD_GLOBAL);
	if (!strcmp(mode, "plain") || !strcmp(mode, "local"))
		run_plain();
	else if (!strcmp(mode, "grow"))
		run_grow();
	else if (!strcmp(mode, "sched"))
		run_sched();
	else if (!strcmp(mode, "reload"))
		run_reload(argv[1]);
	else if (!strcmp(mode, "nested"))
		run_nested();
	else if (!strcmp(mode, "parallel"))
		run_parallel();
	else if (!strcmp(mode, "fork"))
		return run_fork();
	else
		return 2;
	puts(own_calls ? "calls seen" : "no calls seen");
	return own_calls == 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program on an installed ggml that names no tensor. Run as: program-ggml_nameless LIBS MODE
 * THREADS, where LIBS holds libggml-base.so and libggml-cpu-x64.so; prints a sum for each graph.
 * Modes: transformer  six blocks of attention and feed-forward network, with 8 and with 1 tokens
 * (the last block of those with 8 has but one row, as when only the last token's answer is wanted)
 * time  a cell with one weight, twelve times  widths  a network whose layers all differ;  two  two
 * blocks of the transformer;  weights  the transformer, whose weights have names as those of a
 * file, its first block is called 10
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 0, I32 = 26, WIDTH = 64, HIDDEN = 160, WORDS = 32, LAYERS = 6, MAX_WEIGHTS = 64 };

struct init_params {
	size_t bytes;
	void *buffer;
	_Bool no_alloc;
};

/* Whatever takes tensors and gives one. */
typedef void *(*one_fn)(void *context, void *a);
typedef void *(*two_fn)(void *context, void *a, void *b);

static void *(*init)(struct init_params params);
static void (*free_context)(void *context);
static void *(*new_2d)(void *context, int type, int64_t ne0, int64_t ne1);
static void *(*rms_norm)(void *context, void *a, float eps);
static two_fn mul_mat, add, mul, get_rows;
static one_fn silu, soft_max, transpose, cont, relu;
static void *(*view_2d)(
	void *context, void *a, int64_t ne0, int64_t ne1, size_t nb1, size_t offset);
static void *(*data_of)(const void *tensor);
static void *(*set_name)(void *tensor, const char *name);
static void *(*new_graph)(void *context);
static void (*expand)(void *graph, void *tensor);
static int (*compute)(void *context, void *graph, int threads);

static void *weights[MAX_WEIGHTS];
static int threads, used, has_names, layer;

static void find(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	if (!symbol) {
		fprintf(stderr, "no %s\n", name);
		exit(77);
	}
	memcpy(function, &symbol, sizeof symbol);
}

static void *open_library(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return handle;
}

static void open_engine(const char *dir)
{
	void *base = open_library(dir, "libggml-base.so");

	find(base, "ggml_init", &init);
	find(base, "ggml_free", &free_context);
	find(base, "ggml_new_tensor_2d", &new_2d);
	find(base, "ggml_rms_norm", &rms_norm);
	find(base, "ggml_mul_mat", &mul_mat);
	find(base, "ggml_add", &add);
	find(base, "ggml_mul", &mul);
	find(base, "ggml_get_rows", &get_rows);
	find(base, "ggml_silu", &silu);
	find(base, "ggml_relu", &relu);
	find(base, "ggml_soft_max", &soft_max);
	find(base, "ggml_transpose", &transpose);
	find(base, "ggml_cont", &cont);
	find(base, "ggml_view_2d", &view_2d);
	find(base, "ggml_get_data", &data_of);
	find(base, "ggml_set_name", &set_name);
	find(base, "ggml_new_graph", &new_graph);
	find(base, "ggml_build_forward_expand", &expand);
	find(open_library(dir, "libggml-cpu-x64.so"), "ggml_graph_compute_with_ctx", &compute);
}

static void *values(void *context, int width, int height, int seed)
{
	void *tensor = new_2d(context, F32, width, height);
	float *value = data_of(tensor);

	for (int i = 0; i < width * height; i++)
		value[i] = 0.02f * (float)((i * 37 + seed * 101) % 23 - 11);
	return tensor;
}

/* The same ones in each graph, in this order. */
static void *weight(void *held, int width, int height)
{
	if (!weights[used]) {
		char name[32];
		weights[used] = values(held, width, height, used + 1);
		snprintf(name, sizeof name, "blk.%d.w%d.weight", layer, used);
		if (has_names && layer)
			set_name(weights[used], name);
	}
	return weights[used++];
}

static void *norm(void *held, void *c, void *x)
{
	return mul(c, rms_norm(c, x, 1e-5f), weight(held, WIDTH, 1));
}

static void *attention(void *held, void *c, void *x)
{
	void *q = mul_mat(c, weight(held, WIDTH, WIDTH), x);
	void *k = mul_mat(c, weight(held, WIDTH, WIDTH), x);
	void *v = cont(c, transpose(c, mul_mat(c, weight(held, WIDTH, WIDTH), x)));
	void *score = soft_max(c, mul_mat(c, k, q));

	return mul_mat(c, weight(held, WIDTH, WIDTH), mul_mat(c, v, score));
}

/* only_last: of the rows that come out of the attention, only the last goes on. */
static void *block(void *held, void *c, void *x, int rows, int only_last)
{
	const size_t row = WIDTH * sizeof(float), last = (size_t)(rows - 1) * row;
	void *y = attention(held, c, norm(held, c, x));

	if (only_last) {
		y = cont(c, view_2d(c, y, WIDTH, 1, row, last));
		x = cont(c, view_2d(c, x, WIDTH, 1, row, last));
	}
	y = add(c, x, y);
	x = norm(held, c, y);
	void *gate = silu(c, mul_mat(c, weight(held, WIDTH, HIDDEN), x));
	void *up = mul_mat(c, weight(held, WIDTH, HIDDEN), x);
	return add(c, y, mul_mat(c, weight(held, HIDDEN, WIDTH), mul(c, gate, up)));
}

static void *transformer(void *held, void *c, int rows, int blocks)
{
	void *words = weight(held, WIDTH, WORDS), *ids = new_2d(c, I32, rows, 1);

	for (int i = 0; i < rows; i++)
		((int32_t *)data_of(ids))[i] = i * 5 % WORDS;
	void *x = add(c, get_rows(c, words, ids), values(c, WIDTH, rows, 1));
	for (int i = 0; i < blocks; i++) {
		layer = 10 + i;
		x = block(held, c, x, rows, rows > 1 && i == blocks - 1);
	}
	layer = 0;
	return mul_mat(c, weight(held, WIDTH, WORDS), norm(held, c, x));
}

static void *in_time(void *held, void *c)
{
	void *w = weight(held, WIDTH, WIDTH), *x = values(c, WIDTH, 4, 1);

	for (int i = 0; i < 12; i++)
		x = silu(c, add(c, mul_mat(c, w, x), values(c, WIDTH, 4, i)));
	return x;
}

static void *of_widths(void *held, void *c)
{
	void *x = values(c, WIDTH, 4, 1);

	for (int i = 0, width = WIDTH; i < 12; i++, width += 16)
		x = relu(c, mul_mat(c, weight(held, width, width + 16), x));
	return x;
}

static void run(void *held, const char *mode, int rows)
{
	void *c = init((struct init_params){16 << 20, NULL, 0}), *graph = new_graph(c);
	int is_transformer = !strcmp(mode, "transformer") || !strcmp(mode, "weights");

	used = 0;
	has_names = !strcmp(mode, "weights");
	void *out = is_transformer	    ? transformer(held, c, rows, LAYERS)
		    : !strcmp(mode, "two")  ? transformer(held, c, rows, 2)
		    : !strcmp(mode, "time") ? in_time(held, c)
					    : of_widths(held, c);
	expand(graph, out);
	int status = compute(c, graph, threads);
	printf("%d %.6f %.6f\n", status, (double)((float *)data_of(out))[0],
		(double)((float *)data_of(out))[WORDS - 1]);
	free_context(c);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	threads = atoi(argv[3]);
	open_engine(argv[1]);
	void *held = init((struct init_params){64 << 20, NULL, 0});
	run(held, argv[2], 8);
	for (int i = 0; i < 4; i++)
		run(held, argv[2], 1);
	free_context(held);
	return 0;
}

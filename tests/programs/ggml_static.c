/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with ggml inside, by its own headers (examples/demo/engine-static.sh): graphs of three
 * layers through a scheduler on the CPU. Also an addon that is opened by a program without ggml:
 * main() is run_graphs() then. Run as: PROGRAM THREADS GRAPHS; prints a sum of the results.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

#ifndef WIDTH
#define WIDTH 256
#define ROWS 1
#endif
#ifndef WEIGHTS
#define WEIGHTS F32
#endif
#define TYPE_OF(name) GGML_TYPE_##name
#define TYPE(name) TYPE_OF(name)
enum { LAYERS = 3 };

static float noise(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (float)(*seed >> 8) / (float)(1 << 24) - 0.5f;
}

static struct ggml_tensor *weight(struct ggml_context *ctx, const char *format, int layer)
{
	struct ggml_tensor *t = ggml_new_tensor_2d(ctx, TYPE(WEIGHTS), WIDTH, WIDTH);
	unsigned seed = 7u + (unsigned)layer;
	static float data[WIDTH * WIDTH];

	for (int i = 0; i < WIDTH * WIDTH; i++)
		data[i] = noise(&seed) / 8;
	ggml_quantize_chunk(TYPE(WEIGHTS), data, t->data, 0, WIDTH, WIDTH, NULL);
	ggml_format_name(t, format, layer);
	return t;
}

static struct ggml_tensor *layer(
	struct ggml_context *ctx, struct ggml_tensor *x, struct ggml_tensor *up, int i)
{
	struct ggml_tensor *norm = ggml_rms_norm(ctx, x, 1e-5f);
	struct ggml_tensor *y = ggml_mul_mat(ctx, up, norm);

	ggml_format_name(y, "ffn_up-%d", i);
	y = ggml_silu(ctx, y);
	ggml_format_name(y, "ffn_silu-%d", i);
	y = ggml_add(ctx, x, y);
	ggml_format_name(y, "l_out-%d", i);
	return y;
}

__attribute__((visibility("default"))) int run_graphs(int threads, int graphs);
int run_graphs(int threads, int graphs)
{
	struct ggml_init_params weights_params = {LAYERS * WIDTH * WIDTH * 5, NULL, false};
	struct ggml_init_params graph_params = {
		ggml_tensor_overhead() * 64 + ggml_graph_overhead(), NULL, true};
	struct ggml_context *held = ggml_init(weights_params);
	struct ggml_tensor *w[LAYERS];
	ggml_backend_t cpu = ggml_backend_cpu_init();
	ggml_backend_sched_t sched = ggml_backend_sched_new(&cpu, NULL, 1, 64, false, true);
	static float in[WIDTH * ROWS], out[WIDTH * ROWS];
	double sum = 0;

	for (int i = 0; i < LAYERS; i++)
		w[i] = weight(held, "blk.%d.ffn_up.weight", i);
	ggml_backend_cpu_set_n_threads(cpu, threads);
	for (int i = 0; i < WIDTH * ROWS; i++)
		in[i] = (float)(i % 17) / 17;
	for (int g = 0; g < graphs; g++) {
		if (setuid(getuid())) /* waits until all threads have done it */
			return 1;
		struct ggml_context *ctx = ggml_init(graph_params);
		struct ggml_cgraph *graph = ggml_new_graph(ctx);
		struct ggml_tensor *x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, ROWS), *y = x;
		ggml_set_input(x);
		for (int i = 0; i < LAYERS; i++)
			y = layer(ctx, y, w[i], i);
		ggml_set_output(y);
		ggml_build_forward_expand(graph, y);
		ggml_backend_sched_reset(sched);
		if (!ggml_backend_sched_alloc_graph(sched, graph))
			return 1;
		ggml_backend_tensor_set(x, in, 0, sizeof in);
		if (ggml_backend_sched_graph_compute(sched, graph) != GGML_STATUS_SUCCESS)
			return 1;
		ggml_backend_tensor_get(y, out, 0, sizeof out);
		for (int i = 0; i < WIDTH * ROWS; i++)
			sum += (double)out[i];
		ggml_free(ctx);
	}
	ggml_backend_sched_free(sched);
	ggml_backend_free(cpu);
	ggml_free(held);
	printf("%.9g\n", sum);
	fflush(stdout);
	return 0;
}

#ifdef OPENS
/* Opens another library while it is opened itself. */
__attribute__((constructor)) static void open_another(void)
{
	if (!dlopen(OPENS, RTLD_NOW))
		abort();
}
#endif

#ifndef ADDON
static void become_another(int number)
{
	(void)number;
	execlp("sleep", "sleep", "1000", (char *)NULL);
}

/* With a third argument SIGUSR1 makes it another program; with a fourth it never ends. */
int main(int argc, char **argv)
{
	if (argc == 4)
		signal(SIGUSR1, become_another);
	while (argc == 5 && !run_graphs(atoi(argv[1]), atoi(argv[2])))
		;
	return argc >= 3 ? run_graphs(atoi(argv[1]), atoi(argv[2])) : 2;
}
#endif

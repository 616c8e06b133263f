/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with ggml inside that trains one matrix, by ggml's own headers (engine-static.sh), as
 * its optimizer does: the scheduler's function that also waits computes each graph, and with the
 * usual options its kin is inlined there. Run as: PROGRAM THREADS GRAPHS; prints sums of weights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

enum { WIDTH = 64, ROWS = 8 };

static struct ggml_tensor *named(struct ggml_tensor *t, const char *name)
{
	return ggml_set_name(t, name);
}

static struct ggml_tensor *matrix(struct ggml_context *ctx, int rows, const char *name)
{
	struct ggml_tensor *t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, WIDTH, rows);

	for (int i = 0; i < WIDTH * rows; i++)
		((float *)t->data)[i] = (float)(i % 13) / 100;
	return named(t, name);
}

static struct ggml_cgraph *build(struct ggml_context *ctx, struct ggml_tensor *weight)
{
	struct ggml_tensor *rate = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 2);
	struct ggml_cgraph *graph = ggml_new_graph_custom(ctx, 256, true);

	((float *)rate->data)[0] = 0.1f;
	((float *)rate->data)[1] = 0;
	ggml_set_param(weight);
	struct ggml_tensor *up =
		named(ggml_mul_mat(ctx, weight, matrix(ctx, ROWS, "l_out-2")), "ffn_up-3");
	struct ggml_tensor *loss = ggml_cross_entropy_loss(ctx, up, matrix(ctx, ROWS, "labels"));
	ggml_set_loss(loss);
	ggml_build_forward_expand(graph, loss);
	ggml_build_backward_expand(ctx, graph, NULL);
	ggml_build_forward_expand(
		graph, ggml_opt_step_sgd(ctx, weight, ggml_graph_get_grad(graph, weight), rate));
	return graph;
}

int main(int argc, char **argv)
{
	struct ggml_context *ctx = ggml_init((struct ggml_init_params){16 << 20, NULL, false});
	struct ggml_tensor *weight = matrix(ctx, WIDTH, "blk.3.ffn_up.weight");
	struct ggml_cgraph *graph = build(ctx, weight);
	ggml_backend_t backend = ggml_backend_cpu_init();

	ggml_backend_cpu_set_n_threads(backend, argc > 1 ? atoi(argv[1]) : 1);
	ggml_backend_sched_t scheduler =
		ggml_backend_sched_new(&backend, NULL, 1, 256, false, false);
	for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) {
		double sum = 0;
		ggml_graph_reset(graph);
		int status = ggml_backend_sched_graph_compute(scheduler, graph);
		for (int k = 0; k < WIDTH * WIDTH; k++)
			sum += ((float *)weight->data)[k] * (float)(k % 7 + 1);
		printf("%d %.6f\n", status, sum);
	}
	ggml_backend_sched_free(scheduler);
	ggml_backend_free(backend);
	ggml_free(ctx);
	return 0;
}

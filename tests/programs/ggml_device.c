/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with ggml inside (engine-static.sh), whose products a backend of its own computes: a
 * device, as far as ggml knows, with memory that the CPU's backend does not share. Run as: PROGRAM
 * GRAPHS FILE; prints a sum of the results, and writes into FILE to which brick belongs what the
 * device would be given in each of its graphs.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "ggml-backend-impl.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "brick/attach.h"

enum { WIDTH = 64 };

static FILE *owners;

static const char *device_name(ggml_backend_dev_t device)
{
	(void)device;
	return "Fake0";
}

static const char *backend_name(ggml_backend_t backend)
{
	return device_name(backend->device);
}

static const char *memory_name(ggml_backend_buffer_type_t type)
{
	return device_name(type->device);
}

static enum ggml_backend_dev_type type_of(ggml_backend_dev_t device)
{
	(void)device;
	return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static ggml_backend_buffer_type_t memory_of(ggml_backend_dev_t device)
{
	static struct ggml_backend_buffer_type memory;

	if (!memory.device) {
		memory = *ggml_backend_cpu_buffer_type();
		memory.device = device;
		memory.iface.get_name = memory_name;
		memory.iface.is_host = NULL;
	}
	return &memory;
}

static bool has_memory(ggml_backend_dev_t device, ggml_backend_buffer_type_t type)
{
	return type == memory_of(device);
}

static bool computes(ggml_backend_dev_t device, const struct ggml_tensor *node)
{
	(void)device;
	return node->op == GGML_OP_MUL_MAT;
}

/* What a driver's hook asks when something is launched. */
static void tell_owner(void)
{
	const struct brick_launch_owner *(*asked)(void) =
		(const struct brick_launch_owner *(*)(void))dlsym(
			RTLD_DEFAULT, "brick_launch_owner");
	const char *(*name)(uint32_t) =
		(const char *(*)(uint32_t))dlsym(RTLD_DEFAULT, "brick_name");
	const struct brick_launch_owner *owner = asked ? asked() : NULL;

	fprintf(owners, "%s\n", owner ? name(owner->brick) : "none");
}

static enum ggml_status compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	(void)backend;
	tell_owner();
	for (int n = 0; n < ggml_graph_n_nodes(graph); n++) {
		struct ggml_tensor *node = ggml_graph_node(graph, n);
		const float *weights = node->src[0]->data, *x = node->src[1]->data;
		float *to = node->data;
		for (int row = 0; row < WIDTH; row++) {
			to[row] = 0;
			for (int i = 0; i < WIDTH; i++)
				to[row] += weights[row * WIDTH + i] * x[i];
		}
	}
	return GGML_STATUS_SUCCESS;
}

static struct ggml_backend_device device = {
	.iface = {.get_name = device_name,
		.get_description = device_name,
		.get_type = type_of,
		.get_buffer_type = memory_of,
		.supports_op = computes,
		.supports_buft = has_memory},
};
static struct ggml_backend backend = {
	.iface = {.get_name = backend_name, .graph_compute = compute},
	.device = &device,
};

static float run_graph(ggml_backend_sched_t scheduler, struct ggml_tensor *weight, float value)
{
	struct ggml_context *ctx = ggml_init((struct ggml_init_params){
		ggml_tensor_overhead() * 16 + ggml_graph_overhead(), NULL, true});
	struct ggml_cgraph *graph = ggml_new_graph(ctx);
	struct ggml_tensor *x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, WIDTH);
	struct ggml_tensor *up = ggml_mul_mat(ctx, weight, ggml_rms_norm(ctx, x, 1e-5f));
	struct ggml_tensor *y = ggml_silu(ctx, up);
	float data[WIDTH], sum = 0;

	for (int i = 0; i < WIDTH; i++)
		data[i] = value + (float)(i % 7);
	ggml_set_input(x);
	ggml_set_output(y);
	ggml_build_forward_expand(graph, y);
	ggml_backend_sched_reset(scheduler);
	ggml_backend_sched_set_tensor_backend(scheduler, up, &backend);
	if (!ggml_backend_sched_alloc_graph(scheduler, graph))
		exit(3);
	ggml_backend_tensor_set(x, data, 0, sizeof(data));
	if (ggml_backend_sched_graph_compute(scheduler, graph) != GGML_STATUS_SUCCESS)
		exit(4);
	ggml_backend_tensor_get(y, data, 0, sizeof(data));
	ggml_free(ctx);
	for (int i = 0; i < WIDTH; i++)
		sum += data[i];
	return sum;
}

int main(int argc, char **argv)
{
	ggml_backend_t cpu = ggml_backend_cpu_init(), both[] = {&backend, cpu};
	struct ggml_context *held =
		ggml_init((struct ggml_init_params){ggml_tensor_overhead() * 2, NULL, true});
	struct ggml_tensor *weight = ggml_new_tensor_2d(held, GGML_TYPE_F32, WIDTH, WIDTH);
	static float data[WIDTH * WIDTH];
	float sum = 0;

	if (argc != 3 || !(owners = fopen(argv[2], "w")))
		return 2;
	ggml_set_name(weight, "blk.0.ffn_up.weight");
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(held, cpu);
	for (int i = 0; i < WIDTH * WIDTH; i++)
		data[i] = (float)(i % 13) / 100;
	ggml_backend_tensor_set(weight, data, 0, sizeof(data));
	ggml_backend_cpu_set_n_threads(cpu, 1);
	ggml_backend_sched_t scheduler = ggml_backend_sched_new(both, NULL, 2, 64, false, false);
	for (int i = 0; i < atoi(argv[1]); i++)
		sum += run_graph(scheduler, weight, (float)i);
	ggml_backend_sched_free(scheduler);
	ggml_backend_buffer_free(buffer);
	ggml_backend_free(cpu);
	ggml_free(held);
	printf("%.9g\n", (double)sum);
	return fclose(owners) ? 5 : 0;
}

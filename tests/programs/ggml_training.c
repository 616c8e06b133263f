/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains a product on an installed ggml, through a scheduler: product -> loss -> gradients -> a
 * step of descent, in one graph. Prints the sum of the weights after each graph. With "accumulate"
 * the graph ends with the gradients, with "evaluate" with the loss. Run as:
 * program-ggml_training LIBS DEVICE [GRAPHS [accumulate|evaluate]], where LIBS holds
 * libggml-base.so and libggml-cpu-x64.so, for DEVICE vulkan also libggml-vulkan.so. DEVICE: cpu,
 * vulkan, or split, which is vulkan with the loss and its gradient on the CPU.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct init_params {
	size_t bytes;
	void *buffer;
	bool no_alloc;
};

static void *(*init)(struct init_params params);
static void *(*new_2d)(void *context, int type, int64_t ne0, int64_t ne1);
static void *(*mul_mat)(void *context, void *a, void *b);
static void *(*set_name)(void *tensor, const char *name);
static void *(*new_graph_custom)(void *context, size_t nodes, bool grads);
static void (*expand)(void *graph, void *tensor);
static void (*build_backward)(void *context, void *graph, void *accumulators);
static void *(*graph_get_grad)(void *graph, void *tensor);
static int (*graph_n_nodes)(void *graph);
static void *(*graph_node)(void *graph, int i);
static void (*graph_reset)(void *graph);
static const char *(*op_desc)(const void *tensor);
static void (*set_param)(void *tensor);
static void (*set_loss)(void *tensor);
static void *(*entropy)(void *context, void *logits, void *labels);
static void *(*descend)(void *context, void *weight, void *gradient, void *rate);
static void *(*alloc_tensors)(void *context, void *backend);
static void (*tensor_set)(void *tensor, const void *data, size_t offset, size_t bytes);
static void (*tensor_get)(const void *tensor, void *data, size_t offset, size_t bytes);
static void *(*sched_new)(
	void **backends, void *buffers, int count, size_t nodes, bool parallel, bool offload);
static void (*sched_set_backend)(void *scheduler, void *node, void *backend);
static bool (*sched_alloc)(void *scheduler, void *graph);
static int (*sched_compute)(void *scheduler, void *graph);

static void *open_library(const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return handle;
}

static void *find(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (!symbol) {
		fprintf(stderr, "no %s\n", name);
		exit(77);
	}
	return symbol;
}

static void find_functions(void)
{
	static const struct {
		void *function;
		const char *name;
	} list[] = {
		{&init, "ggml_init"},
		{&new_2d, "ggml_new_tensor_2d"},
		{&mul_mat, "ggml_mul_mat"},
		{&set_name, "ggml_set_name"},
		{&new_graph_custom, "ggml_new_graph_custom"},
		{&expand, "ggml_build_forward_expand"},
		{&build_backward, "ggml_build_backward_expand"},
		{&graph_get_grad, "ggml_graph_get_grad"},
		{&graph_n_nodes, "ggml_graph_n_nodes"},
		{&graph_node, "ggml_graph_node"},
		{&graph_reset, "ggml_graph_reset"},
		{&op_desc, "ggml_op_desc"},
		{&set_param, "ggml_set_param"},
		{&set_loss, "ggml_set_loss"},
		{&entropy, "ggml_cross_entropy_loss"},
		{&descend, "ggml_opt_step_sgd"},
		{&alloc_tensors, "ggml_backend_alloc_ctx_tensors"},
		{&tensor_set, "ggml_backend_tensor_set"},
		{&tensor_get, "ggml_backend_tensor_get"},
		{&sched_new, "ggml_backend_sched_new"},
		{&sched_set_backend, "ggml_backend_sched_set_tensor_backend"},
		{&sched_alloc, "ggml_backend_sched_alloc_graph"},
		{&sched_compute, "ggml_backend_sched_graph_compute"},
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		void *symbol = find(list[i].name);
		memcpy(list[i].function, &symbol, sizeof symbol);
	}
}

enum { SIDE = 64, ROWS = 8, MOST_NODES = 256 };

static float values[SIDE * SIDE];

static void fill(void *tensor, int n, float scale)
{
	for (int i = 0; i < n; i++)
		values[i] = scale * (float)((i * 37 + 11) % 23 - 11);
	tensor_set(tensor, values, 0, (size_t)n * sizeof *values);
}

static void *labelled(void *context, const char *name, int64_t ne0, int64_t ne1)
{
	return set_name(new_2d(context, 0, ne0, ne1), name);
}

static void put_loss_on(void *scheduler, void *graph, void *backend)
{
	for (int i = 0; i < graph_n_nodes(graph); i++)
		if (!strncmp(op_desc(graph_node(graph, i)), "CROSS_ENTROPY", 13))
			sched_set_backend(scheduler, graph_node(graph, i), backend);
}

/* A device's first, as ggml wants it: the last one is the CPU's. */
static int open_backends(void *backends[2], const char *directory, const char *device)
{
	int count = 0;

	open_library(directory, "libggml-base.so");
	open_library(directory, "libggml-cpu-x64.so");
	find_functions();
	if (strcmp(device, "cpu")) {
		open_library(directory, "libggml-vulkan.so");
		backends[count++] = ((void *(*)(size_t))find("ggml_backend_vk_init"))(0);
	}
	backends[count++] = ((void *(*)(void))find("ggml_backend_cpu_init"))();
	return count;
}

int main(int argc, char **argv)
{
	void *backends[2];

	if (argc < 3)
		return 2;
	int count = open_backends(backends, argv[1], argv[2]);
	const struct init_params params = {1 << 20, NULL, true};
	void *kept = init(params), *context = init(params);
	void *weight = labelled(kept, "blk.3.ffn_up.weight", SIDE, SIDE);
	void *input = labelled(kept, "l_out-2", SIDE, ROWS);
	void *wanted = labelled(kept, "labels", SIDE, ROWS), *rate = labelled(kept, "rate", 2, 1);
	set_param(weight);
	if (!alloc_tensors(kept, backends[0]))
		return 1;
	void *product = set_name(mul_mat(context, weight, input), "ffn_up-3");
	void *loss = entropy(context, product, wanted);
	set_loss(loss);
	void *graph = new_graph_custom(context, MOST_NODES, true);
	expand(graph, loss);
	const char *part = argc > 4 ? argv[4] : "";
	if (strcmp(part, "evaluate"))
		build_backward(context, graph, NULL);
	if (!*part)
		expand(graph, descend(context, weight, graph_get_grad(graph, weight), rate));
	void *scheduler = sched_new(backends, NULL, count, MOST_NODES, false, false);
	if (!strcmp(argv[2], "split"))
		put_loss_on(scheduler, graph, backends[1]);
	if (!sched_alloc(scheduler, graph))
		return 1;
	fill(weight, SIDE * SIDE, 0.01f);
	fill(input, SIDE * ROWS, 0.1f);
	fill(wanted, SIDE * ROWS, 0);
	for (size_t k = 0; k < ROWS; k++)
		tensor_set(wanted, &(float){1}, k * (SIDE + 1) * sizeof(float), sizeof(float));
	tensor_set(rate, (float[]){0.1f, 0}, 0, 2 * sizeof(float));
	for (int i = 0, graphs = argc > 3 ? atoi(argv[3]) : 3; i < graphs; i++) {
		double sum = 0;
		graph_reset(graph);
		int status = sched_compute(scheduler, graph);
		tensor_get(weight, values, 0, sizeof values);
		for (int k = 0; k < SIDE * SIDE; k++)
			sum += (double)values[k] * (k % 7 + 1);
		printf("%d %.6f\n", status, sum);
	}
}

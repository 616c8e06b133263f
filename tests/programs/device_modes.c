/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that times its work on a device by the embedding API: steps of layers of two bricks, on
 * a device of the backend that is named (the simulated one runs kernels of known length). Prints
 * "K n begin end" for each kernel of the simulated device (ns of CLOCK_MONOTONIC) and "D n" for
 * what was recorded. Run as: program-device_modes BACKEND STEPS LAYERS KERNEL_NS
 * [lose|fork|thread].
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/backends/null/null_device.h"
#include "brick/brick.h"

struct engine {
	struct brick_null *sim; /* NULL: another backend */
	struct brick_device *device;
	void *queue;
	int steps, layers;
	uint64_t kernel_ns;
	int recorded;
};

static void run_brick(struct engine *e, uint32_t brick, int layer, uint64_t ns)
{
	brick_device_span span = brick_device_begin(e->device, e->queue, brick, layer);

	if (e->sim)
		brick_null_submit(e->sim, e->queue, ns);
	brick_device_end(e->device, e->queue, span, 64, 256, 128);
}

static void run_step(struct engine *e, int decode)
{
	brick_span step = brick_step_begin(decode ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, 1);

	for (int layer = 0; layer < e->layers; layer++) {
		run_brick(e, BRICK_RMS_NORM, layer, e->kernel_ns / 4);
		run_brick(e, BRICK_QKV_PROJECTION, layer, e->kernel_ns);
		brick_device_layer_end(e->device, e->queue);
	}
	int n = brick_device_drain(e->device);
	e->recorded += n > 0 ? n : 0;
	brick_end(step);
}

static void *run_all(void *argument)
{
	struct engine *e = argument;

	for (int i = 0; i < e->steps; i++)
		run_step(e, i > 0);
	int n = brick_device_finish(e->device);
	e->recorded += n > 0 ? n : 0;
	return NULL;
}

static int open_engine(struct engine *e, const char *backend, int loses)
{
	struct brick_backend_options options = {.size = sizeof options};
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	char reason[256] = "";

	config.offset_ns = 5000000000000ull;
	config.rate_ppb = 30000;
	config.latency_ns = 3000;
	config.completion_ns = 4000;
	config.lose_every = loses ? 10 : 0;
	if (!strcmp(backend, "null") && brick_null_create(&e->sim, &config) < 0)
		return 1;
	options.native[0] = e->sim;
	int error = brick_device_open(
		&e->device, brick_backend_find(backend), &options, reason, sizeof reason);
	if (error < 0)
		fprintf(stderr, "%s: %s (%s)\n", backend, brick_strerror(error), reason);
	return error < 0;
}

static void print_truth(const struct engine *e)
{
	struct brick_null_times t;

	for (uint64_t i = 0; e->sim && !brick_null_kernel(e->sim, i, &t); i++)
		printf("K %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i, t.begin_ns, t.end_ns);
}

int main(int argc, char **argv)
{
	const char *how = argc == 6 ? argv[5] : "";
	struct engine e = {0};

	if (argc < 5)
		return 2;
	e.steps = atoi(argv[2]);
	e.layers = atoi(argv[3]);
	e.kernel_ns = strtoull(argv[4], NULL, 10);
	if (open_engine(&e, argv[1], !strcmp(how, "lose")))
		return 3;
	if (!strcmp(how, "thread")) {
		pthread_t thread;
		pthread_create(&thread, NULL, run_all, &e);
		pthread_join(thread, NULL);
	} else {
		run_all(&e);
	}
	print_truth(&e);
	printf("D %d\n", e.recorded);
	fflush(stdout);
	if (!strcmp(how, "fork")) { /* the child records into a session of its own */
		pid_t child = fork();
		if (child == 0)
			run_all(&e);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	brick_device_close(e.device);
	brick_null_destroy(e.sim);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a CUDA program whose cost under a recorder is looked at: launches and replays of a
 * graph, work of the host between them, a wait at the end of each step. Runs on the double of the
 * driver and on a real one (tests/gpu). On the double it says on stderr what CUPTI's model took
 * from the steps ("saved", tests/doubles/cuda/cost.c); on both how long they took.
 *
 *   cuda_cost STEPS LAUNCHES REPLAYS BLOCKS HOST_US
 *
 * LAUNCHES kernels of BLOCKS blocks and REPLAYS replays of a graph of 16 such kernels a step, and
 * HOST_US of the host's own work before each call.
 */
#include <stdlib.h>
#include <time.h>
#include "tests/programs/cuda_layers.h"

enum { NODES = 16 };

static const char small_ptx[] =
	"//\n.version 6.3\n.target sm_75\n.address_size 64\n"
	".visible .entry small(.param .u64 x, .param .u64 y, .param .u64 z)\n{\n  ret;\n}\n";

static void *small, *stream, *exec;

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void host_work(double us)
{
	double until = now_s() + us * 1e-6;

	while (us > 0 && now_s() < until)
		;
}

static void launch_small(unsigned blocks)
{
	address none = 0;
	void *arguments[] = {&none, &none, &none};

	check(cu.launch(small, blocks, 1, 1, 32, 1, 1, 0, stream, arguments, NULL), "launch");
}

static void prepare(unsigned blocks)
{
	void *small_module, *graph;

	check(cu.load(&small_module, small_ptx), "module");
	check(cu.function(&small, small_module, "small"), "small");
	check(cu.stream(&stream, 1), "stream");
	check(cu.capture(stream, 2), "capture");
	for (int i = 0; i < NODES; i++)
		launch_small(blocks);
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < 3; i++) { /* the first ones are not typical */
		launch_small(blocks);
		check(cu.replay(exec, stream), "replay");
	}
	check(cu.stream_sync(stream), "sync");
}

static unsigned long long of_double(const char *name)
{
	unsigned long long (*function)(void) = NULL;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *found = library ? dlsym(library, name) : NULL;

	memcpy(&function, &found, sizeof function);
	return function ? function() : 0;
}

static void step(int launches, int replays, unsigned blocks, double host_us)
{
	brick_span span = brick_step_begin(BRICK_PHASE_DECODE, 1);

	for (int i = 0; i < launches; i++) {
		host_work(host_us);
		launch_small(blocks);
	}
	for (int i = 0; i < replays; i++) {
		host_work(host_us);
		check(cu.replay(exec, stream), "replay");
	}
	check(cu.stream_sync(stream), "sync");
	brick_end(span);
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	if (!open_driver()) {
		fputs("no CUDA driver\n", stderr);
		return 77;
	}
	start();
	unsigned blocks = (unsigned)atoi(argv[4]);
	prepare(blocks);
	double begin = now_s();
	unsigned long long before = of_double("double_cost_saved_ns");
	for (int i = 0; i < atoi(argv[1]); i++)
		step(atoi(argv[2]), atoi(argv[3]), blocks, atof(argv[5]));
	fprintf(stderr, "saved %llu ns\nstubs %llu ns\nloop %.6f s\n",
		of_double("double_cost_saved_ns") - before, of_double("double_cost_stubs_ns"),
		now_s() - begin);
	return failures != 0;
}

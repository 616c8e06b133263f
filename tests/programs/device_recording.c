/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording for the tests of the commands: an engine whose bricks launch kernels and
 * copies on two queues of a device that exists in this program only. A command begins when its
 * queue is free, what it waits for is done, and its launch is long enough ago.
 *
 *   program-device_recording OUTPUT [STEPS]   times as the device knew them go to standard output:
 *                                             "NUMBER BRICK KERNEL BEGIN END LAUNCH", in ns
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "brick/brick.h"

/* A wait is over later than its command, by more than CLOCK_MONOTONIC and ticks are apart. */
enum { LAYERS = 2, LATENCY_NS = 4000, NOTICED_NS = 5000, COMMANDS = 64 };

struct device_queue {
	struct brick_queue *queue;
	uint64_t free_ns;
};

static struct device_queue compute, copies;
static uint32_t norm, gemv, upload, download;
static struct brick_command pending[COMMANDS];
static uint64_t afters[COMMANDS];
static int pending_count;

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin_until(uint64_t ns)
{
	while (now_ns() < ns)
		;
}

/* Launch work of so many ns; after: a command, or NULL. */
static const struct brick_command *launch(struct device_queue *to, uint32_t kernel, uint64_t ns,
	uint64_t bytes, uint64_t flops, const struct brick_command *after)
{
	struct brick_command *c = &pending[pending_count];

	memset(c, 0, sizeof *c);
	c->size = sizeof *c;
	brick_launch_begin(&c->launch);
	uint64_t submitted_ns = now_ns();
	spin_until(submitted_ns + 1000);
	brick_launch_end(&c->launch);
	c->kernel = kernel;
	c->source = BRICK_SOURCE_DEVICE_EVENT;
	c->submitted_ns = submitted_ns;
	c->begin_ns = submitted_ns + LATENCY_NS;
	if (to->free_ns > c->begin_ns)
		c->begin_ns = to->free_ns;
	if (after) {
		if (after->end_ns > c->begin_ns)
			c->begin_ns = after->end_ns;
		afters[pending_count] = after->launch.number;
		c->after = &afters[pending_count];
		c->after_count = 1;
	}
	to->free_ns = c->end_ns = c->begin_ns + ns;
	c->bytes = bytes;
	c->flops = flops;
	pending_count++;
	return c;
}

static struct brick_queue *queue_of(const struct brick_command *c)
{
	return c->kernel == upload || c->kernel == download ? copies.queue : compute.queue;
}

/* Wait for a command, and record all that is done by then. */
static void finish(const struct brick_command *last)
{
	uint64_t begin = brick_ticks();

	spin_until(last->end_ns + NOTICED_NS);
	brick_record_wait(begin, brick_ticks(), last->launch.number);
	for (int i = 0; i < pending_count; i++) {
		const struct brick_command *c = &pending[i];
		if (brick_queue_record(queue_of(c), c))
			exit(1);
		printf("%llu %s %u %llu %llu %llu\n", (unsigned long long)c->launch.number,
			c->launch.brick == BRICK_NONE ? "-" : brick_name(c->launch.brick),
			c->kernel, (unsigned long long)c->begin_ns, (unsigned long long)c->end_ns,
			(unsigned long long)c->launch.begin);
	}
	pending_count = 0;
}

static void step(int decode, uint64_t tokens)
{
	brick_span span =
		brick_step_begin(decode ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, tokens);
	const struct brick_command *last = NULL;

	for (int layer = 0; layer < LAYERS; layer++) {
		brick_span brick = brick_begin_layer(BRICK_RMS_NORM, layer);
		launch(&compute, norm, 10000, 8192, 4096, NULL);
		brick_end(brick);
		brick = brick_begin_layer(BRICK_QKV_PROJECTION, layer);
		const struct brick_command *copy = launch(&copies, upload, 30000, 65536, 0, NULL);
		last = launch(&compute, gemv, 20000, 100000, 400000, copy);
		brick_end(brick);
	}
	last = launch(&copies, download, 5000, 4096, 0, last); /* in no brick */
	finish(last);
	brick_end(span);
	brick_span sampling = brick_begin(BRICK_SAMPLING);
	spin_until(now_ns() + 5000);
	brick_end(sampling);
}

static uint32_t kernel(const char *name, uint32_t kind, uint32_t groups, uint64_t code)
{
	const struct brick_kernel k = {.size = sizeof(struct brick_kernel),
		.name = name,
		.backend = "null",
		.kind = kind,
		.grid = {groups, groups != 0, groups != 0},
		.block = {groups ? 256 : 0, groups != 0, groups != 0},
		.shared_bytes = groups ? 1024 : 0,
		.code = code};

	return brick_kernel_register(&k);
}

static struct brick_queue *queue(const char *name)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *created;

	options.name = name;
	options.backend = "null";
	if (brick_queue_create(&created, &options))
		exit(1);
	return created;
}

int main(int argc, char **argv)
{
	static const char source[] = "kernel void gemv(global float *y)\n{\n\ty[0] = 0;\n}\n";
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	int steps = argc > 2 ? atoi(argv[2]) : 25;

	if (argc < 2)
		return 2;
	options.output = argv[1];
	if (brick_session_start(&options) < 0)
		return 1;
	compute.queue = queue("compute");
	copies.queue = queue("copies");
	uint64_t code = brick_code_register(source, sizeof source - 1, "gemv.cl", NULL);
	norm = kernel("rmsnorm_kernel", BRICK_KERNEL_COMPUTE, 16, 0);
	gemv = kernel("gemv", BRICK_KERNEL_COMPUTE, 32, code);
	upload = kernel("copy to the device", BRICK_KERNEL_H2D, 0, 0);
	download = kernel("copy from the device", BRICK_KERNEL_D2H, 0, 0);
	step(0, 16);
	for (int i = 0; i < steps; i++)
		step(1, 1);
	brick_queue_destroy(compute.queue);
	brick_queue_destroy(copies.queue);
	return brick_session_stop() < 0;
}

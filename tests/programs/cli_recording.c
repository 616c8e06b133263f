/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording for the tests of the commands: an engine in miniature, with prefill and decode
 * steps of spinning bricks in layers, waits, a second thread, sampling, and time in no brick.
 *
 *   program-cli_recording OUTPUT [NAME]   NAME: also a brick, a tensor and a note called so
 *
 * With NO_OFF_CPU in the environment nobody counts what other programs take from its threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/brick.h"

/* The worker has no more nodes, however long other programs keep the steps from their CPU. */
enum { LAYERS = 3, STEPS = 30, WORKER_NODES = 1000 };

static uint32_t sites[LAYERS][3];
static int odd_brick = -1;

static void spin(uint64_t ns)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t begin = brick_ticks();
	while (brick_clock_duration_ns(clock, brick_ticks() - begin) < ns)
		;
}

static void register_sites(const char *odd)
{
	static const struct {
		int brick;
		const char *operation, *label;
	} kinds[] = {
		{BRICK_RMS_NORM, "RMS_NORM", "norm"},
		{BRICK_QKV_PROJECTION, "MUL_MAT", "Qcur"},
		{BRICK_DOWN_PROJECTION, "MUL_MAT", "ffn_out"},
	};
	for (int layer = 0; layer < LAYERS; layer++)
		for (int k = 0; k < 3; k++) {
			char label[64];
			snprintf(label, sizeof(label), "%s-%d", kinds[k].label, layer);
			struct brick_site site = {.size = sizeof(struct brick_site),
				.brick = (uint16_t)kinds[k].brick,
				.layer = (int16_t)layer,
				.flags = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES |
					 BRICK_SITE_HAS_FLOPS,
				.elements = 512,
				.bytes = 4096,
				.flops = 8192,
				.operation = kinds[k].operation,
				.label = odd && layer == 0 && k == 1 ? odd : label};
			int index = brick_site_register(&site);
			if (index < 0)
				exit(1);
			sites[layer][k] = (uint32_t)index;
		}
}

/* As an interposer records a node: with the wait at the barrier that follows it. */
static void node(uint32_t site, uint64_t work_ns, uint64_t wait_ns)
{
	uint64_t begin = brick_ticks();
	spin(work_ns);
	uint64_t end = brick_ticks();
	spin(wait_ns);
	struct brick_sample sample = {.begin = begin,
		.end = end,
		.wait = brick_ticks() - end,
		.site = site,
		.source = BRICK_SOURCE_TSC};
	if (!wait_ns)
		sample.wait = 0;
	brick_record_sample(&sample);
}

static void step(int decode, uint64_t tokens)
{
	brick_span span =
		brick_step_begin(decode ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, tokens);
	spin(2000); /* in no brick */
	brick_span graph = brick_begin(BRICK_GRAPH_COMPUTE);
	for (int layer = 0; layer < LAYERS; layer++)
		for (int k = 0; k < 3; k++)
			node(sites[layer][k], decode ? 3000 : 30000, k == 2 ? 1000 : 0);
	brick_end(graph);
	if (odd_brick >= 0) {
		brick_span odd = brick_begin((uint32_t)odd_brick);
		spin(2000);
		brick_end_elements(odd, 7);
	}
	brick_end(span);
	brick_span sampling = brick_begin(BRICK_SAMPLING);
	spin(2000);
	brick_end(sampling);
}

struct worker {
	int ready, stop;
};

static void *work_alongside(void *argument)
{
	struct worker *worker = argument;
	brick_thread_name("worker");
	for (int i = 0; !__atomic_load_n(&worker->stop, __ATOMIC_ACQUIRE); i++) {
		if (i < WORKER_NODES)
			node(sites[0][1], 5000, 500);
		else
			usleep(100);
		__atomic_store_n(&worker->ready, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct worker worker = {0, 0};
	pthread_t thread;
	options.output = argv[1];
	options.off_cpu = getenv("NO_OFF_CPU") ? BRICK_OFF_CPU_OFF : BRICK_OFF_CPU_ON;
	if (argc > 2)
		odd_brick = brick_register(argv[2], BRICK_CATEGORY_FFN);
	register_sites(argc > 2 ? argv[2] : NULL);
	if (brick_session_start(&options) < 0)
		return 1;
	brick_note("backend", "%s", "CPU");
	brick_note("ggml.layout", "%s", "type 0, ne 16");
	if (argc > 2)
		brick_note("odd", "%s", argv[2]);
	if (pthread_create(&thread, NULL, work_alongside, &worker))
		return 1;
	while (!__atomic_load_n(&worker.ready, __ATOMIC_ACQUIRE))
		;
	step(0, 16);
	for (int i = 0; i < STEPS; i++)
		step(1, 1);
	__atomic_store_n(&worker.stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return brick_session_stop() < 0;
}

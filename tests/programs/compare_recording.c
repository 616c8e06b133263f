/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording for tests of comparisons: an engine whose bricks spin for as much CPU time as
 * they are told, so that the truth is known however busy the machine is.
 *
 *   program-compare_recording OUTPUT [PERCENT [NAME [PAUSE_US]]]
 *
 * PERCENT: by how much DownProjection of layer 1 takes longer; NAME: also a brick called so, if it
 * is not empty; PAUSE_US: how long it sleeps before each token but the first
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "brick/brick.h"

enum { LAYERS = 3, STEPS = 48, BRICKS = 3, SPIN_NS = 20000 };

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t begin = cpu_ns();

	while (cpu_ns() - begin < ns)
		;
}

static void work(uint32_t site, uint64_t ns)
{
	uint64_t begin = brick_ticks();

	spin(ns);
	struct brick_sample sample = {
		.begin = begin, .end = brick_ticks(), .site = site, .source = BRICK_SOURCE_TSC};
	brick_record_sample(&sample);
}

static void register_sites(uint32_t sites[LAYERS][BRICKS])
{
	static const int bricks[BRICKS] = {
		BRICK_QKV_PROJECTION, BRICK_UP_PROJECTION, BRICK_DOWN_PROJECTION};

	for (int layer = 0; layer < LAYERS; layer++)
		for (int k = 0; k < BRICKS; k++) {
			struct brick_site site = {.size = sizeof(struct brick_site),
				.brick = (uint16_t)bricks[k],
				.layer = (int16_t)layer};
			int index = brick_site_register(&site);
			if (index < 0)
				exit(1);
			sites[layer][k] = (uint32_t)index;
		}
}

int main(int argc, char **argv)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	uint64_t percent = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint32_t sites[LAYERS][BRICKS];
	int extra = argc > 3 && *argv[3] ? brick_register(argv[3], BRICK_CATEGORY_FFN) : -1;

	if (argc < 2)
		return 2;
	options.output = argv[1];
	register_sites(sites);
	if (brick_session_start(&options) < 0)
		return 1;
	for (int i = 0; i <= STEPS; i++) {
		if (argc > 4 && i > 1)
			usleep((useconds_t)strtoull(argv[4], NULL, 10));
		brick_span step =
			brick_step_begin(i ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL, i ? 1 : 16);
		for (int layer = 0; layer < LAYERS; layer++)
			for (int k = 0; k < BRICKS; k++)
				work(sites[layer][k], layer == 1 && k == 2
							      ? SPIN_NS + SPIN_NS * percent / 100
							      : SPIN_NS);
		if (extra >= 0) {
			brick_span span = brick_begin((uint32_t)extra);
			spin(2000);
			brick_end(span);
		}
		brick_end(step);
	}
	return brick_session_stop() < 0;
}

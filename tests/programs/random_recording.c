/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording of an engine whose steps, layers, bricks, waits and threads are drawn by
 * chance from a seed, for tests that hold numbers of one form against those of another.
 *
 *   program-random_recording OUTPUT SEED
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include "brick/brick.h"

enum { LAYERS = 4, BRICKS = 4, STEPS = 24 };

static uint32_t sites[LAYERS + 1][BRICKS]; /* the last row: outside of layers */

static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

static uint64_t spin(uint64_t ns)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t begin = brick_ticks();

	while (brick_clock_duration_ns(clock, brick_ticks() - begin) < ns)
		;
	return brick_ticks();
}

static void register_sites(void)
{
	static const int bricks[BRICKS] = {
		BRICK_RMS_NORM, BRICK_QKV_PROJECTION, BRICK_UP_PROJECTION, BRICK_DOWN_PROJECTION};

	for (int layer = 0; layer <= LAYERS; layer++)
		for (int k = 0; k < BRICKS; k++) {
			struct brick_site site = {.size = sizeof(struct brick_site),
				.brick = (uint16_t)bricks[k],
				.layer = (int16_t)(layer < LAYERS ? layer : -1),
				.flags = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_FLOPS |
					 BRICK_SITE_HAS_BYTES,
				.elements = (uint64_t)(100 * layer + k + 1),
				.bytes = (uint64_t)(1000 * layer + 16 * k + 1),
				.flops = (uint64_t)(1000 * k + layer + 1)};
			int index = brick_site_register(&site);
			if (index < 0)
				exit(1);
			sites[layer][k] = (uint32_t)index;
		}
}

static void work(uint32_t *state, uint32_t layer)
{
	uint64_t begin = brick_ticks(), end = spin(500 + draw(state, 3000));
	uint64_t waited = draw(state, 3) ? end : spin(300 + draw(state, 2000));
	struct brick_sample sample = {.begin = begin,
		.end = end,
		.wait = waited - end,
		.site = sites[layer][draw(state, BRICKS)],
		.source = BRICK_SOURCE_TSC};
	brick_record_sample(&sample);
}

static void some_layers(uint32_t *state)
{
	for (uint32_t layer = 0; layer < LAYERS; layer++)
		for (uint32_t n = draw(state, 4); n; n--)
			work(state, layer);
	if (draw(state, 2))
		work(state, LAYERS);
}

static void step(uint32_t *state, int decode)
{
	brick_span span = brick_step_begin(decode ? BRICK_PHASE_DECODE : BRICK_PHASE_PREFILL,
		decode ? 1 : 1 + draw(state, 30));
	brick_span graph = brick_begin(BRICK_GRAPH_COMPUTE);
	some_layers(state);
	brick_end(graph);
	brick_end(span);
	if (draw(state, 4)) {
		brick_span sampling = brick_begin(BRICK_SAMPLING);
		spin(1000);
		brick_end(sampling);
	}
	if (!draw(state, 4))
		spin(2000); /* between steps */
}

static int stop;

static void *beside(void *seed)
{
	uint32_t state = *(uint32_t *)seed;

	brick_thread_name("worker");
	for (int i = 0; i < 200 && !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++)
		work(&state, draw(&state, LAYERS + 1));
	return NULL;
}

int main(int argc, char **argv)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	pthread_t thread;

	if (argc < 3)
		return 2;
	uint32_t state = (uint32_t)strtoul(argv[2], NULL, 10), other = state + 1;
	options.output = argv[1];
	register_sites();
	if (brick_session_start(&options) < 0 || pthread_create(&thread, NULL, beside, &other))
		return 1;
	brick_thread_name("engine");
	if (draw(&state, 2)) /* before all steps */
		work(&state, LAYERS);
	step(&state, 0);
	for (int i = 0; i < STEPS; i++)
		step(&state, draw(&state, 8) != 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return brick_session_stop() < 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs with samples of any times, depths and kinds, as only a broken file has them; for tests. */
#pragma once

#include "tests/unit/run_builder.h"

enum { NONSENSE_SITES = 7, NONSENSE_SAMPLES = 12 };

static inline uint32_t nonsense_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 32);
}

static inline void nonsense_sample(struct run *run, uint64_t *seed, uint32_t lane, uint32_t site,
	uint64_t begin, unsigned depth)
{
	uint32_t r = nonsense_random(seed);
	struct run_sample *sample =
		builder_sample(run, lane, site, begin, begin + r % 30 - 3, depth);

	sample->wait_ns = r & 1 << 20 ? (r >> 21) % 20 : 0;
	sample->inner_ns = r & 1 << 26 ? 7 : 0;
	sample->flags = r & 3 << 27 ? 0 : RUN_SAMPLE_OPEN;
	if (r >> 29 == 0) { /* and once in a while, none of any sense at all */
		sample->end_ns = *seed;
		sample->wait_ns = UINT32_MAX;
	}
}

/* What queues did was launched, waited for and queued by anything. */
static inline void nonsense_commands(struct run *run, uint64_t *seed)
{
	uint32_t kernel = builder_kernel(run, "k", BRICK_KERNEL_COMPUTE, 4);

	for (uint32_t lane = 0; lane < run->lane_count; lane++) {
		const struct run_lane *l = &run->lanes[lane];
		for (uint32_t i = 0; l->kind == BRICK_LANE_QUEUE && i < l->sample_count; i++) {
			uint32_t r = nonsense_random(seed);
			if (r & 1)
				continue;
			builder_command(run, lane, kernel, r & 2 ? 0 : RUN_NONE,
				(r >> 8) % (uint32_t)run->lanes[0].sample_count, RUN_NONE);
			struct run_command *c = &run->commands[run->command_count - 1];
			c->sample = i;
			if (r & 4)
				builder_waits(run, 0, run->wait_count, c->number - 1);
		}
	}
}

/* run_fini() frees what it made. */
static BUILDER_UNUSED void nonsense_run(struct run *run, uint64_t *seed, uint32_t lanes)
{
	static const int known[] = {BRICK_DECODE, BRICK_GRAPH_COMPUTE, BRICK_SAMPLING,
		BRICK_BARRIER_WAIT, BRICK_SYNCHRONIZE, BRICK_RMS_NORM, BRICK_PREFILL};
	uint32_t sites[NONSENSE_SITES];

	memset(run, 0, sizeof(*run));
	builder_process(run, 1);
	builder_process(run, 2);
	for (int i = 0; i < NONSENSE_SITES; i++)
		sites[i] = builder_site(
			run, builder_known(run, known[i]), i % 3 - 1, i % 2 ? "op" : NULL, NULL);
	for (uint32_t lane = 0; lane < lanes; lane++) {
		uint64_t begin = 50;
		unsigned depth = 0;
		builder_lane(run, lane == 3, lane);
		run->lanes[lane].kind = lane == 4;
		for (int i = 0; i < NONSENSE_SAMPLES; i++) {
			uint32_t r = nonsense_random(seed), site = sites[(r >> 3) % NONSENSE_SITES];
			begin += r % 8;
			nonsense_sample(run, seed, lane, site, begin, depth);
			if (depth == 0 && (site == sites[0] || site == sites[6]))
				builder_step(run, lane, r >> 8 & 3);
			depth = (r >> 16) % (depth + 2);
		}
	}
	nonsense_commands(run, seed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's ceilings, and runs under them, for the tests of the roofline. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "analysis/roofline/roofline.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/run_builder.h"

enum { WORK = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS };

#define FIGURE(best)                                         \
	{                                                    \
		best, best * 0.9, best * 0.5, 7, best * 0.95 \
	} /* spread 10 % */

/* A cache of 1000 bytes, for whatever number of threads. */
static struct ceilings_level levels[] = {{"L1", 1000, 4}, {"memory", 0, 4}};
static struct ceilings_compute compute[] = {
	{"wide", "f32", 1, FIGURE(100.0)},
	{"narrow", "f32", 1, FIGURE(50.0)},
	{"wide", "i8", 1, FIGURE(400.0)},
	{"wide", "f32", 2, FIGURE(200.0)},
	{"wide", "f32", 4, FIGURE(400.0)},
};
static struct ceilings_bandwidth bandwidth[] = {
	{"L1", "read", "wide", 1, 1000, FIGURE(300.0)},
	{"memory", "copy", "wide", 1, 1 << 28, FIGURE(30.0)},
	{"memory", "read", "wide", 1, 1 << 28, FIGURE(40.0)},
	{"L1", "read", "wide", 2, 1000, FIGURE(600.0)},
	{"memory", "read", "wide", 2, 1 << 28, FIGURE(50.0)},
	{"memory", "read", "wide", 4, 1 << 28, FIGURE(60.0)},
};
static struct ceilings_latency latency[] = {{"threads", "barrier", 2, {70, 80, 90, 7, 75}}};
static const struct ceilings machine = {
	.levels = levels,
	.level_count = 2,
	.compute = compute,
	.compute_count = 5,
	.bandwidth = bandwidth,
	.bandwidth_count = 6,
	.latency = latency,
	.latency_count = 1,
};

/* Exact to what a double of such sizes can do. */
static inline void assert_near(double got, double want)
{
	double scale = want < 0 ? -want : want;
	if (got < want - 1e-9 * (1 + scale) || got > want + 1e-9 * (1 + scale))
		fail_msg("%.12g, expected %.12g", got, want);
}

static inline uint32_t start(struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	return builder_lane(run, builder_process(run, 1), 1);
}

static inline uint32_t work_site(
	struct run *run, const char *name, const char *operation, uint64_t flops, uint64_t bytes)
{
	uint32_t site = builder_site(run, builder_brick(run, name, "X"), 0, operation, "t");
	run->sites[site].flags = WORK;
	run->sites[site].flops = flops;
	run->sites[site].bytes = bytes;
	return site;
}

/* All of it once more, 1 ms later: so it is known what was touched between two uses. */
static inline void again(struct run *run)
{
	for (uint32_t lane = 0; lane < run->lane_count; lane++)
		for (size_t i = 0, n = run->lanes[lane].sample_count; i < n; i++) {
			struct run_sample sample = run->lanes[lane].samples[i];
			*builder_sample(run, lane, sample.site, 0, 0, 0) = sample;
			run->lanes[lane].samples[n + i].begin_ns += 1000000;
			run->lanes[lane].samples[n + i].end_ns += 1000000;
		}
}

static struct step_index step_index;

static inline struct roofline *make(struct run *run, const struct ceilings *ceilings)
{
	struct roofline *r;
	assert_int_equal(step_index_init(&step_index, run), 0);
	assert_int_equal(roofline_create(&r, run, &step_index, ceilings), 0);
	return r;
}

static inline void finish(struct roofline *r, struct run *run)
{
	roofline_destroy(r);
	step_index_fini(&step_index);
	run_fini(run);
}

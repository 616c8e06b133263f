/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings of the machine that explain_engine.h runs on: 100 GFLOP/s, and 40 GB/s from memory. */
#pragma once

#include "analysis/machine/ceilings.h"

#define FIGURE(best)                                            \
	{                                                       \
		(best), (best)*0.95, (best)*0.9, 7, (best)*0.95 \
	}

static struct ceilings_level levels[] = {{"memory", 0, 1}};
static struct ceilings_compute compute[] = {{"wide", "f32", 1, FIGURE(100.0)}};
static struct ceilings_bandwidth bandwidth[] = {
	{"memory", "read", "wide", 1, 1 << 28, FIGURE(40.0)},
};
static const struct ceilings machine = {.cpus = 2,
	.levels = levels,
	.level_count = 1,
	.compute = compute,
	.compute_count = 1,
	.bandwidth = bandwidth,
	.bandwidth_count = 1};

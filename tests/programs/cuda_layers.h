/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of an engine, for CUDA programs of tests that have bricks of their own. Any thread.
 */
#pragma once

#include "brick/brick.h"
#include "tests/programs/cuda_kit.h"

/* One layer: a norm and a projection, as far as names go. */
static inline void layer(address x, address y, void *stream, int index)
{
	brick_span span = brick_begin_layer(BRICK_RMS_NORM, index);
	launch_scale(x, 0.5f, stream);
	brick_end(span);
	span = brick_begin_layer(BRICK_QKV_PROJECTION, index);
	launch_add(x, y, stream);
	brick_end(span);
}

static inline void print_sum(address x)
{
	float host[N] = {0};
	double sum = 0;

	check(cu.to_host(host, x, sizeof host), "to host");
	for (int i = 0; i < N; i++)
		sum += host[i];
	printf("sum %.3f\n", sum);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work for the double of rocprofiler-sdk (tests/doubles/hip): three steps of two layers, each with
 * kernels in two queues and a copy, under bricks of its own; a wait ends each step. At the end a
 * stream is waited for while a longer kernel, launched later, runs in another one.
 */
#include <stdio.h>
#include "brick/brick.h"
#include "tests/doubles/hip/double.h"

enum { STEPS = 3, LAYERS = 2 };

static void layer(int number)
{
	brick_span span = brick_begin_layer(BRICK_QKV_PROJECTION, number);
	double_hip_dispatch("_Z7productPf.kd", 1, 8, 50000);
	double_hip_dispatch("scale.kd", 2, 4, 20000);
	brick_end(span);
	span = brick_begin_layer(BRICK_RMS_NORM, number);
	double_hip_dispatch("norm.kd", 1, 1, 10000);
	brick_end(span);
}

/* The newest command is not what the first wait is for. */
static void two_streams(void)
{
	brick_span span = brick_begin_layer(BRICK_QKV_PROJECTION, 0);
	double_hip_dispatch("scale.kd", 1, 4, 5000000);
	brick_end(span);
	span = brick_begin_layer(BRICK_RMS_NORM, 0);
	double_hip_dispatch("norm.kd", DOUBLE_HIP_OWN, 1, 40000000);
	brick_end(span);
	double_hip_stream_synchronise();
	double_hip_synchronise();
}

int main(void)
{
	double_hip_start();
	for (int step = 0; step < STEPS; step++) {
		double_hip_copy(1, 7, 4096, 30000);
		for (int i = 0; i < LAYERS; i++)
			layer(i);
		double_hip_synchronise();
	}
	two_streams();
	puts("done");
	return 0;
}

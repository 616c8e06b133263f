/* SPDX-License-Identifier: Apache-2.0 */
/* A program that embeds Brick: times two nested bricks over a few steps and writes a recording. */
#include <stdio.h>
#include "brick/brick.h"

static float mean_square(const float *x, int n)
{
	float sum = 0;
	BRICK_SCOPE(BRICK_RMS_NORM); /* timed to the end of the block */
	for (int i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sum / (float)n;
}

int main(int argc, char **argv)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	options.output = argc > 1 ? argv[1] : "embed.pftrace";
	int error = brick_session_start(&options);
	if (error < 0)
		return fprintf(stderr, "embed: %s\n", brick_strerror(error)), 1;
	float x[4096] = {1};
	for (int token = 0; token < 100; token++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		brick_span norm = brick_begin_layer(BRICK_LAYER_NORM, 0);
		x[token] = mean_square(x, 4096);
		brick_end_work(norm, 4096, sizeof(x), 2 * 4096);
		brick_end(step);
	}
	error = brick_session_stop();
	return error < 0 ? fprintf(stderr, "embed: %s\n", brick_strerror(error)), 1 : 0;
}

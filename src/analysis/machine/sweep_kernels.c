/* SPDX-License-Identifier: Apache-2.0 */
/* Names and shapes of the kernels that are the same on all CPUs. Called by the sweep. */
#include "analysis/machine/sweep_kernels.h"

const char *machine_stream_name(enum machine_stream_kind kind)
{
	static const char *const names[] = {
		[STREAM_READ] = "read", [STREAM_COPY] = "copy", [STREAM_TRIAD] = "triad"};

	return names[kind];
}

unsigned machine_stream_arrays(enum machine_stream_kind kind)
{
	static const unsigned arrays[] = {[STREAM_READ] = 1, [STREAM_COPY] = 2, [STREAM_TRIAD] = 3};

	return arrays[kind];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode steps that each write the same 96 MB, of which the first step takes page faults: a model
 * that is not in memory yet.
 */
#include <string.h>
#include <sys/mman.h>
#include "brick/brick.h"

enum { STEPS = 12 };

int main(void)
{
	const size_t bytes = 96u << 20;
	char *model = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (model == MAP_FAILED || madvise(model, bytes, MADV_NOHUGEPAGE))
		return 1;
	for (int i = 0; i < STEPS; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		brick_span work = brick_begin(BRICK_DOWN_PROJECTION);
		for (size_t at = 0; at < bytes; at += 4096)
			memset(model + at, i, 64);
		brick_end(work);
		brick_end(step);
	}
	return 0;
}

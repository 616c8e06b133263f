/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank and world size from the environment that Open MPI, PMI (MPICH, Intel MPI), Slurm and
 * torchrun set. The first pair that is whole and makes sense wins.
 */
#include "lib/session/launcher.h"

#include <stdlib.h>

static int number(const char *name, int32_t *out)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return 0;
	long value = strtol(text, &end, 10);
	if (*end || value < 0 || value > INT32_MAX)
		return 0;
	*out = (int32_t)value;
	return 1;
}

void brick__launcher_rank(int32_t *rank, int32_t *world)
{
	static const char *const pairs[][2] = {
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"PMI_RANK", "PMI_SIZE"},
		{"SLURM_PROCID", "SLURM_NTASKS"},
		{"RANK", "WORLD_SIZE"},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		int32_t r, w;
		if (number(pairs[i][0], &r) && number(pairs[i][1], &w) && r < w) {
			*rank = r;
			*world = w;
			return;
		}
	}
	*rank = *world = -1;
}

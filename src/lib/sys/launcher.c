/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of variables. Those of sbatch stand in the environment of the whole job's script, too, so
 * Slurm's world is that of a step, which only srun makes.
 */
#include "lib/sys/launcher.h"

#include <stddef.h>
#include <stdlib.h>
#include "lib/sys/environment.h"

static int32_t launcher_number(const char *name)
{
	const char *text = brick__environment(name);
	char *end;

	if (!text || !*text)
		return -1;
	long value = strtol(text, &end, 10);
	return *end || value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

struct launcher brick__launcher(void)
{
	static const struct {
		const char *name, *rank, *world;
	} launchers[] = {
		{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"PMI", "PMI_RANK", "PMI_SIZE"},
		{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
		{"torchrun", "RANK", "WORLD_SIZE"},
	};

	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		int32_t rank = launcher_number(launchers[i].rank);
		int32_t world = launcher_number(launchers[i].world);
		if (rank >= 0 && rank < world)
			return (struct launcher){launchers[i].name, rank, world};
	}
	return (struct launcher){NULL, -1, -1};
}

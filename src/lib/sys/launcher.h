/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher that started this process as one of the ranks of a job, from the environment that
 * Open MPI, PMI (MPICH, Intel MPI), Slurm's srun and torchrun give to each of them. Any thread.
 */
#pragma once

#include <stdint.h>

struct launcher {
	const char *name;    /* "Open MPI", "PMI", "Slurm", "torchrun"; NULL: none */
	int32_t rank, world; /* -1: no launcher */
};

/* The first launcher whose rank and world make sense together. */
struct launcher brick__launcher(void);

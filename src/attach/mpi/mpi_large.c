/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI-4's functions with large counts (MPI_Send_c): the same as those of the same name, with counts
 * and places of 64 bits. They are recorded under that name.
 */
#define MPI_HAS_LARGE_COUNTS

#include "attach/mpi/mpi_collectives.c"
#include "attach/mpi/mpi_neighbours.c"
#include "attach/mpi/mpi_transfers.c"
#include "attach/mpi/mpi_windows.c"

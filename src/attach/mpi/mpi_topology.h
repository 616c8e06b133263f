/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neighbours of a rank in a communicator, in the order in which collectives of neighbours
 * exchange parts with them. Any thread.
 */
#pragma once

#include "attach/mpi/mpi_communicators.h"

struct mpi_topology {
	int out, in; /* neighbours that the rank gives to, and takes from */
	struct mpi_neighbour {
		int32_t peer;  /* rank in the job; -1: of another job */
		int32_t tag;   /* tells parts between the same two ranks apart, the same at both */
		bool is_there; /* false: the edge of a grid, where no part is exchanged */
	} list[];	       /* [out + in] */
};

/* Asked for once, of MPI. NULL: no memory, or the communicator has no neighbours. */
const struct mpi_topology *mpi_topology_get(
	const struct mpi_library *m, struct mpi_communicator *c);

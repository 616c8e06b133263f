/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the program's MPI does not have. Any thread. */
#pragma once

/*
 * Weak symbols of functions that the library does not have are 0 from now on. own_init: Brick's
 * PMPI_Init. errno is kept.
 */
void mpi_absent_clear(const void *own_init);

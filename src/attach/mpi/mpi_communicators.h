/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's communicators. A communicator's number is made of its members, of the communicator
 * that it was made from, and of how many such there were before, so that all members have the same
 * number without a word between them. Any thread.
 */
#pragma once

#include "attach/mpi/mpi_library.h"
#include "attach/mpi/mpi_messages.h"

enum { MPI_CALL_ROOM = 160 }; /* at least as many as there are calls (mpi_calls.h) */

struct mpi_communicator {
	mpi_handle handle;
	uint32_t number; /* of messages in it; never 0 */
	uint32_t references;
	bool is_inter;
	int rank;	  /* own */
	int own_size;	  /* ranks of the own group */
	int size;	  /* ranks that one sends to: of the other group of an intercommunicator */
	int *peers;	  /* [size]: ranks in the job, -1: of another job; NULL: as they are */
	uint64_t members; /* a hash */
	struct mpi_numbers numbers;
	struct mpi_numbers partitioned; /* requests of partitioned messages, by their ends */
	uint32_t collectives;		/* so far */
	uint32_t persistent;		/* requests of collectives that were made so far */
	struct mpi_topology *topology;	/* NULL: not asked for yet (mpi_topology.h) */
	uint32_t *sites;		/* [MPI_CALL_ROOM], by call; 0: none yet */
	uint32_t own_sites[MPI_CALL_ROOM];
	char label[96];
};

/*
 * The communicator of a handle, which must be valid; NULL: no memory. It is held until
 * mpi_communicator_drop().
 */
struct mpi_communicator *mpi_communicator_get(const struct mpi_library *m, mpi_handle handle);
void mpi_communicator_keep(struct mpi_communicator *c);
void mpi_communicator_drop(struct mpi_communicator *c);

/* A communicator was made of `parent` (0: of several). */
void mpi_communicator_made(const struct mpi_library *m, mpi_handle parent, mpi_handle made);
/* A communicator was made of no other, under a name that all its members gave. */
void mpi_communicator_made_by_name(const struct mpi_library *m, const char *name, mpi_handle made);
/* A copy of `parent` begins to be made, and later has a handle. NULL: no memory. To be dropped. */
struct mpi_communicator *mpi_communicator_copy(const struct mpi_communicator *parent);
void mpi_communicator_copied(
	const struct mpi_library *m, struct mpi_communicator *copy, mpi_handle made);
/* A handle is not valid any more. */
void mpi_communicator_freed(const struct mpi_library *m, mpi_handle handle);

/* The rank in the job of a rank in the communicator; -1: not known. */
static inline int32_t mpi_communicator_peer(const struct mpi_communicator *c, int rank)
{
	if (rank < 0 || rank >= c->size)
		return -1;
	return c->peers ? c->peers[rank] : rank;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that make and free communicators. All members of the old communicator make the call, so a
 * new one is told of before the call returns: all members then give it the same number.
 */
#include "attach/mpi/mpi_requests.h"
#include "base/scope.h"

static void creation_made(struct mpi_call *call, mpi_handle parent, const void *made)
{
	KEEP_ERRNO();

	mpi_communicator_made(call->library, parent, mpi_handle_at(call->library, made, 0));
}

static void creation_made_by_name(struct mpi_call *call, const char *name, const void *made)
{
	KEEP_ERRNO();

	mpi_communicator_made_by_name(call->library, name, mpi_handle_at(call->library, made, 0));
}

#define MADE_OF(parent) creation_made(&call, parent, made)

MPI_QUIET_HOOK(
	Comm_dup, (communicator, made), MADE_OF(communicator), mpi_handle communicator, void *made)
MPI_QUIET_HOOK(Comm_dup_with_info, (communicator, info, made), MADE_OF(communicator),
	mpi_handle communicator, mpi_handle info, void *made)
MPI_QUIET_HOOK(Comm_idup, (communicator, made, request),
	mpi_request_copy(&call, communicator, made, request), mpi_handle communicator, void *made,
	void *request)
MPI_QUIET_HOOK(Comm_idup_with_info, (communicator, info, made, request),
	mpi_request_copy(&call, communicator, made, request), mpi_handle communicator,
	mpi_handle info, void *made, void *request)
MPI_QUIET_HOOK(Comm_create, (communicator, group, made), MADE_OF(communicator),
	mpi_handle communicator, mpi_handle group, void *made)
MPI_QUIET_HOOK(Comm_create_group, (communicator, group, tag, made), MADE_OF(communicator),
	mpi_handle communicator, mpi_handle group, int tag, void *made)
MPI_QUIET_HOOK(Comm_split, (communicator, color, key, made), MADE_OF(communicator),
	mpi_handle communicator, int color, int key, void *made)
MPI_QUIET_HOOK(Comm_split_type, (communicator, type, key, info, made), MADE_OF(communicator),
	mpi_handle communicator, int type, int key, mpi_handle info, void *made)
MPI_QUIET_HOOK(Cart_create, (communicator, count, sizes, periods, reorder, made),
	MADE_OF(communicator), mpi_handle communicator, int count, const int *sizes,
	const int *periods, int reorder, void *made)
MPI_QUIET_HOOK(Cart_sub, (communicator, remaining, made), MADE_OF(communicator),
	mpi_handle communicator, const int *remaining, void *made)
MPI_QUIET_HOOK(Graph_create, (communicator, count, index, edges, reorder, made),
	MADE_OF(communicator), mpi_handle communicator, int count, const int *index,
	const int *edges, int reorder, void *made)
MPI_QUIET_HOOK(Dist_graph_create_adjacent,
	(communicator, in, sources, in_weights, out, targets, out_weights, info, reorder, made),
	MADE_OF(communicator), mpi_handle communicator, int in, const int *sources,
	const int *in_weights, int out, const int *targets, const int *out_weights, mpi_handle info,
	int reorder, void *made)
MPI_QUIET_HOOK(Dist_graph_create,
	(communicator, count, sources, degrees, targets, weights, info, reorder, made),
	MADE_OF(communicator), mpi_handle communicator, int count, const int *sources,
	const int *degrees, const int *targets, const int *weights, mpi_handle info, int reorder,
	void *made)
/* Both groups make it, each of a communicator of its own. */
MPI_QUIET_HOOK(Intercomm_create, (communicator, leader, between, other, tag, made), MADE_OF(0),
	mpi_handle communicator, int leader, mpi_handle between, int other, int tag, void *made)
MPI_QUIET_HOOK(Intercomm_merge, (communicator, high, made), MADE_OF(communicator),
	mpi_handle communicator, int high, void *made)

/* MPI-4: without a communicator before. */
MPI_QUIET_HOOK(Comm_create_from_group, (group, name, info, errors, made),
	creation_made_by_name(&call, name, made), mpi_handle group, const char *name,
	mpi_handle info, mpi_handle errors, void *made)
MPI_QUIET_HOOK(Intercomm_create_from_groups,
	(group, leader, other, other_leader, name, info, errors, made),
	creation_made_by_name(&call, name, made), mpi_handle group, int leader, mpi_handle other,
	int other_leader, const char *name, mpi_handle info, mpi_handle errors, void *made)

static void creation_freed(const void *communicator)
{
	const struct mpi_library *m = communicator ? mpi_library_get() : NULL;
	mpi_handle freed = m ? mpi_handle_at(m, communicator, 0) : 0;

	if (freed)
		mpi_communicator_freed(m, freed);
}

MPI_FRAME(Comm_free, creation_freed(communicator), (communicator), , void *communicator)
MPI_FRAME(Comm_disconnect, creation_freed(communicator), (communicator), , void *communicator)

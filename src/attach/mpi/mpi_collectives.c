/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives. The bytes of a collective are those that the rank gives to it, or takes from it if
 * it gives none. The request of an I-form stands at the end of its arguments. Counts are of one
 * type.
 */
#include "attach/mpi/mpi_exchanges.h"
#include "attach/mpi/mpi_requests.h"
#include "base/scope.h"

/* request NULL: it is blocking. root -1: it has none. */
static void collective_done(struct mpi_call *call, mpi_handle communicator, uint64_t bytes,
	int root, const void *request)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);

	if (!c)
		return;
	mpi_call_tell(call, BRICK_MESSAGE_COLLECTIVE,
		root < 0 ? BRICK_MESSAGE_NO_PEER : mpi_communicator_peer(c, root), 0, c->number,
		__atomic_add_fetch(&c->collectives, 1, __ATOMIC_RELAXED), bytes);
	if (request)
		mpi_request_collective(call, request);
}

/* A request of one, which begins later. */
static void collective_made(struct mpi_call *call, enum mpi_function function,
	mpi_handle communicator, uint64_t bytes, int root, const void *request)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	if (!c)
		return;
	struct mpi_exchange *x =
		mpi_exchange_create(mpi_exchange_persistent(c), BRICK_MESSAGE_COLLECTIVE, 1);
	if (!x)
		return;
	mpi_exchange_add(x, true, root < 0 ? BRICK_MESSAGE_NO_PEER : mpi_communicator_peer(c, root),
		0, bytes);
	mpi_request_persistent(call, MPI_COLLECTIVE, function, x, request);
	mpi_exchange_drop(x);
}

/*
 * Arguments that the standard calls insignificant may be anything: they are not looked at. On an
 * intercommunicator the root gives MPI_ROOT, and the others of its group MPI_PROC_NULL.
 */

/* Ranks that the call's rank exchanges parts with. */
static int collective_size(struct mpi_call *call, mpi_handle communicator)
{
	const struct mpi_communicator *c = mpi_call_in(call, communicator);

	return c ? c->size : 0;
}

/* Ranks of the call's own group. */
static int collective_own_size(struct mpi_call *call, mpi_handle communicator)
{
	const struct mpi_communicator *c = mpi_call_in(call, communicator);

	return c ? c->own_size : 0;
}

static bool collective_is_root(struct mpi_call *call, mpi_handle communicator, int root)
{
	const struct mpi_communicator *c = mpi_call_in(call, communicator);

	return c && root == (c->is_inter ? call->library->root : c->rank);
}

static uint64_t collective_sum(
	struct mpi_call *call, int size, const mpi_count *counts, mpi_handle type)
{
	uint64_t bytes = 0;

	for (int i = 0; i < size; i++)
		bytes += mpi_bytes_of(call->library, counts[i], type);
	return bytes;
}

static uint64_t collective_sum_of_types(
	struct mpi_call *call, mpi_handle communicator, const mpi_count *counts, const void *types)
{
	int size = collective_size(call, communicator);
	uint64_t bytes = 0;

	for (int i = 0; i < size; i++)
		bytes += mpi_bytes_of(
			call->library, counts[i], mpi_handle_at(call->library, types, i));
	return bytes;
}

#define BYTES(count, type) mpi_bytes_of(call.library, count, type)
#define SIZE (uint64_t) collective_size(&call, communicator)
#define OWN_SIZE (uint64_t) collective_own_size(&call, communicator)
#define SUM(counts, type) collective_sum(&call, collective_size(&call, communicator), counts, type)
#define SUM_OF_OWN(counts, type) \
	collective_sum(&call, collective_own_size(&call, communicator), counts, type)
#define SUM_OF_TYPES(counts, types) collective_sum_of_types(&call, communicator, counts, types)
#define IS_ROOT collective_is_root(&call, communicator, root)
#define IS_OUTSIDE (root == call.library->proc_null)
#define IS_IN_PLACE (out == call.library->in_place)
#define OWN(counts) (counts[call.communicator->rank])

/*
 * The blocking form, the one that returns at once, and the persistent one; `bytes` is computed once
 * the call has succeeded.
 */
#define MPI_COLLECTIVE(name, iname, arguments, bytes, root, ...)                                 \
	MPI_HOOK(name, (MPI_ALL arguments),                                                      \
		collective_done(&call, communicator, bytes, root, NULL), __VA_ARGS__)            \
	MPI_HOOK(iname, (MPI_ALL arguments, request),                                            \
		collective_done(&call, communicator, bytes, root, request), __VA_ARGS__,         \
		void *request)                                                                   \
	MPI_MAKING_HOOK(name##_init, (MPI_ALL arguments, info, request),                         \
		collective_made(&call, MPI_F_##name##_init, communicator, bytes, root, request), \
		__VA_ARGS__, mpi_handle info, void *request)

#ifndef MPI_HAS_LARGE_COUNTS
MPI_COLLECTIVE(Barrier, Ibarrier, (communicator), 0, -1, mpi_handle communicator)
#endif
MPI_COLLECTIVE(Bcast, Ibcast, (buffer, count, type, root, communicator),
	IS_OUTSIDE ? 0 : BYTES(count, type), root, void *buffer, mpi_count count, mpi_handle type,
	int root, mpi_handle communicator)
MPI_COLLECTIVE(Gather, Igather,
	(out, out_count, out_type, in, in_count, in_type, root, communicator),
	IS_OUTSIDE		     ? 0
	: root == call.library->root ? BYTES(in_count, in_type) * SIZE
	: IS_ROOT && IS_IN_PLACE     ? BYTES(in_count, in_type)
				     : BYTES(out_count, out_type),
	root, const void *out, mpi_count out_count, mpi_handle out_type, void *in,
	mpi_count in_count, mpi_handle in_type, int root, mpi_handle communicator)
MPI_COLLECTIVE(Gatherv, Igatherv,
	(out, out_count, out_type, in, in_counts, places, in_type, root, communicator),
	IS_OUTSIDE		     ? 0
	: root == call.library->root ? SUM(in_counts, in_type)
	: IS_ROOT && IS_IN_PLACE     ? BYTES(OWN(in_counts), in_type)
				     : BYTES(out_count, out_type),
	root, const void *out, mpi_count out_count, mpi_handle out_type, void *in,
	const mpi_count *in_counts, const mpi_count *places, mpi_handle in_type, int root,
	mpi_handle communicator)
MPI_COLLECTIVE(Scatter, Iscatter,
	(out, out_count, out_type, in, in_count, in_type, root, communicator),
	IS_OUTSIDE ? 0
	: IS_ROOT  ? BYTES(out_count, out_type) * SIZE
		   : BYTES(in_count, in_type),
	root, const void *out, mpi_count out_count, mpi_handle out_type, void *in,
	mpi_count in_count, mpi_handle in_type, int root, mpi_handle communicator)
MPI_COLLECTIVE(Scatterv, Iscatterv,
	(out, out_counts, places, out_type, in, in_count, in_type, root, communicator),
	IS_OUTSIDE ? 0
	: IS_ROOT  ? SUM(out_counts, out_type)
		   : BYTES(in_count, in_type),
	root, const void *out, const mpi_count *out_counts, const mpi_count *places,
	mpi_handle out_type, void *in, mpi_count in_count, mpi_handle in_type, int root,
	mpi_handle communicator)
MPI_COLLECTIVE(Allgather, Iallgather,
	(out, out_count, out_type, in, in_count, in_type, communicator),
	IS_IN_PLACE ? BYTES(in_count, in_type) : BYTES(out_count, out_type), -1, const void *out,
	mpi_count out_count, mpi_handle out_type, void *in, mpi_count in_count, mpi_handle in_type,
	mpi_handle communicator)
MPI_COLLECTIVE(Allgatherv, Iallgatherv,
	(out, out_count, out_type, in, in_counts, places, in_type, communicator),
	IS_IN_PLACE &&SIZE ? BYTES(OWN(in_counts), in_type) : BYTES(out_count, out_type), -1,
	const void *out, mpi_count out_count, mpi_handle out_type, void *in,
	const mpi_count *in_counts, const mpi_count *places, mpi_handle in_type,
	mpi_handle communicator)
MPI_COLLECTIVE(Alltoall, Ialltoall, (out, out_count, out_type, in, in_count, in_type, communicator),
	(IS_IN_PLACE ? BYTES(in_count, in_type) : BYTES(out_count, out_type)) * SIZE, -1,
	const void *out, mpi_count out_count, mpi_handle out_type, void *in, mpi_count in_count,
	mpi_handle in_type, mpi_handle communicator)
MPI_COLLECTIVE(Alltoallv, Ialltoallv,
	(out, out_counts, out_places, out_type, in, in_counts, in_places, in_type, communicator),
	IS_IN_PLACE ? SUM(in_counts, in_type) : SUM(out_counts, out_type), -1, const void *out,
	const mpi_count *out_counts, const mpi_count *out_places, mpi_handle out_type, void *in,
	const mpi_count *in_counts, const mpi_count *in_places, mpi_handle in_type,
	mpi_handle communicator)
MPI_COLLECTIVE(Alltoallw, Ialltoallw,
	(out, out_counts, out_places, out_types, in, in_counts, in_places, in_types, communicator),
	IS_IN_PLACE ? SUM_OF_TYPES(in_counts, in_types) : SUM_OF_TYPES(out_counts, out_types), -1,
	const void *out, const mpi_count *out_counts, const mpi_count *out_places,
	const void *out_types, void *in, const mpi_count *in_counts, const mpi_count *in_places,
	const void *in_types, mpi_handle communicator)
MPI_COLLECTIVE(Reduce, Ireduce, (out, in, count, type, operation, root, communicator),
	IS_OUTSIDE ? 0 : BYTES(count, type), root, const void *out, void *in, mpi_count count,
	mpi_handle type, mpi_handle operation, int root, mpi_handle communicator)
MPI_COLLECTIVE(Allreduce, Iallreduce, (out, in, count, type, operation, communicator),
	BYTES(count, type), -1, const void *out, void *in, mpi_count count, mpi_handle type,
	mpi_handle operation, mpi_handle communicator)
MPI_COLLECTIVE(Reduce_scatter, Ireduce_scatter, (out, in, counts, type, operation, communicator),
	SUM_OF_OWN(counts, type), -1, const void *out, void *in, const mpi_count *counts,
	mpi_handle type, mpi_handle operation, mpi_handle communicator)
MPI_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
	(out, in, count, type, operation, communicator), BYTES(count, type) * OWN_SIZE, -1,
	const void *out, void *in, mpi_count count, mpi_handle type, mpi_handle operation,
	mpi_handle communicator)
MPI_COLLECTIVE(Scan, Iscan, (out, in, count, type, operation, communicator), BYTES(count, type), -1,
	const void *out, void *in, mpi_count count, mpi_handle type, mpi_handle operation,
	mpi_handle communicator)
MPI_COLLECTIVE(Exscan, Iexscan, (out, in, count, type, operation, communicator), BYTES(count, type),
	-1, const void *out, void *in, mpi_count count, mpi_handle type, mpi_handle operation,
	mpi_handle communicator)

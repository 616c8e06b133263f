/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of neighbours. A rank waits for its neighbours alone, and not for all: so each part
 * is a message, whose other end the neighbour tells. All ranks make these calls in one order, so
 * that the number of the collective is that of its messages.
 */
#include "attach/mpi/mpi_exchanges.h"
#include "attach/mpi/mpi_requests.h"
#include "attach/mpi/mpi_topology.h"
#include "base/scope.h"

/* The part of each neighbour: of one count and type, or of these lists. */
struct neighbour_parts {
	mpi_count count;
	const mpi_count *counts;
	mpi_handle type;
	const void *types;
};

static uint64_t neighbour_bytes(
	const struct mpi_library *m, const struct neighbour_parts *parts, int i)
{
	return mpi_bytes_of(m, parts->counts ? parts->counts[i] : parts->count,
		parts->types ? mpi_handle_at(m, parts->types, i) : parts->type);
}

static void neighbours_add(struct mpi_exchange *x, bool begins, const struct mpi_library *m,
	const struct mpi_neighbour *list, int count, const struct neighbour_parts *parts)
{
	for (int i = 0; i < count; i++)
		if (list[i].is_there)
			mpi_exchange_add(
				x, begins, list[i].peer, list[i].tag, neighbour_bytes(m, parts, i));
}

/* To be dropped. NULL: no memory, or there are no neighbours. */
static struct mpi_exchange *neighbours_exchange(struct mpi_call *call, uint32_t communicator,
	const struct neighbour_parts *out, const struct neighbour_parts *in)
{
	const struct mpi_topology *t = mpi_topology_get(call->library, call->communicator);
	struct mpi_exchange *x = t ? mpi_exchange_create(communicator, BRICK_MESSAGE_SENT,
					     (size_t)t->out + (size_t)t->in)
				   : NULL;

	if (x) {
		neighbours_add(x, true, call->library, t->list, t->out, out);
		neighbours_add(x, false, call->library, t->list + t->out, t->in, in);
	}
	return x;
}

/* request NULL: it is blocking. */
static void neighbours_done(struct mpi_call *call, mpi_handle communicator,
	const struct neighbour_parts *out, const struct neighbour_parts *in, const void *request)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	if (!c)
		return;
	if (request)
		mpi_request_none(call, request);
	uint32_t turn = __atomic_add_fetch(&c->collectives, 1, __ATOMIC_RELAXED);
	struct mpi_exchange *x = neighbours_exchange(call, c->number, out, in);
	if (!x)
		return;
	x->turn = turn;
	mpi_exchange_begin(call, x);
	if (request)
		mpi_request_exchange(call, x, request);
	else
		mpi_exchange_end(call, x);
	mpi_exchange_drop(x);
}

static void neighbours_made(struct mpi_call *call, enum mpi_function function,
	mpi_handle communicator, const struct neighbour_parts *out,
	const struct neighbour_parts *in, const void *request)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	if (!c)
		return;
	struct mpi_exchange *x = neighbours_exchange(call, mpi_exchange_persistent(c), out, in);
	if (x)
		mpi_request_persistent(call, MPI_EXCHANGE, function, x, request);
	mpi_exchange_drop(x);
}

#define NEIGHBOUR_PARTS(...) (&(const struct neighbour_parts){__VA_ARGS__})
#define MPI_NEIGHBOURS(name, arguments, given, taken, ...)                                         \
	MPI_HOOK(Neighbor_##name, (MPI_ALL arguments),                                             \
		neighbours_done(                                                                   \
			&call, communicator, NEIGHBOUR_PARTS given, NEIGHBOUR_PARTS taken, NULL),  \
		__VA_ARGS__)                                                                       \
	MPI_HOOK(Ineighbor_##name, (MPI_ALL arguments, request),                                   \
		neighbours_done(&call, communicator, NEIGHBOUR_PARTS given, NEIGHBOUR_PARTS taken, \
			request),                                                                  \
		__VA_ARGS__, void *request)                                                        \
	MPI_MAKING_HOOK(Neighbor_##name##_init, (MPI_ALL arguments, info, request),                \
		neighbours_made(&call, MPI_F_Neighbor_##name##_init, communicator,                 \
			NEIGHBOUR_PARTS given, NEIGHBOUR_PARTS taken, request),                    \
		__VA_ARGS__, mpi_handle info, void *request)

MPI_NEIGHBOURS(allgather, (out, out_count, out_type, in, in_count, in_type, communicator),
	(out_count, NULL, out_type, NULL), (in_count, NULL, in_type, NULL), const void *out,
	mpi_count out_count, mpi_handle out_type, void *in, mpi_count in_count, mpi_handle in_type,
	mpi_handle communicator)
MPI_NEIGHBOURS(allgatherv, (out, out_count, out_type, in, in_counts, places, in_type, communicator),
	(out_count, NULL, out_type, NULL), (0, in_counts, in_type, NULL), const void *out,
	mpi_count out_count, mpi_handle out_type, void *in, const mpi_count *in_counts,
	const mpi_count *places, mpi_handle in_type, mpi_handle communicator)
MPI_NEIGHBOURS(alltoall, (out, out_count, out_type, in, in_count, in_type, communicator),
	(out_count, NULL, out_type, NULL), (in_count, NULL, in_type, NULL), const void *out,
	mpi_count out_count, mpi_handle out_type, void *in, mpi_count in_count, mpi_handle in_type,
	mpi_handle communicator)
MPI_NEIGHBOURS(alltoallv,
	(out, out_counts, out_places, out_type, in, in_counts, in_places, in_type, communicator),
	(0, out_counts, out_type, NULL), (0, in_counts, in_type, NULL), const void *out,
	const mpi_count *out_counts, const mpi_count *out_places, mpi_handle out_type, void *in,
	const mpi_count *in_counts, const mpi_count *in_places, mpi_handle in_type,
	mpi_handle communicator)
/* Places are bytes, of 64 bits in both forms. */
MPI_NEIGHBOURS(alltoallw,
	(out, out_counts, out_places, out_types, in, in_counts, in_places, in_types, communicator),
	(0, out_counts, 0, out_types), (0, in_counts, 0, in_types), const void *out,
	const mpi_count *out_counts, const intptr_t *out_places, const void *out_types, void *in,
	const mpi_count *in_counts, const intptr_t *in_places, const void *in_types,
	mpi_handle communicator)

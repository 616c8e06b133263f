/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of the program into MPI that is being recorded. Calls that MPI, or a tool that stands
 * behind Brick, makes inside of it are only passed on. Nothing is asked of MPI before the program's
 * own call has succeeded, so that all handles are valid. Owner thread.
 */
#pragma once

#include "attach/mpi/mpi_communicators.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"

/* X(function, its brick); all forms of a collective have the same brick. */
#define MPI_CALLS(X)                                                             \
	X(Init, "Init")                                                          \
	X(Init_thread, "Init")                                                   \
	X(Finalize, "Finalize")                                                  \
	X(Send, "Send")                                                          \
	X(Bsend, "Send")                                                         \
	X(Ssend, "Send")                                                         \
	X(Rsend, "Send")                                                         \
	X(Isend, "Send")                                                         \
	X(Ibsend, "Send")                                                        \
	X(Issend, "Send")                                                        \
	X(Irsend, "Send")                                                        \
	X(Recv, "Receive")                                                       \
	X(Irecv, "Receive")                                                      \
	X(Mrecv, "Receive")                                                      \
	X(Imrecv, "Receive")                                                     \
	X(Sendrecv, "SendReceive")                                               \
	X(Sendrecv_replace, "SendReceive")                                       \
	X(Isendrecv, "SendReceive")                                              \
	X(Isendrecv_replace, "SendReceive")                                      \
	X(Pready, "Send")                                                        \
	X(Pready_range, "Send")                                                  \
	X(Pready_list, "Send")                                                   \
	X(Start, "Start")                                                        \
	X(Startall, "Start")                                                     \
	X(Probe, "MessageWait")                                                  \
	X(Mprobe, "MessageWait")                                                 \
	X(Iprobe, "MessageWait")                                                 \
	X(Improbe, "MessageWait")                                                \
	X(Parrived, "MessageWait")                                               \
	X(Wait, "MessageWait")                                                   \
	X(Waitany, "MessageWait")                                                \
	X(Waitall, "MessageWait")                                                \
	X(Waitsome, "MessageWait")                                               \
	X(Test, "MessageWait")                                                   \
	X(Testany, "MessageWait")                                                \
	X(Testall, "MessageWait")                                                \
	X(Testsome, "MessageWait")                                               \
	X(Put, "Put")                                                            \
	X(Rput, "Put")                                                           \
	X(Get, "Get")                                                            \
	X(Rget, "Get")                                                           \
	X(Accumulate, "Accumulate")                                              \
	X(Raccumulate, "Accumulate")                                             \
	X(Get_accumulate, "Accumulate")                                          \
	X(Rget_accumulate, "Accumulate")                                         \
	X(Fetch_and_op, "Accumulate")                                            \
	X(Compare_and_swap, "Accumulate")                                        \
	X(Win_fence, "WindowWait")                                               \
	X(Win_lock, "WindowWait")                                                \
	X(Win_lock_all, "WindowWait")                                            \
	X(Win_unlock, "WindowWait")                                              \
	X(Win_unlock_all, "WindowWait")                                          \
	X(Win_flush, "WindowWait")                                               \
	X(Win_flush_all, "WindowWait")                                           \
	X(Win_flush_local, "WindowWait")                                         \
	X(Win_flush_local_all, "WindowWait")                                     \
	X(Win_start, "WindowWait")                                               \
	X(Win_complete, "WindowWait")                                            \
	X(Win_post, "WindowWait")                                                \
	X(Win_wait, "WindowWait")                                                \
	X(Win_test, "WindowWait")                                                \
	X(CollectiveWait, "CollectiveWait")    /* for requests of collectives */ \
	X(CollectiveWaitall, "CollectiveWait") /* for all that are on the way */ \
	X(Neighbor_allgather, "NeighborAllGather")                               \
	X(Ineighbor_allgather, "NeighborAllGather")                              \
	X(Neighbor_allgather_init, "NeighborAllGather")                          \
	X(Neighbor_allgatherv, "NeighborAllGather")                              \
	X(Ineighbor_allgatherv, "NeighborAllGather")                             \
	X(Neighbor_allgatherv_init, "NeighborAllGather")                         \
	X(Neighbor_alltoall, "NeighborAllToAll")                                 \
	X(Ineighbor_alltoall, "NeighborAllToAll")                                \
	X(Neighbor_alltoall_init, "NeighborAllToAll")                            \
	X(Neighbor_alltoallv, "NeighborAllToAll")                                \
	X(Ineighbor_alltoallv, "NeighborAllToAll")                               \
	X(Neighbor_alltoallv_init, "NeighborAllToAll")                           \
	X(Neighbor_alltoallw, "NeighborAllToAll")                                \
	X(Ineighbor_alltoallw, "NeighborAllToAll")                               \
	X(Neighbor_alltoallw_init, "NeighborAllToAll")                           \
	MPI_COLLECTIVES(X)

#define MPI_COLLECTIVES(X)                            \
	X(Barrier, "Barrier")                         \
	X(Bcast, "Broadcast")                         \
	X(Gather, "Gather")                           \
	X(Gatherv, "Gather")                          \
	X(Scatter, "Scatter")                         \
	X(Scatterv, "Scatter")                        \
	X(Allgather, "AllGather")                     \
	X(Allgatherv, "AllGather")                    \
	X(Alltoall, "AllToAll")                       \
	X(Alltoallv, "AllToAll")                      \
	X(Alltoallw, "AllToAll")                      \
	X(Reduce, "Reduce")                           \
	X(Allreduce, "AllReduce")                     \
	X(Reduce_scatter, "ReduceScatter")            \
	X(Reduce_scatter_block, "ReduceScatter")      \
	X(Scan, "Scan")                               \
	X(Exscan, "Scan")                             \
	X(Ibarrier, "Barrier")                        \
	X(Ibcast, "Broadcast")                        \
	X(Igather, "Gather")                          \
	X(Igatherv, "Gather")                         \
	X(Iscatter, "Scatter")                        \
	X(Iscatterv, "Scatter")                       \
	X(Iallgather, "AllGather")                    \
	X(Iallgatherv, "AllGather")                   \
	X(Ialltoall, "AllToAll")                      \
	X(Ialltoallv, "AllToAll")                     \
	X(Ialltoallw, "AllToAll")                     \
	X(Ireduce, "Reduce")                          \
	X(Iallreduce, "AllReduce")                    \
	X(Ireduce_scatter, "ReduceScatter")           \
	X(Ireduce_scatter_block, "ReduceScatter")     \
	X(Iscan, "Scan")                              \
	X(Iexscan, "Scan")                            \
	X(Barrier_init, "Barrier")                    \
	X(Bcast_init, "Broadcast")                    \
	X(Gather_init, "Gather")                      \
	X(Gatherv_init, "Gather")                     \
	X(Scatter_init, "Scatter")                    \
	X(Scatterv_init, "Scatter")                   \
	X(Allgather_init, "AllGather")                \
	X(Allgatherv_init, "AllGather")               \
	X(Alltoall_init, "AllToAll")                  \
	X(Alltoallv_init, "AllToAll")                 \
	X(Alltoallw_init, "AllToAll")                 \
	X(Reduce_init, "Reduce")                      \
	X(Allreduce_init, "AllReduce")                \
	X(Reduce_scatter_init, "ReduceScatter")       \
	X(Reduce_scatter_block_init, "ReduceScatter") \
	X(Scan_init, "Scan")                          \
	X(Exscan_init, "Scan")

enum mpi_function {
#define MPI_X(function, brick) MPI_F_##function,
	MPI_CALLS(MPI_X)
#undef MPI_X
		MPI_FUNCTIONS,
};
_Static_assert((int)MPI_FUNCTIONS <= (int)MPI_CALL_ROOM, "sites of a communicator");

enum { MPI_FEW_MESSAGES = 4 };

struct mpi_call {
	enum mpi_function function;
	bool is_nested; /* in another call: it is only passed on */
	uint64_t outer;
	brick_span span;		       /* 0: nothing records */
	const struct mpi_library *library;     /* from mpi_call_succeeded() on */
	struct mpi_communicator *communicator; /* NULL: none, or several */
	uint64_t bytes;
	struct brick_message_record few[MPI_FEW_MESSAGES], *messages;
	uint32_t count, capacity;
	bool is_of_use; /* a poll that found something */
};

/* In a hook: the address that called it. */
#define MPI_CALLER __builtin_return_address(0)

void mpi_call_begin(struct mpi_call *call, enum mpi_function function, const void *caller);
/* Of a call that is no brick. */
void mpi_call_begin_quiet(struct mpi_call *call, const void *caller);

/* True: the call of the library returned so, and the messages of the call may be told. */
bool mpi_call_succeeded(struct mpi_call *call, int result);

/* The same for calls that receive: a message that was longer than its room was taken, too. */
bool mpi_call_received(struct mpi_call *call, int result);

/* Tells a message of the call. `number` 0: not known. */
void mpi_call_tell(struct mpi_call *call, enum brick_message_event event, int32_t peer, int32_t tag,
	uint32_t communicator, uint32_t number, uint64_t bytes);

/* The communicator of the call, held to its end; NULL: no memory. */
struct mpi_communicator *mpi_call_in(struct mpi_call *call, mpi_handle communicator);

void mpi_call_end(struct mpi_call *call);

/* For a call that may be asked again and again: records it if it was of use, after the fact. */
struct mpi_poll {
	uint64_t begin; /* ticks; 0: nothing records */
};
void mpi_poll_begin(struct mpi_call *call, struct mpi_poll *poll, enum mpi_function function,
	const void *caller);
void mpi_poll_end(struct mpi_call *call, const struct mpi_poll *poll);

#define MPI_NOT_THERE 16 /* a program without MPI asked for a function of it */

/* Functions of MPI-4 with large counts have these types and names (mpi_large.c). */
#ifdef MPI_HAS_LARGE_COUNTS
typedef int64_t mpi_count;
#define MPI_FUNCTION(prefix, name) prefix##name##_c
#else
typedef int mpi_count;
#define MPI_FUNCTION(prefix, name) prefix##name
#endif
#define MPI_TEXT(text) #text
#define MPI_TEXT_OF(text) MPI_TEXT(text)

/*
 * Defines MPI_name and PMPI_name, by which tools and Fortran's functions call: `before`, the
 * library's function with `arguments`, which are in parentheses, and `after`, which may use
 * `result`.
 */
#define MPI_FRAME_OF(prefix, name, before, arguments, after, ...)                \
	BRICK_API int MPI_FUNCTION(prefix, name)(__VA_ARGS__);                   \
	int MPI_FUNCTION(prefix, name)(__VA_ARGS__)                              \
	{                                                                        \
		static void *kept;                                               \
		int (*next)(__VA_ARGS__) = (int (*)(__VA_ARGS__))mpi_next(&kept, \
			MPI_TEXT_OF(MPI_FUNCTION(prefix, name)),                 \
			(const void *)MPI_FUNCTION(prefix, name));               \
		if (!next)                                                       \
			return MPI_NOT_THERE;                                    \
		before;                                                          \
		int result = next arguments;                                     \
		after;                                                           \
		return result;                                                   \
	}
#define MPI_FRAME(...)                  \
	MPI_FRAME_OF(MPI_, __VA_ARGS__) \
	MPI_FRAME_OF(PMPI_, __VA_ARGS__)
/* ... and the names that Open MPI 4 has for MPI-4's persistent collectives. */
#ifdef MPI_HAS_LARGE_COUNTS
#define MPI_FRAME_OF_BOTH(...) MPI_FRAME(__VA_ARGS__)
#else
#define MPI_FRAME_OF_BOTH(...)           \
	MPI_FRAME(__VA_ARGS__)           \
	MPI_FRAME_OF(MPIX_, __VA_ARGS__) \
	MPI_FRAME_OF(PMPIX_, __VA_ARGS__)
#endif

/* `done` may use `call`, and runs if the library's function succeeded. */
#define MPI_HOOK(name, arguments, done, ...)                                                     \
	MPI_FRAME(                                                                               \
		name, struct mpi_call call; mpi_call_begin(&call, MPI_F_##name, MPI_CALLER),     \
		arguments, if (mpi_call_succeeded(&call, result)) { done; } mpi_call_end(&call), \
		__VA_ARGS__)

/* The same for calls that are no bricks. */
#define MPI_QUIET_HOOK_OF(frame, name, arguments, done, ...)                                    \
	frame(                                                                                  \
		name, struct mpi_call call; mpi_call_begin_quiet(&call, MPI_CALLER), arguments, \
		if (mpi_call_succeeded(&call, result)) { done; } mpi_call_end(&call), __VA_ARGS__)
#define MPI_QUIET_HOOK(...) MPI_QUIET_HOOK_OF(MPI_FRAME, __VA_ARGS__)
/* Of calls that make requests of persistent collectives. */
#define MPI_MAKING_HOOK(...) MPI_QUIET_HOOK_OF(MPI_FRAME_OF_BOTH, __VA_ARGS__)

#define MPI_ALL(...) __VA_ARGS__

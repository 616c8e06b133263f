/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-sided communication: how long the calls take, and the bytes that they move. Nobody is told on
 * the other side, so that no message has two ends. A window knows its communicator and does not say
 * it, so that these calls have none.
 */
#include "attach/mpi/mpi_requests.h"

#define WINDOW_PARAMETERS(out)                                                           \
	out void *own, mpi_count own_count, mpi_handle own_type, int to, intptr_t place, \
		mpi_count count, mpi_handle type
#define WINDOW_ARGUMENTS own, own_count, own_type, to, place, count, type
#define WINDOW_BYTES call.bytes = mpi_bytes_of(call.library, own_count, own_type)
#define WINDOW_RESULT void *got, mpi_count got_count, mpi_handle got_type

MPI_HOOK(Put, (WINDOW_ARGUMENTS, window), WINDOW_BYTES, WINDOW_PARAMETERS(const), mpi_handle window)
MPI_HOOK(Get, (WINDOW_ARGUMENTS, window), WINDOW_BYTES, WINDOW_PARAMETERS(), mpi_handle window)
MPI_HOOK(Accumulate, (WINDOW_ARGUMENTS, operation, window), WINDOW_BYTES, WINDOW_PARAMETERS(const),
	mpi_handle operation, mpi_handle window)
MPI_HOOK(Get_accumulate,
	(own, own_count, own_type, got, got_count, got_type, to, place, count, type, operation,
		window),
	WINDOW_BYTES, const void *own, mpi_count own_count, mpi_handle own_type, WINDOW_RESULT,
	int to, intptr_t place, mpi_count count, mpi_handle type, mpi_handle operation,
	mpi_handle window)

/* Their requests are waited for as others are, and tell of no message. */
#define WINDOW_BEGUN                      \
	mpi_request_none(&call, request); \
	WINDOW_BYTES

MPI_HOOK(Rput, (WINDOW_ARGUMENTS, window, request), WINDOW_BEGUN, WINDOW_PARAMETERS(const),
	mpi_handle window, void *request)
MPI_HOOK(Rget, (WINDOW_ARGUMENTS, window, request), WINDOW_BEGUN, WINDOW_PARAMETERS(),
	mpi_handle window, void *request)
MPI_HOOK(Raccumulate, (WINDOW_ARGUMENTS, operation, window, request), WINDOW_BEGUN,
	WINDOW_PARAMETERS(const), mpi_handle operation, mpi_handle window, void *request)
MPI_HOOK(Rget_accumulate,
	(own, own_count, own_type, got, got_count, got_type, to, place, count, type, operation,
		window, request),
	WINDOW_BEGUN, const void *own, mpi_count own_count, mpi_handle own_type, WINDOW_RESULT,
	int to, intptr_t place, mpi_count count, mpi_handle type, mpi_handle operation,
	mpi_handle window, void *request)

#ifndef MPI_HAS_LARGE_COUNTS
MPI_HOOK(Fetch_and_op, (own, got, type, to, place, operation, window),
	call.bytes = mpi_bytes_of(call.library, 1, type), const void *own, void *got,
	mpi_handle type, int to, intptr_t place, mpi_handle operation, mpi_handle window)
MPI_HOOK(Compare_and_swap, (own, compared, got, type, to, place, window),
	call.bytes = mpi_bytes_of(call.library, 1, type), const void *own, const void *compared,
	void *got, mpi_handle type, int to, intptr_t place, mpi_handle window)

MPI_HOOK(Win_fence, (hints, window), , int hints, mpi_handle window)
MPI_HOOK(Win_lock, (kind, to, hints, window), , int kind, int to, int hints, mpi_handle window)
MPI_HOOK(Win_lock_all, (hints, window), , int hints, mpi_handle window)
MPI_HOOK(Win_unlock, (to, window), , int to, mpi_handle window)
MPI_HOOK(Win_unlock_all, (window), , mpi_handle window)
MPI_HOOK(Win_flush, (to, window), , int to, mpi_handle window)
MPI_HOOK(Win_flush_all, (window), , mpi_handle window)
MPI_HOOK(Win_flush_local, (to, window), , int to, mpi_handle window)
MPI_HOOK(Win_flush_local_all, (window), , mpi_handle window)
MPI_HOOK(Win_start, (group, hints, window), , mpi_handle group, int hints, mpi_handle window)
MPI_HOOK(Win_complete, (window), , mpi_handle window)
MPI_HOOK(Win_post, (group, hints, window), , mpi_handle group, int hints, mpi_handle window)
MPI_HOOK(Win_wait, (window), , mpi_handle window)
MPI_FRAME(Win_test, struct mpi_call call; struct mpi_poll poll;
	  mpi_poll_begin(&call, &poll, MPI_F_Win_test, MPI_CALLER), (window, flag),
	  if (mpi_call_succeeded(&call, result) && *flag) call.is_of_use = true;
	  mpi_poll_end(&call, &poll), mpi_handle window, int *flag)
#endif

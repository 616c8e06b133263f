/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are on the way: receives, whose messages are known when they are complete, and
 * collectives. Requests of sends are known if they are persistent. Any thread.
 */
#pragma once

#include "attach/mpi/mpi_calls.h"
#include "attach/mpi/mpi_exchanges.h"

struct mpi_request {
	enum mpi_request_kind {
		MPI_RECEIVE,
		MPI_SEND,
		MPI_COLLECTIVE,
		MPI_COPY,
		MPI_EXCHANGE
	} kind;
	bool is_persistent, is_active, is_cancelled;
	uint64_t serial; /* handles are used again, these are not; 0: no request is known */
	int peer, tag;	 /* in the communicator; maybe any */
	uint32_t number; /* of a receive; maybe MPI_NUMBER_LATER */
	uint64_t bytes;	 /* of a send */
	struct mpi_communicator *communicator; /* held */
	struct mpi_exchange *exchange; /* held; of an exchange, and of a persistent collective */
	enum mpi_function function;    /* that made it, if it is of a collective; MPI_F_Init */
	uint32_t partitions, ready;    /* of a message that is sent in parts; 0: in one */
	const void *made;	       /* where the handle of a copy will be */
};

/* Requests begin. The handle is the program's variable. */
void mpi_request_receive(struct mpi_call *call, int source, int tag, mpi_handle communicator,
	const void *request, bool is_persistent);
/* One that sends, too, with room for so many bytes. */
void mpi_request_sendrecv(struct mpi_call *call, uint64_t bytes, int source, int tag,
	mpi_handle communicator, const void *request);
void mpi_request_send(struct mpi_call *call, int64_t count, mpi_handle type, int peer, int tag,
	mpi_handle communicator, const void *request);
void mpi_request_collective(struct mpi_call *call, const void *request);
void mpi_request_copy(
	struct mpi_call *call, mpi_handle communicator, const void *made, const void *request);
/* A turn of the exchange is on the way. */
void mpi_request_exchange(struct mpi_call *call, struct mpi_exchange *x, const void *request);
/* A request of the call's communicator, each start of which is a turn. */
void mpi_request_persistent(struct mpi_call *call, enum mpi_request_kind kind,
	enum mpi_function function, struct mpi_exchange *x, const void *request);
/* One of a message in partitions, of `bytes` in all. */
void mpi_request_partitioned(struct mpi_call *call, bool is_sent, int partitions, uint64_t bytes,
	int peer, int tag, mpi_handle communicator, const void *request);
/* So many partitions are ready. */
void mpi_request_ready(struct mpi_call *call, mpi_handle request, int64_t partitions);
/* One that is not followed. */
void mpi_request_none(struct mpi_call *call, const void *request);

/* A message that a matched probe took. */
void mpi_request_matched(struct mpi_call *call, mpi_handle communicator, const void *message);
/* Takes such a message; NULL: not known. To be dropped. */
struct mpi_communicator *mpi_request_of_message(struct mpi_call *call, mpi_handle message);

#define MPI_NUMBER_LATER UINT32_MAX

/* The number that a receive from these ends has; MPI_NUMBER_LATER: the message will tell. */
uint32_t mpi_receive_number(
	const struct mpi_library *m, struct mpi_communicator *c, int source, int tag);
/* Tells of a message that was received. */
void mpi_received(
	struct mpi_call *call, struct mpi_communicator *c, uint32_t number, const void *status);

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that send, receive or look for messages between two ranks, with counts of one type. */
#include "attach/mpi/mpi_messages.h"
#include "attach/mpi/mpi_requests.h"
#include "base/scope.h"

static void transfer_sent(struct mpi_call *call, mpi_count count, mpi_handle type, int to, int tag,
	mpi_handle communicator)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	if (!c || to == call->library->proc_null)
		return;
	int32_t peer = mpi_communicator_peer(c, to);
	mpi_call_tell(call, BRICK_MESSAGE_SENT, peer, tag, c->number,
		mpi_message_number(&c->numbers, true, peer, tag),
		mpi_bytes_of(call->library, count, type));
}

static void transfer_received(
	struct mpi_call *call, int from, int tag, mpi_handle communicator, const void *status)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	if (!c || !status || from == call->library->proc_null)
		return;
	mpi_received(call, c, mpi_receive_number(call->library, c, from, tag), status);
}

#define SEND_PARAMETERS                                                        \
	const void *buffer, mpi_count count, mpi_handle type, int to, int tag, \
		mpi_handle communicator
#define SEND_ARGUMENTS buffer, count, type, to, tag, communicator
#define MPI_SEND_HOOK(name)                                                                        \
	MPI_HOOK(name, (SEND_ARGUMENTS), transfer_sent(&call, count, type, to, tag, communicator), \
		SEND_PARAMETERS)
#define MPI_ISEND_HOOK(name)                                                                \
	MPI_HOOK(name, (SEND_ARGUMENTS, request), mpi_request_none(&call, request);         \
		 transfer_sent(&call, count, type, to, tag, communicator), SEND_PARAMETERS, \
		 void *request)

MPI_SEND_HOOK(Send)
MPI_SEND_HOOK(Bsend)
MPI_SEND_HOOK(Ssend)
MPI_SEND_HOOK(Rsend)
MPI_ISEND_HOOK(Isend)
MPI_ISEND_HOOK(Ibsend)
MPI_ISEND_HOOK(Issend)
MPI_ISEND_HOOK(Irsend)

MPI_HOOK(Irecv, (buffer, count, type, from, tag, communicator, request),
	mpi_request_receive(&call, from, tag, communicator, request, false), void *buffer,
	mpi_count count, mpi_handle type, int from, int tag, mpi_handle communicator, void *request)

/* A receive whose state the program ignores gets room for it. */
#define MPI_RECEIVE(name, before, arguments, done, ...)                                        \
	MPI_FRAME(                                                                             \
		name, char room[MPI_ROOM_OF_STATUS] __attribute__((aligned(8)));               \
		const struct mpi_library *m = mpi_library_get(); struct mpi_call call; before; \
		if (m && status == m->status_ignore) status = room;                            \
		mpi_call_begin(&call, MPI_F_##name, MPI_CALLER), arguments,                    \
		if (mpi_call_received(&call, result)) { done; } mpi_call_end(&call), __VA_ARGS__)

MPI_RECEIVE(Recv, , (buffer, count, type, from, tag, communicator, status),
	transfer_received(&call, from, tag, communicator, status), void *buffer, mpi_count count,
	mpi_handle type, int from, int tag, mpi_handle communicator, void *status)
MPI_RECEIVE(Sendrecv, ,
	    (out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
		    communicator, status),
	    transfer_sent(&call, out_count, out_type, to, out_tag, communicator);
	    transfer_received(&call, from, in_tag, communicator, status), const void *out,
	    mpi_count out_count, mpi_handle out_type, int to, int out_tag, void *in,
	    mpi_count in_count, mpi_handle in_type, int from, int in_tag, mpi_handle communicator,
	    void *status)
MPI_RECEIVE(Sendrecv_replace, ,
	    (buffer, count, type, to, out_tag, from, in_tag, communicator, status),
	    transfer_sent(&call, count, type, to, out_tag, communicator);
	    transfer_received(&call, from, in_tag, communicator, status), void *buffer,
	    mpi_count count, mpi_handle type, int to, int out_tag, int from, int in_tag,
	    mpi_handle communicator, void *status)

/* The receive is the request's. */
MPI_HOOK(Isendrecv,
	 (out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, communicator,
		 request),
	 transfer_sent(&call, out_count, out_type, to, out_tag, communicator);
	 mpi_request_sendrecv(&call, mpi_bytes_of(call.library, in_count, in_type), from, in_tag,
		 communicator, request),
	 const void *out, mpi_count out_count, mpi_handle out_type, int to, int out_tag, void *in,
	 mpi_count in_count, mpi_handle in_type, int from, int in_tag, mpi_handle communicator,
	 void *request)
MPI_HOOK(Isendrecv_replace, (buffer, count, type, to, out_tag, from, in_tag, communicator, request),
	 transfer_sent(&call, count, type, to, out_tag, communicator);
	 mpi_request_sendrecv(&call, mpi_bytes_of(call.library, count, type), from, in_tag,
		 communicator, request),
	 void *buffer, mpi_count count, mpi_handle type, int to, int out_tag, int from, int in_tag,
	 mpi_handle communicator, void *request)

/* Looking for messages. A matched probe takes the message out, and the receive says no more. */
#ifndef MPI_HAS_LARGE_COUNTS
static void transfer_looked(struct mpi_call *call, mpi_handle communicator)
{
	KEEP_ERRNO();

	mpi_call_in(call, communicator);
}

MPI_HOOK(Probe, (from, tag, communicator, status), transfer_looked(&call, communicator), int from,
	int tag, mpi_handle communicator, void *status)

static void transfer_matched(struct mpi_call *call, mpi_handle communicator, const void *message)
{
	transfer_looked(call, communicator);
	mpi_request_matched(call, communicator, message);
}

MPI_HOOK(Mprobe, (from, tag, communicator, message, status),
	transfer_matched(&call, communicator, message), int from, int tag, mpi_handle communicator,
	void *message, void *status)

MPI_FRAME(
	Iprobe, struct mpi_call call; struct mpi_poll poll;
	mpi_poll_begin(&call, &poll, MPI_F_Iprobe, MPI_CALLER),
	(from, tag, communicator, flag, status),
	if (mpi_call_succeeded(&call, result) && *flag) {
		call.is_of_use = true;
		transfer_looked(&call, communicator);
	} mpi_poll_end(&call, &poll),
	int from, int tag, mpi_handle communicator, int *flag, void *status)

MPI_FRAME(
	Improbe, struct mpi_call call; struct mpi_poll poll;
	mpi_poll_begin(&call, &poll, MPI_F_Improbe, MPI_CALLER),
	(from, tag, communicator, flag, message, status),
	if (mpi_call_succeeded(&call, result) && *flag) {
		call.is_of_use = true;
		transfer_matched(&call, communicator, message);
	} mpi_poll_end(&call, &poll),
	int from, int tag, mpi_handle communicator, int *flag, void *message, void *status)
#endif

/* `taken`: the message as it was before the call. */
static void transfer_taken(struct mpi_call *call, mpi_handle taken, const void *status)
{
	KEEP_ERRNO();

	call->communicator = mpi_request_of_message(call, taken);
	if (call->communicator)
		mpi_received(call, call->communicator, MPI_NUMBER_LATER, status);
}

static void transfer_taking(struct mpi_call *call, mpi_handle taken, const void *request)
{
	KEEP_ERRNO();

	call->communicator = mpi_request_of_message(call, taken);
	if (call->communicator)
		mpi_request_receive(call, call->library->any_source, MPI_ANY_TAG,
			call->communicator->handle, request, false);
}

#define MPI_TAKEN mpi_handle taken = m ? mpi_handle_at(m, message, 0) : 0

MPI_RECEIVE(Mrecv, MPI_TAKEN, (buffer, count, type, message, status),
	transfer_taken(&call, taken, status), void *buffer, mpi_count count, mpi_handle type,
	void *message, void *status)
MPI_FRAME(Imrecv, const struct mpi_library *m = mpi_library_get(); struct mpi_call call; MPI_TAKEN;
	  mpi_call_begin(&call, MPI_F_Imrecv, MPI_CALLER), (buffer, count, type, message, request),
	  if (mpi_call_succeeded(&call, result)) transfer_taking(&call, taken, request);
	  mpi_call_end(&call), void *buffer, mpi_count count, mpi_handle type, void *message,
	  void *request)

/* Persistent requests: they are made here, and begin in mpi_requests.c. */

#define MPI_INIT_SEND(name)                                                           \
	MPI_QUIET_HOOK(name, (SEND_ARGUMENTS, request),                               \
		mpi_request_send(&call, count, type, to, tag, communicator, request), \
		SEND_PARAMETERS, void *request)
MPI_INIT_SEND(Send_init)
MPI_INIT_SEND(Bsend_init)
MPI_INIT_SEND(Ssend_init)
MPI_INIT_SEND(Rsend_init)
MPI_QUIET_HOOK(Recv_init, (buffer, count, type, from, tag, communicator, request),
	mpi_request_receive(&call, from, tag, communicator, request, true), void *buffer,
	mpi_count count, mpi_handle type, int from, int tag, mpi_handle communicator, void *request)

/* Messages in partitions, whose counts are of 64 bits in the only form that they have. */
#ifndef MPI_HAS_LARGE_COUNTS
#define PARTITIONED_BYTES (uint64_t) partitions *mpi_bytes_of(call.library, count, type)
MPI_QUIET_HOOK(Psend_init, (buffer, partitions, count, type, to, tag, communicator, info, request),
	mpi_request_partitioned(
		&call, true, partitions, PARTITIONED_BYTES, to, tag, communicator, request),
	const void *buffer, int partitions, int64_t count, mpi_handle type, int to, int tag,
	mpi_handle communicator, mpi_handle info, void *request)
MPI_QUIET_HOOK(Precv_init,
	(buffer, partitions, count, type, from, tag, communicator, info, request),
	mpi_request_partitioned(
		&call, false, partitions, PARTITIONED_BYTES, from, tag, communicator, request),
	void *buffer, int partitions, int64_t count, mpi_handle type, int from, int tag,
	mpi_handle communicator, mpi_handle info, void *request)
MPI_HOOK(Pready, (partition, request), mpi_request_ready(&call, request, 1), int partition,
	mpi_handle request)
MPI_HOOK(Pready_range, (first, last, request),
	mpi_request_ready(&call, request, (int64_t)last - first + 1), int first, int last,
	mpi_handle request)
MPI_HOOK(Pready_list, (count, list, request), mpi_request_ready(&call, request, count), int count,
	const int *list, mpi_handle request)
MPI_FRAME(Parrived, struct mpi_call call; struct mpi_poll poll;
	  mpi_poll_begin(&call, &poll, MPI_F_Parrived, MPI_CALLER), (request, partition, flag),
	  if (mpi_call_succeeded(&call, result) && *flag) call.is_of_use = true;
	  mpi_poll_end(&call, &poll), mpi_handle request, int partition, int *flag)
#endif

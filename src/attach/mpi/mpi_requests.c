/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits and tests take completed requests out of the table. They need the states of receives, so
 * that a program that ignores states gets room for them, of which it knows nothing.
 */
#include "attach/mpi/mpi_requests.h"

#include <stdlib.h>
#include <string.h>
#include "attach/mpi/mpi_messages.h"
#include "base/hashmap.h"
#include "base/lock.h"
#include "base/scope.h"

static struct hashmap requests, matched; /* by handle */
static uint64_t requests_serial;
static uint32_t requests_collectives; /* of these, which have begun */
static pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(requests_lock)

/* Under the lock. */
static void request_activate(struct mpi_request *request, bool is_active)
{
	if (request->kind == MPI_COLLECTIVE && request->is_active != is_active)
		requests_collectives += is_active ? 1 : -1u;
	request->is_active = is_active;
}

/* Under the lock. NULL: it was not there. */
static struct mpi_request *requests_take(mpi_handle value)
{
	struct mpi_request *taken = hashmap_pointer(hashmap_take(&requests, value));

	if (taken)
		request_activate(taken, false);
	return taken;
}

static void requests_let_go(const struct mpi_request *request)
{
	mpi_communicator_drop(request->communicator);
	mpi_exchange_drop(request->exchange);
}

static void requests_drop(struct mpi_request *request)
{
	if (request)
		requests_let_go(request);
	free(request);
}

/* Replaces a request that had the handle and was forgotten. */
static void requests_add(
	const struct mpi_library *m, const struct mpi_request *request, const void *handle)
{
	mpi_handle value = mpi_handle_at(m, handle, 0);
	struct mpi_request *added = value == m->request_null ? NULL : malloc(sizeof(*added));
	bool is_kept = false;

	if (!added) {
		requests_let_go(request);
		return;
	}
	*added = *request;
	added->is_active = false;
	lock_take_briefly(&requests_lock);
	added->serial = ++requests_serial;
	struct mpi_request *former = requests_take(value);
	is_kept = !hashmap_set_pointer(&requests, value, added);
	if (is_kept)
		request_activate(added, request->is_active);
	lock_give_brief(&requests_lock);
	requests_drop(former);
	if (!is_kept)
		requests_drop(added);
}

uint32_t mpi_receive_number(
	const struct mpi_library *m, struct mpi_communicator *c, int source, int tag)
{
	if (source == m->any_source || tag == MPI_ANY_TAG)
		return MPI_NUMBER_LATER;
	return mpi_message_number(&c->numbers, false, mpi_communicator_peer(c, source), tag);
}

void mpi_received(
	struct mpi_call *call, struct mpi_communicator *c, uint32_t number, const void *status)
{
	const struct mpi_status s = mpi_status_read(call->library, status);
	int32_t peer = mpi_communicator_peer(c, s.source);
	enum brick_message_event event =
		number == MPI_NUMBER_LATER ? BRICK_MESSAGE_RECEIVED_ANY : BRICK_MESSAGE_RECEIVED;

	if (s.is_cancelled || s.source == call->library->proc_null)
		return;
	if (number == MPI_NUMBER_LATER)
		number = mpi_message_number(&c->numbers, false, peer, s.tag);
	else if (number && !mpi_message_is_numbered(&c->numbers, peer, s.tag))
		number = 0;
	mpi_call_tell(call, event, peer, s.tag, c->number, number, s.bytes);
}

/* Begins a request of messages in a communicator. All of them have a peer. */
static void requests_begin(struct mpi_call *call, struct mpi_request *request,
	mpi_handle communicator, const void *handle)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	if (!c || request->peer == call->library->proc_null)
		return;
	mpi_communicator_keep(c);
	request->communicator = c;
	if (request->kind == MPI_RECEIVE && request->is_active)
		request->number = mpi_receive_number(call->library, c, request->peer, request->tag);
	requests_add(call->library, request, handle);
}

void mpi_request_receive(struct mpi_call *call, int source, int tag, mpi_handle communicator,
	const void *request, bool is_persistent)
{
	requests_begin(call,
		&(struct mpi_request){.kind = MPI_RECEIVE,
			.is_persistent = is_persistent,
			.is_active = !is_persistent,
			.peer = source,
			.tag = tag},
		communicator, request);
}

void mpi_request_send(struct mpi_call *call, int64_t count, mpi_handle type, int peer, int tag,
	mpi_handle communicator, const void *request)
{
	requests_begin(call,
		&(struct mpi_request){.kind = MPI_SEND,
			.is_persistent = true,
			.peer = peer,
			.tag = tag,
			.bytes = mpi_bytes_of(call->library, count, type)},
		communicator, request);
}

void mpi_request_collective(struct mpi_call *call, const void *request)
{
	KEEP_ERRNO();

	requests_add(call->library,
		&(struct mpi_request){.kind = MPI_COLLECTIVE, .is_active = true}, request);
}

void mpi_request_exchange(struct mpi_call *call, struct mpi_exchange *x, const void *request)
{
	mpi_exchange_keep(x);
	requests_add(call->library,
		&(struct mpi_request){.kind = MPI_EXCHANGE, .is_active = true, .exchange = x},
		request);
}

void mpi_request_persistent(struct mpi_call *call, enum mpi_request_kind kind,
	enum mpi_function function, struct mpi_exchange *x, const void *request)
{
	mpi_communicator_keep(call->communicator);
	mpi_exchange_keep(x);
	requests_add(call->library,
		&(struct mpi_request){.kind = kind,
			.is_persistent = true,
			.communicator = call->communicator,
			.exchange = x,
			.function = function},
		request);
}

/*
 * MPICH 4.0 fills in no state of such a request. So the ends are those that were asked for, and the
 * bytes those of the room; a message from anybody may have been any.
 */
void mpi_request_sendrecv(struct mpi_call *call, uint64_t bytes, int source, int tag,
	mpi_handle communicator, const void *request)
{
	const struct mpi_library *m = call->library;
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	mpi_request_none(call, request);
	if (!c || source == m->proc_null)
		return;
	if (!m->is_mpich) {
		mpi_request_receive(call, source, tag, communicator, request, false);
		return;
	}
	uint32_t number = mpi_receive_number(m, c, source, tag);
	if (number == MPI_NUMBER_LATER) {
		mpi_messages_lose(&c->numbers, false);
		return;
	}
	struct mpi_exchange *x = mpi_exchange_create(c->number, BRICK_MESSAGE_SENT, 1);
	if (!x)
		return;
	x->turn = number;
	mpi_exchange_add(x, false, mpi_communicator_peer(c, source), tag, bytes);
	mpi_request_exchange(call, x, request);
	mpi_exchange_drop(x);
}

/* The n-th request of an end is the n-th of the other end. */
void mpi_request_partitioned(struct mpi_call *call, bool is_sent, int partitions, uint64_t bytes,
	int peer, int tag, mpi_handle communicator, const void *request)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	KEEP_ERRNO();

	mpi_request_none(call, request);
	if (!c || peer == call->library->proc_null)
		return;
	int32_t rank = mpi_communicator_peer(c, peer);
	uint32_t n = mpi_message_number(&c->partitioned, is_sent, rank, tag);
	struct mpi_exchange *x =
		n ? mpi_exchange_create(
			    mpi_exchange_communicator(c, "partitioned", n), BRICK_MESSAGE_SENT, 1)
		  : NULL;
	if (!x)
		return;
	mpi_exchange_add(x, is_sent, rank, tag, bytes);
	mpi_communicator_keep(c);
	requests_add(call->library,
		&(struct mpi_request){.kind = MPI_EXCHANGE,
			.is_persistent = true,
			.communicator = c,
			.exchange = x,
			.partitions = is_sent ? (uint32_t)partitions : 0},
		request);
}

/* Its receiver waits for the last partition. */
void mpi_request_ready(struct mpi_call *call, mpi_handle request, int64_t partitions)
{
	struct mpi_exchange *x = NULL;
	KEEP_ERRNO();

	lock_take_briefly(&requests_lock);
	struct mpi_request *known =
		hashmap_pointer(hashmap_get(&requests, mpi_handle_value(call->library, request)));
	if (known && known->is_active && known->ready < known->partitions && partitions > 0) {
		int64_t left = (int64_t)known->partitions - known->ready;
		known->ready += (uint32_t)(partitions < left ? partitions : left);
		if (known->ready == known->partitions)
			mpi_exchange_keep(x = known->exchange);
	}
	lock_give_brief(&requests_lock);
	if (x)
		mpi_exchange_begin(call, x);
	mpi_exchange_drop(x);
}

void mpi_request_copy(
	struct mpi_call *call, mpi_handle communicator, const void *made, const void *request)
{
	struct mpi_communicator *c = mpi_call_in(call, communicator);
	struct mpi_communicator *copy = c ? mpi_communicator_copy(c) : NULL;
	KEEP_ERRNO();

	if (copy)
		requests_add(call->library,
			&(struct mpi_request){.kind = MPI_COPY,
				.is_active = true,
				.communicator = copy,
				.made = made},
			request);
}

static void requests_forget(mpi_handle value)
{
	KEEP_ERRNO();

	lock_take_briefly(&requests_lock);
	struct mpi_request *request = requests_take(value);
	lock_give_brief(&requests_lock);
	requests_drop(request);
}

void mpi_request_none(struct mpi_call *call, const void *request)
{
	requests_forget(mpi_handle_at(call->library, request, 0));
}

void mpi_request_matched(struct mpi_call *call, mpi_handle communicator, const void *message)
{
	struct mpi_communicator *c = mpi_communicator_get(call->library, communicator);
	mpi_handle value = mpi_handle_at(call->library, message, 0);
	KEEP_ERRNO();

	if (!c)
		return;
	lock_take_briefly(&requests_lock);
	struct mpi_communicator *former = hashmap_pointer(hashmap_get(&matched, value));
	if (hashmap_set_pointer(&matched, value, c))
		former = c;
	lock_give_brief(&requests_lock);
	mpi_communicator_drop(former);
}

struct mpi_communicator *mpi_request_of_message(struct mpi_call *call, mpi_handle message)
{
	lock_take_briefly(&requests_lock);
	struct mpi_communicator *c =
		hashmap_pointer(hashmap_take(&matched, mpi_handle_value(call->library, message)));
	lock_give_brief(&requests_lock);
	return c;
}

/* A receive that was to be cancelled, and was not, takes its number back. */
static void request_received(
	struct mpi_call *call, const struct mpi_request *request, const void *status)
{
	struct mpi_communicator *c = request->communicator;
	uint32_t number = request->number;

	if (request->is_cancelled && number && number != MPI_NUMBER_LATER &&
		!mpi_status_read(call->library, status).is_cancelled) {
		int32_t peer = mpi_communicator_peer(c, request->peer);
		number = mpi_message_number(&c->numbers, false, peer, request->tag);
		if (number && number != request->number)
			mpi_message_give_back(&c->numbers, peer, request->tag, request->number);
	}
	mpi_received(call, c, number, status);
}

/*
 * A request of the call, of which waiting_begin() has a copy, is complete. `status` NULL: it
 * failed.
 */
static void request_completed(struct mpi_call *call, mpi_handle value,
	const struct mpi_request *request, const void *status)
{
	struct mpi_request *gone = NULL;

	lock_take_briefly(&requests_lock);
	struct mpi_request *kept = hashmap_pointer(hashmap_get(&requests, value));
	/* another thread may have the handle anew already */
	if (kept && kept->serial == request->serial) {
		request_activate(kept, false);
		if (!kept->is_persistent)
			gone = requests_take(value);
	}
	lock_give_brief(&requests_lock);
	requests_drop(gone);
	if (request->kind == MPI_RECEIVE && status)
		request_received(call, request, status);
	if (request->kind == MPI_EXCHANGE && status)
		mpi_exchange_end(call, request->exchange);
	if (request->kind == MPI_COPY)
		mpi_communicator_copied(call->library, request->communicator,
			mpi_handle_at(call->library, request->made, 0));
}

/* A persistent request begins anew. */
static void request_started(struct mpi_call *call, mpi_handle value)
{
	const struct mpi_library *m = call->library;
	struct mpi_request request = {.serial = 0};

	lock_take_briefly(&requests_lock);
	struct mpi_request *found = hashmap_pointer(hashmap_get(&requests, value));
	if (found && found->exchange && found->is_persistent) {
		found->exchange->turn++;
		found->ready = 0;
		found->serial = ++requests_serial;
		request_activate(found, true);
		mpi_exchange_keep(found->exchange);
	}
	if (found)
		request = *found;
	lock_give_brief(&requests_lock);
	if (!request.is_persistent)
		return;
	if (request.exchange) {
		if (!request.partitions)
			mpi_exchange_begin(call, request.exchange);
		mpi_exchange_drop(request.exchange);
		return;
	}
	struct mpi_communicator *c = request.communicator;
	int32_t peer = mpi_communicator_peer(c, request.peer);
	uint32_t number = request.kind == MPI_SEND
				  ? mpi_message_number(&c->numbers, true, peer, request.tag)
				  : mpi_receive_number(m, c, request.peer, request.tag);
	if (request.kind == MPI_SEND)
		mpi_call_tell(call, BRICK_MESSAGE_SENT, peer, request.tag, c->number, number,
			request.bytes);
	lock_take_briefly(&requests_lock);
	struct mpi_request *kept = hashmap_pointer(hashmap_get(&requests, value));
	if (kept) {
		kept->number = number;
		kept->is_active = true;
		kept->is_cancelled = false;
		kept->serial = ++requests_serial;
	}
	lock_give_brief(&requests_lock);
}

static void requests_started(struct mpi_call *call, int count, const void *handles)
{
	KEEP_ERRNO();

	for (int i = 0; i < count; i++)
		request_started(call, mpi_handle_at(call->library, handles, i));
}

/*
 * Starts of collectives are calls of these, in their communicator, if there is no other: so the
 * report's ranks see when each came to them.
 */
static void requests_starting(struct mpi_call *call, enum mpi_function function, int count,
	const void *handles, const void *caller)
{
	const struct mpi_library *m = count > 0 && handles ? mpi_library_get() : NULL;
	struct mpi_communicator *c = NULL;
	enum mpi_function made = MPI_F_Init;
	bool is_one = m != NULL, is_in_one = true;
	KEEP_ERRNO();

	lock_take_briefly(&requests_lock);
	for (int i = 0; i < count && is_one; i++) {
		const struct mpi_request *known =
			hashmap_pointer(hashmap_get(&requests, mpi_handle_at(m, handles, i)));
		if (!i && known) {
			made = known->function;
			c = known->communicator;
		}
		is_one = known && known->function == made && made != MPI_F_Init;
		is_in_one = is_in_one && known && known->communicator == c;
	}
	c = is_one && is_in_one ? c : NULL;
	if (c)
		mpi_communicator_keep(c);
	lock_give_brief(&requests_lock);
	mpi_call_begin(call, is_one ? made : function, caller);
	call->communicator = c;
}

MPI_FRAME(Start, struct mpi_call call;
	  requests_starting(&call, MPI_F_Start, 1, request, MPI_CALLER), (request),
	  if (mpi_call_succeeded(&call, result)) requests_started(&call, 1, request);
	  mpi_call_end(&call), void *request)
MPI_FRAME(Startall, struct mpi_call call;
	  requests_starting(&call, MPI_F_Startall, count, list, MPI_CALLER), (count, list),
	  if (mpi_call_succeeded(&call, result)) requests_started(&call, count, list);
	  mpi_call_end(&call), int count, void *list)

/*
 * Waits and tests. The handles are read before the call, which sets those of completed requests to
 * none.
 */

enum { MPI_FEW_REQUESTS = 16 };

struct mpi_waited {
	mpi_handle handle;
	struct mpi_request request; /* serial 0: not known, or not active */
};

struct mpi_waiting {
	const struct mpi_library *library;
	int count;
	struct mpi_waited few[MPI_FEW_REQUESTS], *list;
	bool has_receive, has_failed;
	int collectives, others; /* requests that may complete */
	bool is_for_all;	 /* collectives that are on the way */
	char few_states[MPI_FEW_REQUESTS * MPI_ROOM_OF_STATUS] __attribute__((aligned(8)));
	void *own_states, *states; /* what the library fills in */
};

/* Copies what is known of the requests, which the call may give up. */
static void waiting_look(struct mpi_waiting *w, const void *handles)
{
	lock_take_briefly(&requests_lock);
	for (int i = 0; i < w->count; i++) {
		struct mpi_waited *one = &w->list[i];
		one->handle = mpi_handle_at(w->library, handles, i);
		const struct mpi_request *known =
			hashmap_pointer(hashmap_get(&requests, one->handle));
		one->request = (struct mpi_request){.serial = 0};
		if (known && !known->is_active)
			one->handle = w->library->request_null;
		if (one->handle == w->library->request_null)
			continue;
		w->others += !known || known->kind != MPI_COLLECTIVE;
		if (!known)
			continue;
		one->request = *known;
		if (known->communicator)
			mpi_communicator_keep(known->communicator);
		mpi_exchange_keep(known->exchange);
		w->collectives += known->kind == MPI_COLLECTIVE;
		w->has_receive |= known->kind == MPI_RECEIVE || known->kind == MPI_EXCHANGE;
	}
	w->is_for_all = w->collectives == (int)requests_collectives;
	lock_give_brief(&requests_lock);
}

/* `states`: the program's. */
static void waiting_begin(struct mpi_waiting *w, int count, const void *handles, void *states)
{
	KEEP_ERRNO();

	w->library = mpi_library_get();
	w->count = 0;
	w->list = w->few;
	w->own_states = NULL;
	w->states = states;
	w->has_receive = w->has_failed = w->is_for_all = false;
	w->collectives = w->others = 0;
	if (!w->library || count <= 0 || !handles)
		return;
	if (count > MPI_FEW_REQUESTS)
		w->list = malloc((size_t)count * sizeof(*w->list));
	if (!w->list)
		return;
	w->count = count;
	waiting_look(w, handles);
	if (!w->has_receive || states != w->library->status_ignore)
		return;
	w->own_states = count > MPI_FEW_REQUESTS
				? malloc((size_t)count * mpi_status_bytes(w->library))
				: w->few_states;
	if (w->own_states)
		w->states = w->own_states;
}

static void waiting_end(struct mpi_waiting *w)
{
	KEEP_ERRNO();

	for (int i = 0; i < w->count; i++)
		if (w->list[i].request.serial)
			requests_let_go(&w->list[i].request);
	if (w->list != w->few)
		free(w->list);
	if (w->own_states != w->few_states)
		free(w->own_states);
}

/* True: the call returned, and requests are complete, maybe by an error of their own. */
static bool waiting_returned(struct mpi_waiting *w, struct mpi_call *call, int result)
{
	w->has_failed = result && w->library &&
			mpi_error_class(w->library, result) == w->library->in_status;
	return mpi_call_received(call, w->has_failed ? 0 : result);
}

/* The i-th request is complete, and its state is the `state`-th. */
static void waiting_completed(struct mpi_waiting *w, struct mpi_call *call, int i, int state)
{
	const struct mpi_library *m = w->library;

	if (i < 0 || i >= w->count || w->list[i].handle == m->request_null)
		return;
	call->is_of_use = true;
	if (!w->list[i].request.serial)
		return;
	const char *status =
		w->states == m->status_ignore
			? NULL
			: (const char *)w->states + (size_t)state * mpi_status_bytes(m);
	if (status && w->has_failed) {
		int class = mpi_error_class(m, mpi_status_read(m, status).error);
		if (class == m->pending)
			return;
		if (class && class != m->truncated)
			status = NULL;
	}
	request_completed(call, w->list[i].handle, &w->list[i].request, status);
}

static void waiting_completed_all(struct mpi_waiting *w, struct mpi_call *call)
{
	for (int i = 0; i < w->count; i++)
		waiting_completed(w, call, i, i);
}

static void waiting_completed_some(
	struct mpi_waiting *w, struct mpi_call *call, int count, const int *indices)
{
	for (int i = 0; i < count; i++) /* none: MPI_UNDEFINED, which is negative */
		waiting_completed(w, call, indices[i], i);
}

/* A wait for any of several is one for a collective if there is nothing else to come. */
static enum mpi_function waiting_function(const struct mpi_waiting *w, enum mpi_function function)
{
	bool is_for_each = function == MPI_F_Waitall || function == MPI_F_Testall;

	if (!w->collectives || (w->others && !is_for_each))
		return function;
	return is_for_each && w->is_for_all ? MPI_F_CollectiveWaitall : MPI_F_CollectiveWait;
}

/*
 * `given`, `list` and `given_states` are expressions on the arguments; `w.states` is in
 * `arguments`.
 */
#define MPI_WAIT(name, given, list, given_states, arguments, done, ...)                  \
	MPI_FRAME(name, struct mpi_waiting w; struct mpi_call call;                      \
		  waiting_begin(&w, given, list, given_states);                          \
		  mpi_call_begin(&call, waiting_function(&w, MPI_F_##name), MPI_CALLER), \
		  arguments, if (waiting_returned(&w, &call, result)) done;              \
		  mpi_call_end(&call); waiting_end(&w), __VA_ARGS__)

MPI_WAIT(Wait, 1, request, status, (request, w.states), waiting_completed(&w, &call, 0, 0),
	void *request, void *status)
MPI_WAIT(Waitany, count, list, status, (count, list, index, w.states),
	waiting_completed(&w, &call, *index, 0), int count, void *list, int *index, void *status)
MPI_WAIT(Waitall, count, list, states, (count, list, w.states), waiting_completed_all(&w, &call),
	int count, void *list, void *states)
MPI_WAIT(Waitsome, count, list, states, (count, list, out_count, indices, w.states),
	waiting_completed_some(&w, &call, *out_count, indices), int count, void *list,
	int *out_count, int *indices, void *states)

#define MPI_TEST(name, given, list, given_states, arguments, is_done, done, ...)                \
	MPI_FRAME(name, struct mpi_waiting w; struct mpi_call call; struct mpi_poll poll;       \
		  waiting_begin(&w, given, list, given_states);                                 \
		  mpi_poll_begin(&call, &poll, waiting_function(&w, MPI_F_##name), MPI_CALLER), \
		  arguments, if (waiting_returned(&w, &call, result) && (is_done)) done;        \
		  mpi_poll_end(&call, &poll); waiting_end(&w), __VA_ARGS__)

MPI_TEST(Test, 1, request, status, (request, flag, w.states), *flag,
	waiting_completed(&w, &call, 0, 0), void *request, int *flag, void *status)
MPI_TEST(Testany, count, list, status, (count, list, index, flag, w.states), *flag,
	waiting_completed(&w, &call, *index, 0), int count, void *list, int *index, int *flag,
	void *status)
MPI_TEST(Testall, count, list, states, (count, list, flag, w.states), *flag,
	waiting_completed_all(&w, &call), int count, void *list, int *flag, void *states)
MPI_TEST(Testsome, count, list, states, (count, list, out_count, indices, w.states), *out_count > 0,
	waiting_completed_some(&w, &call, *out_count, indices), int count, void *list,
	int *out_count, int *indices, void *states)

/* A request that the program forgets: its message comes unseen, and may be of any number. */
static void request_freed(mpi_handle value)
{
	KEEP_ERRNO();

	lock_take_briefly(&requests_lock);
	const struct mpi_request *request = hashmap_pointer(hashmap_get(&requests, value));
	struct mpi_communicator *c = request && request->is_active &&
						     request->kind == MPI_RECEIVE &&
						     request->number == MPI_NUMBER_LATER
					     ? request->communicator
					     : NULL;
	if (c)
		mpi_communicator_keep(c);
	lock_give_brief(&requests_lock);
	if (c)
		mpi_messages_lose(&c->numbers, false);
	mpi_communicator_drop(c);
	requests_forget(value);
}

/* A receive that is cancelled before it matched a message takes none. */
static void request_cancelled(mpi_handle value)
{
	struct mpi_request request = {.kind = MPI_SEND};
	KEEP_ERRNO();

	lock_take_briefly(&requests_lock);
	struct mpi_request *known = hashmap_pointer(hashmap_get(&requests, value));
	if (known && known->is_active && !known->is_cancelled && known->kind == MPI_RECEIVE) {
		known->is_cancelled = true;
		request = *known;
		mpi_communicator_keep(request.communicator);
	}
	lock_give_brief(&requests_lock);
	if (request.kind != MPI_RECEIVE)
		return;
	if (request.number && request.number != MPI_NUMBER_LATER)
		mpi_message_give_back(&request.communicator->numbers,
			mpi_communicator_peer(request.communicator, request.peer), request.tag,
			request.number);
	mpi_communicator_drop(request.communicator);
}

#define MPI_REQUEST_ENDS(name, before, done)                                            \
	MPI_FRAME(                                                                      \
		name, const struct mpi_library *m = request ? mpi_library_get() : NULL; \
		mpi_handle value = m ? mpi_handle_at(m, request, 0) : 0;                \
		if (m) { before; }, (request), if (m && !result) { done; }, void *request)

MPI_REQUEST_ENDS(Request_free, request_freed(value), )
MPI_REQUEST_ENDS(Cancel, , request_cancelled(value))

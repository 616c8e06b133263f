/* SPDX-License-Identifier: Apache-2.0 */
/* Each call is a brick of its own name; its site says which function and communicator it was. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "attach/mpi/mpi_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/common/object.h"
#include "attach/mpi/mpi_absent.h"
#include "attach/mpi/mpi_messages.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/clock.h"
#include "lib/sys/confined.h"

/*
 * The call that the thread is in; 0: none. Below, the page of the code that it was called from, and
 * above its frame, both without their high bits, since static TLS has no more room. A call that an
 * exception or a jump left stays here, and no sign of it is certain: later calls in shallower
 * frames replace it, and calls from the object that it was called from are never taken for a part
 * of it.
 */
static __thread uint64_t mpi_call_place __attribute__((tls_model("initial-exec")));

static const struct {
	const char *function, *brick;
} mpi_functions[] = {
#define MPI_X(function, brick) {"MPI_" #function, brick},
	MPI_CALLS(MPI_X)
#undef MPI_X
};

static uint32_t mpi_call_brick(enum mpi_function function)
{
	static uint32_t bricks[MPI_FUNCTIONS]; /* 1 + the brick; 0: not registered yet */
	uint32_t known = __atomic_load_n(&bricks[function], __ATOMIC_RELAXED);

	if (known)
		return known - 1;
	const char *name = mpi_functions[function].brick;
	bool is_wait = strstr(name, "Wait") != NULL;
	int category = is_wait ? BRICK_CATEGORY_WAIT : brick_category_register("Communication");
	int brick = brick_register(name, category < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)category);
	if (brick < 0)
		return BRICK_NONE;
	__atomic_store_n(&bricks[function], 1 + (uint32_t)brick, __ATOMIC_RELAXED);
	return (uint32_t)brick;
}

static uint32_t mpi_call_site(const struct mpi_call *call)
{
	static uint32_t plain[MPI_FUNCTIONS];
	struct mpi_communicator *c = call->communicator;
	uint32_t *kept = c ? &c->sites[call->function] : &plain[call->function];
	uint32_t known = __atomic_load_n(kept, __ATOMIC_RELAXED);

	if (known)
		return known;
	struct brick_site site = BRICK_SITE_INIT;
	site.brick = mpi_call_brick(call->function);
	site.layer = -1;
	site.operation = call->function == MPI_F_CollectiveWait ? "MPI_Wait"
			 : call->function == MPI_F_CollectiveWaitall
				 ? "MPI_Waitall"
				 : mpi_functions[call->function].function;
	site.label = c ? c->label : NULL;
	int number = brick_site_register(&site);
	if (number <= 0)
		return 0;
	__atomic_store_n(kept, (uint32_t)number, __ATOMIC_RELAXED);
	return (uint32_t)number;
}

enum { MPI_PAGE_BITS = 12, MPI_FRAME_BITS = 4 };

/* True: the page lies in the object of the address. Without locks, where the C library can. */
static bool mpi_call_is_of_object(uint32_t page, const void *address)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found))
		return false;
	uintptr_t low = (uintptr_t)found.dlfo_map_start, high = (uintptr_t)found.dlfo_map_end;
#else
	struct loaded_object found;
	if (!object_at((uintptr_t)address, &found))
		return false;
	uintptr_t low = found.low, high = low + found.bytes;
#endif
	return page - (uint32_t)(low >> MPI_PAGE_BITS) <=
	       (uint32_t)((high - 1 - low) >> MPI_PAGE_BITS);
}

static bool mpi_call_enter(struct mpi_call *call, enum mpi_function function, const void *caller)
{
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0) >> MPI_FRAME_BITS;
	const uint64_t outer = mpi_call_place;

	call->function = function;
	call->span = 0;
	call->library = NULL;
	call->communicator = NULL;
	call->bytes = 0;
	call->messages = call->few;
	call->count = 0;
	call->is_of_use = false;
	call->capacity = MPI_FEW_MESSAGES;
	call->outer = outer && (int32_t)((uint32_t)frame - (uint32_t)(outer >> 32)) < 0 ? outer : 0;
	call->is_nested = call->outer && !mpi_call_is_of_object((uint32_t)outer, caller);
	if (call->is_nested)
		return false;
	mpi_call_place = (uint64_t)frame << 32 | (uint32_t)((uintptr_t)caller >> MPI_PAGE_BITS);
	if (!brick_enabled())
		brick_recorder_heed();
	return brick_enabled() && !brick_thread_ready();
}

void mpi_call_begin(struct mpi_call *call, enum mpi_function function, const void *caller)
{
	KEEP_ERRNO();

	if (mpi_call_enter(call, function, caller))
		call->span = brick_begin(mpi_call_brick(function));
}

void mpi_call_begin_quiet(struct mpi_call *call, const void *caller)
{
	KEEP_ERRNO();

	mpi_call_enter(call, MPI_F_Init, caller);
}

bool mpi_call_succeeded(struct mpi_call *call, int result)
{
	if (call->is_nested || result)
		return false;
	/* the end of MPI is no time to ask it anything */
	call->library = call->function == MPI_F_Finalize ? NULL : mpi_library_get();
	return call->library != NULL;
}

bool mpi_call_received(struct mpi_call *call, int result)
{
	const struct mpi_library *m = result && !call->is_nested ? mpi_library_get() : NULL;

	return mpi_call_succeeded(
		call, m && mpi_error_class(m, result) == m->truncated ? 0 : result);
}

struct mpi_communicator *mpi_call_in(struct mpi_call *call, mpi_handle communicator)
{
	KEEP_ERRNO();

	if (!call->communicator)
		call->communicator = mpi_communicator_get(call->library, communicator);
	return call->communicator;
}

void mpi_call_tell(struct mpi_call *call, enum brick_message_event event, int32_t peer, int32_t tag,
	uint32_t communicator, uint32_t number, uint64_t bytes)
{
	if (call->count == call->capacity) {
		size_t capacity = 2 * (size_t)call->capacity;
		struct brick_message_record *more = malloc(capacity * sizeof(*more));
		if (!more)
			return;
		memcpy(more, call->messages, call->count * sizeof(*more));
		if (call->messages != call->few)
			free(call->messages);
		call->messages = more;
		call->capacity = (uint32_t)capacity;
	}
	call->messages[call->count++] = (struct brick_message_record){.peer = peer,
		.tag = tag,
		.event = (uint8_t)event,
		.bytes_high = (uint16_t)(bytes >> 32),
		.communicator = communicator,
		.number = number,
		.bytes_low = (uint32_t)bytes};
	call->bytes += bytes;
}

static void mpi_call_leave(struct mpi_call *call)
{
	enum { AT_ONCE = 256 }; /* so many always find room in a ring, sooner or later */

	for (uint32_t i = 0; i < call->count; i += AT_ONCE) {
		uint32_t left = call->count - i;
		brick_record_messages(&call->messages[i], left < AT_ONCE ? left : AT_ONCE);
	}
	if (call->messages != call->few)
		free(call->messages);
	mpi_communicator_drop(call->communicator);
	mpi_call_place = call->outer;
}

void mpi_call_end(struct mpi_call *call)
{
	KEEP_ERRNO();

	if (call->is_nested)
		return;
	if (call->span) {
		uint32_t site = mpi_call_site(call);
		if (site)
			brick_end_site_work(call->span, site, call->bytes, 0);
		else
			brick_end(call->span);
	} else {
		call->count = 0;
	}
	mpi_call_leave(call);
}

void mpi_poll_begin(struct mpi_call *call, struct mpi_poll *poll, enum mpi_function function,
	const void *caller)
{
	KEEP_ERRNO();

	poll->begin = mpi_call_enter(call, function, caller) ? brick_ticks() : 0;
}

void mpi_poll_end(struct mpi_call *call, const struct mpi_poll *poll)
{
	KEEP_ERRNO();

	if (call->is_nested)
		return;
	if (poll->begin && call->is_of_use) {
		const struct brick_sample sample = {.begin = poll->begin,
			.end = brick_ticks(),
			.site = mpi_call_site(call),
			.brick = mpi_call_brick(call->function),
			.layer = -1,
			.source = BRICK_SOURCE_TSC};
		brick_record_sample_work(&sample, sample.site ? call->bytes : 0, 0);
	} else {
		call->count = 0;
	}
	mpi_call_leave(call);
}

/* The beginning and the end of MPI. */

BRICK_API int PMPI_Init(int *argc, char ***argv);

__attribute__((constructor)) static void mpi_loaded(void)
{
	if (!brick__sys_is_confined())
		mpi_absent_clear((const void *)PMPI_Init);
}

static void mpi_started(struct mpi_call *call)
{
	struct mpi_communicator *world = mpi_communicator_get(call->library, call->library->world);

	if (!world)
		return;
	note_once("attach", "messages and collectives");
	note_once("mpi.rank", "%d of %d", world->rank, world->size);
	mpi_communicator_drop(world);
	mpi_messages_tell_at_exit();
	mpi_absent_clear((const void *)PMPI_Init);
}

MPI_HOOK(Init, (argc, argv), mpi_started(&call), int *argc, char ***argv)
MPI_HOOK(Init_thread, (argc, argv, required, provided), mpi_started(&call), int *argc, char ***argv,
	int required, int *provided)

MPI_FRAME(Finalize, struct mpi_call call;
	  mpi_call_begin(&call, MPI_F_Finalize, MPI_CALLER), (), mpi_call_end(&call), void)

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes,
		"messages and collectives of programs with a shared MPI library are recorded");
	return 0;
}

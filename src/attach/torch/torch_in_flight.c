/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list (torch_in_flight.h) is written with the GIL held, before any observer is registered.
 * Each thread takes itself away alone. Only threads of the main interpreter are looked at, as no
 * other one can have PyTorch: sys._current_frames() also makes objects for frames of interpreters
 * that run at the same time, under a GIL of their own, and crashes them.
 */
#include "attach/torch/torch_in_flight.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "attach/torch/torch_python.h"

enum { MOST = 256, ALL_FRAMES = 10000 };
#define CALL "_call_impl" /* a part of the names of functions that run a module */

static uintptr_t in_flight_threads[MOST]; /* pthread_self(); 0: it has left. Atomic */
static uint32_t in_flight_count;	  /* atomic */

/* Where a thread's state has pthread_self(), by the caller's own; 0: it cannot be told. */
static size_t in_flight_thread_at(const char *own)
{
	enum { SEARCHED_BYTES = 256 };
	const uintptr_t self = (uintptr_t)pthread_self();
	size_t found = 0;

	for (size_t at = 0; at < SEARCHED_BYTES; at += sizeof(self)) {
		if (memcmp(own + at, &self, sizeof(self)) != 0)
			continue;
		if (found)
			return 0;
		found = at;
	}
	return found;
}

void torch_in_flight_look(void)
{
	char *state = py.first_state ? py.first_state(py.interpreter()) : NULL;
	size_t at = state ? in_flight_thread_at(py.state()) : 0;
	uint32_t count = 0;

	for (; at && state && count < MOST; state = py.next_state(state)) {
		python_object *frame = py.state_frame(state);
		uintptr_t thread;
		memcpy(&thread, state + at, sizeof(thread));
		if (frame && python_frame_is_in(frame, CALL, true, ALL_FRAMES))
			__atomic_store_n(&in_flight_threads[count++], thread, __ATOMIC_RELAXED);
		python_drop(frame);
	}
	__atomic_store_n(&in_flight_count, count, __ATOMIC_RELEASE);
}

static uintptr_t *in_flight_place(void)
{
	uint32_t count = __atomic_load_n(&in_flight_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		if (__atomic_load_n(&in_flight_threads[i], __ATOMIC_RELAXED) ==
			(uintptr_t)pthread_self())
			return &in_flight_threads[i];
	return NULL;
}

bool torch_in_flight_here(void)
{
	return in_flight_place() != NULL;
}

bool torch_in_flight_goes_on(void)
{
	uintptr_t *place = in_flight_place();

	if (!place || python_is_called_by(CALL, true, ALL_FRAMES))
		return place != NULL;
	__atomic_store_n(place, 0, __ATOMIC_RELAXED);
	return false;
}

void torch_in_flight_forget(void)
{
	__atomic_store_n(&in_flight_count, 0, __ATOMIC_RELAXED);
}

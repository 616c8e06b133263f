/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list (torch_in_flight.h) is written with the GIL held, before any observer is registered.
 * Each thread takes itself away alone. Python tells the frames of all threads by
 * sys._current_frames().
 */
#include "attach/torch/torch_in_flight.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/torch/torch_python.h"

enum { MOST = 256, ALL_FRAMES = 10000 };
#define CALL "_call_impl" /* a part of the names of functions that run a module */

static uintptr_t in_flight_threads[MOST]; /* pthread_self(); 0: it has left. Atomic */
static uint32_t in_flight_count;	  /* atomic */

void torch_in_flight_look(void)
{
	python_object *sys = python_imported("sys"), *thread, *frame;
	python_object *frames = py.frame ? python_ask(sys, "_current_frames") : NULL;
	ptrdiff_t at = 0;
	uint32_t count = 0;

	while (frames && count < MOST && py.Dict_Next(frames, &at, &thread, &frame))
		if (python_frame_is_in(frame, CALL, true, ALL_FRAMES))
			__atomic_store_n(&in_flight_threads[count++],
				(uintptr_t)py.Long_AsVoidPtr(thread), __ATOMIC_RELAXED);
	py.Err_Clear();
	python_drop(frames);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event has one of a few places side by side; when all are taken, a new one drives out
 * another's. An entry is written by exchanging the event last, and its event is read twice: what
 * lies between belongs to it.
 */
#include "attach/opencl/opencl_events.h"

#include <stddef.h>
#include "base/hash.h"

enum { PLACES = 1 << 14, PLACES_OF_ONE = 8 };

struct known_event {
	cl_event event;
	uint64_t number, waited_ns;
};

static struct known_event opencl_events_known[PLACES];

static const char being_written;
#define WRITTEN ((cl_event)(uintptr_t)&being_written) /* no event's handle */

static struct known_event *opencl_events_place_of(cl_event event, uint32_t next)
{
	return &opencl_events_known[(hash_pointer(event) + next) & (PLACES - 1)];
}

/* NULL: it is not known. */
static struct known_event *opencl_events_find(cl_event event)
{
	for (uint32_t i = 0; i < PLACES_OF_ONE; i++)
		if (__atomic_load_n(&opencl_events_place_of(event, i)->event, __ATOMIC_ACQUIRE) ==
			event)
			return opencl_events_place_of(event, i);
	return NULL;
}

/* Returns a place to write to: the event's own, a free one, or another's. */
static struct known_event *opencl_events_take_place(cl_event event)
{
	struct known_event *place = opencl_events_find(event);

	for (uint32_t i = 0; i < PLACES_OF_ONE && !place; i++) {
		cl_event none = NULL;
		if (__atomic_compare_exchange_n(&opencl_events_place_of(event, i)->event, &none,
			    WRITTEN, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return opencl_events_place_of(event, i);
	}
	place = place ? place : opencl_events_place_of(event, 0);
	__atomic_store_n(&place->event, WRITTEN, __ATOMIC_RELAXED);
	return place;
}

void events_know(cl_event event, uint64_t number)
{
	struct known_event *place = opencl_events_take_place(event);

	__atomic_store_n(&place->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&place->waited_ns, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&place->event, event, __ATOMIC_RELEASE);
}

void events_forget(cl_event event)
{
	struct known_event *place = event ? opencl_events_find(event) : NULL;

	if (place)
		__atomic_store_n(&place->event, NULL, __ATOMIC_RELAXED);
}

/* Reads both values of the event. Returns 0 if the event is not known. */
static int opencl_events_look_up(cl_event event, uint64_t *number, uint64_t *waited_ns)
{
	const struct known_event *place = event ? opencl_events_find(event) : NULL;

	if (!place)
		return 0;
	*number = __atomic_load_n(&place->number, __ATOMIC_ACQUIRE);
	*waited_ns = __atomic_load_n(&place->waited_ns, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&place->event, __ATOMIC_ACQUIRE) == event;
}

uint64_t events_number(cl_event event)
{
	uint64_t number, waited_ns;

	return opencl_events_look_up(event, &number, &waited_ns) ? number : 0;
}

void events_waited(cl_event event, uint64_t host_ns)
{
	struct known_event *place = event ? opencl_events_find(event) : NULL;
	uint64_t none = 0;

	if (place)
		__atomic_compare_exchange_n(
			&place->waited_ns, &none, host_ns, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

uint64_t events_waited_ns(cl_event event, uint64_t number)
{
	uint64_t of, waited_ns;

	return opencl_events_look_up(event, &of, &waited_ns) && of == number ? waited_ns : 0;
}

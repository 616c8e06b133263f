/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place of the table holds whoever came last. An entry is written by exchanging the event last,
 * and its event is read twice: what lies between belongs to it.
 */
#include "attach/opencl/opencl_events.h"

#include <stddef.h>
#include "base/hash.h"

enum { PLACES = 1 << 14 };

struct known_event {
	cl_event event;
	uint64_t number, waited_ns;
};

static struct known_event known[PLACES];

static struct known_event *place_of(cl_event event)
{
	return &known[hash_pointer(event) & (PLACES - 1)];
}

void events_know(cl_event event, uint64_t number)
{
	struct known_event *place = place_of(event);

	__atomic_store_n(&place->event, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&place->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&place->waited_ns, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&place->event, event, __ATOMIC_RELEASE);
}

void events_forget(cl_event event)
{
	struct known_event *place = place_of(event);

	if (__atomic_load_n(&place->event, __ATOMIC_RELAXED) == event)
		__atomic_store_n(&place->event, NULL, __ATOMIC_RELAXED);
}

/* Both as they are for this event; 0: it is not known. */
static int look_up(cl_event event, uint64_t *number, uint64_t *waited_ns)
{
	const struct known_event *place = place_of(event);

	if (!event || __atomic_load_n(&place->event, __ATOMIC_ACQUIRE) != event)
		return 0;
	*number = __atomic_load_n(&place->number, __ATOMIC_ACQUIRE);
	*waited_ns = __atomic_load_n(&place->waited_ns, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&place->event, __ATOMIC_ACQUIRE) == event;
}

uint64_t events_number(cl_event event)
{
	uint64_t number, waited_ns;

	return look_up(event, &number, &waited_ns) ? number : 0;
}

void events_waited(cl_event event, uint64_t host_ns)
{
	struct known_event *place = place_of(event);
	uint64_t none = 0;

	if (event && __atomic_load_n(&place->event, __ATOMIC_ACQUIRE) == event)
		__atomic_compare_exchange_n(
			&place->waited_ns, &none, host_ns, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

uint64_t events_waited_ns(cl_event event, uint64_t number)
{
	uint64_t of, waited_ns;

	return look_up(event, &of, &waited_ns) && of == number ? waited_ns : 0;
}

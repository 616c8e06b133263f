/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots under one lock. A descriptor is shut down under the lock that its owner needs to give it
 * back, so that it cannot be another connection's by then.
 */
#include "ui/serve/connections.h"
#include "base/clock_ns.h"
#include "base/scope.h"

#include <sys/socket.h>
#include <time.h>

enum { CROWDED = CONNECTIONS_MAX * 3 / 4 };
/* By whether a request is there, and whether it is crowded. */
static const uint64_t patience_ns[2][2] = {
	{10 * 1000000000ull, 1 * 1000000000ull}, {60 * 1000000000ull, 5 * 1000000000ull}};

void connections_init(struct connections *c)
{
	pthread_mutex_init(&c->lock, NULL);
	c->count = 0;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		c->slots[i].descriptor = -1;
}

void connections_fini(struct connections *c)
{
	pthread_mutex_destroy(&c->lock);
}

/* Under the lock: make room, so that the next one is not kept waiting. */
static void end_oldest_silent(struct connections *c)
{
	struct connection_slot *oldest = NULL;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection_slot *slot = &c->slots[i];
		if (slot->descriptor >= 0 && !slot->asked && !slot->ended &&
			(!oldest || slot->since_ns < oldest->since_ns))
			oldest = slot;
	}
	if (oldest) {
		oldest->ended = true;
		shutdown(oldest->descriptor, SHUT_RDWR);
	}
}

struct connection_slot *connections_add(struct connections *c, int descriptor)
{
	struct connection_slot *slot = NULL;
	HOLD(&c->lock);
	for (unsigned i = 0; i < CONNECTIONS_MAX && !slot; i++)
		if (c->slots[i].descriptor < 0)
			slot = &c->slots[i];
	if (slot) {
		if (c->count >= CROWDED)
			end_oldest_silent(c);
		*slot = (struct connection_slot){
			.descriptor = descriptor, .since_ns = monotonic_ns()};
		c->count++;
	}
	return slot;
}

void connections_remove(struct connections *c, struct connection_slot *slot)
{
	HOLD(&c->lock);
	slot->descriptor = -1;
	c->count--;
}

void connections_asked(struct connections *c, struct connection_slot *slot)
{
	HOLD(&c->lock);
	slot->asked = true;
}

void connections_renew(struct connections *c, struct connection_slot *slot)
{
	HOLD(&c->lock);
	slot->since_ns = monotonic_ns();
	slot->asked = false;
}

void connections_sweep(struct connections *c)
{
	HOLD(&c->lock);
	uint64_t now = monotonic_ns();
	bool is_crowded = c->count > CROWDED;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection_slot *slot = &c->slots[i];
		if (slot->descriptor >= 0 &&
			now - slot->since_ns > patience_ns[slot->asked][is_crowded])
			shutdown(slot->descriptor, SHUT_RDWR);
	}
}

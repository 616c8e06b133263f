/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of the server, and since when each is busy with its present request. A client
 * that sends or reads a byte now and then never runs into a timeout of silence; it runs into this
 * one. When places get few, who has not asked for anything goes first, the oldest at once, so that
 * whoever asks is served however many do not. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { CONNECTIONS_MAX = 64 };

struct connection_slot {
	int descriptor; /* -1: free */
	uint64_t since_ns;
	bool asked; /* a whole request is there */
	bool ended; /* by us; it gives its slot back soon */
};

struct connections {
	pthread_mutex_t lock;
	struct connection_slot slots[CONNECTIONS_MAX];
	unsigned count;
};

void connections_init(struct connections *connections);
void connections_fini(struct connections *connections);

/* NULL when there is no slot: the connection then is not watched. */
struct connection_slot *connections_add(struct connections *connections, int descriptor);
void connections_remove(struct connections *connections, struct connection_slot *slot);

/* A whole request is there. */
void connections_asked(struct connections *connections, struct connection_slot *slot);

/* A request was answered: the next one begins. */
void connections_renew(struct connections *connections, struct connection_slot *slot);

/* Shut down what has taken too long: a minute (a request: ten seconds), less when few are left. */
void connections_sweep(struct connections *connections);

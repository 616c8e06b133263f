/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and collectives that a request, or a collective of neighbours, stands for. All of their
 * ends are known when they are made, and a turn gives them their number: all ranks of the
 * communicator count turns alike. Held by references; one turn at a time.
 */
#pragma once

#include "attach/mpi/mpi_calls.h"

struct mpi_exchange {
	uint32_t references;
	uint32_t communicator; /* of the messages */
	uint32_t turn;	       /* number of the messages */
	uint32_t begun, count; /* ends: those that are told when a turn begins are the first */
	enum brick_message_event event; /* of these; the rest is received */
	struct mpi_end {
		int32_t peer, tag;
		uint64_t bytes;
	} ends[];
};

/* No ends yet. `room`: for so many. NULL: no memory. To be dropped. */
struct mpi_exchange *mpi_exchange_create(
	uint32_t communicator, enum brick_message_event event, size_t room);
void mpi_exchange_keep(struct mpi_exchange *x);
void mpi_exchange_drop(struct mpi_exchange *x);

/* Ends that begin are added before the others. */
void mpi_exchange_add(
	struct mpi_exchange *x, bool begins, int32_t peer, int32_t tag, uint64_t bytes);

/* Tell the ends of the turn that begin, and those that are received. */
void mpi_exchange_begin(struct mpi_call *call, const struct mpi_exchange *x);
void mpi_exchange_end(struct mpi_call *call, const struct mpi_exchange *x);

/*
 * What stands for the communicator in messages of a persistent request: requests are made in the
 * same order by all ranks, but begin in any. `n`: the request is the n-th of its kind.
 */
uint32_t mpi_exchange_communicator(const struct mpi_communicator *c, const char *kind, uint32_t n);
/* The same for the collective that is made now. */
uint32_t mpi_exchange_persistent(struct mpi_communicator *c);

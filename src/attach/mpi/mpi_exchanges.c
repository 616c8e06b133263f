/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/mpi/mpi_exchanges.h"

#include <stdlib.h>
#include "base/fnv.h"
#include "base/hash.h"

struct mpi_exchange *mpi_exchange_create(
	uint32_t communicator, enum brick_message_event event, size_t room)
{
	struct mpi_exchange *x = malloc(sizeof(*x) + room * sizeof(*x->ends));

	if (x)
		*x = (struct mpi_exchange){
			.references = 1, .communicator = communicator, .event = event};
	return x;
}

void mpi_exchange_keep(struct mpi_exchange *x)
{
	if (x)
		__atomic_add_fetch(&x->references, 1, __ATOMIC_RELAXED);
}

void mpi_exchange_drop(struct mpi_exchange *x)
{
	if (x && !__atomic_sub_fetch(&x->references, 1, __ATOMIC_ACQ_REL))
		free(x);
}

void mpi_exchange_add(
	struct mpi_exchange *x, bool begins, int32_t peer, int32_t tag, uint64_t bytes)
{
	x->ends[x->count++] = (struct mpi_end){peer, tag, bytes};
	x->begun += begins;
}

void mpi_exchange_begin(struct mpi_call *call, const struct mpi_exchange *x)
{
	for (uint32_t i = 0; i < x->begun; i++)
		mpi_call_tell(call, x->event, x->ends[i].peer, x->ends[i].tag, x->communicator,
			x->turn, x->ends[i].bytes);
}

void mpi_exchange_end(struct mpi_call *call, const struct mpi_exchange *x)
{
	for (uint32_t i = x->begun; i < x->count; i++)
		mpi_call_tell(call, BRICK_MESSAGE_RECEIVED, x->ends[i].peer, x->ends[i].tag,
			x->communicator, x->turn, x->ends[i].bytes);
}

uint32_t mpi_exchange_communicator(const struct mpi_communicator *c, const char *kind, uint32_t n)
{
	uint64_t number = hash_add(hash_add(fnv1a_text(kind), c->number), n);

	return (uint32_t)(number ^ number >> 32) ?: 1;
}

uint32_t mpi_exchange_persistent(struct mpi_communicator *c)
{
	return mpi_exchange_communicator(
		c, "persistent", __atomic_add_fetch(&c->persistent, 1, __ATOMIC_RELAXED));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A table without collisions resolved: a place holds whoever came last (stream_tail.h). */
#include "attach/cuda/stream_tail.h"

#include <pthread.h>
#include "base/hash.h"
#include "base/scope.h"

enum { PLACES = 512 };

struct tail {
	cuda_handle context, stream;
	uint64_t number; /* 0: not known */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tail table[PLACES];

static struct tail *place(cuda_handle context, cuda_handle stream)
{
	return &table[hash_add(hash_pointer(context), (uintptr_t)stream) & (PLACES - 1)];
}

void stream_tail_set(cuda_handle context, cuda_handle stream, uint64_t number)
{
	HOLD(&lock);
	*place(context, stream) = (struct tail){context, stream, number};
}

void stream_tail_forget(cuda_handle context, cuda_handle stream)
{
	HOLD(&lock);
	struct tail *tail = place(context, stream);
	if (tail->context == context && tail->stream == stream)
		tail->number = 0;
}

void stream_tail_forget_context(cuda_handle context)
{
	HOLD(&lock);
	for (uint32_t i = 0; i < PLACES; i++)
		if (table[i].context == context)
			table[i].number = 0;
}

uint64_t stream_tail_get(cuda_handle context, cuda_handle stream)
{
	HOLD(&lock);
	struct tail tail = *place(context, stream);
	return tail.context == context && tail.stream == stream ? tail.number : 0;
}

void stream_tail_context(cuda_handle context, struct brick__waits *waits)
{
	HOLD(&lock);
	for (uint32_t i = 0; i < PLACES; i++)
		if (table[i].context == context)
			brick__waits_add(waits, table[i].number);
}

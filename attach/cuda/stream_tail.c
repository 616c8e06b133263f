/* SPDX-License-Identifier: Apache-2.0 */
/* A table without collisions resolved: a place holds whoever came last (stream_tail.h). */
#include "attach/cuda/stream_tail.h"

#include <pthread.h>
#include "base/hash.h"
#include "base/scope.h"

enum { PLACES = 512 };

struct tail {
	cuda_handle context, stream;
	uint64_t number;
	int is_context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tail table[PLACES];

static struct tail *place(cuda_handle context, cuda_handle stream, int is_context)
{
	uint64_t hash = hash_add(hash_pointer(context), (uintptr_t)stream);

	return &table[hash_add(hash, (uint64_t)is_context) & (PLACES - 1)];
}

void stream_tail_set(cuda_handle context, cuda_handle stream, uint64_t number)
{
	HOLD(&lock);
	*place(context, stream, 0) = (struct tail){context, stream, number, 0};
	*place(context, NULL, 1) = (struct tail){context, NULL, number, 1};
}

void stream_tail_forget(cuda_handle context, cuda_handle stream)
{
	HOLD(&lock);
	struct tail *tail = place(context, stream, 0);
	if (tail->context == context && tail->stream == stream && !tail->is_context)
		tail->number = 0;
}

void stream_tail_forget_context(cuda_handle context)
{
	HOLD(&lock);
	for (uint32_t i = 0; i < PLACES; i++)
		if (table[i].context == context)
			table[i].number = 0;
}

static uint64_t get(cuda_handle context, cuda_handle stream, int is_context)
{
	HOLD(&lock);
	struct tail tail = *place(context, stream, is_context);
	return tail.context == context && tail.stream == stream && tail.is_context == is_context
		       ? tail.number
		       : 0;
}

uint64_t stream_tail_get(cuda_handle context, cuda_handle stream)
{
	return get(context, stream, 0);
}

uint64_t stream_tail_context(cuda_handle context)
{
	return get(context, NULL, 1);
}

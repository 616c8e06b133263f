/* SPDX-License-Identifier: Apache-2.0 */
/* A list of so many streams (excluded.h); those beyond its end are told twice. */
#include "attach/cuda/excluded.h"

#include <pthread.h>
#include "attach/cuda/call_names.h"
#include "base/scope.h"
#include "brick/export.h"

enum { MAX_STREAMS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_handle streams[MAX_STREAMS], contexts[MAX_STREAMS]; /* streams: atomic; NULL: free */
static void *owners[MAX_STREAMS];
static uint32_t count; /* atomic: so far it has been used */

static int place_of(cuda_handle stream)
{
	uint32_t there = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < there; i++)
		if (__atomic_load_n(&streams[i], __ATOMIC_RELAXED) == stream)
			return (int)i;
	return -1;
}

int excluded_has(cuda_handle stream)
{
	return place_of(stream) >= 0;
}

/* Under the lock: of this stream, or a free one; negative: there is none. */
static int take_place(cuda_handle stream)
{
	int place = place_of(stream);

	if (place < 0)
		place = place_of(NULL);
	return place < 0 && count < MAX_STREAMS ? (int)count : place;
}

static void forget(uint32_t place)
{
	contexts[place] = NULL;
	owners[place] = NULL;
	__atomic_store_n(&streams[place], NULL, __ATOMIC_RELAXED);
}

/* For the backend inside of the program (src/lib/device/backend_call.h), on the thread that
 * launches. */
BRICK_API void brick_cuda_exclude(void *context, void *stream, void *owner);
void brick_cuda_exclude(void *context, void *stream, void *owner)
{
	cuda_handle handle = call_handle(stream, 0);

	handle = handle ? handle : context;
	HOLD(&lock);
	int place = take_place(handle);
	if (place >= 0) {
		contexts[place] = context;
		owners[place] = owner;
		__atomic_store_n(&streams[place], handle, __ATOMIC_RELAXED);
		if ((uint32_t)place == count)
			__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
	}
}

/* The owner times nothing any more. */
BRICK_API void brick_cuda_include(void *owner);
void brick_cuda_include(void *owner)
{
	HOLD(&lock);
	for (uint32_t i = 0; i < count; i++)
		if (streams[i] && owners[i] == owner)
			forget(i);
}

void excluded_forget(cuda_handle gone)
{
	HOLD(&lock);
	for (uint32_t i = 0; gone && i < count; i++)
		if (streams[i] == gone || contexts[i] == gone)
			forget(i);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A list of so many streams (yields.h); those beyond its end are told twice. */
#include "attach/cuda/yields.h"

#include <pthread.h>
#include "brick/export.h"

enum { MOST = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_handle streams[MOST], contexts[MOST]; /* streams: atomic; NULL: free */
static uint32_t count;				  /* atomic: so far it has been used */

static int place_of(cuda_handle stream)
{
	uint32_t there = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < there; i++)
		if (__atomic_load_n(&streams[i], __ATOMIC_RELAXED) == stream)
			return (int)i;
	return -1;
}

int yields_has(cuda_handle stream)
{
	return place_of(stream) >= 0;
}

/* For the backend inside of the program (backends/attached.h). */
BRICK_API void brick_cuda_yield(void *context, void *stream);
void brick_cuda_yield(void *context, void *stream)
{
	cuda_handle handle = stream && stream != CUDA_STREAM_LEGACY ? stream : context;

	if (yields_has(handle))
		return;
	pthread_mutex_lock(&lock);
	int place = place_of(NULL);
	if (place < 0 && count < MOST)
		place = (int)count;
	if (place >= 0) {
		contexts[place] = context;
		__atomic_store_n(&streams[place], handle, __ATOMIC_RELAXED);
		if ((uint32_t)place == count)
			__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

void yields_forget(cuda_handle gone)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; gone && i < count; i++)
		if (streams[i] == gone || contexts[i] == gone) {
			contexts[i] = NULL;
			__atomic_store_n(&streams[i], NULL, __ATOMIC_RELAXED);
		}
	pthread_mutex_unlock(&lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A list that only grows (yields.h); streams beyond its end are told twice. */
#include "attach/cuda/yields.h"

#include <pthread.h>
#include "brick/export.h"

enum { MOST = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_handle streams[MOST];
static uint32_t count; /* atomic: those below it are there */

int yields_has(cuda_handle stream)
{
	uint32_t there = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < there; i++)
		if (streams[i] == stream)
			return 1;
	return 0;
}

/* For the backend inside of the program (backends/attached.h). */
BRICK_API void brick_cuda_yield(void *context, void *stream);
void brick_cuda_yield(void *context, void *stream)
{
	cuda_handle handle = stream && stream != CUDA_STREAM_LEGACY ? stream : context;

	pthread_mutex_lock(&lock);
	if (count < MOST && !yields_has(handle)) {
		streams[count] = handle;
		__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

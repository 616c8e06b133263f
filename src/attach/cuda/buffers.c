/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of buffers.h: a stack of free ones, a few made beforehand, more made up to a limit. */
#include "attach/cuda/buffers.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <string.h>
#include "base/scope.h"

/* Small ones: a buffer is delivered when it is full, or at a flush when all in it is complete. */
enum { BUFFER_BYTES = 1 << 18, READY = 16, MAX_BUFFERS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *ready[MAX_BUFFERS];
static uint32_t ready_count, made_count;

/* Anonymous memory is zero; writing to each page now keeps page faults off the program's calls. */
static uint8_t *make(int touch)
{
	uint8_t *buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (touch ? MAP_POPULATE : 0), -1, 0);
	return buffer == MAP_FAILED ? NULL : buffer;
}

int buffers_prepare(void)
{
	while (made_count < READY) {
		uint8_t *buffer = make(1);
		if (!buffer)
			return -ENOMEM;
		ready[ready_count++] = buffer;
		made_count++;
	}
	return 0;
}

uint8_t *buffers_take(size_t *bytes)
{
	uint8_t *buffer = NULL;

	pthread_mutex_lock(&lock);
	if (ready_count)
		buffer = ready[--ready_count];
	else if (made_count < MAX_BUFFERS && (buffer = make(0)))
		made_count++;
	pthread_mutex_unlock(&lock);
	*bytes = buffer ? BUFFER_BYTES : 0;
	return buffer;
}

void buffers_give(uint8_t *buffer, size_t used)
{
	if (!buffer)
		return;
	memset(buffer, 0, used < BUFFER_BYTES ? used : BUFFER_BYTES);
	HOLD(&lock);
	if (ready_count < MAX_BUFFERS)
		ready[ready_count++] = buffer;
}

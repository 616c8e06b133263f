/* SPDX-License-Identifier: Apache-2.0 */
/* Queues by device, context and stream (streams.h), in a table that is searched from where it
 * ended. */
#include "attach/cuda/streams.h"

#include <stdio.h>
#include <stddef.h>

enum { MAX_STREAMS = 768 };

struct stream {
	uint32_t device, context, stream;
	struct brick_queue *queue;
};

static struct stream streams[MAX_STREAMS];
static uint32_t count, last;
static struct brick_queue *shared;

static struct brick_queue *create(const char *name)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *queue = NULL;

	options.name = name;
	options.backend = "cuda";
	options.flags = BRICK_QUEUE_OUT_OF_ORDER;
	return brick_queue_create(&queue, &options) ? NULL : queue;
}

static struct brick_queue *add(uint32_t device, uint32_t context, uint32_t stream)
{
	char name[64];

	snprintf(name, sizeof name, "CUDA device %u context %u stream %u", device, context, stream);
	struct brick_queue *queue = create(name);
	if (queue) {
		last = count;
		streams[count++] = (struct stream){device, context, stream, queue};
	}
	return queue;
}

struct brick_queue *streams_queue(uint32_t device, uint32_t context, uint32_t stream)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct stream *s = &streams[(last + i) % count];
		if (s->stream != stream || s->context != context || s->device != device)
			continue;
		last = (last + i) % count;
		return s->queue;
	}
	if (count < MAX_STREAMS)
		return add(device, context, stream);
	if (!shared)
		shared = create("CUDA, all further streams");
	return shared;
}

struct brick_queue *streams_any(void)
{
	return count ? streams[0].queue : streams_queue(0, 0, 0);
}

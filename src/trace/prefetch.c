/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs go in a circle: they are handed in, inflated, and taken. A ratio that no recording comes
 * near limits how far a hostile file may inflate. Memory is kept from one job to the next.
 */
#include "trace/prefetch.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/scope.h"
#include "brick/error.h"
#include "format/perfetto.h"

enum {
	MIN_BYTES = 1 << 20,  /* of output that any packet may have, and that is allocated first */
	MAX_BYTES = 64 << 20, /* of output, whatever the ratio */
	MAX_RATIO = 200,      /* of output to input */
};

struct inflater {
	struct libdeflate_decompressor *decompressor;
	uint8_t *out;
	size_t capacity;
};

struct inflater *inflater_create(void)
{
	struct inflater *inflater = calloc(1, sizeof(*inflater));

	if (!inflater)
		return NULL;
	inflater->decompressor = libdeflate_alloc_decompressor();
	if (!inflater->decompressor) {
		free(inflater);
		return NULL;
	}
	return inflater;
}

void inflater_destroy(struct inflater *inflater)
{
	if (!inflater)
		return;
	libdeflate_free_decompressor(inflater->decompressor);
	free(inflater->out);
	free(inflater);
}

/* The most bytes that a packet may inflate to. */
static size_t limit(size_t packed)
{
	size_t bytes = packed > MAX_BYTES / MAX_RATIO ? MAX_BYTES : packed * MAX_RATIO;

	return bytes < MIN_BYTES ? MIN_BYTES : bytes;
}

static bool prefetch_grow(struct inflater *inflater, size_t most)
{
	size_t capacity = inflater->capacity ? inflater->capacity * 2 : MIN_BYTES;

	if (inflater->capacity >= most)
		return false;
	free(inflater->out);
	inflater->capacity = capacity < most ? capacity : most;
	inflater->out = malloc(inflater->capacity);
	if (!inflater->out)
		inflater->capacity = 0;
	return inflater->out != NULL;
}

int inflate_packet(struct inflater *inflater, struct pb_reader packed, struct pb_reader *out)
{
	size_t size = 0, most = limit(pb_size(packed));
	enum libdeflate_result result;

	if (!inflater->out && !prefetch_grow(inflater, most))
		return -ENOMEM;
	do
		result = libdeflate_zlib_decompress(inflater->decompressor, packed.at,
			pb_size(packed), inflater->out,
			inflater->capacity < most ? inflater->capacity : most, &size);
	while (result == LIBDEFLATE_INSUFFICIENT_SPACE && prefetch_grow(inflater, most));
	if (!inflater->out)
		return -ENOMEM;
	*out = pb_reader(inflater->out, size);
	return result == LIBDEFLATE_SUCCESS ? 0 : BRICK_EFORMAT;
}

/* The thread is woken for several at once: each time costs both sides some microseconds. */
enum { JOBS = 8, WAKING_JOBS = JOBS / 2, THREAD_FROM_BYTES = 1 << 18 };

struct job {
	uint8_t *packed;
	size_t size, capacity;
	uint64_t offset;
	struct inflater *inflater;
	struct pb_reader out;
	int error; /* of inflate_packet() */
};

struct prefetch {
	struct job jobs[JOBS];
	/* Jobs so far: added, inflated, released. Job i is in jobs[i % JOBS]. */
	unsigned handed, done, taken;
	uint64_t bytes;	     /* packed bytes that were added */
	bool tried;	     /* to start a thread */
	bool threaded, stop; /* there is a thread; it shall end */
	pthread_t thread;
	pthread_mutex_t lock; /* guards done, handed and stop once there is a thread */
	pthread_cond_t changed;
};

static void prefetch_work(struct job *job)
{
	struct pb_reader packed = pb_reader(job->packed, job->size);

	job->error = inflate_packet(job->inflater, packed, &job->out);
}

static void *prefetch_run_thread(void *argument)
{
	struct prefetch *p = argument;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (p->done == p->handed) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		struct job *job = &p->jobs[p->done % JOBS];
		pthread_mutex_unlock(&p->lock);
		prefetch_work(job);
		pthread_mutex_lock(&p->lock);
		p->done++;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct prefetch *prefetch_create(void)
{
	struct prefetch *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	return p;
}

void prefetch_destroy(struct prefetch *p)
{
	if (!p)
		return;
	if (p->threaded) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_broadcast(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	for (int i = 0; i < JOBS; i++) {
		free(p->jobs[i].packed);
		inflater_destroy(p->jobs[i].inflater);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

bool prefetch_is_full(const struct prefetch *p)
{
	return p->handed - p->taken == JOBS;
}

static bool copy_packed(struct job *job, struct pb_reader packed)
{
	size_t size = pb_size(packed);

	if (size >= job->capacity) {
		uint8_t *grown = realloc(job->packed, size + 1);
		if (!grown)
			return false;
		job->packed = grown;
		job->capacity = size + 1;
	}
	memcpy(job->packed, packed.at, size);
	job->size = size;
	return true;
}

/* Starts the thread once enough bytes came; all jobs before are done by then. */
static void consider_thread(struct prefetch *p)
{
	if (p->tried || p->bytes < THREAD_FROM_BYTES)
		return;
	p->tried = true;
	p->threaded = !pthread_create(&p->thread, NULL, prefetch_run_thread, p);
}

int prefetch_add(struct prefetch *p, struct pb_reader packed, uint64_t offset)
{
	struct job *job = &p->jobs[p->handed % JOBS];

	if (!job->inflater)
		job->inflater = inflater_create();
	if (!job->inflater || !copy_packed(job, packed))
		return -ENOMEM;
	job->offset = offset;
	p->bytes += pb_size(packed);
	consider_thread(p);
	if (!p->threaded) {
		prefetch_work(job);
		p->handed++;
		p->done++;
		return 0;
	}
	HOLD(&p->lock);
	p->handed++;
	if (p->handed - p->done >= WAKING_JOBS)
		pthread_cond_broadcast(&p->changed);
	return 0;
}

bool prefetch_take(struct prefetch *p, struct pb_reader *out, int *error, uint64_t *offset)
{
	if (p->taken == p->handed)
		return false;
	if (p->threaded) {
		pthread_mutex_lock(&p->lock);
		while (p->done == p->taken) {
			pthread_cond_broadcast(&p->changed);
			pthread_cond_wait(&p->changed, &p->lock);
		}
		pthread_mutex_unlock(&p->lock);
	}
	const struct job *job = &p->jobs[p->taken % JOBS];
	*out = job->out;
	*error = job->error;
	*offset = job->offset;
	return true;
}

void prefetch_release(struct prefetch *p)
{
	p->taken++;
}

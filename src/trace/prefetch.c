/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in a circle: handed in, done, taken. */
#include "trace/prefetch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/scope.h"
#include "trace/load_inflate.h"

/* The thread is woken for several at once: each time costs both sides some microseconds. */
enum { JOBS = 8, WAKING_JOBS = JOBS / 2, THREAD_FROM_BYTES = 1 << 18 };

struct job {
	uint8_t *packed;
	size_t size, capacity;
	uint64_t offset;
	struct load_inflater *inflater;
	struct pb_reader out;
	int result; /* of load_inflate() */
};

struct prefetch {
	struct job jobs[JOBS];
	unsigned handed, done, taken; /* jobs ever; the i-th one is in jobs[i % JOBS] */
	uint64_t bytes;
	int threaded, tried, stop;
	pthread_t thread;
	pthread_mutex_t lock; /* guards done, handed and stop once there is a thread */
	pthread_cond_t changed;
};

static void work(struct job *job)
{
	struct pb_reader packed = pb_reader(job->packed, job->size);

	job->result = load_inflate(job->inflater, packed, &job->out);
}

static void *run_thread(void *argument)
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
		work(job);
		pthread_mutex_lock(&p->lock);
		p->done++;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct prefetch *prefetch_create(void)
{
	struct prefetch *p = calloc(1, sizeof *p);

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
		p->stop = 1;
		pthread_cond_broadcast(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	for (int i = 0; i < JOBS; i++) {
		free(p->jobs[i].packed);
		load_inflater_destroy(p->jobs[i].inflater);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int prefetch_is_full(const struct prefetch *p)
{
	return p->handed - p->taken == JOBS;
}

static int copy_packed(struct job *job, struct pb_reader packed)
{
	size_t size = pb_size(packed);

	if (size >= job->capacity) {
		uint8_t *grown = realloc(job->packed, size + 1);
		if (!grown)
			return 0;
		job->packed = grown;
		job->capacity = size + 1;
	}
	memcpy(job->packed, packed.at, size);
	job->size = size;
	return 1;
}

/* Worth a thread? What was handed in so far has been done by then. */
static void consider_thread(struct prefetch *p)
{
	if (p->tried || p->bytes < THREAD_FROM_BYTES)
		return;
	p->tried = 1;
	p->threaded = !pthread_create(&p->thread, NULL, run_thread, p);
}

int prefetch_add(struct prefetch *p, struct pb_reader packed, uint64_t offset)
{
	struct job *job = &p->jobs[p->handed % JOBS];

	if (!job->inflater)
		job->inflater = load_inflater_create();
	if (!job->inflater || !copy_packed(job, packed))
		return 0;
	job->offset = offset;
	p->bytes += pb_size(packed);
	consider_thread(p);
	if (!p->threaded) {
		work(job);
		p->handed++;
		p->done++;
		return 1;
	}
	HOLD(&p->lock);
	p->handed++;
	if (p->handed - p->done >= WAKING_JOBS)
		pthread_cond_broadcast(&p->changed);
	return 1;
}

int prefetch_take(struct prefetch *p, struct pb_reader *out, int *result, uint64_t *offset)
{
	if (p->taken == p->handed)
		return 0;
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
	*result = job->result;
	*offset = job->offset;
	return 1;
}

void prefetch_release(struct prefetch *p)
{
	p->taken++;
}

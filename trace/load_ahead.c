/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating ahead: a second thread inflates the next few compressed packets while the caller
 * decodes the one before them. Memory is that of the few. Short files, and processes that get no
 * thread, are inflated by the caller. The caller is one thread; results come in the order handed
 * in.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "trace/load_state.h"

enum { JOBS = 4, THREAD_FROM_BYTES = 1 << 18 };

struct job {
	uint8_t *packed;
	size_t size, room;
	uint64_t offset;
	struct load_inflater *inflater;
	struct pb_reader out;
	int result; /* of load_inflate() */
};

struct load_ahead {
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
	struct load_ahead *a = argument;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		if (a->done == a->handed) {
			pthread_cond_wait(&a->changed, &a->lock);
			continue;
		}
		struct job *job = &a->jobs[a->done % JOBS];
		pthread_mutex_unlock(&a->lock);
		work(job);
		pthread_mutex_lock(&a->lock);
		a->done++;
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct load_ahead *load_ahead_create(void)
{
	struct load_ahead *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	return a;
}

void load_ahead_destroy(struct load_ahead *a)
{
	if (!a)
		return;
	if (a->threaded) {
		pthread_mutex_lock(&a->lock);
		a->stop = 1;
		pthread_cond_broadcast(&a->changed);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	for (int i = 0; i < JOBS; i++) {
		free(a->jobs[i].packed);
		load_inflater_destroy(a->jobs[i].inflater);
	}
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

int load_ahead_full(const struct load_ahead *a)
{
	return a->handed - a->taken == JOBS;
}

static int copy_packed(struct job *job, struct pb_reader packed)
{
	size_t size = pb_size(packed);

	if (size >= job->room) {
		uint8_t *grown = realloc(job->packed, size + 1);
		if (!grown)
			return 0;
		job->packed = grown;
		job->room = size + 1;
	}
	memcpy(job->packed, packed.at, size);
	job->size = size;
	return 1;
}

/* Worth a thread? What was handed in so far has been done by then. */
static void consider_thread(struct load_ahead *a)
{
	if (a->tried || a->bytes < THREAD_FROM_BYTES)
		return;
	a->tried = 1;
	a->threaded = !pthread_create(&a->thread, NULL, run_thread, a);
}

int load_ahead_hand(struct load_ahead *a, struct pb_reader packed, uint64_t offset)
{
	struct job *job = &a->jobs[a->handed % JOBS];

	if (!job->inflater)
		job->inflater = load_inflater_create();
	if (!job->inflater || !copy_packed(job, packed))
		return 0;
	job->offset = offset;
	a->bytes += pb_size(packed);
	consider_thread(a);
	if (!a->threaded) {
		work(job);
		a->handed++;
		a->done++;
		return 1;
	}
	pthread_mutex_lock(&a->lock);
	a->handed++;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	return 1;
}

int load_ahead_take(struct load_ahead *a, struct pb_reader *out, int *result, uint64_t *offset)
{
	if (a->taken == a->handed)
		return 0;
	if (a->threaded) {
		pthread_mutex_lock(&a->lock);
		while (a->done == a->taken)
			pthread_cond_wait(&a->changed, &a->lock);
		pthread_mutex_unlock(&a->lock);
	}
	const struct job *job = &a->jobs[a->taken % JOBS];
	*out = job->out;
	*result = job->result;
	*offset = job->offset;
	return 1;
}

void load_ahead_release(struct load_ahead *a)
{
	a->taken++;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of queues (opencl_queue.h). It only grows, since programs have few queues; changes take
 * opencl_queue_table, lookups take no lock. A released queue stays in the list until a new queue
 * gets its handle, so that questions about its events are still answered as the program expects.
 */
#include "attach/opencl/opencl_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/opencl/clocks.h"
#include "attach/opencl/opencl_driver.h"
#include "base/scope.h"
#include "lib/device/queue_lane.h"

enum { FIRST_CAPACITY = 256, MAX_RELEASED = 64 };

static struct queue *opencl_queue_list;
static pthread_mutex_t opencl_queue_table = PTHREAD_MUTEX_INITIALIZER;

struct queue *queue_next(struct queue *queue)
{
	return queue ? queue->next : __atomic_load_n(&opencl_queue_list, __ATOMIC_ACQUIRE);
}

struct queue *queue_find(cl_command_queue handle)
{
	for (struct queue *q = queue_next(NULL); q; q = q->next)
		if (__atomic_load_n(&q->handle, __ATOMIC_ACQUIRE) == handle)
			return q;
	return NULL;
}

/* Under `table`: memory for a queue, in the list. Questions about the oldest events may go amiss.
 */
static struct queue *opencl_queue_take_place(void)
{
	struct queue *last = NULL;
	uint32_t released = 0;

	for (struct queue *q = opencl_queue_list; q; q = q->next) {
		if (!__atomic_load_n(&q->is_free, __ATOMIC_ACQUIRE))
			continue;
		if (!q->handle)
			return q;
		last = q;
		released++;
	}
	if (released >= MAX_RELEASED)
		return last;
	struct queue *q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	pthread_mutex_init(&q->taking, NULL);
	pthread_mutex_init(&q->lock, NULL);
	q->next = opencl_queue_list;
	__atomic_store_n(&opencl_queue_list, q, __ATOMIC_RELEASE);
	return q;
}

int queue_created(
	cl_command_queue handle, cl_device_id device, const struct queue_wish *wish, bool is_timed)
{
	KEEP_ERRNO();

	HOLD(&opencl_queue_table);
	struct queue *former =
		queue_find(handle); /* is gone for good: another one has its handle */
	if (former)
		__atomic_store_n(&former->handle, NULL, __ATOMIC_RELEASE);
	struct queue *q = opencl_queue_take_place();
	if (q) {
		struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
		char name[128];
		q->device = device;
		q->is_free = q->is_released = 0;
		q->excluded_for = NULL;
		q->stuck_tail = q->unmoved_tail = 0;
		q->last_layer = -1;
		q->is_timed = is_timed;
		q->asked_timing = wish->is_timed;
		q->in_order = wish->in_order;
		q->references = 1;
		q->property_count = wish->property_count;
		memcpy(q->properties, wish->properties, sizeof(q->properties));
		q->last_number = q->last_end = q->last_end_ns = 0;
		q->wait_ends.count = 0;
		q->clock = clocks_of(device);
		notes_device(device, name, sizeof(name));
		options.name = name;
		options.backend = "opencl";
		options.flags = q->in_order ? 0 : BRICK_QUEUE_OUT_OF_ORDER;
		if (brick_queue_create(&q->record, &options) < 0)
			q->record = NULL;
		else
			brick__queue_on_gpu(q->record, "opencl", (uintptr_t)device);
		__atomic_store_n(&q->handle, handle, __ATOMIC_RELEASE);
	}
	return q != NULL;
}

void queue_retained(cl_command_queue handle)
{
	struct queue *q = queue_find(handle);

	if (q && !q->is_released)
		__atomic_add_fetch(&q->references, 1, __ATOMIC_RELAXED);
}

void queue_releasing(cl_command_queue handle)
{
	struct queue *q = queue_find(handle);

	if (!q || q->is_released || __atomic_sub_fetch(&q->references, 1, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&q->is_released, 1, __ATOMIC_RELEASE);
}

void queue_retire(struct queue *q)
{
	HOLD(&opencl_queue_table);
	if (q->is_released && !q->is_free && q->head == q->tail) {
		brick_queue_destroy(q->record);
		q->record = NULL;
		__atomic_store_n(&q->is_free, 1, __ATOMIC_RELEASE);
	}
}

/* Under its lock: room for more, as long as it is not too much. */
static int opencl_queue_grow(struct queue *q)
{
	uint32_t capacity = q->capacity ? 2 * q->capacity : FIRST_CAPACITY;

	if (capacity > QUEUE_MAX_PENDING)
		return -ENOSPC;
	struct pending *ring = malloc(capacity * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (uint64_t i = q->tail; i != q->head; i++) {
		struct pending *p = &ring[i & (capacity - 1)];
		*p = *queue_at(q, i);
		if (p->after == queue_at(q, i)->first)
			p->after = p->first;
	}
	free(q->ring);
	q->ring = ring;
	q->capacity = capacity;
	return 0;
}

int queue_push(struct queue *q, const struct pending *pending)
{
	int error = 0;

	HOLD(&q->lock);
	if (q->head - q->tail == q->capacity)
		error = opencl_queue_grow(q);
	if (!error) {
		struct pending *p = queue_at(q, q->head);
		*p = *pending;
		if (pending->after == pending->first)
			p->after = p->first;
		__atomic_store_n(&q->head, q->head + 1, __ATOMIC_RELEASE);
	}
	return error;
}

uint32_t queue_pending(const struct queue *q)
{
	return (uint32_t)(__atomic_load_n(&q->head, __ATOMIC_RELAXED) -
			  __atomic_load_n(&q->tail, __ATOMIC_RELAXED));
}

uint32_t queue_unfinished(const struct queue *q)
{
	uint32_t pending = queue_pending(q), timed = __atomic_load_n(&q->timed, __ATOMIC_RELAXED);

	return pending > timed ? pending - timed : 0;
}

uint32_t queue_lost(struct queue *q)
{
	uint32_t lost = 0;

	HOLD(&q->lock);
	for (uint64_t i = q->tail; i != q->head; i++)
		lost += queue_at(q, i)->state != PENDING_OVER;
	return lost;
}

uint64_t queue_head(const struct queue *q)
{
	return __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);
}

void queue_waited(struct queue *q, uint64_t count, uint64_t host_ns)
{
	HOLD(&q->lock);
	wait_ends_add(&q->wait_ends, count, host_ns);
}

void queue_forget_all(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	opencl_queue_table = fresh;
	__atomic_store_n(&opencl_queue_list, NULL, __ATOMIC_RELEASE);
}

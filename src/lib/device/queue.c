/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of devices: their list, which a fork must find at rest, and their ledgers. What they
 * record is in queue_record.c.
 */
#include "lib/device/queue_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "base/sized.h"
#include "base/utf8.h"
#include "lib/device/queue_lane.h"
#include "base/scope.h"
#include "lib/device/queue_clock.h"
#include "lib/sys/ticks.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct brick_queue *list;
static uint64_t last_number;

static void link_queue(struct brick_queue *queue)
{
	HOLD_UNCANCELLED(&list_lock);
	queue->name.number = ++last_number;
	queue->next = list;
	queue->link = &list;
	if (list)
		list->link = &queue->next;
	list = queue;
}

static void unlink_queue(struct brick_queue *queue)
{
	HOLD_UNCANCELLED(&list_lock);
	*queue->link = queue->next;
	if (queue->next)
		queue->next->link = queue->link;
}

int brick_queue_create(struct brick_queue **out, const struct brick_queue_options *options)
{
	struct brick_queue_options o = BRICK_QUEUE_OPTIONS_INIT;
	int saved = errno;

	int error = options ? sized_read(&o, sizeof o, options) : 0;

	if (error)
		return error;
	if (o.reserved || o.flags & ~(uint32_t)BRICK_QUEUE_OUT_OF_ORDER)
		return -EINVAL;
	struct brick_queue *queue = calloc(1, sizeof *queue);
	errno = saved;
	if (!queue)
		return -ENOMEM;
	pthread_mutex_init(&queue->lock, NULL);
	queue->name.flags = o.flags;
	utf8_field(queue->name.name, sizeof queue->name.name, o.name);
	utf8_field(queue->name.backend, sizeof queue->name.backend, o.backend);
	link_queue(queue);
	*out = queue;
	return 0;
}

void brick_queue_destroy(struct brick_queue *queue)
{
	if (!queue)
		return;
	unlink_queue(queue);
	lock_take(&queue->lock);
	brick__queue_lane_close(&queue->to, queue->serial);
	lock_give(&queue->lock);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/* ---- the ledger ---- */

/* The ledger of the running session, or NULL when there is none. Under the queue's lock. */
static struct brick_ledger *ledger(struct brick_queue *queue)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	uint32_t serial = on ? on : queue->serial; /* a pause does not close the books */

	if (!serial || brick__queue_lane_use(queue, serial, brick__now()))
		return NULL;
	return &queue->to.lane->ledger;
}

void brick_queue_unsupported(struct brick_queue *queue, uint64_t count)
{
	HOLD_UNCANCELLED(&queue->lock);
	struct brick_ledger *l = count ? ledger(queue) : NULL;
	if (l)
		l->unsupported += count;
}

void brick_queue_dropped(struct brick_queue *queue, uint64_t count)
{
	HOLD_UNCANCELLED(&queue->lock);
	struct brick_ledger *l = count ? ledger(queue) : NULL;
	if (l)
		l->dropped += count;
}

void brick__queue_unmatched(struct brick_queue *queue, uint64_t count)
{
	HOLD_UNCANCELLED(&queue->lock);
	struct brick_ledger *l = ledger(queue);
	if (l)
		l->unmatched += count;
}

void brick__queue_too_deep(struct brick_queue *queue)
{
	HOLD_UNCANCELLED(&queue->lock);
	struct brick_ledger *l = ledger(queue);
	if (l)
		l->too_deep++;
}

void brick__queue_pending(struct brick_queue *queue, uint32_t serial, int change)
{
	HOLD_UNCANCELLED(&queue->lock);
	if (change > 0 && queue->pending_serial != serial) {
		queue->pending_serial = serial;
		queue->pending = 0;
	}
	if (change > 0)
		queue->pending++;
	else if (queue->pending && queue->pending_serial == serial)
		queue->pending--;
}

static void account(struct brick_queue *queue)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	struct brick_ledger *l = NULL;

	if (queue->pending && (!on || on == queue->pending_serial))
		l = ledger(queue);
	if (l)
		l->dropped += queue->pending;
	queue->pending = 0;
}

/* At the end of a process a thread may have ended inside of a queue: then it is left alone. */
static int lock_or_leave(pthread_mutex_t *lock, int at_exit)
{
	if (at_exit)
		return !lock_try(lock);
	lock_take(lock);
	return 1;
}

void brick__queues_account(int at_exit)
{
	if (!lock_or_leave(&list_lock, at_exit))
		return;
	for (struct brick_queue *q = list; q; q = q->next) {
		if (!lock_or_leave(&q->lock, at_exit))
			continue;
		account(q);
		lock_give(&q->lock);
	}
	lock_give(&list_lock);
}

/* ---- fork ---- */

void brick__queues_lock(void)
{
	lock_take(&list_lock);
	for (struct brick_queue *q = list; q; q = q->next)
		lock_take(&q->lock);
	brick__queue_clock_lock();
}

void brick__queues_unlock(void)
{
	brick__queue_clock_unlock();
	for (struct brick_queue *q = list; q; q = q->next)
		lock_give(&q->lock);
	lock_give(&list_lock);
}

void brick__queues_abandon(void)
{
	for (struct brick_queue *q = list; q; q = q->next) {
		q->to.lane = NULL;
		q->serial = 0;
		q->pending = 0;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A linked queue of one writer and one reader with an empty node in front. The reader puts read
 * messages onto a stack, which the writer takes whole: so no node is freed or reused while the
 * other side looks at it.
 */
#include "record/encoder_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A normal round needs fewer messages. Memory of a burst beyond them goes back to the system. */
enum { MAX_UNUSED = 16 };

int queue_init(struct queue *q)
{
	*q = (struct queue){0};
	q->front = q->back = calloc(1, sizeof(*q->front));
	return q->front ? 0 : -ENOMEM;
}

static void message_free(struct message *m)
{
	free(m->records);
	free(m->off_cpu);
	free(m->faults);
	free(m->packets);
	free(m);
}

static void encoder_queue_list_free(struct message *m)
{
	while (m) {
		struct message *next = m->next;
		message_free(m);
		m = next;
	}
}

void queue_fini(struct queue *q)
{
	encoder_queue_list_free(q->front);
	encoder_queue_list_free(q->unused);
	encoder_queue_list_free(q->spent);
}

struct message *queue_message(struct queue *q, enum message_kind kind, int with_records)
{
	struct message *m = with_records ? q->unused : NULL;
	struct brick_record *records = NULL;

	if (m) {
		q->unused = m->next;
		q->unused_count--;
		records = m->records;
	} else {
		m = malloc(sizeof(*m));
		if (m && with_records)
			records = malloc(MESSAGE_RECORDS_MAX * sizeof(*records));
		if (!m || (with_records && !records)) {
			free(m);
			return NULL;
		}
	}
	*m = (struct message){.kind = kind, .records = records};
	return m;
}

void queue_unuse(struct queue *q, struct message *m)
{
	if (!m->records || q->unused_count >= MAX_UNUSED) {
		message_free(m);
		return;
	}
	m->next = q->unused;
	q->unused = m;
	q->unused_count++;
}

uint64_t message_bytes(const struct message *m)
{
	return m->kind == MESSAGE_RECORDS   ? m->count * sizeof(struct brick_record)
	       : m->kind == MESSAGE_PACKETS ? m->count
					    : 0;
}

void queue_push(struct queue *q, struct message *m, uint64_t now_ns)
{
	m->next = NULL;
	q->times_ns[q->pushed % QUEUE_TIMES] = now_ns;
	q->pushed_bytes += message_bytes(m);
	__atomic_store_n(&q->back->next, m, __ATOMIC_RELEASE);
	q->back = m;
	__atomic_store_n(&q->pushed, q->pushed + 1, __ATOMIC_SEQ_CST);
}

bool queue_is_empty(const struct queue *q)
{
	return __atomic_load_n(&q->pushed, __ATOMIC_SEQ_CST) ==
	       __atomic_load_n(&q->seen, __ATOMIC_SEQ_CST);
}

struct message *queue_spent(struct queue *q)
{
	return __atomic_exchange_n(&q->spent, NULL, __ATOMIC_ACQUIRE);
}

uint64_t queue_backlog_bytes(const struct queue *q)
{
	return q->pushed_bytes - __atomic_load_n(&q->popped_bytes, __ATOMIC_RELAXED);
}

uint64_t queue_backlog_age_ns(const struct queue *q, uint64_t now_ns)
{
	uint64_t seen = __atomic_load_n(&q->seen, __ATOMIC_RELAXED);

	if (seen == q->pushed)
		return 0;
	/* times_ns has only the last QUEUE_TIMES messages: the oldest is at least that old */
	if (q->pushed - seen > QUEUE_TIMES)
		seen = q->pushed - QUEUE_TIMES;
	return now_ns - q->times_ns[seen % QUEUE_TIMES];
}

struct message *queue_front(struct queue *q)
{
	return __atomic_load_n(&q->front->next, __ATOMIC_ACQUIRE);
}

void queue_pop(struct queue *q)
{
	struct message *spent = q->front, *m = queue_front(q);
	uint64_t bytes = message_bytes(m);

	/* `m` becomes the empty node in front, because the other side may be setting m->next. The
	 * former empty node carries the content of `m` away. */
	size_t content = offsetof(struct message, kind);
	memcpy((char *)spent + content, (char *)m + content, sizeof(*m) - content);
	m->records = NULL;
	m->off_cpu = NULL;
	m->faults = NULL;
	m->packets = NULL;
	q->front = m;
	spent->next = __atomic_load_n(&q->spent, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(
		&q->spent, &spent->next, spent, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	__atomic_store_n(&q->popped_bytes, q->popped_bytes + bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&q->seen, ++q->popped, __ATOMIC_SEQ_CST);
}

struct message *queue_ahead(struct queue *q)
{
	return __atomic_load_n(&(q->ahead ? q->ahead : q->front)->next, __ATOMIC_ACQUIRE);
}

void queue_pass(struct queue *q)
{
	q->ahead = queue_ahead(q);
	__atomic_store_n(&q->seen, q->seen + 1, __ATOMIC_SEQ_CST);
}

void queue_back(struct queue *q)
{
	q->ahead = NULL;
	__atomic_store_n(&q->seen, q->popped, __ATOMIC_SEQ_CST);
}

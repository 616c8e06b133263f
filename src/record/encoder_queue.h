/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue between the filling thread and whoever encodes. Without locks: one thread pushes, one
 * at a time reads the front, and spent messages go back to the pushing thread, which alone
 * allocates and frees.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/drain/drain.h"

enum message_kind {
	MESSAGE_RECORDS,
	MESSAGE_CLOCK,
	MESSAGE_END,
	MESSAGE_FLUSH,
	MESSAGE_DIGESTS,
	MESSAGE_OFF_CPU,
	MESSAGE_PACKETS,
};

enum { MESSAGE_RECORDS_MAX = 32768 };

struct message {
	struct message *next; /* in the queue, or among the spent */
	enum message_kind kind;
	struct drain *drain;
	union {
		struct {
			uint32_t lane;
			size_t count, emitted;
		};
		struct brick_clock clock;
		struct {
			enum drain_end end;
			uint64_t end_ticks;
		};
		struct sink_account account;
	};
	struct brick_record *records; /* [MESSAGE_RECORDS_MAX] or NULL; stays with the message */
	struct sink_off_cpu *off_cpu; /* [count] or NULL; freed with the message */
	uint8_t *packets;	      /* bytes [count] or NULL; likewise */
};

enum { QUEUE_TIMES = 1024 };

struct queue {
	/* pushing thread */
	struct message *back;
	struct message *unused; /* with records */
	uint32_t unused_count;
	uint64_t pushed_bytes;
	uint64_t times_ns[QUEUE_TIMES]; /* when message i was pushed, at i % QUEUE_TIMES */
	/* reading thread */
	struct message *front; /* empty: what follows it is the first to be read */
	/* both */
	uint64_t pushed, popped, popped_bytes;
	struct message *spent;
};

/* 0 or -ENOMEM. */
int queue_init(struct queue *q);
void queue_fini(struct queue *q);

/* A message, with records if wanted; NULL: no memory. Pushing thread, like the next four. */
struct message *queue_message(struct queue *q, enum message_kind kind, int with_records);
void queue_push(struct queue *q, struct message *m, uint64_t now_ns);
void queue_unuse(struct queue *q, struct message *m);

/* All spent messages since the last call, linked by `next`; give each back with queue_unuse(). */
struct message *queue_spent(struct queue *q);

uint64_t queue_backlog_bytes(const struct queue *q);
uint64_t queue_backlog_age_ns(const struct queue *q, uint64_t now_ns);

/* Is nothing unread? Any thread. */
bool queue_is_empty(const struct queue *q);

/* The first unread message, NULL when there is none; and done with it. Reading thread. */
struct message *queue_front(struct queue *q);
void queue_pop(struct queue *q);

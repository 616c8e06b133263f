/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue between the filling thread, which pushes, and the thread that encodes, which reads. It
 * has no locks: there is one pushing thread, and one reading thread at a time (the encoder's `work`
 * lock sees to that). Only the pushing thread allocates and frees: read messages go back to it as
 * spent ones. A new kind of message goes into encoder_emit(), and into message_bytes() if it is
 * large.
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
	MESSAGE_MARK,
	MESSAGE_ENERGY,
	MESSAGE_FAULTS,
	MESSAGE_LEAVE,
};

enum { MESSAGE_RECORDS_MAX = 32768 }; /* records of one message */

struct message {
	/* in the queue, or among the spent. First: queue_pop() copies all members after it */
	struct message *next;
	enum message_kind kind;
	struct drain *drain; /* NULL: of no session */
	union {
		struct { /* MESSAGE_RECORDS, MESSAGE_OFF_CPU, MESSAGE_FAULTS, MESSAGE_PACKETS */
			uint32_t lane;
			size_t count;	/* records, intervals, faults, or bytes of packets */
			size_t emitted; /* records that are in the file already */
		};
		struct brick_clock clock; /* MESSAGE_CLOCK */
		struct {		  /* MESSAGE_END */
			enum drain_end end;
			uint64_t end_ticks;
		};
		struct { /* MESSAGE_FLUSH */
			struct sink_account account;
			bool is_past; /* the account is of the file before */
		};
		struct { /* MESSAGE_MARK */
			struct sink_mark mark;
			char mark_text[256]; /* instead of mark.text */
		};
		struct sink_energy energy; /* MESSAGE_ENERGY */
		uint64_t leave_ns;	   /* MESSAGE_LEAVE */
	};
	struct brick_record *records; /* [MESSAGE_RECORDS_MAX] or NULL; reused with the message */
	struct sink_off_cpu *off_cpu; /* [count] or NULL; freed with the message */
	struct sink_fault *faults;    /* the same */
	uint8_t *packets;	      /* [count] or NULL; freed with the message */
};

enum { QUEUE_TIMES = 1024 }; /* messages whose times are known: the last ones */

struct queue {
	/* written by the pushing thread, and read by no other */
	struct message *back;
	struct message *unused; /* free messages that have `records`, linked by `next` */
	uint32_t unused_count;
	uint64_t pushed_bytes;
	uint64_t times_ns[QUEUE_TIMES]; /* when message i was pushed, at i % QUEUE_TIMES */
	/* reading thread */
	struct message *front; /* the empty node; front->next is the first unread message */
	struct message *ahead; /* the last message that was passed; NULL: none is */
	uint64_t popped;       /* messages so far */
	/* atomic, for both threads: messages so far */
	uint64_t pushed;
	uint64_t seen; /* they were popped, or passed */
	uint64_t popped_bytes;
	struct message *spent; /* read messages, linked by `next`, the last one first */
};

/* 0 or -ENOMEM. */
int queue_init(struct queue *q);

/* Frees all messages. Neither thread may use the queue any more. */
void queue_fini(struct queue *q);

/* Functions of the pushing thread. */

/*
 * A message of this kind, all else 0, and `records` if wanted. NULL: no memory. Goes into the queue
 * with queue_push(), or back with queue_unuse().
 */
struct message *queue_message(struct queue *q, enum message_kind kind, int with_records);
void queue_push(struct queue *q, struct message *m, uint64_t now_ns);

/* Frees a message, or keeps it and its records for queue_message(). */
void queue_unuse(struct queue *q, struct message *m);

/* All messages that were read since the last call; give each back with queue_unuse(). */
struct message *queue_spent(struct queue *q);

/* Bytes of unread records and packets; other messages count as 0. */
uint64_t queue_backlog_bytes(const struct queue *q);

/* The age of the oldest message that was neither read nor passed, at least; 0: there is none. */
uint64_t queue_backlog_age_ns(const struct queue *q, uint64_t now_ns);

/* Functions of the reading thread. */

/* The first unread message; NULL: there is none. */
struct message *queue_front(struct queue *q);

/* Make the first unread message a spent one. There must be one, and none that was passed. */
void queue_pop(struct queue *q);

/*
 * Messages may be looked at before they are read. The first unread message that was not passed;
 * NULL: there is none.
 */
struct message *queue_ahead(struct queue *q);
/* Passes it. There must be one. */
void queue_pass(struct queue *q);
/* None is passed any more. */
void queue_back(struct queue *q);

/* Bytes of its records or packets; 0: it has none. */
uint64_t message_bytes(const struct message *m);

/* True if each message was read or passed. Any thread. */
bool queue_is_empty(const struct queue *q);

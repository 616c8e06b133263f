/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's command queues: its wishes and our changes, and a ring of commands whose times are
 * still to come. A queue's memory is kept for the next one and never freed, so that a pointer found
 * once stays readable. Any thread; lock order: `taking`, then `lock`.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <CL/cl.h>
#include "attach/common/wait_ends.h"
#include "brick/queue.h"

enum {
	QUEUE_PROPERTIES = 32,	   /* values of a list of properties, its end included */
	QUEUE_MAX_PENDING = 65536, /* commands of a queue whose events we hold at most */
	PENDING_AFTER = 4,
};

enum pending_state {
	PENDING_WAITS = 0, /* not done, or not looked at since */
	PENDING_TIMED = 1, /* its times are here, and it may be held back */
	PENDING_OVER = 2,  /* recorded or given up */
};

/* The known times of a command. */
struct pending_times {
	uint64_t latest_ns;			/* of the host: it was over by then */
	uint64_t idle_ns;			/* of the host: it had not begun by then */
	uint64_t queued, submitted, begin, end; /* of the device, once they are known */
};

/* A command that was enqueued. */
struct pending {
	cl_event event;
	struct brick_launch launch;
	uint32_t kernel;
	uint32_t state; /* enum pending_state */
	uint64_t bytes;
	uint64_t before_ns, after_ns; /* of the host, around the call */
	struct pending_times times;
	uint64_t *after; /* `first` or memory of its own */
	uint64_t first[PENDING_AFTER];
	uint32_t after_count;
	bool is_blocking; /* it was done when the call returned */
};

struct queue {
	struct queue *next; /* in the list of all; written once */
	cl_command_queue handle;
	cl_device_id device;
	int is_free;	  /* its memory may go to another queue */
	int is_released;  /* the program has let go of it; its handle may come back as another's */
	bool is_timed;	  /* the driver takes the times of its commands */
	int asked_timing; /* ... and the program wanted it so */
	int in_order;
	int last_layer;	    /* that a command was launched from */
	void *excluded_for; /* the device of the program's own libbrick that times it, or NULL */
	uint32_t references;
	uint32_t property_count; /* 0: it was created without a list */
	cl_queue_properties properties[QUEUE_PROPERTIES];
	struct clock *clock;
	struct brick_queue *record;
	uint64_t last_end, last_end_ns; /* of the command recorded last: the device's, the host's */
	uint64_t last_number;		/* of the command that was enqueued last */

	pthread_mutex_t taking; /* held by the one who records its commands */
	pthread_mutex_t lock;	/* the ring */
	struct pending *ring;
	uint32_t capacity;	    /* a power of two */
	uint64_t head, tail;	    /* enqueued, recorded: ever */
	uint32_t timed;		    /* of those in between: done, and held back */
	struct wait_ends wait_ends; /* under `lock`; the first command ever is number 0 */
	uint64_t stuck_tail;	    /* where the ring was full and nothing moved, + 1; 0: nowhere */
	uint64_t unmoved_tail;	    /* the same for synchronising */
};

/* The program's wishes for a queue that concern us. */
struct queue_wish {
	bool is_timed;
	int in_order;
	uint32_t property_count;
	cl_queue_properties properties[QUEUE_PROPERTIES];
};

/* A queue was created for the program; it is recorded when is_timed. 0: no memory. */
int queue_created(
	cl_command_queue handle, cl_device_id device, const struct queue_wish *wish, bool is_timed);

/* The queue behind a handle, NULL when it is not one of ours. */
struct queue *queue_find(cl_command_queue handle);

void queue_retained(cl_command_queue handle);
void queue_releasing(cl_command_queue handle);

/* Add a command to the ring: 0, or -ENOSPC. Takes the event over when it returns 0. */
int queue_push(struct queue *queue, const struct pending *pending);

/* Commands that are not recorded yet, and those of them that are not known to be done; roughly. */
uint32_t queue_pending(const struct queue *queue);
uint32_t queue_unfinished(const struct queue *queue);

/*
 * Counts commands that are not recorded, exactly: in an out-of-order queue some behind them may be.
 */
uint32_t queue_lost(struct queue *queue);

/* Commands that were ever added. */
uint64_t queue_head(const struct queue *queue);

/* A call has returned at this time of the host that waited for the first `count` of them. */
void queue_waited(struct queue *queue, uint64_t count, uint64_t host_ns);

/* Under its lock. */
static inline struct pending *queue_at(struct queue *queue, uint64_t index)
{
	return &queue->ring[index & (queue->capacity - 1)];
}

/* All queues, one after the other; NULL: the first. */
struct queue *queue_next(struct queue *queue);

/* The child of a fork has none. */
void queue_forget_all(void);

/*
 * Gives a queue's record back when all commands have been recorded, and its memory to others, if it
 * is released.
 */
void queue_retire(struct queue *queue);

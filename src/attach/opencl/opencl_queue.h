/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's command queues: the properties that it asked for and ours, and a ring of commands
 * that are not recorded yet. A queue's memory is never freed, only reused for another queue, so
 * that a pointer stays readable. Any thread; lock order: `taking`, then `lock`.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <CL/cl.h>
#include "attach/common/wait_ends.h"
#include "brick/queue.h"

enum {
	QUEUE_PROPERTIES = 32, /* values in a list of properties, its final 0 included */
	QUEUE_MAX_PENDING =
		65536,	   /* pending commands of a queue, each with an event that is held */
	PENDING_AFTER = 4, /* dependencies of a command without memory of their own */
};

enum pending_state {
	PENDING_WAITS = 0, /* not known to be done */
	PENDING_TIMED = 1, /* done, and its times are known; it may be held back */
	PENDING_OVER = 2,  /* recorded, or given up */
};

/* The known times of a command. */
struct pending_times {
	uint64_t latest_ns;			/* host's time by which it was over */
	uint64_t idle_ns;			/* host's time at which it had not begun */
	uint64_t queued, submitted, begin, end; /* device's ns, in PENDING_TIMED */
};

/* A command that was enqueued. */
struct pending {
	cl_event event;
	struct brick_launch launch;
	uint32_t kernel;
	uint32_t state; /* enum pending_state */
	uint64_t bytes;
	uint64_t before_ns, after_ns; /* host's times around the call */
	struct pending_times times;
	uint64_t *after; /* [after_count]: commands that it comes after; `first`, or malloc() */
	uint64_t first[PENDING_AFTER];
	uint32_t after_count;
	bool is_blocking; /* the call returned when it was done */
};

struct queue {
	struct queue *next; /* in the list of all queues; never changes */
	cl_command_queue handle;
	cl_device_id device;
	int is_free;	  /* another queue may get this memory */
	int is_released;  /* the program has released it; a new queue may get its handle */
	bool is_timed;	  /* the driver times its commands (CL_QUEUE_PROFILING_ENABLE) */
	int asked_timing; /* the program itself has asked for that */
	int in_order;
	int last_layer;		 /* layer that the last command was launched from */
	void *excluded_for;	 /* NULL, or who times it: a device of the program's own libbrick */
	uint32_t references;	 /* of the program */
	uint32_t property_count; /* of `properties`; 0: it was created without a list */
	cl_queue_properties properties[QUEUE_PROPERTIES];
	struct clock *clock;
	struct brick_queue *record;
	uint64_t last_end, last_end_ns; /* end of the last recorded command: device's, host's ns */
	uint64_t last_number;		/* of the last enqueued command */

	pthread_mutex_t taking; /* held while a thread records its commands */
	pthread_mutex_t lock;	/* protects the members below */
	struct pending *ring;
	uint32_t capacity;	    /* a power of two */
	uint64_t head, tail;	    /* commands enqueued and recorded so far */
	uint32_t timed;		    /* pending commands in PENDING_TIMED */
	struct wait_ends wait_ends; /* the first command is number 0 */
	uint64_t stuck_tail;	    /* 1 + tail at which a full ring did not move; 0: none */
	uint64_t ran_ns;       /* when a command was last seen that runs, by the host; 0: never */
	uint64_t unmoved_tail; /* 1 + tail at which completions_synchronise() gave up; 0: none */
};

/* The properties that the program asked for. */
struct queue_wish {
	bool is_timed;
	int in_order;
	uint32_t property_count;
	cl_queue_properties properties[QUEUE_PROPERTIES];
};

/* A queue was created for the program; it is recorded if is_timed. 1, or 0: no memory. */
int queue_created(
	cl_command_queue handle, cl_device_id device, const struct queue_wish *wish, bool is_timed);

/* The queue with this handle; NULL: not known. */
struct queue *queue_find(cl_command_queue handle);

void queue_retained(cl_command_queue handle);
void queue_releasing(cl_command_queue handle);

/* Add a command to the ring. 0: the queue owns its event now; -ENOSPC: full; or -ENOMEM. */
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

/* A call that waited for the first `count` commands has returned at this host's time. */
void queue_waited(struct queue *queue, uint64_t count, uint64_t host_ns);

/* Under its lock. */
static inline struct pending *queue_at(struct queue *queue, uint64_t index)
{
	return &queue->ring[index & (queue->capacity - 1)];
}

/* All queues, one after the other; NULL: the first. */
struct queue *queue_next(struct queue *queue);

/* In the child of a fork: forget all queues. */
void queue_forget_all(void);

/*
 * If a queue is released and all its commands are recorded: give its record back, and its memory to
 * other queues.
 */
void queue_retire(struct queue *queue);

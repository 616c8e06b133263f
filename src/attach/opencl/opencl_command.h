/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command on its way from the program's call to the ring of its queue. Where nothing is recorded,
 * or the call comes from inside of another hooked call, a command is empty and the call passes
 * through. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <CL/cl.h>
#include "attach/opencl/opencl_queue.h"
#include "brick/queue.h"
#include "lib/probe/waits.h"

/* A command that is no kernel; a static one per hook. */
struct command_kind {
	const char *name;
	uint32_t kind;	/* enum brick_kernel_kind */
	uint32_t index; /* 0: not registered yet */
};

/* The kind and the size of a command. */
struct command_what {
	struct command_kind *kind; /* NULL: `kernel` is valid */
	uint32_t kernel;	   /* see brick_kernel_register() */
	uint64_t bytes;		   /* moved; 0: none, or not known */
};

struct command {
	struct queue *queue;   /* NULL: it is not recorded */
	struct queue *untimed; /* it is only counted on this one */
	struct brick_launch launch;
	cl_event *event; /* the event that the driver gets */
	cl_event own;
	uint64_t before_ns, after_ns;
	uint64_t cost_ticks; /* of our part, while it is timed; 0: it is not */
	uint64_t part_ticks; /* when the present part began */
	uint64_t wait_ticks; /* when a blocking call began, 0: it is none */
	uint64_t ahead;	     /* commands that had been enqueued before that */
	int entered;
};

/* Before the call. event: the program's, or NULL. */
void command_begin(
	struct command *command, cl_command_queue queue, cl_event *event, cl_bool is_blocking);

/*
 * True if a call failed in a way that our event may have caused: make it once more, as the program
 * did.
 */
bool command_was_too_much(struct command *command, cl_int status);

/* After the call: is there anything to tell about? */
bool command_is_recorded(struct command *command, cl_int status);

/* Then this. count, list: events that it waits for. */
void command_end(struct command *command, const struct command_what *what, cl_uint count,
	const cl_event *list);

/*
 * A call that waits: remember when it began, and say that this thread has waited until those
 * commands were done (none: not known which).
 */
uint64_t command_wait_begin(void);
void command_wait_end(uint64_t begin_ticks, const struct brick__waits *waits);

/* Around a call of the driver's that records nothing: what it calls on the way is not the
 * program's. */
int command_enter(void);
void command_leave(int entered);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command from the program's call up to the ring of its queue. If nothing is recorded, or the
 * call comes from inside of another hooked call, the command is empty, and the call passes through.
 * Any thread; a command by its own.
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
	struct queue *queue;   /* NULL: the command is not recorded */
	struct queue *untimed; /* on which it is only counted; NULL: none */
	struct brick_launch launch;
	cl_event *event; /* to be passed to the driver: the program's, or &own */
	cl_event own;
	uint64_t before_ns, after_ns; /* host's times around the call */
	uint64_t cost_ticks;	      /* of the hook so far if it is timed; 0: it is not */
	uint64_t part_ticks;	      /* when the hook's present part began */
	uint64_t wait_ticks;	      /* when a blocking call began; 0: not blocking */
	uint64_t ahead;		      /* commands that were enqueued before a blocking call */
	int entered;		      /* result of command_enter() */
};

/* Before the call. event: the program's, or NULL. */
void command_begin(
	struct command *command, cl_command_queue queue, cl_event *event, cl_bool is_blocking);

/*
 * True if the call failed in a way that our event may have caused. The hook then repeats the call
 * with the program's arguments.
 */
bool command_was_too_much(struct command *command, cl_int status);

/* After the call: is the command to be recorded? Only then call command_end(). */
bool command_is_recorded(struct command *command, cl_int status);

/* Add the command to its queue's ring. count, list: the events that it waits for. */
void command_end(struct command *command, const struct command_what *what, cl_uint count,
	const cl_event *list);

/*
 * Around a call that waits: begin returns its ticks, and end records the thread's wait for these
 * commands (none: not known which).
 */
uint64_t command_wait_begin(void);
void command_wait_end(uint64_t begin_ticks, const struct brick__waits *waits);

/* Around a call of the driver's: calls that the driver makes inside are not the program's. */
int command_enter(void);
void command_leave(int entered);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands (opencl_command.h). While a thread is inside of a hooked call, hooked calls that the
 * driver itself makes pass through.
 */
#include "attach/opencl/opencl_command.h"

#include <stdbool.h>
#include <stdlib.h>
#include "attach/opencl/opencl_driver.h"
#include "attach/opencl/opencl_events.h"
#include "attach/opencl/opencl_completions.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "brick/queue.h"
#include "lib/sys/environment.h"

enum {
	COST_INTERVAL = 16,	    /* one command in about as many is timed */
	INTERRUPTED_TICKS = 200000, /* a longer time is somebody else's */
};

/* BRICK_MODE, see brick/abi/session.h: queues are synchronised after every command, or when
 * launches come from another layer than those before. */
static uint32_t mode;

__attribute__((constructor)) static void read_mode(void)
{
	const char *text = brick__environment("BRICK_MODE");

	mode = text ? (uint32_t)atoi(text) : BRICK_MODE_DEFERRED;
}

static __thread int opencl_command_inside __attribute__((tls_model("initial-exec")));

/* The cost of our part of a thread's calls: its commands since one was timed and until the next. */
static __thread struct {
	uint32_t calls, left, random;
} opencl_command_cost __attribute__((tls_model("initial-exec")));

static void cost_pause(struct command *c)
{
	if (c->cost_ticks)
		c->cost_ticks += brick_ticks() - c->part_ticks;
}

void command_begin(struct command *c, cl_command_queue handle, cl_event *event, cl_bool is_blocking)
{
	c->queue = c->untimed = NULL;
	c->event = event;
	c->own = NULL;
	c->wait_ticks = c->cost_ticks = 0;
	c->entered = !opencl_command_inside;
	if (!brick_enabled() || opencl_command_inside)
		return;
	opencl_command_inside = 1;
	struct queue *q = queue_find(handle);
	if (!q || !q->record || __atomic_load_n(&q->excluded_for, __ATOMIC_RELAXED))
		return;
	if (!q->is_timed) {
		c->untimed = q;
		return;
	}
	opencl_command_cost.calls++;
	if (!opencl_command_cost.left--) {
		/* not a fixed step, which could keep in time with the program's */
		opencl_command_cost.random = opencl_command_cost.random * 1664525u + 1013904223u;
		opencl_command_cost.left = COST_INTERVAL / 2 + (opencl_command_cost.random >> 28);
		c->part_ticks = brick_ticks();
		c->cost_ticks = 1;
	}
	brick_launch_begin(&c->launch);
	if (!c->launch.number)
		return;
	if (mode == BRICK_MODE_PER_LAYER && q->last_layer != c->launch.layer) {
		completions_synchronise(q);
		c->cost_ticks = 0; /* that is the mode's, not ours */
	}
	if (!event)
		c->event = &c->own;
	if (is_blocking) {
		brick_launch_end(&c->launch);
		c->wait_ticks = brick_ticks();
	}
	c->queue = q;
	c->ahead = is_blocking && q->in_order ? queue_head(q) : 0;
	cost_pause(c);
	c->before_ns = monotonic_ns();
}

bool command_was_too_much(struct command *c, cl_int status)
{
	if (!c->queue || c->event != &c->own ||
		(status != CL_OUT_OF_RESOURCES && status != CL_OUT_OF_HOST_MEMORY))
		return false;
	c->event = NULL;
	brick_queue_unsupported(c->queue->record, 1);
	notes_fault("a command was refused with an event, and is not timed");
	return true;
}

bool command_is_recorded(struct command *c, cl_int status)
{
	if (c->entered)
		opencl_command_inside = 0;
	if (c->untimed && status == CL_SUCCESS)
		brick_queue_unsupported(c->untimed->record, 1);
	if (!c->queue)
		return false;
	if (c->cost_ticks)
		c->part_ticks = brick_ticks();
	if (!c->wait_ticks)
		brick_launch_end(&c->launch);
	c->after_ns = monotonic_ns();
	if (c->wait_ticks && status == CL_SUCCESS)
		queue_waited(c->queue, c->ahead, c->after_ns);
	if (c->wait_ticks) /* ends after its commands are said to be over */
		brick_record_wait(c->wait_ticks, brick_ticks(), c->launch.number);
	return status == CL_SUCCESS && c->event && *c->event;
}

/* Numbers of the commands it waits for; those of events that are not known are left out. */
static void note_after(struct pending *p, cl_uint count, const cl_event *list)
{
	p->after = p->first;
	if (!list || !count)
		return;
	if (count > PENDING_AFTER) {
		p->after = malloc(count * sizeof(*p->after));
		if (!p->after) {
			p->after = p->first;
			count = PENDING_AFTER;
		}
	}
	for (cl_uint i = 0; i < count; i++) {
		uint64_t number = events_number(list[i]);
		if (number)
			p->after[p->after_count++] = number;
	}
}

void command_end(
	struct command *c, const struct command_what *what, cl_uint count, const cl_event *list)
{
	KEEP_ERRNO();
	struct queue *q = c->queue;
	struct pending p = {
		.event = *c->event,
		.launch = c->launch,
		.bytes = what->bytes,
		.before_ns = c->before_ns,
		.after_ns = c->after_ns,
		.is_blocking = c->wait_ticks != 0,
	};

	if (c->event != &c->own) {
		if (driver_get()->clRetainEvent(p.event) != CL_SUCCESS) {
			brick_queue_unsupported(q->record, 1);
			return;
		}
		events_know(p.event, c->launch.number);
	}
	p.kernel =
		what->kind ? __atomic_load_n(&what->kind->index, __ATOMIC_RELAXED) : what->kernel;
	if (what->kind && !p.kernel) {
		p.kernel = brick_kernel_register(
			&(struct brick_kernel){.size = sizeof(struct brick_kernel),
				.name = what->kind->name,
				.backend = "opencl",
				.kind = what->kind->kind});
		__atomic_store_n(&what->kind->index, p.kernel, __ATOMIC_RELAXED);
	}
	note_after(&p, count, list);
	__atomic_store_n(&q->last_number, c->launch.number, __ATOMIC_RELAXED);
	if (!queue_push(q, &p) || (completions_make_room(q) && !queue_push(q, &p))) {
		completions_pushed(q);
	} else {
		driver_get()->clReleaseEvent(p.event);
		if (p.after != p.first)
			free(p.after);
		brick_queue_dropped(q->record, 1);
	}
	cost_pause(c);
	if (c->cost_ticks && c->cost_ticks <= INTERRUPTED_TICKS) {
		brick_hook_cost(opencl_command_cost.calls, c->cost_ticks);
		opencl_command_cost.calls = 0;
	}
	q->last_layer = p.launch.layer;
	if (mode == BRICK_MODE_IMMEDIATE)
		completions_synchronise(q);
}

int command_enter(void)
{
	int entered = !opencl_command_inside;

	opencl_command_inside = 1;
	return entered;
}

void command_leave(int entered)
{
	if (entered)
		opencl_command_inside = 0;
}

uint64_t command_wait_begin(void)
{
	uint64_t begin_ticks = opencl_command_inside ? 0 : brick__wait_begin();

	if (begin_ticks)
		opencl_command_inside = 1;
	return begin_ticks;
}

void command_wait_end(uint64_t begin_ticks, const struct brick__waits *waits)
{
	if (!begin_ticks)
		return;
	opencl_command_inside = 0;
	brick__record_waits(begin_ticks, brick_ticks(), waits);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test double of the OpenCL library: one device whose commands take planned times on a clock of
 * its own. Nothing runs: what a command does to memory is done when it is enqueued, and when it
 * began and ended follows from the plan, so that a test knows both. All under one lock.
 *
 *   DOUBLE_TIMER=1       the device can be asked for its time (clGetDeviceAndHostTimer)
 *   DOUBLE_TIMER_OFF_US  by so much that time is ahead of the one of events
 *   DOUBLE_DRIFT_PPM=N   its clock is that much faster than the host's
 *   DOUBLE_STALL_US=N    the first command's call returns so late; the next two begin 80 and 20
 *                        times as late
 *   DOUBLE_KERNEL_MS=N   so long a kernel runs
 *   DOUBLE_FAULTS=LIST   calls that fail, of: queue-profiling, event, third, times, execution,
 *                        retain
 *   DOUBLE_REPORT=FILE   what was still alive at exit, and how often events were asked for
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <CL/cl.h>

#define API __attribute__((visibility("default")))

enum { DEPENDENCIES = 16 };

/* Contexts, buffers, kernels, programs. */
struct counted {
	int references;
	long *alive;
	char name[32];
	size_t bytes;
	char data[];
};

struct _cl_event {
	int references;
	cl_command_queue queue; /* NULL: the program sets it */
	struct _cl_event *next; /* of those of its queue that are not planned yet */
	cl_event after[DEPENDENCIES];
	int after_count;
	uint64_t cost_ns;
	uint64_t queued_ns, begin_ns, end_ns; /* of the host; begin 0: not planned yet */
	cl_int failure;			      /* of the execution */
};

struct _cl_command_queue {
	struct _cl_command_queue *other; /* all that were ever created */
	int references; /* 0: gone, and its handle is used again when its events are gone, too */
	int event_count;
	int in_order, has_times;
	cl_queue_properties properties[8];
	uint32_t property_count;
	uint64_t free_ns; /* when all that is planned has ended */
	cl_event first, *last;
};

extern pthread_mutex_t double_lock;
extern struct double_counts {
	long events, queues, contexts, buffers, kernels, programs;
	long event_queries;
} double_alive;

uint64_t double_now_ns(void);

/* The device's clock at a time of the host. */
uint64_t double_device_ns(uint64_t host_ns);

int double_has_fault(const char *name);

/* Under the lock: plan what can be planned of this queue. */
void double_plan(cl_command_queue queue);

/* Under the lock: CL_QUEUED, CL_SUBMITTED, CL_RUNNING, CL_COMPLETE or a failure. */
cl_int double_status(cl_event event);

/* Under the lock. */
void double_release_event(cl_event event);

/* Put a command of that length into a queue. event may be NULL. */
cl_int double_enqueue(cl_command_queue queue, uint64_t cost_ns, cl_uint count, const cl_event *list,
	cl_event *event);

/* An answer to a question: to `out` if it has the capacity; out and out_bytes may be NULL. */
cl_int double_answer(
	const void *value, size_t bytes, size_t capacity, void *out, size_t *out_bytes);

/* Memory of a buffer; NULL: the range is not in it. */
char *double_place(cl_mem memory, size_t offset, size_t bytes);

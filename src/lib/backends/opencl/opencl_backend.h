/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the backend for OpenCL: the functions of the library, opened at run time, and a device
 * with its pairs. A pair is free, open (begun), or waits for its events; it moves only under the
 * device's lock.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <CL/cl.h>
#include "brick/abi/backend.h"
#include "brick/opencl.h"

#define OPENCL_FUNCTIONS(X)            \
	X(clCreateCommandQueue)        \
	X(clCreateContext)             \
	X(clEnqueueMarkerWithWaitList) \
	X(clFinish)                    \
	X(clFlush)                     \
	X(clGetCommandQueueInfo)       \
	X(clGetDeviceAndHostTimer)     \
	X(clGetDeviceIDs)              \
	X(clGetDeviceInfo)             \
	X(clGetEventInfo)              \
	X(clGetEventProfilingInfo)     \
	X(clGetPlatformIDs)            \
	X(clReleaseCommandQueue)       \
	X(clReleaseContext)            \
	X(clReleaseEvent)              \
	X(clRetainContext)             \
	X(clRetainEvent)               \
	X(clWaitForEvents)

struct opencl_functions {
#define OPENCL_FIELD(name) __typeof__(name) *name;
	OPENCL_FUNCTIONS(OPENCL_FIELD)
#undef OPENCL_FIELD
};

/* Opened once per process; NULL and a reason where there is none. Any thread. */
const struct opencl_functions *opencl_functions(char *reason, size_t bytes);

struct opencl_pair {
	struct opencl_pair *next; /* free, open or waiting */
	uint64_t ticket;
	cl_command_queue queue;
	cl_event first, last;	      /* NULL: not there yet; may be the same */
	uint64_t before_ns, after_ns; /* of the host, around the call that queued the first */
};

struct brick_backend_device {
	struct brick_backend_device *next; /* all that are open */
	const struct opencl_functions *cl;
	struct brick_backend_host host;
	cl_context context;
	cl_device_id device;
	cl_command_queue clock_queue;		   /* ours, for readings of the clock; NULL: none */
	void (*exclude)(void *queue, void *owner); /* of `brick record`, or NULL */
	void (*include)(void *owner);
	int by_events;
	int has_timer;
	struct brick_reading
		best; /* of the clock, by what completed: the narrowest since the last */
	int has_best;
	struct brick_reading given; /* the last of these that was handed out, and when */
	uint64_t asked_ns;
	uint64_t given_ns; /* the host's time of the last reading of any kind */
	pthread_mutex_t lock;
	struct opencl_pair *pairs, *free, *open;
	struct opencl_pair *waiting, **waiting_end;
};

/* Under the lock: a command was queued between these times of the host. */
void opencl_collect(struct brick_backend_device *device, const struct brick_reading *reading);

/* Hand over what is over; how many. Wait for a queue, or for all pairs (NULL). */
int opencl_drain(struct brick_backend_device *device);
int opencl_synchronise(struct brick_backend_device *device, void *queue);

void opencl_release_pair(const struct brick_backend_device *device, const struct opencl_pair *pair);

int opencl_correlate(struct brick_backend_device *device, struct brick_reading *reading);

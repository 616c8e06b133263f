/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the backend "opencl" for a program that times its own bricks (device.h). Queue handles
 * are cl_command_queue, created with CL_QUEUE_PROFILING_ENABLE.
 *
 * struct brick_backend_options: native[0] is a cl_context, native[1] one of its devices (NULLs: the
 * first device of the first platform), native[2] one of the ways below.
 */
#ifndef BRICK_OPENCL_H
#define BRICK_OPENCL_H

#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Ways to find the time of a brick; native[2] is one of them, as a (void *). */
enum brick_opencl_way {
	/*
	 * A marker before and one behind: from the end of all that was enqueued before to the end
	 * of the brick, so that a queue that waits for the host counts. In-order queues only.
	 */
	BRICK_OPENCL_MARKERS = 0,
	/*
	 * The program's own events, given with brick_opencl_event(): from the start of the first to
	 * the end of the last one. Nothing is put into the queue.
	 */
	BRICK_OPENCL_EVENTS = 1,
};

/*
 * A command of the bricks that are open on this queue, between brick_device_begin() and _end(): its
 * cl_event, which is retained and not taken over. Commands come in the order of the queue. Any
 * thread. -ENOENT: no brick is open there; BRICK_EUNSUPPORTED: built without OpenCL.
 */
BRICK_API int brick_opencl_event(void *queue, void *event);

BRICK_END_DECLS

#endif

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
	 * The backend enqueues a marker before the brick and one behind it. The time is from the
	 * end of all earlier commands to the end of the brick: where the queue has nothing to do
	 * and waits for the host, that wait counts. In-order queues only.
	 */
	BRICK_OPENCL_MARKERS = 0,
	/*
	 * The program hands in its own events by brick_opencl_event(). The time is from the start
	 * of the first event's command to the end of the last one's. Nothing is put into the queue.
	 */
	BRICK_OPENCL_EVENTS = 1,
};

/*
 * Hands in the cl_event of a command that belongs to the bricks open on this queue: between
 * brick_device_begin() and _end(), in the queue's order. The event is retained; the caller keeps
 * its own reference. Any thread. -ENOENT: no brick is open there. BRICK_EUNSUPPORTED: Brick was
 * built without OpenCL.
 */
BRICK_API int brick_opencl_event(void *queue, void *event);

BRICK_END_DECLS

#endif

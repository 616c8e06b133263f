/* SPDX-License-Identifier: Apache-2.0 */
/* A command queue of our own, where a backend has none that goes without saying. */
#pragma once

struct device_queue {
	void *library, *context, *device, *queue;
};

/* A queue with profiling on the first OpenCL device; 1, or 0 and nothing is open. */
int device_queue_opencl(struct device_queue *queue);

/* All zero is legal. */
void device_queue_close(struct device_queue *queue);

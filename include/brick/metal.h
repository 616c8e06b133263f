/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the backend "metal" needs beyond device.h. Metal times whole command buffers, so one brick
 * is one command buffer: give the buffer to the queue before its brick begins, and commit the
 * buffer after the brick has ended. Queues are id<MTLCommandQueue>, buffers id<MTLCommandBuffer>.
 *
 *   brick_metal_use(brick_device_backend(device), queue, buffer);
 *   span = brick_device_begin(device, queue, BRICK_RMS_NORM, layer); encode; brick_device_end(...);
 *   [buffer commit];
 *
 * A second brick in the same buffer is BRICK_EUNSUPPORTED. In mode immediate nothing can be timed,
 * since end() cannot commit.
 */
#ifndef BRICK_METAL_H
#define BRICK_METAL_H

#include "brick/abi/backend.h"
#include "brick/export.h"

BRICK_BEGIN_DECLS

/*
 * Sets the buffer that bricks in this queue belong to from now on; NULL: none. The buffer is not
 * retained until a brick is begun. BRICK_EFULL: more than 64 queues. Any thread.
 */
BRICK_API int brick_metal_use(
	struct brick_backend_device *device, void *queue, void *command_buffer);

BRICK_END_DECLS

#endif

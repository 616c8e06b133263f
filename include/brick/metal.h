/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metal, beyond what device.h offers to all. Metal times whole command buffers, so a brick there is
 * a command buffer: say which one a command queue's next brick is before it begins, and commit it
 * after it has ended. Queues are id<MTLCommandQueue>, buffers id<MTLCommandBuffer>.
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
 * Bricks that begin in this queue belong to this buffer from now on; NULL: to none. The buffer is
 * not retained until a brick is begun. BRICK_EFULL: more than 64 queues. Any thread.
 */
BRICK_API int brick_metal_use(
	struct brick_backend_device *device, void *queue, void *command_buffer);

BRICK_END_DECLS

#endif

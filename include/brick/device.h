/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing work on a device from inside of an engine, without stalling it: bricks around launches,
 * and single timers. The backend (abi/backend.h) puts timestamps into the queue; they come back
 * later and are recorded on that queue's lane, on the host's clock. The mode (session.h) decides
 * what else a brick does:
 *
 *   deferred    nothing: device timestamps only
 *   per-layer   the queue is synchronised in brick_device_layer_end()
 *   immediate   the queue is synchronised before begin and in end
 *   none        nothing is recorded, nothing is put into the queue
 *
 * A device is used by one thread at a time; different devices are independent.
 */
#ifndef BRICK_DEVICE_H
#define BRICK_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"
#include "brick/session.h"
#include "brick/abi/backend.h"

BRICK_BEGIN_DECLS

struct brick_device;

/*
 * A built-in backend or one that BRICK_BACKEND_PATH (libraries, or directories of
 * libbrick-backend-*.so, parted by colons; read once) leads to, by name; NULL: there is none.
 */
BRICK_API const struct brick_backend *brick_backend_find(const char *name);

/* The i-th backend there is, NULL at the end. */
BRICK_API const struct brick_backend *brick_backend_at(uint32_t index);

/* The i-th library that BRICK_BACKEND_PATH led to and that was not taken; NULL at the end. */
BRICK_API const char *brick_backend_refused(uint32_t index, const char **reason);

/*
 * Open a device. options may be NULL. BRICK_EVERSION: another ABI; -EINVAL or -E2BIG: options that
 * are not understood; else what probe() or open() of the backend said; reason, if not NULL, gets a
 * sentence.
 */
BRICK_API int brick_device_open(struct brick_device **out, const struct brick_backend *backend,
	const struct brick_backend_options *options, char *reason, size_t reason_bytes);

/* Drains for at most a second, counts missing bricks as lost, closes. NULL is legal. */
BRICK_API void brick_device_close(struct brick_device *device);

/* The backend's own device, for the functions of its header (metal.h). */
BRICK_API struct brick_backend_device *brick_device_backend(struct brick_device *device);

/* Mode of this device from now on; until then the session's. -EINVAL: no such mode. */
BRICK_API int brick_device_mode_set(struct brick_device *device, enum brick_mode mode);

/* The mode that was set; else, and for NULL, the session's (brick_mode_get()). */
BRICK_API enum brick_mode brick_device_mode_get(struct brick_device *device);

/* Returns how many bricks began on its queues and are neither recorded nor counted as lost yet. */
BRICK_API uint64_t brick_device_pending(const struct brick_device *device);

/* An open brick on a queue; 0: nothing was begun. */
typedef uint64_t brick_device_span;

/* Begin a brick on a queue (the backend's native handle), in a layer (-1: outside of blocks). */
BRICK_API brick_device_span brick_device_begin(
	struct brick_device *device, void *queue, uint32_t brick, int layer);

/* End it, with the work it did (0: not known). */
BRICK_API void brick_device_end(struct brick_device *device, void *queue, brick_device_span span,
	uint64_t elements, uint64_t bytes, uint64_t flops);

/*
 * A layer's launches are done: synchronises in mode per-layer. BRICK_EUNSUPPORTED: the queue cannot
 * be waited for where it is, as a stream that is being captured.
 */
BRICK_API int brick_device_layer_end(struct brick_device *device, void *queue);

/*
 * Record bricks that have completed; call it now and then, once a step say. Returns how many or
 * -errno.
 */
BRICK_API int brick_device_drain(struct brick_device *device);

/* Wait for everything and record it. */
BRICK_API int brick_device_finish(struct brick_device *device);

/* A timer of work on a queue: reusable, independent of sessions and modes. */
struct brick_timer;

/* -ENOMEM. */
BRICK_API int brick_timer_create(struct brick_timer **out, struct brick_device *device);

/* Put a timestamp into the queue before the work, and one behind it. The backend's errors. */
BRICK_API int brick_timer_start(struct brick_timer *timer, void *queue);
BRICK_API int brick_timer_stop(struct brick_timer *timer, void *queue);

/*
 * ns between the two, on the device's clock. -EINVAL: nothing was recorded; -EAGAIN: not done yet;
 * the backend's error if it failed; never a 0 in place of an error.
 */
BRICK_API int brick_timer_elapsed_ns(struct brick_timer *timer, uint64_t *ns);

/* The same once the work is done: waits for all of the device's queues. */
BRICK_API int brick_timer_wait_ns(struct brick_timer *timer, uint64_t *ns);

/* NULL is legal. */
BRICK_API void brick_timer_destroy(struct brick_timer *timer);

BRICK_END_DECLS

#endif

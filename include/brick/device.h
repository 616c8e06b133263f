/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing work on a device from inside of an engine, without stalling the engine: bricks around
 * launches, and single timers. The backend (abi/backend.h) puts timestamps into the queue. They
 * come back later, are placed on the host's clock, and are recorded on that queue's lane. The mode
 * (session.h) decides what else a brick does:
 *
 *   deferred    nothing: device timestamps only
 *   per-layer   the queue is synchronised in brick_device_layer_end()
 *   immediate   the queue is synchronised before begin and in end
 *   none        nothing is recorded, nothing is put into the queue
 *
 * A device, with its timers, is used by one thread at a time; different devices are independent.
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
 * Finds a backend by its name: a built-in one, or one of BRICK_BACKEND_PATH. That variable is read
 * once; it lists libraries, or directories of libbrick-backend-*.so, parted by colons. NULL: there
 * is no such backend.
 */
BRICK_API const struct brick_backend *brick_backend_find(const char *name);

/* The backend of that index, from 0 on; NULL: there are no more. */
BRICK_API const struct brick_backend *brick_backend_at(uint32_t index);

/*
 * The index-th library of BRICK_BACKEND_PATH that was refused, from 0 on, with the reason in
 * *reason; NULL: there are no more. Static texts.
 */
BRICK_API const char *brick_backend_refused(uint32_t index, const char **reason);

/*
 * Opens a device. options may be NULL. On an error `reason`, unless it is NULL, gets a sentence.
 * BRICK_EVERSION: the backend has another ABI. -EINVAL or -E2BIG: options that are not understood.
 * -ENOMEM. Else the error of the backend's probe() or open().
 */
BRICK_API int brick_device_open(struct brick_device **out, const struct brick_backend *backend,
	const struct brick_backend_options *options, char *reason, size_t reason_bytes);

/*
 * Drains for at most a second, counts missing bricks as lost, and closes the device. Its timers
 * stay, for brick_timer_destroy(). NULL is legal.
 */
BRICK_API void brick_device_close(struct brick_device *device);

/* The backend's own device, for the functions of its header (metal.h). */
BRICK_API struct brick_backend_device *brick_device_backend(struct brick_device *device);

/* Sets this device's own mode. Until then it has the session's. 0, or -EINVAL: no such mode. */
BRICK_API int brick_device_mode_set(struct brick_device *device, enum brick_mode mode);

/* The mode that was set; else, and for NULL, the session's (brick_mode_get()). */
BRICK_API enum brick_mode brick_device_mode_get(struct brick_device *device);

/* Returns how many bricks began on its queues and are neither recorded nor counted as lost yet. */
BRICK_API uint64_t brick_device_pending(const struct brick_device *device);

/* An open brick on a queue; 0: nothing was begun. */
typedef uint64_t brick_device_span;

/*
 * Begins a brick on a queue (the backend's native handle), in a layer (-1: outside of blocks).
 * Returns 0 where nothing was begun: nothing records, the mode is none, or the brick could not be
 * timed (counted in the queue's ledger).
 */
BRICK_API brick_device_span brick_device_begin(
	struct brick_device *device, void *queue, uint32_t brick, int layer);

/*
 * Ends a brick on its queue, with its work (0: not known). Inner bricks still open on the queue are
 * ended with it and counted as unmatched.
 */
BRICK_API void brick_device_end(struct brick_device *device, void *queue, brick_device_span span,
	uint64_t elements, uint64_t bytes, uint64_t flops);

/*
 * Call it behind a layer's last launch. In mode per-layer it waits for the queue and drains; in
 * other modes it does nothing. 0, or the backend's error. BRICK_EUNSUPPORTED: nobody can wait for
 * this queue now, as for a stream that is being captured.
 */
BRICK_API int brick_device_layer_end(struct brick_device *device, void *queue);

/*
 * Records the bricks that have completed; call it now and then, once a step say. Returns their
 * number, or the backend's error: also that of an earlier begin or end, once.
 */
BRICK_API int brick_device_drain(struct brick_device *device);

/* Waits for all of the device's queues, and records what they did. Returns as brick_device_drain().
 */
BRICK_API int brick_device_finish(struct brick_device *device);

/* A timer of work on a queue: reusable, independent of sessions and modes. */
struct brick_timer;

/* Makes a timer on a device. 0, -ENOMEM, or -EINVAL: device is NULL. */
BRICK_API int brick_timer_create(struct brick_timer **out, struct brick_device *device);

/*
 * Put a timestamp into the queue before the work, and another one behind it. start gives up what
 * the timer has measured before. -EAGAIN: no pair of timestamps is free. -EINVAL: stop without
 * start. BRICK_ESTATE: the device was closed. Else the backend's error.
 */
BRICK_API int brick_timer_start(struct brick_timer *timer, void *queue);
BRICK_API int brick_timer_stop(struct brick_timer *timer, void *queue);

/*
 * Stores the ns between both timestamps, on the device's clock. -EINVAL: the timer was not stopped,
 * or a pointer is NULL. -EAGAIN: the device has not come so far. Else the backend's error. After an
 * error *ns is as it was.
 */
BRICK_API int brick_timer_elapsed_ns(struct brick_timer *timer, uint64_t *ns);

/* As brick_timer_elapsed_ns(), but waits for all of the device's queues first, if need be. */
BRICK_API int brick_timer_wait_ns(struct brick_timer *timer, uint64_t *ns);

/* Frees a timer, before or after its device is closed. NULL is legal. */
BRICK_API void brick_timer_destroy(struct brick_timer *timer);

BRICK_END_DECLS

#endif

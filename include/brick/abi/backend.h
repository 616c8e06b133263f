/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend: a plugin that times work on one kind of device, behind one const table of functions.
 * Built in, or a shared library that exports `brick_backend_table`. Frozen: fields are only added
 * at the end, and `size` tells which fields a struct has.
 *
 * probe() opens the driver at run time; where probe() fails, the backend is skipped, and `brick
 * doctor` shows the reason. Handles of the user (queues, streams, command buffers) are passed
 * through as `void *` and documented in backends/NAME/. Unless said otherwise functions return 0,
 * -errno or BRICK_E*, and may be called from any thread.
 */
#ifndef BRICK_ABI_BACKEND_H
#define BRICK_ABI_BACKEND_H

#include <stddef.h>
#include <stdint.h>
#include "brick/correlation.h"
#include "brick/export.h"

#define BRICK_BACKEND_VERSION 1u

struct brick_backend_device; /* the backend's own */

/* A begin/end pair whose device timestamps have arrived, or which has failed. */
struct brick_completion {
	uint64_t ticket;		  /* as given to begin() */
	uint64_t begin_ns, end_ns;	  /* on the device's clock */
	uint64_t queued_ns, submitted_ns; /* on the device's clock; 0: not known */
	int error;	   /* 0; else why the pair has no times: the host ignores all four */
	uint32_t reserved; /* 0; else the host takes the pair for failed (-EINVAL) */
};

/* Functions that the host offers to a backend. Valid until close(). */
struct brick_backend_host {
	size_t size;
	void *context;
	/* Reports one pair. Call it from within drain(), for pairs in any order. */
	void (*complete)(void *context, const struct brick_completion *completion);
	/* Reports `count` pairs that will never complete. The host counts them as dropped. */
	void (*lost)(void *context, uint64_t count);
	/* Adds a note to the recording: device and driver names and versions. Copied. */
	void (*note)(void *context, const char *key, const char *value);
};

/* Options of a device when it is opened. */
struct brick_backend_options {
	size_t size;
	void *native[4]; /* the user's handles, as backends/NAME/ says; all NULL: the default device
			  */
	uint32_t pairs;	 /* the most begin/end pairs in flight at a time; 0: 4096 */
	uint32_t reserved; /* 0 */
};

#define BRICK_BACKEND_OPTIONS_INIT BRICK_SIZED(struct brick_backend_options)

/* The table of a backend. */
struct brick_backend {
	size_t size;	  /* sizeof(struct brick_backend); a table has all fields up to close */
	uint32_t version; /* BRICK_BACKEND_VERSION */
	uint32_t source;  /* enum brick_source: how the backend obtains its times */
	const char *name; /* "cuda", ...; brick_backend_find() looks for it */

	/*
	 * Checks whether the backend can work here. On an error it writes the reason, a sentence of
	 * at most `bytes` bytes with its NUL. Leaves nothing open.
	 */
	int (*probe)(char *reason, size_t bytes);

	/* Opens a device, and allocates all that it will need. The backend copies *host. */
	int (*open)(struct brick_backend_device **out, const struct brick_backend_host *host,
		const struct brick_backend_options *options);

	/*
	 * Put a timestamp into `queue` before and after the work of `ticket` (never 0), without
	 * synchronisation. Pairs of one queue may nest. -EAGAIN of begin(): no pair is free; the
	 * host drains and tries once more. BRICK_EUNSUPPORTED: this work cannot be timed; the host
	 * counts it and goes on.
	 */
	int (*begin)(struct brick_backend_device *device, void *queue, uint64_t ticket);
	int (*end)(struct brick_backend_device *device, void *queue, uint64_t ticket);

	/* Hands completed pairs to complete(), without waiting. Returns their number. */
	int (*drain)(struct brick_backend_device *device);

	/*
	 * Waits until the device has done everything in `queue`. NULL: until every pair has
	 * completed for which end() was called; the queues of these pairs may be gone by now.
	 */
	int (*synchronise)(struct brick_backend_device *device, void *queue);

	/*
	 * Reads the device's clock between two readings of CLOCK_MONOTONIC. -ENOTSUP: the device
	 * has no clock. -EAGAIN: the clock cannot be read just now.
	 */
	int (*correlate)(struct brick_backend_device *device, struct brick_reading *reading);

	/*
	 * Closes the device without waiting for the program's work. Pairs that have not completed
	 * are lost; memory that the device still uses is not freed. NULL is legal.
	 */
	void (*close)(struct brick_backend_device *device);

	/*
	 * Optional (NULL, or a table that ends before this member). The host calls it just before
	 * begin() of a brick in `queue`: until close() this device records the queue, and no
	 * attached library in this process need record it too. Not called for timers, which record
	 * nothing.
	 */
	void (*claim)(struct brick_backend_device *device, void *queue);
};

#endif

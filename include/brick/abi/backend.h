/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend: a plugin that times work on one kind of device, behind one const table of functions.
 * Built in, or a shared library that exports `brick_backend_table`. Frozen: fields are only added
 * at the end, and `size` tells which there are.
 *
 * Its driver is opened at run time by probe(); where that fails the backend is skipped with the
 * reason, which `brick doctor` shows. Handles of the user (queues, streams, command buffers) are
 * passed through as `void *` and documented in backends/NAME/. Unless said otherwise functions
 * return 0 or a negative errno or BRICK_E*, and may be called from any thread.
 */
#ifndef BRICK_ABI_BACKEND_H
#define BRICK_ABI_BACKEND_H

#include <stddef.h>
#include <stdint.h>
#include "brick/correlation.h"
#include "brick/export.h"

#define BRICK_BACKEND_VERSION 1u

struct brick_backend_device; /* the backend's own */

/* A pair of device timestamps that have arrived. */
struct brick_completion {
	uint64_t ticket;		  /* as given to begin() */
	uint64_t begin_ns, end_ns;	  /* on the device's clock */
	uint64_t queued_ns, submitted_ns; /* likewise; 0: not known */
	int error;	   /* 0, or why there are no times: then they are not looked at */
	uint32_t reserved; /* 0; else the times are not believed */
};

/* Functions that the host offers to a backend. Valid until close(). */
struct brick_backend_host {
	size_t size;
	void *context;
	/* A begin/end pair has its times, or has failed. In any order, from within drain(). */
	void (*complete)(void *context, const struct brick_completion *completion);
	/* Pairs that will never complete: counted in the ledger. */
	void (*lost)(void *context, uint64_t count);
	/* "key=value" for the recording's notes: device and driver names and versions. */
	void (*note)(void *context, const char *key, const char *value);
};

/* Options of a device when it is opened. */
struct brick_backend_options {
	size_t size;
	void *native[4]; /* the user's context/device/... handles, see backends/NAME; NULLs: default
			  */
	uint32_t pairs;	 /* begin/end pairs in flight at most; 0: 4096 */
	uint32_t reserved; /* 0 */
};

#define BRICK_BACKEND_OPTIONS_INIT BRICK_SIZED(struct brick_backend_options)

/* The table of a backend. */
struct brick_backend {
	size_t size;	  /* sizeof(struct brick_backend); at least up to close */
	uint32_t version; /* BRICK_BACKEND_VERSION */
	uint32_t source;  /* enum brick_source of its times */
	const char *name; /* "cuda" */

	/* Can it work here? Otherwise a reason (a sentence) is written. Leaves nothing open. */
	int (*probe)(char *reason, size_t bytes);

	/* Prepare: all that allocates happens here. host is copied. */
	int (*open)(struct brick_backend_device **out, const struct brick_backend_host *host,
		const struct brick_backend_options *options);

	/*
	 * Put a timestamp into `queue` before and after the work of `ticket` (never 0). No
	 * synchronisation. -EAGAIN: no pair is free: drain and try again. Pairs of one queue may
	 * nest.
	 */
	int (*begin)(struct brick_backend_device *device, void *queue, uint64_t ticket);
	int (*end)(struct brick_backend_device *device, void *queue, uint64_t ticket);

	/* Hand over timings that have completed, without waiting. Returns how many. */
	int (*drain)(struct brick_backend_device *device);

	/*
	 * Wait until everything in `queue` is done; NULL: all that has ended, in queues that may be
	 * gone by now.
	 */
	int (*synchronise)(struct brick_backend_device *device, void *queue);

	/*
	 * One reading of the device's clock between two of CLOCK_MONOTONIC. -ENOTSUP: has none;
	 * -EAGAIN: it cannot be read just now.
	 */
	int (*correlate)(struct brick_backend_device *device, struct brick_reading *reading);

	/*
	 * Waits for nothing of the program's; what has not completed is lost, and what the device
	 * still uses is left as it is. NULL is legal.
	 */
	void (*close)(struct brick_backend_device *device);

	/*
	 * Optional (NULL, or a table that ends before it): a brick is about to begin in `queue`, so
	 * what runs there is recorded here. Until close() nobody else in this process need record
	 * it. Not called for timers, which record nothing; a queue that begin() refuses is left
	 * alone.
	 */
	void (*claim)(struct brick_backend_device *device, void *queue);
};

#endif

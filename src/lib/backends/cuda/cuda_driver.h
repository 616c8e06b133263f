/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver's functions that the backend uses, opened at run time, in our own declarations.
 * Where cuda.h exists, cuda_abi_check.c compares them with it. Filled in once; then only read. A
 * new function goes into the list in cuda_driver.c and into cuda_abi_check.c, too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Values of the driver's API. CAPTURE_IMPLICIT: the default stream waits for a captured one. */
enum cuda_result { CUDA_FINE = 0, CUDA_NOT_READY = 600, CUDA_CAPTURE_IMPLICIT = 906 };
enum { CUDA_RECORD_EXTERNAL = 1 };	/* a node of its own in a graph, for the event's time */
enum { CUDA_STREAM_NON_BLOCKING = 1 };	/* does not wait for the default stream */
enum { CUDA_CAPTURE_ACTIVE = 1 };	/* the status of a stream that is being captured */
enum { CUDA_CAPTURE_OF_OTHERS = -1 };	/* our own status, for CUDA_CAPTURE_IMPLICIT */
enum { CUDA_CAPTURE_MODE_RELAXED = 2 }; /* of a thread: nothing that it calls disturbs captures */

/* All functions return enum cuda_result or another error of the driver. */
struct cuda_driver {
	void *library; /* from dlopen(); NULL: not open */
	int (*init)(unsigned flags);
	int (*version)(int *version);
	int (*device_count)(int *count);
	int (*device_name)(char *name, int bytes, int device);
	int (*error_name)(int error, const char **name);
	int (*context_current)(void **context);
	int (*context_device)(int *device);
	int (*context_push)(void *context);
	int (*context_pop)(void **context);
	int (*stream_create)(void **stream, unsigned flags);
	int (*stream_destroy)(void *stream);
	int (*stream_synchronise)(void *stream);
	int (*event_create)(void **event, unsigned flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*event_synchronise)(void *event);
	int (*event_elapsed)(float *ms, void *from, void *to);
	/* the following are NULL if the driver is too old for them */
	int (*stream_is_capturing)(void *stream, int *status);
	int (*capture_info)(void *stream, int *status, uint64_t *id, void **graph,
		void *const **dependencies, size_t *count);
	int (*capture_mode)(int *mode);
	int (*event_record_flags)(void *event, void *stream, unsigned flags);
	int (*exec_set_event)(void *exec, void *node, void *event);
	int (*graph_launch)(void *exec, void *stream);
};

/*
 * Opens the driver. 0. -ENOENT: there is none. -ELIBACC: it lacks functions. After an error `why`
 * has a sentence of at most `bytes` bytes, and nothing is open.
 */
int cuda_driver_open(struct cuda_driver *driver, char *why, size_t bytes);
void cuda_driver_close(struct cuda_driver *driver);

/* Returns the name of a driver's error, never NULL. */
const char *cuda_driver_error(const struct cuda_driver *driver, int error);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver's functions that the backend uses, opened at run time, in our own declarations;
 * cuda_abi_check.c holds them against cuda.h where it is there. Filled in once; then only read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CAPTURE_IMPLICIT: the default stream waits for one that is being captured. */
enum cuda_result { CUDA_FINE = 0, CUDA_NOT_READY = 600, CUDA_CAPTURE_IMPLICIT = 906 };
enum { CUDA_RECORD_EXTERNAL = 1 };	/* a node of its own in a graph, for the event's time */
enum { CUDA_STREAM_NON_BLOCKING = 1 };	/* does not wait for the default stream */
enum { CUDA_CAPTURE_ACTIVE = 1 };	/* of a stream */
enum { CUDA_CAPTURE_OF_OTHERS = -1 };	/* ours: see CUDA_CAPTURE_IMPLICIT */
enum { CUDA_CAPTURE_MODE_RELAXED = 2 }; /* of a thread: nothing that it calls disturbs captures */

struct cuda_driver {
	void *library;
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
	/* NULL in drivers that are older than they are */
	int (*stream_is_capturing)(void *stream, int *status);
	int (*capture_info)(void *stream, int *status, uint64_t *id, void **graph,
		void *const **dependencies, size_t *count);
	int (*capture_mode)(int *mode);
	int (*event_record_flags)(void *event, void *stream, unsigned flags);
	int (*exec_set_event)(void *exec, void *node, void *event);
	int (*graph_launch)(void *exec, void *stream);
};

/* 0; -ENOENT: no driver; -ELIBACC: it lacks functions; then `why` says so and nothing is open. */
int cuda_driver_open(struct cuda_driver *driver, char *why, size_t bytes);
void cuda_driver_close(struct cuda_driver *driver);

/* Name of an error, never NULL. */
const char *cuda_driver_error(const struct cuda_driver *driver, int error);

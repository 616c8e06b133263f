/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the CUDA calls to look at, and finds the stream in their parameters, by the call's name:
 * so no table of ids has to be kept per version. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

enum call_kind {
	CALL_NONE,
	CALL_KERNEL,
	CALL_GRAPH,
	CALL_COPY, /* the last of those that launch */
	CALL_WAIT_STREAM,
	CALL_WAIT_CONTEXT,
	CALL_WAIT_EVENT,
	CALL_EVENT,	  /* records one */
	CALL_AFTER_EVENT, /* a stream waits for one */
	CALL_CAPTURE,
	CALL_CAPTURE_END,
	CALL_STREAM_GOES,
	CALL_EVENT_GOES,
	CALL_LOAD,
	CALL_CONTEXT_GOES,
	CALL_PRIMARY_GOES, /* a device's own context, perhaps */
	CALL_INSTANTIATE,  /* makes an executable graph */
	CALL_UPDATE,	   /* makes one do the work of another graph */
	CALL_NODE_SWITCH,  /* switches a node of one on or off */
};

/* The place of a call's stream. */
enum call_place {
	STREAM_IN_PARAMETERS, /* at `offset` */
	STREAM_IN_CONFIG,     /* of the attributes that a launch points to */
	STREAM_DEFAULT,	      /* there is none: the default stream */
	STREAM_UNKNOWN,
};

struct call_shape {
	uint8_t kind, place;
	uint8_t offset;	    /* in the parameters */
	bool is_per_thread; /* its default stream is the thread's own */
};

struct call_shape call_shape_of_driver(const char *name);

/* Parameters of these are not looked at: the driver's call inside tells. */
struct call_shape call_shape_of_runtime(const char *name);

static inline int call_launches(const struct call_shape *shape)
{
	return shape->kind >= CALL_KERNEL && shape->kind <= CALL_COPY;
}

/*
 * The handle that stands for a stream: NULL is the default one, and the calling thread's own stream
 * has a handle that no other thread's ever has. is_per_thread: NULL means the latter.
 */
cuda_handle call_handle(cuda_handle stream, bool is_per_thread);

/* The stream that a call names, NULL for the default one. 0: it is not known. */
int call_stream(const struct call_shape *shape, const void *parameters, cuda_handle *stream);

/* X(name, offset): copies and fills, that name a stream; cupti_abi_check.c knows them from CUDA. */
#define CALL_COPIES_IN_STREAMS(X)   \
	X(cuMemcpyAsync, 24)        \
	X(cuMemcpyPeerAsync, 40)    \
	X(cuMemcpyHtoDAsync_v2, 24) \
	X(cuMemcpyDtoHAsync_v2, 24) \
	X(cuMemcpyDtoDAsync_v2, 24) \
	X(cuMemcpyHtoAAsync_v2, 32) \
	X(cuMemcpyAtoHAsync_v2, 32) \
	X(cuMemcpy2DAsync_v2, 8)    \
	X(cuMemcpy3DAsync_v2, 8)    \
	X(cuMemcpy3DPeerAsync, 8)   \
	X(cuMemsetD8Async, 24)      \
	X(cuMemsetD16Async, 24)     \
	X(cuMemsetD32Async, 24)     \
	X(cuMemsetD2D8Async, 40)    \
	X(cuMemsetD2D16Async, 40)   \
	X(cuMemsetD2D32Async, 40)
/* Those that came with CUDA 13. */
#define CALL_BATCHES_IN_STREAMS(X)   \
	X(cuMemcpyBatchAsync_v2, 56) \
	X(cuMemcpy3DBatchAsync_v2, 24)

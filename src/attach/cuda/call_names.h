/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells by the name of a CUDA call what kind it is, and where its parameters have its stream; so no
 * table of ids is needed per version. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"

enum call_kind {
	CALL_NONE,   /* of no interest */
	CALL_KERNEL, /* from here to CALL_COPY: calls that launch (call_launches()) */
	CALL_GRAPH,
	CALL_COPY,
	CALL_WAIT_STREAM,
	CALL_WAIT_CONTEXT,
	CALL_WAIT_EVENT,
	CALL_EVENT,	  /* records an event */
	CALL_AFTER_EVENT, /* a stream waits for an event */
	CALL_CAPTURE,
	CALL_CAPTURE_END,
	CALL_STREAM_GOES,
	CALL_EVENT_GOES,
	CALL_LOAD,
	CALL_CONTEXT_GOES,
	CALL_PRIMARY_GOES, /* a device's own context, perhaps */
	CALL_INSTANTIATE,  /* makes an executable graph */
	CALL_UPDATE,	   /* makes an executable graph do another graph's work */
	CALL_NODE_SWITCH,  /* switches a node of an executable graph on or off */
};

/* The place of a call's stream. */
enum call_place {
	STREAM_IN_PARAMETERS, /* at `offset` */
	STREAM_IN_CONFIG,     /* in the launch's configuration, which the parameters point to */
	STREAM_DEFAULT,	      /* the call has no stream: the default stream */
	STREAM_UNKNOWN,	      /* not known for this call */
};

struct call_shape {
	uint8_t kind;	    /* enum call_kind */
	uint8_t place;	    /* enum call_place */
	uint8_t offset;	    /* of the stream in the parameters, in bytes */
	bool is_per_thread; /* its default stream is the thread's own */
};

struct call_shape call_shape_of_driver(const char *name);

/* `place` is not set: the stream is read from the driver's call inside. */
struct call_shape call_shape_of_runtime(const char *name);

static inline int call_launches(const struct call_shape *shape)
{
	return shape->kind >= CALL_KERNEL && shape->kind <= CALL_COPY;
}

/*
 * The handle by which a stream is known here. For the calling thread's own default stream it is a
 * handle that no other thread's stream has; for the other default stream NULL. is_per_thread: a
 * NULL stream means the thread's own.
 */
cuda_handle call_handle(cuda_handle stream, bool is_per_thread);

/* Find the stream that a call names; NULL: the default stream. 1, or 0: not known. */
int call_stream(const struct call_shape *shape, const void *parameters, cuda_handle *stream);

/*
 * X(name, offset): copies and fills that name a stream. Offsets are CUDA's: cupti_abi_check.c
 * compares them with the headers.
 */
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
/* Copies that came with CUDA 13. */
#define CALL_BATCHES_IN_STREAMS(X)   \
	X(cuMemcpyBatchAsync_v2, 56) \
	X(cuMemcpy3DBatchAsync_v2, 24)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brick's own queue on a device, and kernels for it: one reads a part of a buffer again and again,
 * the others multiply and add in registers. The backend's attachment times them with timestamps.
 * One thread at a time.
 */
#pragma once

#include <stdint.h>
#include "base/memory_left.h"

enum device_job {
	DEVICE_READ,
	DEVICE_FMA,	/* as the one operation that the language has for it */
	DEVICE_MUL_ADD, /* as two, which compilers may make one */
	DEVICE_JOBS,
};

enum {
	DEVICE_GROUPS = 1024, /* of a run that shall keep a device busy */
	DEVICE_FLOPS = 64,    /* of a work item in a round: 8 chains of 4 lanes, 2 FLOPs each */
	DEVICE_MIN_SHARE = 1 << 11, /* elements that a group reads in a round, at least */
	DEVICE_ELEMENT = 16,	    /* bytes of an element */
};

/* One run. */
struct device_run {
	enum device_job job;
	uint32_t groups;
	uint32_t group;	 /* work items of a group: 1, 64 or 256 */
	uint32_t rounds; /* of the kernel's loop; 0: the kernel does nothing */
	uint32_t share;	 /* elements that a group reads in a round */
	uint32_t set;	 /* elements of the buffer that all groups read: a power of 2 */
};

/*
 * A queue. `native` is what the backend's attachment opens it with, `own` the state of its kernels.
 * Only the device_kind looks into these. All zero: closed.
 */
struct device_queue {
	void *native[4];
	void *queue;
	char name[128]; /* of the device */
	uint64_t bytes; /* of the buffer: a power of 2 */
	void *own;
};

/* Functions return 0 or a negative code. */
struct device_kind {
	const char *backend;
	/*
	 * The index-th device of the machine; -ENODEV: there are no more. On failure it is closed.
	 * NULL: this build has no kernels for such devices.
	 */
	int (*open)(struct device_queue *queue, unsigned index);
	/* Called before each pair of timestamps. */
	int (*prepare)(struct device_queue *queue);
	/* Called between the two timestamps. */
	int (*run)(struct device_queue *queue, const struct device_run *run);
	/* A queue that is all zero is legal. */
	void (*close)(struct device_queue *queue);
};

extern const struct device_kind device_opencl, device_vulkan;

/*
 * The bytes to use of a device's memory: the greatest power of 2 up to 512 MiB, up to `available`,
 * and up to a tenth of the machine's free memory, because that may be the device's memory, too.
 */
static inline uint64_t device_bytes(uint64_t available)
{
	uint64_t bytes = 512u << 20, left = memory_left_bytes("") / 10;

	while (bytes > available || bytes > left)
		bytes /= 2;
	return bytes;
}

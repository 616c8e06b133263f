/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Objective-C runtime, opened at run time, and the messages to Metal's objects that the backend
 * sends. Compiles everywhere; where there is no such runtime opening says so. Filled in once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* MTLCommandBufferStatus */
enum metal_status {
	METAL_NOT_ENQUEUED = 0,
	METAL_ENQUEUED = 1,
	METAL_COMMITTED = 2,
	METAL_SCHEDULED = 3,
	METAL_COMPLETED = 4,
	METAL_FAILED = 5,
};

struct metal_objc {
	void *library;
	void (*send)(void); /* objc_msgSend: called as the type that the message has */
	void *(*selector)(const char *name);
	void *(*pool_push)(void);
	void (*pool_pop)(void *pool);
	void *(*default_device)(void);
	uint64_t (*clock_ns)(int clock); /* clock_gettime_nsec_np; NULL: not there */
};

/* 0; -ENOENT: no runtime or no Metal; -ELIBACC: it lacks functions; then `why` says so. */
int metal_objc_open(struct metal_objc *objc, char *why, size_t bytes);
void metal_objc_close(struct metal_objc *objc);

int metal_has_times(const struct metal_objc *objc, void *command_buffer);
enum metal_status metal_status(const struct metal_objc *objc, void *command_buffer);
double metal_gpu_start_s(const struct metal_objc *objc, void *command_buffer);
double metal_gpu_end_s(const struct metal_objc *objc, void *command_buffer);
void metal_wait(const struct metal_objc *objc, void *command_buffer);
void metal_retain(const struct metal_objc *objc, void *object);
void metal_release(const struct metal_objc *objc, void *object);

/* The system's device, owned by the caller; NULL: none. */
void *metal_default_device(const struct metal_objc *objc);

/* Name of a device, copied; 0 when it has none. */
int metal_device_name(const struct metal_objc *objc, void *device, char *name, size_t bytes);

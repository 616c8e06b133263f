/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of rocprofiler-sdk's interface that Brick uses, written down from the facts in its
 * headers (registration.h, fwd.h, callback_tracing.h, context.h of 0.5.0, ROCm 6.3, and of 1.x,
 * ROCm 7): layouts, values, prototypes. Handles are structures of one uint64_t there, which are
 * passed like one. Ids of kinds and operations are asked for by name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HIP_FINE = 0 };
enum hip_phase { HIP_PHASE_NONE = 0, HIP_PHASE_ENTER = 1, HIP_PHASE_EXIT = 2 };
enum hip_dispatch { HIP_DISPATCH_ENQUEUE = 1, HIP_DISPATCH_COMPLETE = 2 };
enum hip_stream { HIP_STREAM_SET = 3 };
enum hip_code { HIP_CODE_KERNEL_SYMBOL = 2 };
enum hip_copy { HIP_COPY_HOST_TO_DEVICE = 2, HIP_COPY_DEVICE_TO_HOST = 3, HIP_COPY_ON_DEVICE = 4 };
enum { HIP_VERSION_1 = 10000 }; /* 10000 major + 100 minor + patch */

/* The event of a callback, after the correlation id. */
struct hip_event {
	int32_t kind, operation, phase;
	void *payload;
};

/* As callbacks get it, by value: a third word of correlation came with version 1. */
struct hip_record_0 {
	uint64_t context, thread, correlation[2];
	struct hip_event event;
};
struct hip_record_1 {
	uint64_t context, thread, correlation[3];
	struct hip_event event;
};

struct hip_dispatch_data {
	uint64_t size, start, end;
	struct {
		uint64_t size, agent, queue, kernel, dispatch;
		uint32_t private_bytes, group_bytes;
		uint32_t group[3], grid[3]; /* work items of both */
	} info;
};

struct hip_copy_data {
	uint64_t size, start, end;
	uint64_t to_agent, from_agent, bytes;
};

struct hip_symbol_data {
	uint64_t size, kernel, code_object;
	const char *name;
};

/* From version 1 on, around each call that has a stream. */
struct hip_stream_data {
	uint64_t size, stream;
	const void *handle; /* NULL: the default one, which waits for others */
};

struct hip_client {
	size_t size;
	const char *name;
	uint32_t handle;
};

struct hip_tool {
	size_t size;
	int (*initialise)(void (*finalise)(uint32_t client), void *data);
	void (*finish)(void *data);
	void *data;
};

typedef int (*hip_kind_fn)(int32_t kind, void *data);
typedef int (*hip_operation_fn)(int32_t kind, int32_t operation, void *data);

#define HIP_FUNCTIONS(X)                                                                  \
	X(create_context, int, (uint64_t * context))                                      \
	X(start_context, int, (uint64_t context))                                         \
	X(stop_context, int, (uint64_t context))                                          \
	X(get_timestamp, int, (uint64_t * ns))                                            \
	X(configure_callback_tracing_service, int,                                        \
		(uint64_t context, int32_t kind, const int32_t *operations, size_t count, \
			void (*callback)(void), void *data))                              \
	X(iterate_callback_tracing_kinds, int, (hip_kind_fn callback, void *data))        \
	X(query_callback_tracing_kind_name, int,                                          \
		(int32_t kind, const char **name, uint64_t *length))                      \
	X(iterate_callback_tracing_kind_operations, int,                                  \
		(int32_t kind, hip_operation_fn callback, void *data))                    \
	X(query_callback_tracing_kind_operation_name, int,                                \
		(int32_t kind, int32_t operation, const char **name, uint64_t *length))

struct hip_functions {
#define X(name, type, arguments) type(*name) arguments;
	HIP_FUNCTIONS(X)
#undef X
};

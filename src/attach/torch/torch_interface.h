/* SPDX-License-Identifier: Apache-2.0 */
/* What is handed to and called of PyTorch's observers (ATen/record_function.h), by C++'s rules. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void **(*torch_start_fn)(void **result, const void *function);
typedef void (*torch_end_fn)(const void *function, void *context);

enum torch_scope_kind {
	TORCH_SCOPE_FUNCTION,
	TORCH_SCOPE_BACKWARD,
	TORCH_SCOPE_SCRIPT,
	TORCH_SCOPE_USER = 7,
};

/*
 * RecordFunctionCallback, and room for scopes that a version may add: what takes it by value reads
 * as much of it as it knows. Behind the scopes stand switches, which are off: whether inputs are
 * told, outputs, and numbers of executions.
 */
struct torch_callback {
	torch_start_fn start;
	torch_end_fn end;
	double probability;
	bool scopes[40];
};
_Static_assert(sizeof(struct torch_callback) == 64, "a multiple of 8, passed in memory");

enum { TORCH_FUNCTION_BYTES = 4096 }; /* a RecordFunction has some 200 */

/* Of a RecordFunction and of callbacks of the calling thread alone. */
struct torch_interface {
	void (*construct)(void *function, uint8_t scope);
	void (*destruct)(void *function);
	uint64_t (*add_here)(struct torch_callback callback);
	void (*remove)(uint64_t handle);
};

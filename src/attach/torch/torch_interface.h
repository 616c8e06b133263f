/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface of PyTorch's observers (ATen/record_function.h), by C++'s calling rules. The
 * order of members is PyTorch's.
 */
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
 * RecordFunctionCallback, with room for scopes that a version may add: a callee that takes it by
 * value reads as much of it as its version has. Behind the version's scopes stand its switches for
 * inputs, outputs and ids, which are off (0).
 */
struct torch_callback {
	torch_start_fn start;
	torch_end_fn end;
	double probability;
	bool scopes[40];
};
_Static_assert(sizeof(struct torch_callback) == 64, "a multiple of 8, passed in memory");

enum { TORCH_FUNCTION_BYTES = 4096 }; /* room for a RecordFunction, which has some 200 bytes */

/* Functions for a RecordFunction, and for callbacks on the calling thread only. */
struct torch_interface {
	void (*construct)(void *function, uint8_t scope);
	void (*destruct)(void *function);
	uint64_t (*add_here)(struct torch_callback callback);
	void (*remove)(uint64_t handle);
};

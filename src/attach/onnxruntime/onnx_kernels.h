/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of ONNX Runtime: objects of C++ whose Compute() executes one node. It is replaced in all
 * their vtables, so that each execution is a brick. Any thread.
 */
#pragma once

#include <stddef.h>

/* KernelInfo_GetNodeName and ReleaseStatus of the library's table. */
struct onnx_names {
	void *(*node_name)(const void *info, char *name, size_t *bytes);
	void (*release)(void *status);
};

/*
 * Hook all kernels of the library at that address. Nobody may use it yet. The number of classes, or
 * a negative -errno.
 */
int onnx_kernels_hook(const void *library, const struct onnx_names *names);

/* A session was released: kernels are gone, and others may lie at their addresses. */
void onnx_kernels_forget(void);

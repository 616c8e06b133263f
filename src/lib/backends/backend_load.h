/* SPDX-License-Identifier: Apache-2.0 */
/* Backends: whether a table can be used, and those that are built in. */
#pragma once

#include <stddef.h>
#include "brick/abi/backend.h"

/* Every table has at least these fields; tables of older backends end here. */
#define BRICK__BACKEND_MIN_BYTES offsetof(struct brick_backend, claim)

/* 0, or BRICK_EVERSION or -EINVAL with a sentence. */
int brick__backend_check(const struct brick_backend *backend, char *reason, size_t bytes);

extern const struct brick_backend brick__backend_null;
extern const struct brick_backend brick__backend_cpu;
extern const struct brick_backend brick__backend_cuda;	 /* backends/cuda */
extern const struct brick_backend brick__backend_metal;	 /* backends/metal */
extern const struct brick_backend brick__backend_opencl; /* backends/opencl */
extern const struct brick_backend brick__backend_vulkan; /* backends/vulkan */

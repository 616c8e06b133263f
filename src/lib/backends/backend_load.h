/* SPDX-License-Identifier: Apache-2.0 */
/* Backends: the check of a table, and the built-in tables, which backend_load.c lists. */
#pragma once

#include <stddef.h>
#include "brick/abi/backend.h"

/* Every table has at least these fields; tables of older backends end here. */
#define BRICK__BACKEND_MIN_BYTES offsetof(struct brick_backend, claim)

/*
 * Checks whether a table can be used. 0; BRICK_EVERSION or -EINVAL, with a sentence of at most
 * `bytes` bytes in `reason`.
 */
int brick__backend_check(const struct brick_backend *backend, char *reason, size_t bytes);

extern const struct brick_backend brick__backend_null;
extern const struct brick_backend brick__backend_cpu;
extern const struct brick_backend brick__backend_cuda;	 /* backends/cuda */
extern const struct brick_backend brick__backend_metal;	 /* backends/metal */
extern const struct brick_backend brick__backend_opencl; /* backends/opencl */
extern const struct brick_backend brick__backend_vulkan; /* backends/vulkan */

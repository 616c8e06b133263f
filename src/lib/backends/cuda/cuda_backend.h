/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's table, for the list of built-in backends; see cuda.c and include/brick/cuda.h. */
#pragma once

#include "brick/abi/backend.h"

extern const struct brick_backend brick__backend_cuda;

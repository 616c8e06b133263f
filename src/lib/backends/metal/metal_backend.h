/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's table, for the list of built-in backends; see metal.c and include/brick/metal.h. */
#pragma once

#include "brick/abi/backend.h"

extern const struct brick_backend brick__backend_metal;

/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's entry in the list of built-in ones. */
#ifndef BRICK_BACKENDS_OPENCL_TABLE_H
#define BRICK_BACKENDS_OPENCL_TABLE_H

#include "brick/abi/backend.h"

extern const struct brick_backend brick__backend_opencl;

#endif

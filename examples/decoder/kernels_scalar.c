// SPDX-License-Identifier: Apache-2.0
//
// One number at a time: for any CPU, and what the other kernels are compared with. Built without
// vectorisation, so that "scalar" in a report means it.
#define KERNELS kernels_scalar
#define ISA "scalar"
#define VEC float
#define LANES 1
#define ROWS 4
#define COLS 2
#define LOAD_HALVES(p) half_to_float(*(p))
#define LOAD_BYTES(p) ((float)*(p))
#define HALF(h) half_to_float(h)
#define SUM(v) (v)
#include "kernels_body.h"

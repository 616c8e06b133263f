/* SPDX-License-Identifier: Apache-2.0 */
/* The vector instructions of the CPU. Any thread. */
#ifndef BRICK_CPU_H
#define BRICK_CPU_H

#include "brick/export.h"

BRICK_BEGIN_DECLS

/*
 * The best instruction set for vectors that this CPU has and the system lets programs use:
 * "avx512" (F, BW, DQ and VL), "avx2" (with FMA), "sse4.2", "sse2", "sve", "neon", or "scalar".
 * Static text.
 */
BRICK_API const char *brick_cpu_isa(void);

BRICK_END_DECLS

#endif

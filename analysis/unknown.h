/* SPDX-License-Identifier: Apache-2.0 */
/* The number that says that there is none: shown as "-", null or nothing, never as 0. */
#ifndef BRICK_ANALYSIS_UNKNOWN_H
#define BRICK_ANALYSIS_UNKNOWN_H

#include <stdint.h>

#define ANALYSIS_UNKNOWN UINT64_MAX

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The number that says that there is none: shown as "-", null or nothing, never as 0. */
#pragma once

#include <stdint.h>

#define ANALYSIS_UNKNOWN UINT64_MAX

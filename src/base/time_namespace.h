/* SPDX-License-Identifier: Apache-2.0 */
/* Time namespaces shift CLOCK_MONOTONIC and CLOCK_BOOTTIME; the kernel's own records they do not.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* One of these two less what it is outside, in ns; 0 also where /proc does not tell. */
int64_t time_namespace_offset_ns(clockid_t clock);

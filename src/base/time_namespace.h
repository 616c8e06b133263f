/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time namespaces (time_namespaces(7)) shift CLOCK_MONOTONIC and CLOCK_BOOTTIME, but not the times
 * in the kernel's own records. Any thread.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/*
 * Returns by how many ns one of these two clocks is ahead of the same clock outside; 0 if /proc
 * does not tell.
 */
int64_t time_namespace_offset_ns(clockid_t clock);

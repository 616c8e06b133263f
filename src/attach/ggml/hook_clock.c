/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the inline clock of src/lib/sys/ticks.h needs in this library: its own copies of what
 * libbrick keeps to itself. node_ready.c sets which counter is used before any time is taken.
 */
#include "lib/sys/ticks.h"

uint32_t brick__counter_used;

uint64_t brick__monotonic_slow(void)
{
	return brick__monotonic_ns();
}

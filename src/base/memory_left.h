/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that this process may still take. Any thread. */
#pragma once

#include <stdint.h>

/*
 * Returns what is left of the machine's memory, of the memory cgroups that hold the process or of
 * its address space, whichever is least. UINT64_MAX: nobody says. root: "" for the system's files,
 * else a directory in their place.
 */
uint64_t memory_left_bytes(const char *root);

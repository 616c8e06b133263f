/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process may still take. Any thread. */
#pragma once

#include <stdint.h>

/*
 * What is left of the machine's memory, of the memory cgroups that it is in and of its address
 * space, whichever is least. UINT64_MAX: nobody says. root: "" for the system's files, else a
 * directory in their place.
 */
uint64_t memory_left_bytes(const char *root);

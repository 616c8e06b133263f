/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that this process may still take. Any thread. */
#pragma once

#include <stdint.h>

/*
 * Returns the bytes left of the machine's memory, of the memory cgroups that contain the process,
 * or of its address space, whichever is least. UINT64_MAX: unknown. root: "", or a directory in
 * place of / (for tests).
 */
uint64_t memory_left_bytes(const char *root);

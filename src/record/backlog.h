/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the recorder may take for what it has not written yet. To be asked now and then:
 * the program's needs change. Any thread. */
#pragma once

#include <stdint.h>

/*
 * A quarter of what is left of the machine's memory, of the memory cgroups (the program has the
 * same ones: to fill them would kill it) and of our address space; from 4 MiB to 512 MiB. root: ""
 * for the system's files, else a directory in their place.
 */
uint64_t backlog_capacity_bytes(const char *root);

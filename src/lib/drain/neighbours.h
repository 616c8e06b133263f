/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which other processes used the machine's CPUs while something was recorded. The accounts of the
 * machine (/proc/stat) and of every process (/proc/PID/stat) are read at the beginning and at the
 * end. An object is used by one thread at a time.
 */
#pragma once

#include <stdint.h>
#include "format/machine_use.h"

struct neighbours;

/* Notes where all accounts stand now. 0. -ENOENT: there is no /proc/stat. -ENOMEM. */
int neighbours_create(struct neighbours **out);

/*
 * Fills *out with the CPU time used since neighbours_create(). The process `tree`, its descendants
 * and this process are our own; all others are neighbours. A neighbour that began and ended in
 * between shows only in busy_ns. *own_ns, unless NULL: CPU time of our own processes that still
 * run. 0 or -errno.
 */
int neighbours_use(
	const struct neighbours *n, uint32_t tree, struct machine_use *out, uint64_t *own_ns);

/* NULL is legal. */
void neighbours_destroy(struct neighbours *n);

/* Returns the number of CPUs that are online, at least 1. */
uint32_t drain_cpus_online(void);

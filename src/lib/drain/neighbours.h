/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else used the machine's CPUs while something was recorded, by the accounts of the machine
 * (/proc/stat) and of every process (/proc/PID/stat) at the beginning and at the end. An object
 * belongs to one thread; the rest is for any thread.
 */
#pragma once

#include <stdint.h>
#include "format/machine_use.h"

struct neighbours;

/* Note where all accounts stand. -ENOENT: there is no /proc/stat, -ENOMEM. */
int neighbours_create(struct neighbours **out);

/*
 * What was used since then. A process is another when neither it nor one that started it is `tree`,
 * nor it is this one; one that began and ended in between shows only in busy_ns. *own_ns, unless
 * NULL: CPU time of those that are not others and still there. 0 or -errno.
 */
int neighbours_use(
	const struct neighbours *n, uint32_t tree, struct machine_use *out, uint64_t *own_ns);

/* NULL is legal. */
void neighbours_destroy(struct neighbours *n);

uint32_t drain_cpus_online(void);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else used the machine's CPUs while something was recorded: the machine's accounts
 * (/proc/stat) and those of every process (/proc/PID/stat), at the begin and at the end. One
 * thread.
 */
#ifndef BRICK_RECORD_NEIGHBOURS_H
#define BRICK_RECORD_NEIGHBOURS_H

#include <stddef.h>
#include <stdint.h>

struct neighbours;

/* What the machine's CPUs did in between, in ns of CPU time of all of them together. */
struct machine_use {
	uint64_t busy_ns;      /* ran something, of whatever process */
	uint64_t steal_ns;     /* would have, had the host of this virtual machine let them */
	uint64_t idle_ns;      /* did nothing, or waited for disks */
	uint64_t neighbour_ns; /* of `busy_ns`: the one other process that used most; 0: none */
	char neighbour[64];    /* its name and number, "cc1 (1234)" */
};

/* Note where all accounts stand. -ENOENT: there is no /proc/stat, -ENOMEM. */
int neighbours_create(struct neighbours **out);

/*
 * What was used since then. A process is another when neither it nor one that started it is `tree`,
 * nor it is this one; one that began and ended in between shows only in busy_ns. 0 or -errno.
 */
int neighbours_use(const struct neighbours *n, uint32_t tree, struct machine_use *out);

/* NULL is legal. */
void neighbours_destroy(struct neighbours *n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process's memory and threads are, on machines with several NUMA nodes or kinds of cores:
 * pages by node as the kernel lists them (/proc/PID/numa_maps), and the CPUs on which its threads
 * are seen to run, a few times a second. One thread at a time.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "lib/writer/sink.h"

struct placement;

/*
 * root: instead of / for /sys and numa_maps; "": none. 0; -ENODEV: all CPUs of the machine are of
 * one node and one kind; or -errno.
 */
int placement_create(struct placement **out, const char *root);

/* Looks at the process, if it is time. A new process begins anew. */
void placement_turn(struct placement *p, pid_t pid, uint64_t now_ns);

/* Writes what was seen, if there is something; waits a moment for the list of pages. 0 or the
 * writer's error. */
int placement_finish(struct placement *p, struct trace_writer *w);

/* NULL is legal. */
void placement_destroy(struct placement *p);

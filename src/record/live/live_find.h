/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of a process, found where the kernel lists what it has open: the file of a recorder, or
 * the memory of a program that embeds libbrick. A recorder has those of all that it records open.
 * Opened for reading only. Any thread.
 */
#pragma once

#include <sys/types.h>

/* Gets a descriptor that is its own to close. */
typedef void (*live_find_fn)(void *context, int fd);

/*
 * Call fn for each; returns how many. -ENOENT: no such process. -EACCES: it is another user's.
 * -errno.
 */
int live_find(pid_t pid, live_find_fn fn, void *context);

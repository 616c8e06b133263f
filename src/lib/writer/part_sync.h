/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that waits for the disk, so that nobody else has to. One thread at a time calls. */
#pragma once

struct part_sync;

/* NULL: there is no memory or thread to be had. */
struct part_sync *part_sync_create(void);

/* fdatasync(2) this descriptor, soon. */
void part_sync_request(struct part_sync *s, int fd);

/* The disk's first error, or 0. NULL is legal. */
int part_sync_error(struct part_sync *s);

/* End the thread, once what was asked for is done; returns the first error. NULL is legal. */
int part_sync_destroy(struct part_sync *s);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring that the kernel fills with records of an event (linux/perf_event.h): data_head is read
 * with acquire, data_tail written with release. Its event lives for as long as it is mapped. One
 * thread at a time.
 */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring {
	struct perf_event_mmap_page *page; /* followed by its data */
	size_t map_bytes;
};

/* Maps a ring of `pages` pages, a power of two, for the event fd. 0 or -errno. */
int perf_ring_map(struct perf_ring *ring, int fd, size_t pages);
void perf_ring_unmap(const struct perf_ring *ring);

/* Bytes of records that wait. */
uint64_t perf_ring_used(const struct perf_ring *ring);

/* A record that begins at `at`, which perf_ring_copy() takes out. 0 or -errno. */
typedef int (*perf_record_fn)(void *context, const struct perf_ring *ring, uint64_t at,
	const struct perf_event_header *header);

/*
 * Hands out all records; the kernel may overwrite them when the call returns. Adds to *lost the
 * records for which the kernel had no room. 0, or the last error of `take`.
 */
int perf_ring_read(
	const struct perf_ring *ring, uint64_t *lost, perf_record_fn take, void *context);

/* Copies `bytes` bytes from position `at` of the ring, also around the ring's end. */
void perf_ring_copy(const struct perf_ring *ring, uint64_t at, void *to, size_t bytes);

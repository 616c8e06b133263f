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

/* A ring of so many pages, a power of two, for that event. 0 or -errno. */
int perf_ring_map(struct perf_ring *ring, int fd, size_t pages);
void perf_ring_unmap(const struct perf_ring *ring);

/* Bytes of records that wait. */
uint64_t perf_ring_used(const struct perf_ring *ring);

/* A record that begins at `at`, which perf_ring_copy() takes out. 0 or -errno. */
typedef int (*perf_record_fn)(void *context, const struct perf_ring *ring, uint64_t at,
	const struct perf_event_header *header);

/*
 * Hand out all records, and leave them to the kernel, which overwrites them. How many it had no
 * room for is added to *lost instead. 0, or the last error of `take`.
 */
int perf_ring_read(
	const struct perf_ring *ring, uint64_t *lost, perf_record_fn take, void *context);

/* Bytes of the ring that may lie around its end. */
void perf_ring_copy(const struct perf_ring *ring, uint64_t at, void *to, size_t bytes);

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

/* Where the records that wait begin and end; what lies before `head` may be overwritten then. */
static inline uint64_t perf_ring_tail(const struct perf_ring *ring)
{
	return ring->page->data_tail;
}

static inline uint64_t perf_ring_head(const struct perf_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static inline void perf_ring_done(const struct perf_ring *ring, uint64_t head)
{
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Bytes of the ring that may lie around its end. */
void perf_ring_copy(const struct perf_ring *ring, uint64_t at, void *to, size_t bytes);

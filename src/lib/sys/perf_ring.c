/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's side of the ring is documented in perf_event_open(2), "MMAP layout". */
#include "lib/sys/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int perf_ring_map(struct perf_ring *ring, int fd, size_t pages)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE) * (1 + pages);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	*ring = (struct perf_ring){page, bytes};
	return 0;
}

void perf_ring_unmap(const struct perf_ring *ring)
{
	munmap(ring->page, ring->map_bytes);
}

uint64_t perf_ring_used(const struct perf_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_RELAXED) - ring->page->data_tail;
}

void perf_ring_copy(const struct perf_ring *ring, uint64_t at, void *to, size_t bytes)
{
	const char *data = (const char *)ring->page + ring->page->data_offset;
	uint64_t size = ring->page->data_size, from = at % size;
	size_t first = bytes < size - from ? bytes : (size_t)(size - from);

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, bytes - first);
}

int perf_ring_read(const struct perf_ring *ring, uint64_t *lost, perf_record_fn take, void *context)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	int error = 0;

	for (uint64_t at = ring->page->data_tail; at < head;) {
		struct {
			struct perf_event_header header;
			uint64_t id, lost;
		} record;
		perf_ring_copy(ring, at, &record, sizeof(record.header));
		if (record.header.size < sizeof(record.header))
			break; /* the kernel writes no such thing */
		if (record.header.type == PERF_RECORD_LOST) {
			perf_ring_copy(ring, at, &record, sizeof(record));
			*lost += record.lost;
		} else {
			error = take(context, ring, at, &record.header) ?: error;
		}
		at += record.header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return error;
}

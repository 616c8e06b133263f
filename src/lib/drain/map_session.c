/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a session and maps its lanes. Offsets and sizes in the untrusted session are copied to
 * private memory, checked here against the file's present size, and not read again. The header and
 * the tables are one mapping, and each lane is one of its own. A new lane therefore moves no
 * mapping that the emitting side may be reading. A new table also goes into tables_end().
 */
#include "lib/drain/map_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/array.h"
#include "base/time_namespace.h"
#include "base/utf8.h"
#include "brick/clock.h"
#include "brick/error.h"
#include "lib/session/session_lanes.h"

#define LANE_TABLE_END \
	(BRICK_SESSION_LANES_OFFSET + BRICK_MAX_LANES * sizeof(struct brick_session_lane))

/* Rings beyond this are nonsense: 2^32 records are 128 GiB. */
#define MAX_CAPACITY (1ull << 32)

void drain_clean_text(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
	for (size_t left = strlen(text); left;) {
		uint32_t code;
		size_t n = utf8_decode(text, left, &code);
		if (!n || code < 0x20 || code == 0x7f) { /* not printable */
			*text = '?';
			n = 1;
		}
		text += n;
		left -= n;
	}
}

void drain_clean_lines(char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char last = text[length];
		drain_clean_text(text, length + 1);
		text[length] = last;
		text += length + (last != '\0');
	}
}

int drain_map_fd(const struct drain_map *m)
{
	struct stat st;

	if (fstat(m->fd, &st) < 0 || st.st_dev != m->device || st.st_ino != m->inode)
		return -1;
	return m->fd;
}

static uint64_t map_session_file_bytes(const struct drain_map *m)
{
	struct stat st;
	int fd = drain_map_fd(m);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
		return 0;
	return (uint64_t)st.st_size;
}

static void *map_session_map(struct drain_map *m, uint64_t offset, uint64_t bytes)
{
	int access = m->view ? PROT_READ : PROT_READ | PROT_WRITE;
	void *at = mmap(NULL, bytes, access, MAP_SHARED, drain_map_fd(m), (off_t)offset);

	if (at == MAP_FAILED)
		return NULL;
	if (m->guard && !m->guard->add(at, bytes, &m->page_lost)) {
		munmap(at, bytes);
		errno = ENOMEM;
		return NULL;
	}
	/* A program that embeds the consumer may fork, and its child has no use for the mapping. */
	madvise(at, bytes, MADV_DONTFORK);
	return at;
}

static void unmap(struct drain_map *m, void *at, uint64_t bytes)
{
	if (!at)
		return;
	if (m->guard)
		m->guard->remove(at, bytes);
	munmap(at, bytes);
}

static bool map_session_inside(uint64_t offset, uint64_t bytes, uint64_t end)
{
	return bytes <= end && offset <= end - bytes;
}

/* The end of the last table, or 0 when one of them lies outside of the file. */
static uint64_t tables_end(const struct brick_session_header *h, uint64_t file_end)
{
	const uint64_t tables[][2] = {
		{h->notes_offset, BRICK_NOTES_BYTES},
		{h->category_offset, BRICK_MAX_CATEGORIES * sizeof(struct brick_session_category)},
		{h->brick_offset, BRICK_MAX_BRICKS * sizeof(struct brick_session_brick)},
		{h->site_offset, BRICK_MAX_SITES * sizeof(struct brick_session_site)},
		{h->drained_offset, BRICK_HISTOGRAM_BLOCK_BYTES},
		{h->kernel_offset, BRICK_MAX_KERNELS * sizeof(struct brick_session_kernel)},
		{h->code_offset, BRICK_CODE_BYTES},
		{h->digest_offset, BRICK_DIGEST_RING * sizeof(struct brick_session_digest)},
	};
	enum { NEEDED = 5 }; /* the later tables may be missing: their offset is then 0 */
	uint64_t last = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		uint64_t offset = tables[i][0], bytes = tables[i][1];
		if (i >= NEEDED && !offset)
			continue;
		if (offset < LANE_TABLE_END || offset % 8 ||
			!map_session_inside(offset, bytes, file_end))
			return 0;
		if (offset + bytes > last)
			last = offset + bytes;
	}
	return last;
}

static int map_session_refuse(const char **why, const char *text, int code)
{
	*why = text;
	return code;
}

static int map_session_check_header(
	const struct brick_session_header *h, uint64_t file_end, const char **why)
{
	if (h->magic != BRICK_SESSION_MAGIC)
		return map_session_refuse(why, "it does not begin like a session", BRICK_EFORMAT);
	if (h->version != BRICK_SESSION_VERSION || h->header_bytes != sizeof(*h) ||
		h->lane_bytes != sizeof(struct brick_lane))
		return map_session_refuse(
			why, "it was made by an incompatible libbrick", BRICK_EVERSION);
	if (!tables_end(h, file_end))
		return map_session_refuse(
			why, "one of its tables lies outside of the file", BRICK_EFORMAT);
	if (h->state != BRICK_SESSION_OPEN && h->state != BRICK_SESSION_CLOSED)
		return map_session_refuse(why, "it has no valid state", BRICK_EFORMAT);
	if (h->clock.source != brick_clock_get()->source)
		return map_session_refuse(why, "its process reads another clock than the recorder",
			BRICK_EUNSUPPORTED);
	return 0;
}

int drain_map_open(
	struct drain_map *m, int fd, bool view, const struct drain_guard *guard, const char **why)
{
	struct brick_session_header *h = &m->header;
	struct stat st;

	*why = "it cannot be read";
	if (fstat(fd, &st) < 0)
		return -errno;
	m->fd = fd;
	m->device = st.st_dev;
	m->inode = st.st_ino;
	uint64_t file_end = map_session_file_bytes(m);
	m->view = view;
	m->guard = guard;
	ssize_t n = pread(fd, h, sizeof(*h), 0);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(*h))
		return map_session_refuse(why, "it is too short for a session", BRICK_ETRUNCATED);
	int error = map_session_check_header(h, file_end, why);
	if (error)
		return error;
	m->shared_bytes = tables_end(h, file_end);
	m->shared = map_session_map(m, 0, m->shared_bytes);
	if (!m->shared)
		return map_session_refuse(why, "it cannot be mapped", -errno);
	/* The session has times as outside of time namespaces; our clocks count inside of ours. */
	h->clock.base_ns += (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
	h->start_ns += (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
	drain_clean_text(h->host, sizeof(h->host));
	drain_clean_text(h->executable, sizeof(h->executable));
	if (h->command_bytes > sizeof(h->command))
		h->command_bytes = sizeof(h->command);
	if (h->command_bytes)
		h->command[h->command_bytes - 1] = '\0';
	/* Arguments are cleaned one by one, because the NULs between them must stay. */
	for (uint32_t at = 0; at < h->command_bytes;) {
		size_t length = strlen(h->command + at);
		drain_clean_text(h->command + at, length + 1);
		at += (uint32_t)length + 1;
	}
	*why = NULL;
	return 0;
}

void drain_map_close(struct drain_map *m)
{
	for (uint32_t i = 0; i < m->lane_count; i++) {
		unmap(m, m->lanes[i]->shared, m->lanes[i]->bytes);
		array_fini(&m->lanes[i]->in_sink);
		array_fini(&m->lanes[i]->held);
		free(m->lanes[i]);
	}
	unmap(m, m->shared, m->shared_bytes);
}

bool drain_map_page_lost(const struct drain_map *m)
{
	return __atomic_load_n(&m->page_lost, __ATOMIC_RELAXED) != 0;
}

const char *drain_map_fault(const struct drain_map *m)
{
	if (drain_map_page_lost(m))
		return "its file was cut short, or shared memory is full";
	return __atomic_load_n(&m->fault, __ATOMIC_RELAXED);
}

void drain_map_fault_set(struct drain_map *m, const char *text)
{
	const char *none = NULL;

	__atomic_compare_exchange_n(&m->fault, &none, text, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

uint32_t drain_map_count(struct drain_map *m, const uint32_t *shared, uint32_t have, uint32_t max)
{
	uint32_t now = __atomic_load_n(shared, __ATOMIC_ACQUIRE);

	if (now >= have && now <= max)
		return now;
	drain_map_fault_set(m, "the size of a table makes no sense");
	return have;
}

/* Copies the lane's sizes and offsets, and checks the copies. Says why it is unusable, or NULL. */
static const char *check_lane(struct drain_lane *lane, const struct brick_lane *shared)
{
	lane->capacity = shared->capacity;
	lane->ring_offset = shared->ring_offset;
	lane->histogram_offset = shared->histogram_offset;
	lane->tail = shared->tail;
	memcpy(&lane->in_parts, shared->told, sizeof(shared->told));
	memcpy(lane->open, shared->drained.open, sizeof(lane->open));
	lane->open_depth = shared->drained.depth;
	if (lane->open_depth > BRICK_MAX_DEPTH)
		lane->open_depth = 0;
	if (lane->histogram_offset % 4 || lane->histogram_offset < sizeof(*shared) ||
		!map_session_inside(
			lane->histogram_offset, BRICK_HISTOGRAM_BLOCK_BYTES, lane->bytes))
		return "the histograms of a lane lie outside of it";
	if (!lane->capacity)
		return NULL;
	if (lane->capacity > MAX_CAPACITY || (lane->capacity & (lane->capacity - 1)))
		return "the size of a ring is no power of two";
	if (lane->ring_offset % 8 || lane->ring_offset < sizeof(*shared) ||
		!map_session_inside(lane->ring_offset, lane->capacity * sizeof(struct brick_record),
			lane->bytes))
		return "a ring lies outside of its lane";
	return NULL;
}

bool drain_map_is_scarce(const struct drain_map *m)
{
	struct statvfs fs;

	return !fstatvfs(drain_map_fd(m), &fs) && fs.f_blocks && fs.f_bavail < fs.f_blocks / 2;
}

/*
 * A thread's ring has memory for its first records only (src/lib/session/session_lanes.c): the
 * rest is given here, so that the thread need not stop for it. What the system refuses, the thread
 * asks for again.
 */
static void map_session_back_ring(const struct drain_map *m, const struct drain_lane *lane)
{
	uint64_t backed = __atomic_load_n(&lane->shared->backed, __ATOMIC_RELAXED);

	if (m->view || backed >= lane->capacity || drain_map_is_scarce(m) ||
		posix_fallocate(drain_map_fd(m), (off_t)(lane->offset + lane->ring_offset),
			(off_t)(lane->capacity * sizeof(struct brick_record))))
		return;
	brick__lane_backed(lane->shared, lane->capacity);
}

void *drain_map_block(struct drain_map *m, uint64_t offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (offset % page || offset < m->shared_bytes ||
		!map_session_inside(offset, BRICK_HISTOGRAM_BLOCK_BYTES, map_session_file_bytes(m)))
		return NULL;
	return map_session_map(m, offset, BRICK_HISTOGRAM_BLOCK_BYTES);
}

void drain_map_block_close(struct drain_map *m, void *block)
{
	unmap(m, block, BRICK_HISTOGRAM_BLOCK_BYTES);
}

static const char *map_lane(
	struct drain_map *m, struct drain_lane *lane, const struct brick_session_lane *entry)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (entry->offset % page || entry->offset < m->shared_bytes ||
		entry->bytes < sizeof(struct brick_lane) ||
		!map_session_inside(entry->offset, entry->bytes, map_session_file_bytes(m)))
		return "a lane lies outside of the file";
	lane->offset = entry->offset;
	lane->bytes = entry->bytes;
	struct brick_lane *shared = map_session_map(m, entry->offset, entry->bytes);
	if (!shared)
		return "a lane cannot be mapped";
	const char *wrong = check_lane(lane, shared);
	if (wrong) {
		unmap(m, shared, entry->bytes);
		return wrong;
	}
	lane->shared = shared;
	if (lane->capacity && shared->kind == BRICK_LANE_THREAD)
		map_session_back_ring(m, lane);
	return NULL;
}

uint32_t drain_map_lanes(struct drain_map *m)
{
	uint32_t now = __atomic_load_n(&m->shared->lane_count, __ATOMIC_ACQUIRE);

	if (now > BRICK_MAX_LANES || now < m->lane_count) {
		drain_map_fault_set(m, "its number of lanes makes no sense");
		return m->lane_count;
	}
	while (m->lane_count < now) {
		struct brick_session_lane entry;
		struct drain_lane *lane = calloc(1, sizeof(*lane));
		m->lane_is_missing = !lane;
		if (!lane)
			break;
		memcpy(&entry,
			(char *)m->shared + BRICK_SESSION_LANES_OFFSET +
				m->lane_count * sizeof(entry),
			sizeof(entry));
		const char *wrong = map_lane(m, lane, &entry);
		if (wrong)
			drain_map_fault_set(m, wrong);
		m->lanes[m->lane_count] = lane;
		__atomic_store_n(&m->lane_count, m->lane_count + 1, __ATOMIC_RELEASE);
	}
	return m->lane_count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the probe: a session in a directory of its own, looked at through its file as a
 * consumer sees it.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brick/brick.h"
#include "lib/drain/expand.h"
#include "lib/probe/leaf_stats.h"

struct peek {
	char directory[64], path[128];
	char *base;
	size_t bytes;
};

static inline void peek_start(struct peek *p, uint32_t ring_records)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	snprintf(p->directory, sizeof p->directory, "/tmp/brick-peek-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	snprintf(p->path, sizeof p->path, "%s/%d.session", p->directory, (int)getpid());
	options.directory = p->directory;
	options.ring_records = ring_records;
	assert_int_equal(brick_session_start(&options), 0);
}

/* Map the file as it is now. */
static inline void peek_map(struct peek *p)
{
	struct stat st;
	int fd = open(p->path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	p->bytes = (size_t)st.st_size;
	p->base = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p->base != MAP_FAILED);
	close(fd);
}

static inline struct brick_session_header *peek_header(struct peek *p)
{
	return (struct brick_session_header *)p->base;
}

static inline struct brick_record *peek_record(struct brick_lane *lane, uint64_t index)
{
	struct brick_record *ring = (struct brick_record *)((char *)lane + lane->ring_offset);
	return &ring[index & (lane->capacity - 1)];
}

/* Nobody drains these sessions: what its producer did not count is counted here, once. */
static inline void peek_count(struct brick_lane *lane)
{
	static struct leaf_stats leaves;

	leaves = (struct leaf_stats){0};
	for (uint64_t i = lane->tail; i < lane->head; i++) {
		struct brick_record *r = peek_record(lane, i);
		leaf_count_all(leaves.stats, BRICK_MAX_BRICKS, &leaves.depth, leaves.open, r, 1);
		if (r->kind == BRICK_RECORD_SAMPLE)
			r->flags &= (uint16_t)~BRICK_FLAG_UNCOUNTED;
	}
	for (uint32_t i = 0; i < BRICK_MAX_BRICKS; i++)
		brick__leaf_stat_add(&lane->stats[i], &leaves.stats[i]);
}

static inline struct brick_lane *peek_lane(struct peek *p, uint32_t index)
{
	struct brick_session_lane *table =
		(struct brick_session_lane *)(p->base + BRICK_SESSION_LANES_OFFSET);
	assert_true(index < peek_header(p)->lane_count);
	assert_true(table[index].offset + table[index].bytes <= p->bytes);
	struct brick_lane *lane = (struct brick_lane *)(p->base + table[index].offset);
	if (lane->kind == BRICK_LANE_THREAD)
		peek_count(lane);
	return lane;
}

/*
 * The same as sinks get it; returns how many it stands for, up to 6: of works of samples that come
 * 0, and these are behind their samples. Records in their order, from the first on.
 */
static inline uint32_t peek_read(
	struct peek *p, struct brick_lane *lane, uint64_t index, struct brick_record *out)
{
	static struct drain_ahead ahead;
	const struct brick_session_site *sites =
		(const void *)(p->base + peek_header(p)->site_offset);
	struct brick_record three[3];
	struct brick_samples samples;
	uint32_t n = 0;

	if (!index)
		ahead.known = 0;
	*out = *peek_record(lane, index);
	if (out->kind == BRICK_RECORD_WORK_AHEAD)
		drain_ahead_add(&ahead, out);
	if (out->kind != BRICK_RECORD_SAMPLES)
		return out->kind != BRICK_RECORD_WORK_AHEAD;
	memcpy(&samples, out, sizeof samples);
	uint32_t count = brick_samples_read(&samples, three);
	for (uint32_t i = 0; i < count; i++) {
		const struct brick_record *work = drain_ahead_take(&ahead);
		out[n] = three[i];
		out[n].brick = sites[out[n].site].brick;
		out[n].layer = sites[out[n].site].layer;
		n++;
		if (work)
			out[n++] = (struct brick_record){.begin = work->begin,
				.kind = BRICK_RECORD_WORK,
				.elements = work->elements};
	}
	return n;
}

static inline void peek_stop(struct peek *p)
{
	if (p->base)
		munmap(p->base, p->bytes);
	p->base = NULL;
	assert_int_equal(brick_session_stop(), 0);
	unlink(p->path);
	rmdir(p->directory);
}

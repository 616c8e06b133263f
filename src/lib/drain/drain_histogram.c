/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows live in the session, where others may read them; a brick whose row gets no memory there
 * (shared memory is full, or half full and the names are many) has a private one instead.
 */
#include "lib/drain/drain_histogram.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/scope.h"
#include "brick/registry.h"

enum { ROW_BYTES = BRICK_HISTOGRAM_ROW_BYTES };

/* Where the consumer's row of a brick is in the file; 0: nowhere. */
static uint64_t row_offset(const struct drain_map *m, uint32_t brick)
{
	uint32_t block = brick / BRICK_FIRST_ROWS;
	uint64_t offset =
		!block ? m->header.drained_offset
		       : __atomic_load_n(&m->shared->drained_more[block - 1], __ATOMIC_ACQUIRE);

	return offset ? offset + (uint64_t)(brick % BRICK_FIRST_ROWS) * ROW_BYTES : 0;
}

/* Rows are holes of the file at first: touching one without memory behind it would be a SIGBUS. */
static uint32_t *row_in_session(struct drain_histograms *h, struct drain_map *m, uint32_t brick)
{
	uint32_t block = brick / BRICK_FIRST_ROWS, place = brick % BRICK_FIRST_ROWS;
	uint64_t offset = row_offset(m, brick);

	/* thousands of names must not take the room that new threads need for their rings */
	if (!offset || (block && drain_map_is_scarce(m)))
		return NULL;
	if (block && !h->blocks[block])
		h->blocks[block] = drain_map_block(m, offset - (uint64_t)place * ROW_BYTES);
	char *rows = block ? h->blocks[block] : (char *)m->shared + m->header.drained_offset;
	if (!rows || posix_fallocate(drain_map_fd(m), (off_t)offset, ROW_BYTES))
		return NULL;
	return (uint32_t *)(rows + (uint64_t)place * ROW_BYTES);
}

static uint32_t *row_create(struct drain_histograms *h, struct drain_map *m, uint32_t brick)
{
	h->rows[brick] = row_in_session(h, m, brick);
	if (h->rows[brick])
		return h->rows[brick];
	h->rows[brick] = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(uint32_t));
	h->is_private[brick] = h->rows[brick] != NULL;
	if (!h->rows[brick])
		drain_map_fault_set(m, "out of memory for its histograms");
	return h->rows[brick];
}

static inline void drain_histogram_enter(
	struct drain_histograms *h, struct drain_map *m, uint32_t brick, uint64_t ticks)
{
	uint32_t *row = h->rows[brick];

	if (BRICK_UNLIKELY(!row)) {
		row = row_create(h, m, brick);
		if (!row)
			return;
	}
	uint32_t *bucket = &row[brick_histogram_index(ticks)];
	uint32_t value = __atomic_load_n(bucket, __ATOMIC_RELAXED);
	if (BRICK_LIKELY(value != UINT32_MAX))
		__atomic_store_n(bucket, value + 1, __ATOMIC_RELAXED);
}

static inline void enter_waits(
	struct drain_histograms *h, struct drain_map *m, const struct brick_record *r)
{
	if (r->wait)
		drain_histogram_enter(h, m, BRICK_BARRIER_WAIT, r->wait);
	if ((r->flags & BRICK_FLAG_SITE) && r->inner)
		drain_histogram_enter(h, m, BRICK_BARRIER_WAIT, r->inner);
}

static bool drain_histogram_is_queue(const struct drain_lane *lane)
{
	return lane->shared &&
	       __atomic_load_n(&lane->shared->kind, __ATOMIC_RELAXED) == BRICK_LANE_QUEUE;
}

static inline void tell_step(const struct drain_histograms *h, struct drain_lane *lane,
	uint32_t brick, uint64_t begin, uint64_t end)
{
	if (BRICK_LIKELY(!h->watcher_count))
		return;
	lane->is_plain |= brick == h->plain_brick && brick;
	if (BRICK_LIKELY(!brick_is_step(brick)))
		return;
	for (uint32_t i = 0; i < lane->depth; i++)
		if (brick_is_step(lane->frames[i].brick))
			return;
	for (uint32_t i = 0; i < h->watcher_count; i++)
		h->watchers[i].on_step(h->watchers[i].context,
			&(struct drain_step){brick, lane->is_plain, begin, end});
	lane->is_plain = false;
}

void drain_histograms_enter(struct drain_histograms *h, struct drain_map *m,
	struct drain_lane *lane, uint32_t bricks, const struct brick_record *records, size_t count,
	struct drain_counts *counts)
{
	if (drain_histogram_is_queue(lane)) {
		/* times of a device are none of the host's: a queue's records are only counted */
		for (size_t i = 0; i < count; i++)
			counts->samples += records[i].kind == BRICK_RECORD_SAMPLE ||
					   records[i].kind == BRICK_RECORD_OPEN;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct brick_record *r = &records[i];
		uint64_t begin;
		if (r->brick >= bricks)
			continue;
		switch (r->kind) {
		case BRICK_RECORD_SAMPLE:
			lane->last_ticks = r->begin + r->ticks;
			tell_step(h, lane, r->brick, r->begin, r->begin + r->ticks);
			drain_histogram_enter(h, m, r->brick, r->ticks);
			enter_waits(h, m, r);
			counts->samples++;
			counts->steps += brick_is_step(r->brick);
			break;
		case BRICK_RECORD_OPEN:
			lane->last_ticks = r->begin;
			if (lane->depth < BRICK_MAX_DEPTH)
				lane->frames[lane->depth++] =
					(struct drain_frame){r->begin, r->brick};
			counts->samples++;
			counts->steps += brick_is_step(r->brick);
			break;
		case BRICK_RECORD_CLOSE:
			lane->last_ticks = r->begin;
			/* ends without a begin, or of something else, are the writer's to count */
			if (!lane->depth || lane->frames[lane->depth - 1].brick != r->brick)
				break;
			begin = lane->frames[--lane->depth].begin;
			if (!begin) /* a former consumer had its begin: drain_go_on() */
				break;
			tell_step(h, lane, r->brick, begin, r->begin);
			drain_histogram_enter(
				h, m, r->brick, r->begin > begin ? r->begin - begin : 0);
			enter_waits(h, m, r);
			break;
		case BRICK_RECORD_REPORTED:
			drain_histogram_enter(h, m, r->brick, r->elements);
			counts->samples++;
			break;
		case BRICK_RECORD_WAIT:
			drain_histogram_enter(h, m, BRICK_BARRIER_WAIT, r->elements);
			break;
		case BRICK_RECORD_THREAD:
			lane->depth = 0;
			break;
		default:
			break;
		}
	}
}

uint64_t drain_histogram_percentile(
	const struct drain_histograms *h, uint32_t brick, unsigned percent, uint64_t *count)
{
	const uint32_t *row = h->rows[brick];
	uint64_t below = 0;
	uint32_t i = 0;

	*count = 0;
	for (uint32_t k = 0; row && k < BRICK_HISTOGRAM_BUCKETS; k++)
		*count += row[k];
	if (!*count)
		return 0;
	/* the row may be the session's, which others write to */
	uint64_t rank = (*count * percent + 99) / 100;
	while ((below += row[i]) < rank && i < BRICK_HISTOGRAM_BUCKETS - 1)
		i++;
	return brick_histogram_value(i);
}

/* Add a row at an offset of the file to a sum. Read, not mapped: holes stay holes. */
static void drain_histogram_add_row(
	struct drain_map *m, uint64_t offset, struct ticks_histogram *sum)
{
	uint32_t row[BRICK_HISTOGRAM_BUCKETS];

	if (pread(drain_map_fd(m), row, sizeof(row), (off_t)offset) != (ssize_t)sizeof(row)) {
		drain_map_fault_set(m, "its histograms cannot be read");
		return;
	}
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		sum->of_ticks[i] += row[i];
}

/* Where the lane's owner entered durations of records that it dropped; 0: it dropped none. */
static uint64_t lane_row(const struct drain_lane *lane, uint32_t brick)
{
	uint32_t block = brick / BRICK_FIRST_ROWS;

	if (!lane->shared || drain_histogram_is_queue(lane))
		return 0;
	const struct brick_lane_histograms *histograms = &lane->shared->histograms;
	if (!(__atomic_load_n(&histograms->rows[brick / 64], __ATOMIC_ACQUIRE) >> (brick % 64) & 1))
		return 0;
	return (block ? __atomic_load_n(&histograms->offset[block], __ATOMIC_RELAXED)
		      : lane->offset + lane->histogram_offset) +
	       (uint64_t)(brick % BRICK_FIRST_ROWS) * ROW_BYTES;
}

static bool ran(const struct drain_map *m, uint32_t brick)
{
	for (uint32_t i = 0; i < m->lane_count; i++) {
		const struct brick_lane *lane = m->lanes[i]->shared;
		if (lane && brick_lane_has_rows(lane, brick) &&
			(lane->stats[brick].count || lane->drained.stats[brick].count))
			return true;
	}
	return false;
}

/* A view has no rows of its own: the consumer's are read from the file. */
static void add_drained(const struct drain_histograms *h, struct drain_map *m, uint32_t brick,
	struct ticks_histogram *sum)
{
	if (m->view && row_offset(m, brick))
		drain_histogram_add_row(m, row_offset(m, brick), sum);
	for (uint32_t i = 0; h->rows[brick] && i < BRICK_HISTOGRAM_BUCKETS; i++)
		sum->of_ticks[i] += h->rows[brick][i];
}

/* The merged row of a brick. False: nobody entered anything. */
static bool drain_histogram_merge(const struct drain_histograms *h, struct drain_map *m,
	uint32_t brick, struct ticks_histogram *sum)
{
	bool any = m->view ? ran(m, brick) : h->rows[brick] != NULL;

	for (uint32_t i = 0; i < m->lane_count && !any; i++)
		any = lane_row(m->lanes[i], brick) != 0;
	if (!any)
		return false;
	memset(sum, 0, sizeof(*sum));
	add_drained(h, m, brick, sum);
	for (uint32_t i = 0; i < m->lane_count; i++)
		if (lane_row(m->lanes[i], brick))
			drain_histogram_add_row(m, lane_row(m->lanes[i], brick), sum);
	return true;
}

int drain_histograms_emit(const struct drain_histograms *h, struct drain_map *m, uint32_t bricks,
	struct trace_writer *writer, int process)
{
	SCOPED struct ticks_histogram *sum = malloc(sizeof(*sum));
	int error = sum ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < bricks && !error; i++)
		if (drain_histogram_merge(h, m, i, sum))
			error = sink_histogram(writer, process, i, sum);
	return error;
}

void drain_histograms_fini(struct drain_histograms *h, struct drain_map *m)
{
	for (uint32_t i = 0; i < BRICK_MAX_BRICKS; i++)
		if (h->is_private[i])
			free(h->rows[i]);
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BLOCKS; i++)
		drain_map_block_close(m, h->blocks[i]);
}

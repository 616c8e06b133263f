/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows live in the session, where others may read them; a brick whose row gets no memory there
 * (shared memory is full) has a private one instead.
 */
#include "lib/drain/drain_histogram.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "brick/registry.h"

enum { ROW_BYTES = BRICK_HISTOGRAM_BUCKETS * sizeof(uint32_t) };

/* Rows are holes of the file at first: touching one without memory behind it would be a SIGBUS. */
static uint32_t *row_create(struct drain_histograms *h, struct drain_map *m, uint32_t brick)
{
	uint64_t offset = m->header.drained_offset + (uint64_t)brick * ROW_BYTES;
	int error = posix_fallocate(drain_map_fd(m), (off_t)offset, ROW_BYTES);

	if (!error) {
		h->rows[brick] = (uint32_t *)((char *)m->shared + offset);
		return h->rows[brick];
	}
	h->rows[brick] = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(uint32_t));
	h->is_private[brick] = h->rows[brick] != NULL;
	if (!h->rows[brick])
		drain_map_fault_set(m, "out of memory for its histograms");
	return h->rows[brick];
}

static inline void enter(
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
		enter(h, m, BRICK_BARRIER_WAIT, r->wait);
	if ((r->flags & BRICK_FLAG_SITE) && r->inner)
		enter(h, m, BRICK_BARRIER_WAIT, r->inner);
}

static void enter_close(struct drain_histograms *h, struct drain_map *m, struct drain_lane *lane,
	const struct brick_record *r)
{
	/* Ends without a begin, or of something else, are the writer's to count. */
	if (!lane->depth || lane->frames[lane->depth - 1].brick != r->brick)
		return;
	uint64_t begin = lane->frames[--lane->depth].begin;
	enter(h, m, r->brick, r->begin > begin ? r->begin - begin : 0);
	enter_waits(h, m, r);
}

static bool is_queue(const struct drain_lane *lane)
{
	return lane->shared &&
	       __atomic_load_n(&lane->shared->kind, __ATOMIC_RELAXED) == BRICK_LANE_QUEUE;
}

/* Times of a device are none of the host's: a queue's records are only counted. */
static void count_commands(
	struct drain_counts *counts, const struct brick_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		counts->samples += records[i].kind == BRICK_RECORD_SAMPLE ||
				   records[i].kind == BRICK_RECORD_OPEN;
}

void drain_histograms_enter(struct drain_histograms *h, struct drain_map *m,
	struct drain_lane *lane, uint32_t bricks, const struct brick_record *records, size_t count,
	struct drain_counts *counts)
{
	if (is_queue(lane)) {
		count_commands(counts, records, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct brick_record *r = &records[i];
		if (r->brick >= bricks)
			continue;
		switch (r->kind) {
		case BRICK_RECORD_SAMPLE:
			lane->last_ticks = r->begin + r->ticks;
			enter(h, m, r->brick, r->ticks);
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
			enter_close(h, m, lane, r);
			break;
		case BRICK_RECORD_REPORTED:
			enter(h, m, r->brick, r->elements);
			counts->samples++;
			break;
		case BRICK_RECORD_WAIT:
			enter(h, m, BRICK_BARRIER_WAIT, r->elements);
			break;
		case BRICK_RECORD_THREAD:
			lane->depth = 0;
			break;
		default:
			break;
		}
	}
}

/* Add a row at an offset of the file to a sum. Read, not mapped: holes stay holes. */
static void add_row(struct drain_map *m, uint64_t offset, struct ticks_histogram *sum)
{
	uint32_t row[BRICK_HISTOGRAM_BUCKETS];

	if (pread(drain_map_fd(m), row, sizeof(row), (off_t)offset) != (ssize_t)sizeof(row)) {
		drain_map_fault_set(m, "its histograms cannot be read");
		return;
	}
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		sum->of_ticks[i] += row[i];
}

/* True if the lane's owner entered durations of records that it dropped. */
static bool lane_has_row(const struct drain_lane *lane, uint32_t brick)
{
	return lane->shared && !is_queue(lane) &&
	       (__atomic_load_n(&lane->shared->histogram_rows[brick / 64], __ATOMIC_RELAXED) >>
			       (brick % 64) &
		       1);
}

static bool ran(const struct drain_map *m, uint32_t brick)
{
	for (uint32_t i = 0; i < m->lane_count; i++)
		if (m->lanes[i]->shared && (m->lanes[i]->shared->stats[brick].count ||
						   m->lanes[i]->shared->drained.stats[brick].count))
			return true;
	return false;
}

/* A view has no rows of its own: the consumer's are read from the file. */
static void add_drained(const struct drain_histograms *h, struct drain_map *m, uint32_t brick,
	struct ticks_histogram *sum)
{
	if (m->view)
		add_row(m, m->header.drained_offset + (uint64_t)brick * ROW_BYTES, sum);
	for (uint32_t i = 0; h->rows[brick] && i < BRICK_HISTOGRAM_BUCKETS; i++)
		sum->of_ticks[i] += h->rows[brick][i];
}

/* The merged row of a brick into *row; NULL when nobody entered anything. 0 or -ENOMEM. */
static int merge(const struct drain_histograms *h, struct drain_map *m, uint32_t brick,
	struct ticks_histogram **row)
{
	bool any = m->view ? ran(m, brick) : h->rows[brick] != NULL;

	*row = NULL;
	for (uint32_t i = 0; i < m->lane_count && !any; i++)
		any = lane_has_row(m->lanes[i], brick);
	if (!any)
		return 0;
	struct ticks_histogram *sum = calloc(1, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	add_drained(h, m, brick, sum);
	for (uint32_t i = 0; i < m->lane_count; i++) {
		const struct drain_lane *lane = m->lanes[i];
		if (lane_has_row(lane, brick))
			add_row(m,
				lane->offset + lane->histogram_offset + (uint64_t)brick * ROW_BYTES,
				sum);
	}
	*row = sum;
	return 0;
}

int drain_histograms_emit(const struct drain_histograms *h, struct drain_map *m, uint32_t bricks,
	struct sink *sink, int process)
{
	struct ticks_histogram *rows[BRICK_MAX_BRICKS] = {NULL};
	int error = 0;

	for (uint32_t i = 0; i < bricks && !error; i++)
		error = merge(h, m, i, &rows[i]);
	if (!error)
		error = sink_histograms(
			sink, process, bricks, (const struct ticks_histogram *const *)rows);
	for (uint32_t i = 0; i < bricks; i++)
		free(rows[i]);
	return error;
}

void drain_histograms_fini(struct drain_histograms *h)
{
	for (uint32_t i = 0; i < BRICK_MAX_BRICKS; i++)
		if (h->is_private[i])
			free(h->rows[i]);
}

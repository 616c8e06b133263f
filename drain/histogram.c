/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drained histograms: the consumer enters the length of every record that it tells, its
 * producer those of records that it dropped, so that both together are exact. They live in the
 * session, where others may read them; a brick whose row gets no memory there (shared memory is
 * full) has a private one instead. Telling side.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/registry.h"
#include "drain/state.h"

enum { ROW_BYTES = BRICK_HISTOGRAM_BUCKETS * sizeof(uint32_t) };

/* Rows are holes of the file at first: touching one without memory behind it would be a SIGBUS. */
static uint32_t *row_create(struct drain *d, uint32_t brick)
{
	uint64_t offset = d->header.drained_offset + (uint64_t)brick * ROW_BYTES;
	int error = posix_fallocate(d->fd, (off_t)offset, ROW_BYTES);

	if (!error) {
		d->histograms[brick] = (uint32_t *)((char *)d->shared + offset);
		return d->histograms[brick];
	}
	d->histograms[brick] = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(uint32_t));
	d->histogram_private[brick] = d->histograms[brick] != NULL;
	if (!d->histograms[brick])
		drain_trouble_set(d, "out of memory for its histograms");
	return d->histograms[brick];
}

static inline void enter(struct drain *d, uint32_t brick, uint64_t ticks)
{
	uint32_t *row = d->histograms[brick];

	if (BRICK_UNLIKELY(!row)) {
		row = row_create(d, brick);
		if (!row)
			return;
	}
	uint32_t *bucket = &row[brick_histogram_index(ticks)];
	uint32_t value = __atomic_load_n(bucket, __ATOMIC_RELAXED);
	if (BRICK_LIKELY(value != UINT32_MAX))
		__atomic_store_n(bucket, value + 1, __ATOMIC_RELAXED);
}

static inline void enter_waits(struct drain *d, const struct brick_record *r)
{
	if (r->wait)
		enter(d, BRICK_BARRIER_WAIT, r->wait);
	if ((r->flags & BRICK_FLAG_SITE) && r->inner)
		enter(d, BRICK_BARRIER_WAIT, r->inner);
}

static void enter_close(struct drain *d, struct drain_lane *lane, const struct brick_record *r)
{
	/* Ends without a begin, or of something else, are the writer's to count. */
	if (!lane->depth || lane->frames[lane->depth - 1].brick != r->brick)
		return;
	uint64_t begin = lane->frames[--lane->depth].begin;
	enter(d, r->brick, r->begin > begin ? r->begin - begin : 0);
	enter_waits(d, r);
}

static int is_queue(const struct drain_lane *lane)
{
	return lane->shared &&
	       __atomic_load_n(&lane->shared->kind, __ATOMIC_RELAXED) == BRICK_LANE_QUEUE;
}

/* Times of a device are none of the host's: a queue's records are only counted. */
static void count_commands(struct drain *d, const struct brick_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		d->counts.samples += records[i].kind == BRICK_RECORD_SAMPLE ||
				     records[i].kind == BRICK_RECORD_OPEN;
}

void drain_histogram_records(
	struct drain *d, struct drain_lane *lane, const struct brick_record *records, size_t count)
{
	uint32_t bricks = d->tables.brick_count;

	if (is_queue(lane)) {
		count_commands(d, records, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct brick_record *r = &records[i];
		if (r->brick >= bricks)
			continue;
		switch (r->kind) {
		case BRICK_RECORD_SAMPLE:
			enter(d, r->brick, r->ticks);
			enter_waits(d, r);
			d->counts.samples++;
			d->counts.steps += r->brick == BRICK_PREFILL || r->brick == BRICK_DECODE;
			break;
		case BRICK_RECORD_OPEN:
			if (lane->depth < BRICK_MAX_DEPTH)
				lane->frames[lane->depth++] =
					(struct drain_frame){r->begin, r->brick};
			d->counts.samples++;
			d->counts.steps += r->brick == BRICK_PREFILL || r->brick == BRICK_DECODE;
			break;
		case BRICK_RECORD_CLOSE:
			enter_close(d, lane, r);
			break;
		case BRICK_RECORD_REPORTED:
			enter(d, r->brick, r->elements);
			d->counts.samples++;
			break;
		case BRICK_RECORD_WAIT:
			enter(d, BRICK_BARRIER_WAIT, r->elements);
			break;
		case BRICK_RECORD_THREAD:
			lane->depth = 0;
			break;
		default:
			break;
		}
	}
}

/* Add a row that an owner kept for what it dropped. Read, not mapped: holes stay holes. */
static void add_lane_row(
	struct drain *d, const struct drain_lane *lane, uint32_t brick, uint64_t *sum)
{
	uint32_t row[BRICK_HISTOGRAM_BUCKETS];
	uint64_t offset = lane->offset + lane->histogram_offset + (uint64_t)brick * ROW_BYTES;

	if (pread(d->fd, row, sizeof row, (off_t)offset) != (ssize_t)sizeof row)
		return;
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		sum[i] += row[i];
}

static int lane_has_row(const struct drain_lane *lane, uint32_t brick)
{
	return lane->shared && !is_queue(lane) &&
	       (__atomic_load_n(&lane->shared->histogram_rows[brick / 64], __ATOMIC_RELAXED) >>
			       (brick % 64) &
		       1);
}

/* Of a view: what the consumer keeps for a brick that ran. Read, not mapped: holes stay holes. */
static void add_drained_row(struct drain *d, uint32_t brick, uint64_t *sum)
{
	uint32_t row[BRICK_HISTOGRAM_BUCKETS];
	uint64_t offset = d->header.drained_offset + (uint64_t)brick * ROW_BYTES;

	if (pread(d->fd, row, sizeof row, (off_t)offset) != (ssize_t)sizeof row)
		return;
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		sum[i] += row[i];
}

static int ran(const struct drain *d, uint32_t brick)
{
	for (uint32_t i = 0; i < d->lane_count; i++)
		if (d->lanes[i]->shared && d->lanes[i]->shared->stats[brick].count)
			return 1;
	return 0;
}

/* The merged row of a brick; NULL when nobody entered anything, or without memory. */
static uint64_t *merge(struct drain *d, uint32_t brick)
{
	uint64_t *sum = NULL;
	int any = d->view ? ran(d, brick) : d->histograms[brick] != NULL;

	for (uint32_t i = 0; i < d->lane_count && !any; i++)
		any = lane_has_row(d->lanes[i], brick);
	if (any)
		sum = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof *sum);
	if (!sum)
		return NULL;
	if (d->view)
		add_drained_row(d, brick, sum);
	for (uint32_t i = 0; d->histograms[brick] && i < BRICK_HISTOGRAM_BUCKETS; i++)
		sum[i] = d->histograms[brick][i];
	for (uint32_t i = 0; i < d->lane_count; i++)
		if (lane_has_row(d->lanes[i], brick))
			add_lane_row(d, d->lanes[i], brick, sum);
	return sum;
}

int drain_histogram_tell(struct drain *d, struct trace_writer *w)
{
	uint32_t count = d->tables.brick_count;
	uint64_t *rows[BRICK_MAX_BRICKS] = {NULL};

	for (uint32_t i = 0; i < count; i++)
		rows[i] = merge(d, i);
	int error = trace_writer_histograms(w, d->process, count, (const uint64_t *const *)rows);
	for (uint32_t i = 0; i < count; i++)
		free(rows[i]);
	return error;
}

void drain_histogram_fini(struct drain *d)
{
	for (uint32_t i = 0; i < BRICK_MAX_BRICKS; i++)
		if (d->histogram_private[i])
			free(d->histograms[i]);
}

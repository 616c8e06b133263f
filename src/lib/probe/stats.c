/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and resetting the statistics of the session that the thread uses: sums over its lanes of
 * threads, or of queues, percentiles from the merged histograms. Nothing in here is on the hot
 * path, and nothing stops a writer.
 */
#include "base/members.h"
#include "brick/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/scope.h"
#include "base/sized.h"
#include "brick/error.h"
#include "brick/session.h"
#include "lib/probe/leaf_stats.h"
#include "lib/probe/ring.h"
#include "lib/session/consumer.h"
#include "lib/session/session_lanes.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"

/*
 * Threads that record go on counting, and are not held up: what is read of them may be a sample
 * old (stats.h). Numbers are whole, as they are aligned. That is no race to be told of.
 */
#define BESIDE_WRITERS __attribute__((no_sanitize("thread")))

/* Asynchronous work is the threads', though it has a lane as queues have. */
static bool stats_belongs(const struct brick_lane *lane, enum brick_lane_kind kind)
{
	bool on_threads = lane->kind == BRICK_LANE_THREAD ||
			  !strncmp(lane->backend, BRICK_HOST_BACKEND, sizeof(lane->backend));

	return on_threads == (kind == BRICK_LANE_THREAD);
}

BESIDE_WRITERS static void add_row(uint64_t *merged, const uint32_t *row)
{
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		merged[i] += row[i];
}

/*
 * The consumer's row of a brick that ran; NULL: the consumer has it to itself. *block: what was
 * mapped for it, to be unmapped.
 */
static uint32_t *map_drained(struct brick_session *s, uint32_t brick, void **block)
{
	uint32_t i = brick / BRICK_FIRST_ROWS;
	uint64_t offset = i ? s->header->drained_more[i - 1] : s->header->drained_offset;
	uint64_t place = (uint64_t)(brick % BRICK_FIRST_ROWS) * BRICK_HISTOGRAM_ROW_BYTES;
	int error;

	*block = NULL;
	if (!offset || brick__shared_reserve(&s->file, offset + place, BRICK_HISTOGRAM_ROW_BYTES))
		return NULL;
	if (i)
		*block = brick__shared_map(&s->file, offset, BRICK_HISTOGRAM_BLOCK_BYTES, &error);
	char *rows = i ? *block : brick__at(s, offset);
	return rows ? (uint32_t *)(rows + place) : NULL;
}

static void unmap_drained(void *block)
{
	if (block)
		brick__sys_unmap(block, BRICK_HISTOGRAM_BLOCK_BYTES);
}

/*
 * Under the session lock. A consumer enters those of threads, and nobody those of queues then; of
 * records that nobody consumes percentiles are not known.
 */
static void merge_histograms(
	struct brick_session *s, uint32_t brick, enum brick_lane_kind kind, uint64_t *merged)
{
	memset(merged, 0, BRICK_HISTOGRAM_BUCKETS * sizeof(*merged));
	bool is_consumed = s->consumer || s->external;
	if (s->renewed || (s->ring_records && (kind == BRICK_LANE_QUEUE || !is_consumed)))
		return;
	if (s->ring_records) {
		void *block;
		uint32_t *row = map_drained(s, brick, &block);
		if (row)
			add_row(merged, row);
		unmap_drained(block);
	}
	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		struct brick_lane *lane = s->lanes[i].lane;
		const uint32_t *row = brick__lane_histogram_row(lane, brick);
		if (stats_belongs(lane, kind) && row)
			add_row(merged, row);
	}
}

/*
 * By nearest rank, in ns; 0: fewer entries than it takes to tell it from the greatest. A bucket's
 * middle may lie beyond the values that are really in it.
 */
static uint64_t percentile_ns(
	const struct brick_stats *stats, const uint64_t *merged, uint64_t entries, unsigned percent)
{
	uint64_t rank = (entries * percent + 99) / 100, seen = 0;
	uint32_t i = 0;

	if (percent > 50 && entries * (100 - percent) < 100)
		return 0;
	for (; i < BRICK_HISTOGRAM_BUCKETS - 1; i++) {
		seen += merged[i];
		if (seen >= rank)
			break;
	}
	uint64_t ns = brick_clock_duration_ns(brick_clock_get(), brick_histogram_value(i));
	return ns < stats->min_ns ? stats->min_ns : ns > stats->max_ns ? stats->max_ns : ns;
}

BESIDE_WRITERS static void add_stat(struct brick_stat *sum, const struct brick_stat *stat)
{
	members_add(sum, stat, count, total, nested, self, wait, elements, bytes, bytes_out, flops,
		counted, cycles, instructions, cache_misses, surplus);
	if (stat->min < sum->min)
		sum->min = stat->min;
	if (stat->max > sum->max)
		sum->max = stat->max;
}

/* Statistics of all bricks, of lanes of one kind. */
struct sums {
	uint64_t self;		    /* of all of them, in ticks */
	bool ran[BRICK_MAX_BRICKS]; /* is added to a category already */
	struct brick_stat bricks[BRICK_MAX_BRICKS];
	struct leaf_stats leaves; /* of the lane that is added */
};

/* Under the session lock. What is still in a ring counts, too. */
static void sum_lanes(const struct brick_session *s, enum brick_lane_kind kind, struct sums *sums)
{
	uint32_t bricks = brick_count();

	for (uint32_t b = 0; b < bricks; b++)
		sums->bricks[b] = (struct brick_stat){.min = UINT64_MAX};
	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		const struct brick_lane *lane = s->lanes[i].lane;
		const void *ring = (const char *)lane + lane->ring_offset;
		if (!stats_belongs(lane, kind))
			continue;
		for (uint32_t b = 0, n; b < bricks; b += n) {
			n = brick_lane_rows_left(b, bricks);
			for (uint32_t k = b; k < b + n && brick_lane_has_rows(lane, b); k++)
				add_stat(&sums->bricks[k], &lane->stats[k]);
		}
		if (lane->kind != BRICK_LANE_THREAD)
			continue;
		brick__leaf_stats_read(lane, ring, lane->capacity, bricks, &sums->leaves);
		for (uint32_t b = 0; b < bricks; b++)
			brick__leaf_stat_add(&sums->bricks[b], &sums->leaves.stats[b]);
	}
	sums->self = 0;
	for (uint32_t b = 0; b < bricks; b++)
		sums->self += sums->bricks[b].self;
}

/* ns of ticks of which a part was too much (struct brick_stat): exact, and as a whole number. */
static double exact_ns(uint64_t ticks, uint64_t surplus)
{
	const struct brick_clock *clock = brick_clock_get();
	unsigned __int128 wide = (unsigned __int128)ticks * clock->mult;

	return ldexp((double)(wide > surplus ? wide - surplus : 0), -(int)clock->shift);
}

static uint64_t whole_ns(uint64_t ticks, uint64_t surplus)
{
	const struct brick_clock *clock = brick_clock_get();
	unsigned __int128 wide = (unsigned __int128)ticks * clock->mult;

	return (uint64_t)((wide > surplus ? wide - surplus : 0) >> clock->shift);
}

static void stats_fill(
	struct brick_stats *out, const struct brick_stat *sum, const struct sums *all)
{
	const struct brick_clock *clock = brick_clock_get();

	memset(out, 0, sizeof(*out));
	out->count = sum->count;
	out->total_ns = whole_ns(sum->total, sum->surplus);
	out->self_ns = whole_ns(sum->self, sum->surplus);
	out->wait_ns = brick_clock_duration_ns(clock, sum->wait);
	out->min_ns = brick_clock_duration_ns(clock, sum->min);
	out->max_ns = brick_clock_duration_ns(clock, sum->max);
	out->mean_ns = exact_ns(sum->total + sum->nested, sum->surplus) / (double)sum->count;
	members_copy(out, sum, elements, bytes, bytes_out, flops);
	out->share = all->self ? (double)sum->self / (double)all->self : 0;
}

/*
 * Spread of the histogram's entries in ticks, every entry taken at the middle of its bucket, which
 * is up to 1/128 of it off: so is the spread, of their root mean square. 0: it may be nothing but
 * that.
 */
static double deviation(const uint64_t *merged, uint64_t entries)
{
	double mean = 0, square = 0;

	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		mean += (double)merged[i] * (double)brick_histogram_value(i) / (double)entries;
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++) {
		double off = (double)brick_histogram_value(i) - mean;
		square += (double)merged[i] * off * off / (double)entries;
	}
	double error = sqrt(square + mean * mean) / (2 << BRICK_HISTOGRAM_SUB_BITS);
	return sqrt(square) > 2 * error ? sqrt(square) : 0;
}

/* What the histogram alone knows. */
static void fill_distribution(struct brick_stats *out, const uint64_t *merged)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t entries = 0;

	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		entries += merged[i];
	if (!entries)
		return;
	out->stddev_ns =
		ldexp(deviation(merged, entries) * (double)clock->mult, -(int)clock->shift);
	out->p50_ns = percentile_ns(out, merged, entries, 50);
	out->p95_ns = percentile_ns(out, merged, entries, 95);
	out->p99_ns = percentile_ns(out, merged, entries, 99);
}

/* Have the histograms of what is still in the rings, where this process consumes them. */
static void drain_now(struct brick_session *session)
{
	if (session->consumer)
		session->consumer_type->drain(session->consumer);
}

static int get_stats(uint32_t brick, enum brick_lane_kind kind, struct brick_stats *out)
{
	struct brick_stats stats;
	int error = -ENOENT;

	if (brick >= brick_count() || !sized_bytes(out))
		return -EINVAL;
	SCOPED uint64_t *merged = malloc(BRICK_HISTOGRAM_BUCKETS * sizeof(*merged));
	SCOPED struct sums *sums = malloc(sizeof(*sums));
	if (!merged || !sums)
		return -ENOMEM;
	struct brick_session *s = brick__session_here();
	brick__session_lock();
	if (s->header) {
		const struct brick_stat *sum = &sums->bricks[brick];
		sum_lanes(s, kind, sums);
		error = sum->count ? 0 : BRICK_ENOTRECORDED;
		if (!error) {
			stats_fill(&stats, sum, sums);
			drain_now(s);
			merge_histograms(s, brick, kind, merged);
			fill_distribution(&stats, merged);
		}
	}
	brick__session_unlock();
	return error ? error : sized_write(out, sizeof(stats), &stats);
}

int brick_stats_get(uint32_t brick, struct brick_stats *out)
{
	return get_stats(brick, BRICK_LANE_THREAD, out);
}

int brick_device_stats_get(uint32_t brick, struct brick_stats *out)
{
	return get_stats(brick, BRICK_LANE_QUEUE, out);
}

/* Those of its bricks that did not run so far. */
static void add_category(struct brick_stat *sum, struct sums *sums, uint32_t category)
{
	for (uint32_t i = 0; i < brick_count(); i++) {
		if (!sums->bricks[i].count || sums->ran[i] || brick_category_of(i) != category)
			continue;
		add_stat(sum, &sums->bricks[i]);
		sums->ran[i] = true;
	}
}

int brick_category_stats_get(uint32_t category, struct brick_stats *out)
{
	struct brick_stat sum = {.min = UINT64_MAX};
	struct brick_stats stats;
	int error = -ENOENT;

	if (category >= brick_category_count() || !sized_bytes(out))
		return -EINVAL;
	SCOPED struct sums *sums = calloc(1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	const struct brick_session *s = brick__session_here();
	brick__session_lock();
	if (s->header) {
		sum_lanes(s, BRICK_LANE_THREAD, sums);
		add_category(&sum, sums, category);
		uint64_t self = sums->self;
		bool on_threads = sum.count != 0;
		sum_lanes(s, BRICK_LANE_QUEUE, sums);
		add_category(&sum, sums, category);
		if (on_threads)
			sums->self = self;
		error = sum.count ? 0 : BRICK_ENOTRECORDED;
		if (!error) {
			stats_fill(&stats, &sum, sums);
			stats.total_ns = stats.self_ns; /* of nested ones, once */
		}
	}
	brick__session_unlock();
	return error ? error : sized_write(out, sizeof(stats), &stats);
}

static void stats_add_ledger(struct brick_losses *out, const struct brick_ledger *ledger)
{
	out->dropped += ledger->dropped + ledger->refused;
	out->unmatched += ledger->unmatched + ledger->too_deep + ledger->table_full;
	out->clamped += ledger->clamped;
	out->unsupported += ledger->unsupported;
}

int brick_losses_get(struct brick_losses *out)
{
	struct brick_losses losses = BRICK_LOSSES_INIT;
	int error = -ENOENT;

	const struct brick_session *s = brick__session_here();
	brick__session_lock();
	if (s->header) {
		stats_add_ledger(&losses, &s->header->ledger);
		for (uint32_t i = 0; i < s->header->lane_count; i++) {
			stats_add_ledger(&losses, &s->lanes[i].lane->ledger);
			losses.open += brick_lane_open(s->lanes[i].lane);
		}
		error = 0;
	}
	brick__session_unlock();
	return error ? error : sized_write(out, sizeof(losses), &losses);
}

static void clear_lane(struct brick_lane *lane)
{
	for (uint32_t i = 0; i < BRICK_MAX_BRICKS; i++) {
		uint32_t *row = brick__lane_histogram_row(lane, i);
		if (row)
			memset(row, 0, BRICK_HISTOGRAM_ROW_BYTES);
		if (!brick_lane_has_rows(lane, i))
			continue;
		lane->stats[i] = (struct brick_stat){.min = UINT64_MAX};
		lane->drained.stats[i] = (struct brick_leaf_stat){0};
	}
	memset(&lane->ledger, 0, sizeof(lane->ledger));
	lane->hook_calls = lane->hook_timed = lane->hook_ticks = 0;
}

/* What did not run is a hole in the file. */
BESIDE_WRITERS static bool ran(const struct brick_session *s, uint32_t brick)
{
	for (uint32_t i = 0; i < s->header->lane_count; i++) {
		const struct brick_lane *lane = s->lanes[i].lane;
		if (brick_lane_has_rows(lane, brick) &&
			(lane->stats[brick].count || lane->drained.stats[brick].count))
			return true;
	}
	return false;
}

/* Before the statistics are cleared. */
static void clear_drained(struct brick_session *s)
{
	for (uint32_t i = 0; i < brick_count(); i++) {
		void *block = NULL;
		uint32_t *row = ran(s, i) ? map_drained(s, i, &block) : NULL;
		if (row)
			memset(row, 0, BRICK_HISTOGRAM_ROW_BYTES);
		unmap_drained(block);
	}
}

int brick_reset(void)
{
	struct brick_session *s = brick__session_here();
	int error = 0;

	brick__session_lock();
	if (!s->header)
		error = -ENOENT;
	else if (s->external)
		error = BRICK_ESTATE;
	for (uint32_t i = 0; !error && i < s->header->lane_count; i++)
		if (brick_lane_open(s->lanes[i].lane))
			error = -EBUSY;
	for (uint32_t i = 0; !error && i < s->header->lane_count; i++)
		__atomic_store_n(
			&s->lanes[i].lane->counted_from, s->lanes[i].lane->head, __ATOMIC_RELAXED);
	if (!error) {
		drain_now(s);
		if (s->consumer)
			clear_drained(s);
		for (uint32_t i = 0; i < s->header->lane_count; i++)
			clear_lane(s->lanes[i].lane);
		/* where nobody consumes, the ring keeps the first records of this epoch */
		for (uint32_t i = 0; !s->consumer && i < s->header->lane_count; i++) {
			struct brick_lane *lane = s->lanes[i].lane;
			__atomic_store_n(&lane->tail, lane->head, __ATOMIC_RELEASE);
			lane->live_ticks = 0;
			lane->start_ticks = brick__now();
		}
		memset(&s->header->ledger, 0, sizeof(s->header->ledger));
	}
	brick__session_unlock();
	if (!error)
		brick_note("reset", "1"); /* records and statistics differ from here on */
	return error;
}

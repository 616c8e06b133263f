/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions that were timed elsewhere, and what has no length: samples, elapsed times, instants
 * and counters (brick/probe.h); records about the sample before them (queues' launches and waits);
 * and what else interposers need beyond probes (brick/attach.h).
 */
#include "brick/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/members.h"
#include "base/number.h"
#include "base/sized.h"
#include "brick/abi/overhead.h"
#include "brick/probe.h"
#include "brick/registry.h"
#include "brick/stats.h"
#include "lib/probe/probe_frames.h"
#include "lib/session/registry_tables.h"
#include "lib/probe/ring.h"
#include "lib/probe/sample.h"
#include "lib/sys/ticks.h"

/* Waiting belongs to BarrierWait, and to whatever is open as time that is not its own. */
static inline void sample_count_wait(struct brick_lane *lane, uint64_t ticks)
{
	if (ticks)
		count_one(&lane->stats[BRICK_BARRIER_WAIT], ticks, ticks, 0);
}

static SLOW void drop_sample(
	struct brick_lane *lane, const struct brick_sample *sample, uint32_t brick)
{
	brick__ring_drop(lane, brick, sample->end - sample->begin);
	if (sample->wait)
		brick__lane_histogram(lane, BRICK_BARRIER_WAIT, sample->wait);
	if (sample->inner && sample->site)
		brick__lane_histogram(lane, BRICK_BARRIER_WAIT, sample->inner);
}

/* A sample too long for one record. */
static SLOW void write_long(
	struct brick__thread *self, const struct brick_sample *sample, struct brick_record record)
{
	struct brick_lane *lane = self->lane;

	if (!ring_has(lane, 3)) {
		drop_sample(lane, sample, record.brick);
		return;
	}
	uint16_t flags = record.flags;
	uint64_t payload = record.elements;
	record.ticks = record.wait = 0;
	record.kind = BRICK_RECORD_OPEN;
	record.flags = 0;
	record.elements = 0;
	*ring_at(self, lane->head) = record;
	record.kind = BRICK_RECORD_CLOSE;
	record.begin = sample->end;
	record.flags = flags;
	record.elements = payload;
	*ring_at(self, lane->head + 1) = record;
	uint64_t written = 2;
	if (sample->wait) {
		*ring_at(self, lane->head + 2) = (struct brick_record){.begin = sample->end,
			.kind = BRICK_RECORD_WAIT,
			.source = record.source,
			.brick = BRICK_BARRIER_WAIT,
			.layer = -1,
			.elements = sample->wait};
		written = 3;
	}
	ring_publish(lane, written);
}

static SLOW void clamp_sample(struct brick_lane *lane, struct brick_sample *sample)
{
	lane->ledger.clamped++;
	if (sample->end < sample->begin)
		sample->end = sample->begin;
	if (sample->inner > sample->end - sample->begin)
		sample->inner = sample->end - sample->begin;
}

void brick_record_sample(const struct brick_sample *given)
{
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;
	struct brick_sample sample = *given;
	const struct brick__site_brief *site = brick__site_brief(sample.site);

	if (!self)
		return;
	struct brick_lane *lane = self->lane;
	uint32_t brick = site ? site->brick : sample.brick;
	if (BRICK_UNLIKELY(!brick__lane_counts(lane, brick)))
		return;
	if (BRICK_UNLIKELY(sample.end < sample.begin || sample.inner > sample.end - sample.begin))
		clamp_sample(lane, &sample);
	open_parents(self);

	uint64_t ticks = sample.end - sample.begin;
	struct brick_stat *stat = &lane->stats[brick];
	count_one(stat, ticks, ticks - sample.inner, is_recursive(lane, lane->depth, brick));
	stat->wait += sample.wait + sample.inner;
	stat->elements += site ? site->elements : sample.elements;
	if (site) {
		stat->bytes += site->bytes;
		stat->flops += site->flops;
	}
	sample_count_wait(lane, sample.wait);
	sample_count_wait(lane, sample.inner);
	if (lane->depth)
		lane->frames[lane->depth - 1].child += ticks + sample.wait;

	struct brick_record record = {
		.begin = sample.begin,
		.ticks = (uint32_t)ticks,
		.wait = (uint32_t)sample.wait,
		.kind = BRICK_RECORD_SAMPLE,
		.source = (uint8_t)sample.source,
		.brick = (uint16_t)brick,
		.layer = site ? site->layer : (int16_t)sample.layer,
		.flags = site ? BRICK_FLAG_SITE : BRICK_FLAG_ELEMENTS,
		.elements = sample.elements,
	};
	if (site) {
		record.site = sample.site;
		record.inner = ticks_saturated(sample.inner);
	} else if (sample.inner) {
		/* the record has no room for it: it is in statistics and histogram only */
		brick__lane_histogram(lane, BRICK_BARRIER_WAIT, sample.inner);
	}
	if (BRICK_UNLIKELY((ticks | sample.wait) >> 32)) {
		write_long(self, &sample, record);
	} else if (BRICK_LIKELY(ring_has(lane, 1))) {
		*ring_at(self, lane->head) = record;
		ring_publish(lane, 1);
	} else {
		drop_sample(lane, &sample, brick);
	}
}

/* Records about the SAMPLE or CLOSE that was just written, if it was: the ring's head was `head`.
 */
static void sample_follow(uint64_t head, const struct brick_record *about, uint32_t count)
{
	struct brick__thread *self = &brick__thread;
	struct brick_lane *lane = self->lane;

	if (!about || !count || !lane || lane->head == head)
		return;
	uint8_t kind = ring_at(self, lane->head - 1)->kind;
	if (kind != BRICK_RECORD_SAMPLE && kind != BRICK_RECORD_CLOSE)
		return;
	if (!ring_has(lane, count)) {
		lane->ledger.dropped += count;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		*ring_at(self, lane->head + i) = about[i];
	ring_publish(lane, count);
}

void brick__close_with(brick_span span, uint64_t now, const struct brick_record *about)
{
	uint64_t head = brick__thread.lane ? brick__thread.lane->head : 0;

	brick__end_at(span, now);
	sample_follow(head, about, 1);
}

void brick__sample_with(
	const struct brick_sample *sample, const struct brick_record *about, uint32_t count)
{
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;

	if (!self)
		return;
	uint64_t head = self->lane->head;
	brick_record_sample(sample);
	sample_follow(head, about, count);
}

void brick_record_sample_work(const struct brick_sample *sample, uint64_t bytes, uint64_t flops)
{
	const struct brick_record work = {
		.begin = bytes, .kind = BRICK_RECORD_WORK, .elements = flops};
	const struct brick__site_brief *site = brick__site_brief(sample->site);
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;

	brick__sample_with(sample, &work, bytes | flops ? 1 : 0);
	if (!self || !site || !(bytes | flops) || !brick_lane_has_rows(self->lane, site->brick))
		return;
	struct brick_stat *stat = &self->lane->stats[site->brick];
	stat->bytes += bytes - site->bytes;
	stat->flops += flops - site->flops;
}

/* ns: of an execution that was reported, else 0. */
static void sample_write_point(uint32_t brick, uint8_t kind, uint64_t value, uint64_t ns)
{
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;

	if (!self || brick >= BRICK_MAX_BRICKS)
		return;
	open_parents(self);
	if (!ring_has(self->lane, 1)) {
		self->lane->ledger.dropped += self->lane->capacity != 0;
		if (kind == BRICK_RECORD_REPORTED)
			brick__lane_histogram(self->lane, brick, value);
		return;
	}
	*ring_at(self, self->lane->head) = (struct brick_record){.begin = brick__now(),
		.ticks = (uint32_t)ns,
		.wait = (uint32_t)(ns >> 32),
		.kind = kind,
		.brick = (uint16_t)brick,
		.layer = -1,
		.elements = value};
	ring_publish(self->lane, 1);
}

/*
 * As many ticks as are ns at least, so that these make as many ns again. surplus: what is too much
 * so far, which is used up first.
 */
static uint64_t ticks_at_least(uint64_t ns, uint64_t *surplus)
{
	const struct brick_clock *clock = brick_clock_get();
	unsigned __int128 wanted = (unsigned __int128)ns << clock->shift;
	uint64_t before = surplus ? *surplus : 0;

	if (surplus && wanted <= before) {
		*surplus = before - (uint64_t)wanted;
		return 0;
	}
	wanted -= before;
	uint64_t ticks = (uint64_t)((wanted + clock->mult - 1) / clock->mult);
	if (surplus)
		*surplus = (uint64_t)((unsigned __int128)ticks * clock->mult - wanted);
	return ticks;
}

void brick_record_elapsed(uint32_t brick, uint64_t ns, uint64_t elements, uint64_t bytes)
{
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;

	if (!self || !brick__lane_counts(self->lane, brick))
		return;
	uint64_t ticks = ticks_at_least(ns, NULL);
	struct brick_stat *stat = &self->lane->stats[brick];
	uint64_t added = ticks_at_least(ns, &stat->surplus);
	count_one(stat, ticks, added, 0);
	stat->total += added - ticks;
	stat->elements += elements;
	stat->bytes += bytes;
	sample_write_point(brick, BRICK_RECORD_REPORTED, ticks, ns);
}

int brick_stats_add(uint32_t brick, const struct brick_stats *more)
{
	struct brick_stats m = BRICK_STATS_INIT;
	int error = sized_read(&m, sizeof(m), more);

	if (error)
		return error;
	if (brick >= brick_count() || !m.count || m.min_ns > m.max_ns)
		return -EINVAL;
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;
	if (!self || !brick__lane_counts(self->lane, brick))
		return -ENOENT;
	struct brick_stat *stat = &self->lane->stats[brick];
	uint64_t mean = m.total_ns / m.count;
	uint64_t min = ticks_at_least(m.max_ns ? m.min_ns : mean, NULL);
	uint64_t max = ticks_at_least(m.max_ns ? m.max_ns : mean, NULL);
	stat->total += ticks_at_least(m.total_ns, &stat->surplus);
	stat->self += ticks_at_least(m.self_ns ? m.self_ns : m.total_ns, NULL);
	stat->wait += ticks_at_least(m.wait_ns, NULL);
	stat->min = min < stat->min ? min : stat->min;
	stat->max = max > stat->max ? max : stat->max;
	members_add(stat, &m, count, elements, bytes, bytes_out, flops);
	return 0;
}

void brick_instant(uint32_t brick)
{
	sample_write_point(brick, BRICK_RECORD_INSTANT, 0, 0);
}

/*
 * The tokens of the step that the thread is in, or of decode steps before: statistics have them as
 * a recording's reader has (trace/build_steps.c).
 */
static SLOW void count_tokens(int sign, double value)
{
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;
	uint64_t tokens = number_of_double(value);
	uint32_t step = BRICK_DECODE;

	if (!self)
		return;
	for (uint32_t i = brick_lane_open(self->lane); i--;) /* a step within a step has none */
		if (self->lane->frames[i].flags & BRICK_FRAME_STEP)
			step = self->lane->frames[i].brick;
	uint64_t *counted = &self->lane->stats[step].elements;
	*counted = sign > 0 ? *counted + tokens : number_minus(*counted, tokens);
}

void brick_counter(uint32_t brick, double value)
{
	uint64_t bits;

	if (BRICK_UNLIKELY(brick < BRICK_MAX_BRICKS && brick__tokens_sign[brick]))
		count_tokens(brick__tokens_sign[brick], value);
	memcpy(&bits, &value, sizeof(bits));
	sample_write_point(brick, BRICK_RECORD_COUNTER, bits, 0);
}

static bool has_lane(void)
{
	return brick_enabled() && brick__thread.serial == brick__serial_here();
}

/* A new lane takes milliseconds, for which others may wait at the next barrier. */
static void record_new(const struct brick_lane *lane)
{
	int brick = brick__register(BRICK_READY_NAME, BRICK_CATEGORY_ENGINE);

	if (brick >= 0)
		brick_record_sample(&(struct brick_sample){.begin = lane->start_ticks,
			.end = brick__now(),
			.brick = (uint32_t)brick,
			.layer = -1,
			.source = BRICK_SOURCE_TSC});
}

int brick_thread_ready(void)
{
	if (has_lane())
		return 0;
	const struct brick_lane *lane = brick_enabled() ? brick__thread_attach() : NULL;
	if (lane && lane->owners == 1) {
		brick__lane_back(brick__thread.lane, lane->capacity);
		record_new(lane);
	}
	return lane ? 0 : -ENOENT;
}

brick_span brick_begin_from(uint32_t brick, int layer, uint32_t source)
{
	brick_span span = brick_enabled() ? brick__begin_layer(brick, layer) : 0;

	if (span)
		brick__thread.lane->frames[(span & 0xff) - 1].source = (uint8_t)source;
	return span;
}

void brick_hook_cost(uint64_t calls, uint64_t ticks)
{
	if (!has_lane())
		return;
	struct brick_lane *lane = brick__thread.lane;
	lane->hook_calls += calls;
	lane->hook_timed++;
	lane->hook_ticks += ticks;
}

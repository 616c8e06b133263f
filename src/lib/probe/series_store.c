/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a series (series_store.h): three samples each, while they are near each other. The
 * works of some of them come first, so that nothing interrupts the samples. Owner of the lane.
 */
#include "lib/probe/series_store.h"

#include "lib/probe/ring.h"
#include "lib/device/timings.h"

enum {
	AHEAD = 16,
	AT_ONCE = 21 * 3, /* sites whose records become visible together: src/lib/drain/peek.c */
};

void brick__series_store_expect(const struct brick__thread *self)
{
	for (uint32_t i = 0; i < AHEAD; i += 2)
		__builtin_prefetch(&self->ring[(self->lane->head + i) & self->mask], 1);
}

/* From the end of the first of them to the begin of the second. */
static inline uint32_t gap(const struct brick__series_timing *t)
{
	return t[1].begin - t[0].begin - t[0].ticks;
}

static inline __attribute__((always_inline)) void store_word(
	struct brick_record *record, uint32_t i, uint64_t word)
{
	__atomic_store_n((uint64_t *)record + i, word, __ATOMIC_RELAXED);
}

/* Word by word: what is put together elsewhere is loaded late. */
static inline __attribute__((always_inline)) void store_samples(struct brick_record *record,
	uint64_t begin, const struct brick__series_timing *t, const uint16_t *sites, uint32_t count)
{
	const uint64_t second = count > 1 ? (uint64_t)t[1].ticks << 32 : 0,
		       third = count > 2 ? t[2].ticks | (uint64_t)gap(t + 1) << 48 : 0,
		       gap1 = count > 1 ? (uint64_t)gap(t) << 32 : 0;
	uint64_t three;

	memcpy(&three, sites, sizeof three);
	store_word(record, 0, begin + (t[0].begin - (uint32_t)begin));
	store_word(record, 1, t[0].ticks | second);
	store_word(record, 2,
		(three << 16 & UINT64_MAX >> (3 - count) * 16) | BRICK_SOURCE_TSC << 8 |
			BRICK_RECORD_SAMPLES);
	store_word(record, 3, third | gap1);
}

/*
 * Records of three, as long as there are three that are near each other, up to `stop` and to the
 * end of the ring; returns where it got. What it is in stays in registers.
 */
static __attribute__((noinline)) const struct brick__series_timing *store_threes(
	struct brick_record *restrict record, const struct brick_record *ring_end, uint64_t begin,
	const struct brick__series_timing *restrict t, const struct brick__series_timing *stop,
	const uint16_t *restrict sites)
{
	for (; t + 2 < stop && record < ring_end; t += 3, sites += 3, record++) {
		__builtin_prefetch(record + AHEAD, 1);
		if (BRICK_UNLIKELY((gap(t) | gap(t + 1)) > UINT16_MAX))
			break;
		store_samples(record, begin, t, sites, 3);
	}
	return t;
}

/* The first of up to three, with the second if that is near. Returns how many. */
static __attribute__((noinline)) uint32_t store_few(struct brick_record *record, uint64_t begin,
	const struct brick__series_timing *t, const uint16_t *sites, uint32_t left)
{
	if (left > 1 && gap(t) <= UINT16_MAX) {
		store_samples(record, begin, t, sites, 2);
		return 2;
	}
	store_samples(record, begin, t, sites, 1);
	return 1;
}

/* The sites from `first` up to `end`. */
static uint64_t store(const struct brick__thread *self, uint64_t head,
	const struct brick__series_run *run, const uint16_t *sites, uint32_t first, uint32_t end)
{
	const struct brick__series_timing *t = run->timings + first, *stop = run->timings + end;
	const struct brick_record *ring_end = self->ring + self->mask + 1;

	while (t < stop) {
		const struct brick__series_timing *from = t;
		const uint16_t *of = sites + (t - run->timings);
		t = store_threes(&self->ring[head & self->mask], ring_end, run->begin, t, stop, of);
		head += (uint64_t)(t - from) / 3;
		if (t < stop && t == from)
			t += store_few(&self->ring[head++ & self->mask], run->begin, t, of,
				(uint32_t)(stop - t));
	}
	return head;
}

/*
 * Those from *next on that are of the sites from `first` up to `end`, in front of the records of
 * these: one for each row of works that are the same.
 */
static uint64_t store_works(const struct brick__thread *self, uint64_t head,
	const struct brick__series_run *run, uint32_t *next, uint32_t first, uint32_t end)
{
	const struct brick_timing_work *works = run->works;
	uint32_t i = *next;

	while (i < run->work_count && works[i].timing < end) {
		const struct brick_timing_work *work = &works[i];
		uint64_t samples = 0;
		for (; i < run->work_count && works[i].timing < end &&
			works[i].bytes == work->bytes && works[i].flops == work->flops;
			i++)
			samples |= UINT64_C(1) << (works[i].timing - first);
		if (timing_has_work(work))
			timing_write_work_ahead(&self->ring[head++ & self->mask], work, samples);
	}
	*next = i;
	return head;
}

/* What is stored is complete before it is covered by the head. */
static void publish(struct brick_lane *lane, uint64_t head)
{
	__atomic_store_n(&lane->head, head, __ATOMIC_RELEASE);
}

void brick__series_store(
	struct brick__thread *self, const struct brick__series_run *run, const uint16_t *sites)
{
	uint64_t head = self->lane->head;
	uint32_t work = 0;

	for (uint32_t done = 0, end; done < run->count; done = end) {
		end = run->count - done < AT_ONCE ? run->count : done + AT_ONCE;
		head = store_works(self, head, run, &work, done, end);
		head = store(self, head, run, sites, done, end);
		publish(self->lane, head);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many samples at once, for interposers that collect while the engine computes and record when it
 * has done: timings (brick/attach.h) and series (series.h). What they touch has gone cold by then.
 * Timings do what brick_record_sample() does for each, ask for all before they use it, and leave to
 * it whatever is out of the ordinary.
 *
 * Of a series all but the times is made up beforehand: what its sites add to the statistics, as
 * sums. Recording one reads 18 bytes a site, one behind the other, where timings and sites' counts
 * are 64, and writes 11 of a ring, three samples a record, where a sample of its own is 32. Part of
 * a series, and whatever is out of the ordinary, goes the way of timings. Owner of the lane.
 */
#include "lib/probe/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "lib/session/registry_tables.h"
#include "lib/probe/ring.h"
#include "lib/session/session_lanes.h"

/* Compiled as if it stood in another file: the caller's loops keep their registers. */
#define APART __attribute__((noipa))

enum {
	BATCH = 128, /* timings */
	CHUNK = 64,  /* of a series that is recorded as timings */
	AHEAD = 16,  /* timings or records between asking for what one touches, and touching it */
	MAX_SLOTS = 64,		/* bricks of a series; with more it is recorded as timings, and with
				   one that lanes have no rows for from their begin on */
	MAX_COUNT = UINT16_MAX, /* of sites; likewise */
	MAX_WORKS = 256,	/* in a run; with more, sites are looked at one by one */
	AT_ONCE = 21 * 3, /* sites whose records become visible together: src/lib/drain/drain.c */
};

_Static_assert(BRICK_MAX_SITES <= UINT16_MAX + 1, "sites of struct brick_samples");

/* What all executions of one brick add to its statistics, and which they are. */
struct slot {
	uint32_t brick, first, count; /* of `by_slot` */
	uint64_t elements, bytes, flops;
};

/*
 * Executions that did other work than their sites say, and what those say together: they are the
 * same ones each time, and their sites, each in a line of cache of its own, are looked at once.
 */
struct known_works {
	uint32_t count, brick; /* BRICK_MAX_BRICKS: of several */
	uint64_t bytes, flops;
	uint16_t at[MAX_WORKS];
};

struct brick__series {
	uint32_t count, slot_count;
	uint64_t brick_bits; /* as timing_open_bits() has them */
	struct slot slots[MAX_SLOTS];
	struct known_works works; /* of the last run */
	uint16_t *sites;	  /* and as many 0s behind them as are read with the last one */
	uint32_t *by_slot; /* where the ticks are, those of one slot after those of the other */
};

/* What is still to be recorded. */
struct rest {
	const struct brick_timing *timings;
	uint32_t count, first; /* how many, and which of all the first one is */
	const struct brick_timing_work *works;
	uint32_t work_count;
};

/* What timings and series have in common. */

/* Has the thread a lane with room for so many records, and are its open bricks in the ring? */
static inline bool timing_is_ordinary(const struct brick__thread *self, uint64_t count)
{
	const struct brick_lane *lane = self->lane;

	return brick_enabled() && self->serial == brick__serial_here() &&
	       lane->head + count <= lane->limit && !brick_lane_leaf(self->lane);
}

/* A bit for each open brick; others may have the same one. */
static inline uint64_t timing_open_bits(const struct brick_lane *lane)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < lane->depth; i++)
		bits |= UINT64_C(1) << lane->frames[i].brick % 64;
	return bits;
}

static inline bool timing_is_open(const struct brick_lane *lane, uint32_t brick)
{
	for (uint32_t i = 0; i < lane->depth; i++)
		if (lane->frames[i].brick == brick)
			return true;
	return false;
}

static inline void timing_count(struct brick_stat *stat, uint64_t ticks, uint64_t self_ticks)
{
	stat->count++;
	stat->total += ticks;
	stat->self += self_ticks;
	stat->min = ticks < stat->min ? ticks : stat->min;
	stat->max = ticks > stat->max ? ticks : stat->max;
}

/* The eight bytes of a sample's record from `kind` on. */
static inline uint64_t timing_kind(uint16_t brick, int16_t layer)
{
	return BRICK_RECORD_SAMPLE | (uint64_t)BRICK_SOURCE_TSC << 8 | (uint64_t)brick << 16 |
	       (uint64_t)(uint16_t)layer << 32 | (uint64_t)BRICK_FLAG_SITE << 48;
}

static inline void timing_store(struct brick_record *record, uint64_t kind, uint64_t begin,
	uint32_t ticks, uint32_t wait, uint32_t site, uint32_t inner)
{
	record->begin = begin;
	record->ticks = ticks;
	record->wait = wait;
	memcpy(&record->kind, &kind, sizeof(kind));
	record->site = site;
	record->inner = inner;
}

static inline bool timing_has_work(const struct brick_timing_work *work)
{
	return (work->bytes | work->flops) != 0;
}

/* The one before did other work than its site says. */
static inline void timing_count_work(struct brick_stat *stat, const struct brick__site_brief *site,
	const struct brick_timing_work *work)
{
	stat->bytes += work->bytes - site->bytes;
	stat->flops += work->flops - site->flops;
}

static inline void timing_write_work(
	struct brick_record *record, const struct brick_timing_work *work)
{
	*record = (struct brick_record){
		.begin = work->bytes, .kind = BRICK_RECORD_WORK, .elements = work->flops};
}

/* Of those whose bits are set of the samples that are stored next. */
static inline void timing_write_work_ahead(
	struct brick_record *record, const struct brick_timing_work *work, uint64_t samples)
{
	*record = (struct brick_record){.begin = work->bytes,
		.ticks = (uint32_t)samples,
		.wait = (uint32_t)(samples >> 32),
		.kind = BRICK_RECORD_WORK_AHEAD,
		.elements = work->flops};
}

/* Both. Returns how many records that takes. */
static inline uint32_t timing_store_work(struct brick__thread *self, uint64_t head,
	const struct brick__site_brief *site, const struct brick_timing_work *work)
{
	if (!timing_has_work(work))
		return 0;
	timing_count_work(&self->lane->stats[site->brick], site, work);
	timing_write_work(&self->ring[head & self->mask], work);
	return 1;
}

/* Timings. */

static void record_one(struct rest *r)
{
	const struct brick_timing *t = r->timings;
	const struct brick_sample sample = {
		.begin = t->begin,
		.end = t->begin + t->ticks,
		.wait = t->wait,
		.inner = t->inner,
		.site = t->site,
		.source = BRICK_SOURCE_TSC,
	};

	if (r->work_count && r->works->timing == r->first) {
		brick_record_sample_work(&sample, r->works->bytes, r->works->flops);
		r->works++;
		r->work_count--;
	} else {
		brick_record_sample(&sample);
	}
	r->timings++;
	r->first++;
	r->count--;
}

static inline void count_timing(
	struct brick_lane *lane, const struct brick__site_brief *site, const struct brick_timing *t)
{
	struct brick_stat *stat = &lane->stats[site->brick];

	timing_count(stat, t->ticks, t->ticks - t->inner);
	stat->wait += (uint64_t)t->wait + t->inner;
	stat->elements += site->elements;
	stat->bytes += site->bytes;
	stat->flops += site->flops;
	if (t->wait)
		timing_count(&lane->stats[BRICK_BARRIER_WAIT], t->wait, t->wait);
	if (t->inner)
		timing_count(&lane->stats[BRICK_BARRIER_WAIT], t->inner, t->inner);
}

static inline void series_expect(const struct brick__thread *self, uint64_t head, uint32_t site)
{
	__builtin_prefetch(brick__site_brief(site));
	__builtin_prefetch(&self->ring[head & self->mask], 1);
}

/* So many of them, or those before the first one that is out of the ordinary. */
static void record_batch(struct brick__thread *self, struct rest *r, uint32_t count)
{
	struct brick_lane *lane = self->lane;
	uint64_t head = lane->head, child = 0, open = timing_open_bits(lane);

	for (uint32_t i = 0; i < r->count && i < AHEAD; i++)
		series_expect(self, head + i, r->timings[i].site);
	for (; count; count--, r->timings++, r->first++, r->count--) {
		const struct brick_timing *t = r->timings;
		const struct brick__site_brief *site = brick__site_brief(t->site);
		if (!site || t->inner > t->ticks || site->brick >= BRICK_FIRST_ROWS ||
			((open >> site->brick % 64 & 1) && timing_is_open(lane, site->brick)))
			break;
		if (r->count > AHEAD)
			series_expect(self, head + AHEAD, t[AHEAD].site);
		count_timing(lane, site, t);
		timing_store(&self->ring[head++ & self->mask],
			timing_kind(site->brick, site->layer), t->begin, t->ticks, t->wait, t->site,
			t->inner);
		if (r->work_count && r->works->timing == r->first) {
			head += timing_store_work(self, head, site, r->works++);
			r->work_count--;
		}
		child += (uint64_t)t->ticks + t->wait;
	}
	if (lane->depth)
		lane->frames[lane->depth - 1].child += child;
	__atomic_store_n(&lane->head, head, __ATOMIC_RELEASE);
}

void brick_record_timings_work(const struct brick_timing *timings, uint32_t count,
	const struct brick_timing_work *works, uint32_t work_count)
{
	struct rest rest = {timings, count, 0, works, work_count};

	while (rest.count) {
		uint32_t batch = rest.count < BATCH ? rest.count : BATCH, before = rest.count;
		uint32_t with_work = work_count < batch ? work_count : batch;

		if (timing_is_ordinary(&brick__thread, (uint64_t)batch + with_work))
			record_batch(&brick__thread, &rest, batch);
		if (rest.count + batch != before)
			record_one(&rest);
	}
}

void brick_record_timings(const struct brick_timing *timings, uint32_t count)
{
	brick_record_timings_work(timings, count, NULL, 0);
}

/* Making a series. */

/* The slot of a brick; MAX_SLOTS: there are too many. */
static uint32_t series_slot_of(struct brick__series *s, uint32_t brick)
{
	uint32_t i = 0;

	if (brick >= BRICK_FIRST_ROWS)
		s->slot_count = i = MAX_SLOTS;
	while (i < s->slot_count && s->slots[i].brick != brick)
		i++;
	if (i == s->slot_count && i < MAX_SLOTS)
		s->slots[s->slot_count++].brick = brick;
	return i;
}

static int series_add_site(struct brick__series *s, uint32_t index)
{
	const struct brick__site_brief *site = brick__site_brief(index);

	if (!site)
		return 0;
	uint32_t slot = series_slot_of(s, site->brick);
	s->sites[s->count++] = (uint16_t)index;
	s->brick_bits |= UINT64_C(1) << site->brick % 64;
	if (slot == MAX_SLOTS)
		return 1;
	s->slots[slot].count++;
	s->slots[slot].elements += site->elements;
	s->slots[slot].bytes += site->bytes;
	s->slots[slot].flops += site->flops;
	return 1;
}

/* Where the ticks of the site at a place are among the words of a run's timings. */
static uint32_t ticks_word(uint32_t place)
{
	return (uint32_t)((place * sizeof(struct brick__series_timing) +
				  offsetof(struct brick__series_timing, ticks)) /
			  sizeof(uint32_t));
}

static void sort_by_slot(struct brick__series *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->slot_count; i++) {
		s->slots[i].first = n;
		for (uint32_t k = 0; k < s->count; k++)
			if (brick__site_brief(s->sites[k])->brick == s->slots[i].brick)
				s->by_slot[n++] = ticks_word(k);
	}
}

struct brick__series *brick__series_create(const uint32_t *sites, uint32_t count)
{
	struct brick__series *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sites = calloc((size_t)count + sizeof(uint64_t), sizeof(*s->sites));
	s->by_slot = calloc((size_t)count + 1, sizeof(*s->by_slot));
	bool whole = s->sites && s->by_slot;
	while (whole && s->count < count)
		whole = series_add_site(s, sites[s->count]);
	if (whole) {
		sort_by_slot(s);
		return s;
	}
	brick__series_free(s);
	return NULL;
}

void brick__series_free(struct brick__series *s)
{
	if (!s)
		return;
	free(s->sites);
	free(s->by_slot);
	free(s);
}

/* A series as timings. */

static void record_chunk(const struct brick_timing *timings, uint32_t count, uint32_t before,
	const struct brick_timing_work *given, uint32_t work_count)
{
	struct brick_timing_work works[CHUNK];

	for (uint32_t i = 0; i < work_count; i++) {
		works[i] = given[i];
		works[i].timing -= before;
	}
	brick_record_timings_work(timings, count, works, work_count);
}

/* A node ends less than 2^32 ticks behind its begin, and the next begins as soon behind that. */
static uint64_t record_as_timings(
	const struct brick__series *s, const struct brick__series_run *run)
{
	struct brick_timing timings[CHUNK];
	uint64_t begin = run->begin, sum = 0;
	uint32_t n = 0, work = 0;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct brick__series_timing *t = &run->timings[i];
		begin += t->begin - (uint32_t)begin;
		timings[n++] =
			(struct brick_timing){begin, t->ticks, 0, 0, s->sites[run->first + i], 0};
		begin += t->ticks;
		sum += t->ticks;
		if (n < CHUNK && i + 1 < run->count)
			continue;
		uint32_t from = work;
		while (work < run->work_count && run->works[work].timing <= i)
			work++;
		record_chunk(timings, n, i + 1 - n, run->works + from, work - from);
		n = 0;
	}
	return sum;
}

/* The records of a whole run. */

/* The next lines of the ring are about to be written. */
static APART void expect_ring(const struct brick__thread *self)
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

	memcpy(&three, sites, sizeof(three));
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
static uint64_t series_store(const struct brick__thread *self, uint64_t head,
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

/*
 * All records of a run, for which the ring has room: three samples each, while they are near each
 * other. The works of some come first, so that nothing interrupts the samples. `sites`: of all of
 * the run's timings, and as many more as are read with the last one (3).
 */
static APART void store_run(
	struct brick__thread *self, const struct brick__series_run *run, const uint16_t *sites)
{
	uint64_t head = self->lane->head;
	uint32_t work = 0;

	for (uint32_t done = 0, end; done < run->count; done = end) {
		end = run->count - done < AT_ONCE ? run->count : done + AT_ONCE;
		head = store_works(self, head, run, &work, done, end);
		head = series_store(self, head, run, sites, done, end);
		/* what is stored is complete before it is covered by the head */
		__atomic_store_n(&self->lane->head, head, __ATOMIC_RELEASE);
	}
}

/* A whole run. */

/*
 * Hardly any is shorter or longer than all before: a branch that is foretold, where choosing the
 * lesser of two would wait for the last choice.
 */
static uint64_t count_slot(struct brick_stat *stat, const struct slot *slot,
	const uint32_t *restrict places, const uint32_t *restrict words)
{
	uint64_t min = stat->count ? stat->min : words[places[0]];
	uint64_t span = stat->count ? stat->max - min : 0, sum = 0, less = 0 - min;

#pragma GCC unroll 4
	for (uint32_t i = 0; i < slot->count; i++) {
		uint64_t ticks = words[places[i]];
		sum += ticks;
		if (BRICK_UNLIKELY(ticks + less > span)) {
			uint64_t max = ticks < min ? min + span : ticks;
			min = ticks < min ? ticks : min;
			span = max - min;
			less = 0 - min;
		}
	}
	stat->count += slot->count;
	stat->total += sum;
	stat->self += sum;
	stat->min = min;
	stat->max = min + span;
	stat->elements += slot->elements;
	stat->bytes += slot->bytes;
	stat->flops += slot->flops;
	return sum;
}

static uint64_t series_count(struct brick_lane *lane, const struct brick__series *s,
	const struct brick__series_timing *timings)
{
	const uint32_t *words = (const uint32_t *)timings;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->slot_count; i++)
		sum += count_slot(&lane->stats[s->slots[i].brick], &s->slots[i],
			s->by_slot + s->slots[i].first, words);
	if (lane->depth)
		lane->frames[lane->depth - 1].child += sum;
	return sum;
}

static const struct brick__site_brief *series_site_of(
	const struct brick__series *s, const struct brick_timing_work *work)
{
	return brick__site_brief(s->sites[work->timing]);
}

static void learn_works(struct brick__series *s, const struct brick__series_run *run)
{
	struct known_works *known = &s->works;

	*known = (struct known_works){.count = run->work_count,
		.brick = run->work_count > MAX_WORKS ? BRICK_MAX_BRICKS
						     : series_site_of(s, run->works)->brick};
	for (uint32_t i = 0; i < run->work_count && known->brick != BRICK_MAX_BRICKS; i++) {
		const struct brick__site_brief *site = series_site_of(s, &run->works[i]);
		known->at[i] = (uint16_t)run->works[i].timing;
		known->bytes += site->bytes;
		known->flops += site->flops;
		if (site->brick != known->brick)
			known->brick = BRICK_MAX_BRICKS;
	}
}

/* Their sum is what all sites of the last run are to be left out for. */
static int sum_works(const struct known_works *known, const struct brick__series_run *run,
	struct brick_timing_work *sum)
{
	int same = known->count == run->work_count && known->brick != BRICK_MAX_BRICKS;

	for (uint32_t i = 0; i < run->work_count && same; i++) {
		const struct brick_timing_work *work = &run->works[i];
		same = known->at[i] == work->timing && timing_has_work(work);
		sum->bytes += work->bytes;
		sum->flops += work->flops;
	}
	return same;
}

static void count_works(
	struct brick_lane *lane, struct brick__series *s, const struct brick__series_run *run)
{
	const struct brick__site_brief all = {.bytes = s->works.bytes, .flops = s->works.flops};
	struct brick_timing_work sum = {0};

	if (sum_works(&s->works, run, &sum)) {
		timing_count_work(&lane->stats[s->works.brick], &all, &sum);
		return;
	}
	for (uint32_t i = 0; i < run->work_count; i++) {
		const struct brick__site_brief *site = series_site_of(s, &run->works[i]);
		if (timing_has_work(&run->works[i]))
			timing_count_work(&lane->stats[site->brick], site, &run->works[i]);
	}
	learn_works(s, run);
}

static uint64_t record_whole(
	struct brick__thread *self, struct brick__series *s, const struct brick__series_run *run)
{
	expect_ring(self);
	for (uint32_t i = 0; i < s->slot_count; i++) {
		/* what count_slot() touches */
		__builtin_prefetch(&self->lane->stats[s->slots[i].brick], 1);
		__builtin_prefetch(&self->lane->stats[s->slots[i].brick].flops, 1);
	}
	uint64_t sum = series_count(self->lane, s, run->timings);
	if (run->work_count)
		count_works(self->lane, s, run);
	store_run(self, run, s->sites);
	return sum;
}

static bool is_any_open(const struct brick_lane *lane, const struct brick__series *s)
{
	uint32_t slots = timing_open_bits(lane) & s->brick_bits ? s->slot_count : 0;

	for (uint32_t i = 0; i < slots; i++)
		if (timing_is_open(lane, s->slots[i].brick))
			return true;
	return false;
}

/* Has the thread a lane with room for all of it, and is none of its bricks recursive? */
static bool is_ordinary(struct brick__thread *self, const struct brick__series *s,
	const struct brick__series_run *run)
{
	if (!brick_enabled() || !lane_is_current(self) ||
		!ring_has(self->lane, (uint64_t)BRICK_MAX_DEPTH + run->count + run->work_count))
		return false;
	open_parents(self);
	return !is_any_open(self->lane, s);
}

uint64_t brick__series_record(struct brick__series *s, const struct brick__series_run *run)
{
	struct brick__thread *self = &brick__thread;

	if (run->first || run->count != s->count || run->count > MAX_COUNT ||
		(run->last - run->begin) >> 32 || s->slot_count == MAX_SLOTS ||
		!is_ordinary(self, s, run))
		return record_as_timings(s, run);
	return record_whole(self, s, run);
}

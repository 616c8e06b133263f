/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what one begin/end pair costs here and now, on a lane that is thrown away. Reports
 * multiply it by the number of executions to state their own distortion. Batches of pairs show
 * the cost while their data stay in the caches; single pairs after a memset through the caches,
 * the cost between bricks that stream; single pairs whose own lines were flushed, the cost with
 * none of them in a cache. The lines of the page tables cannot be flushed from here, so two
 * lines are added for each page that a pair touches. Preempted pairs lie beyond the quantiles.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/probe/pair_cost.h"
#include "base/order.h"
#include "base/scope.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"
#include "lib/session/session_lanes.h"

enum {
	BATCHES = 48,
	PAIRS = 64,    /* in a batch */
	RING = 4096,   /* records of the lane; more than all pairs write */
	STREAMED = 14, /* pairs behind a stream, of each kind */
	STREAM_BYTES = 2 << 20,
	COLD = 40,	   /* pairs with nothing in a cache */
	TABLE_LINES = 2,   /* of page tables, for each page */
	CODE_BYTES = 512,  /* flushed from the address of begin on, and of end */
	STACK_BYTES = 256, /* of the stack that are flushed */
};

/* Called through pointers, as a program calls them. */
static struct {
	brick_span (*volatile begin)(uint32_t brick);
	void (*volatile end)(brick_span span);
} pair_cost_calls = {brick__begin, brick__end};

/* Measured once in a process, as it takes 5 ms, or once by its recorder; ticks. */
static struct {
	uint64_t overlapped; /* behind a stream; the CPU may overlap a part of the pair */
	uint64_t streamed;   /* behind a stream, with nothing overlapped */
	uint64_t stream;     /* the stream itself; 0: not measured yet */
	uint64_t cold;	     /* with nothing in a cache; 0: not known */
} pair_cost_once;

/* The value that `percent` of the values do not exceed. */
static uint64_t quantile(uint64_t *values, size_t n, unsigned percent)
{
	qsort(values, n, sizeof(*values), order_u64);
	return values[n * percent / 100];
}

static void run_batches(uint64_t *cost)
{
	for (int i = 0; i < BATCHES; i++) {
		brick__thread.lane->limit = brick__thread.lane->head + PAIRS + 1;
		uint64_t begin = brick__now();
		for (int k = 0; k < PAIRS; k++)
			brick__end(brick__begin(BRICK_EMBEDDING));
		cost[i] = ((brick__now() - begin) << 8) / PAIRS;
	}
}

static uint64_t without_reading(uint64_t ticks, uint64_t reading)
{
	return ticks > reading ? ticks - reading : 0;
}

/* The CPU may do a part of it beside what came before. */
static uint64_t time_overlapped(void)
{
	uint64_t begin = brick__now();
	brick__end(brick__begin(BRICK_EMBEDDING));
	uint64_t end = brick__now();
	return without_reading(end - begin, brick__now() - end);
}

/* Nothing is done beside it. */
static __attribute__((noinline)) uint64_t time_alone(void)
{
	brick__counter_order();
	uint64_t begin = brick__now();
	brick__counter_order();
	pair_cost_calls.end(pair_cost_calls.begin(BRICK_EMBEDDING));
	brick__counter_order();
	uint64_t end = brick__now();
	brick__counter_order();
	return without_reading(end - begin, brick__now() - end);
}

static uint64_t stream(char *bytes, int value)
{
	uint64_t begin = brick__now();
	memset(bytes, value, STREAM_BYTES);
	__asm__ volatile("" : : "r"(bytes) : "memory");
	return brick__now() - begin;
}

/* Upper quartiles of a pair behind STREAM_BYTES, and the least time that these took. */
static void run_streamed(void)
{
	uint64_t overlapped[STREAMED], alone[STREAMED], took[STREAMED];
	SCOPED char *bytes = malloc(STREAM_BYTES);

	if (!bytes)
		return;
	stream(bytes, 1); /* its page faults evict nothing later on */
	for (int i = 0; i < STREAMED; i++) {
		brick__thread.lane->limit = brick__thread.lane->head + 3;
		took[i] = stream(bytes, i);
		overlapped[i] = time_overlapped();
		stream(bytes, i);
		brick__sys_stores_done();
		alone[i] = time_alone();
	}
	pair_cost_once.overlapped = quantile(overlapped, STREAMED, 75);
	pair_cost_once.streamed = quantile(alone, STREAMED, 75);
	pair_cost_once.stream = quantile(took, STREAMED, 0);
}

/* What it takes to load a line that is in no cache, upper quartile. 0: not known. */
static uint64_t run_line(void)
{
	static volatile uint64_t line[8] __attribute__((aligned(64)));
	uint64_t cost[COLD];

	for (int i = 0; i < COLD; i++) {
		if (brick__sys_flush((const void *)line, sizeof(line)))
			return 0;
		brick__counter_order();
		uint64_t begin = brick__now();
		brick__counter_order();
		(void)line[0];
		brick__counter_order();
		uint64_t end = brick__now();
		brick__counter_order();
		cost[i] = without_reading(end - begin, brick__now() - end);
	}
	return quantile(cost, COLD, 75);
}

/*
 * Takes all that a pair reads and writes out of every cache. Returns how many pages that is at
 * most, or -errno.
 */
static int flush_pair(void)
{
	struct brick__thread *self = &brick__thread;
	struct brick_lane *lane = self->lane;
	char stack[STACK_BYTES];
	const struct {
		const volatile void *at;
		size_t bytes;
	} parts[] = {
		{&pair_cost_calls, sizeof(pair_cost_calls)},
		{(const void *)pair_cost_calls.begin, CODE_BYTES},
		{(const void *)pair_cost_calls.end, CODE_BYTES},
		{&brick__on, sizeof(brick__on)},
		{&brick__on_here, sizeof(brick__on_here)},
		{brick__on_here, sizeof(*brick__on_here)},
		{&brick__counter_used, sizeof(brick__counter_used)},
		{self, sizeof(*self)},
		{lane, offsetof(struct brick_lane, tail)},
		{&lane->thread, sizeof(lane->thread)},
		{&lane->frames[0], sizeof(lane->frames[0])},
		{&self->ring[lane->head & self->mask], sizeof(self->ring[0])},
		{stack, sizeof(stack)},
	};
	enum { PARTS = sizeof(parts) / sizeof(*parts) };
	for (int i = 0; i < PARTS; i++) {
		int error = brick__sys_flush(parts[i].at, parts[i].bytes);
		if (error)
			return error;
	}
	return PARTS;
}

/*
 * The cost with all of it in no cache: the 95th percentile of pairs, and the lines of the page
 * tables.
 */
static void run_cold(void)
{
	uint64_t cost[COLD], line = run_line();
	int pages = 0;

	for (int i = 0; i < COLD; i++) {
		brick__thread.lane->limit = brick__thread.lane->head + 3;
		time_alone(); /* where the next record goes is known */
		pages = flush_pair();
		if (pages < 0)
			return;
		cost[i] = time_alone();
	}
	pair_cost_once.cold = quantile(cost, COLD, 95) + (uint64_t)pages * TABLE_LINES * line;
}

static void measure_once(void)
{
	const struct brick_session_refusals *shared = brick__refusals_page();

	if (pair_cost_once.stream)
		return;
	if (shared && shared->pair_stream && shared->clock.source == brick_clock_get()->source) {
		pair_cost_once.overlapped = shared->pair_overlapped;
		pair_cost_once.streamed = shared->pair_streamed;
		pair_cost_once.stream = shared->pair_stream;
		pair_cost_once.cold = shared->pair_cold;
		return;
	}
	run_streamed();
	run_cold();
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Each figure is at least the one before. */
static void pair_cost_store(struct brick_session_header *header, uint64_t *cost)
{
	uint64_t warm = quantile(cost, BATCHES, 75);

	header->pair_cost_low = quantile(cost, BATCHES, 25);
	header->pair_cost = quantile(cost, BATCHES, 50);
	header->pair_cost_high = most(warm, pair_cost_once.overlapped << 8);
	uint64_t streamed = most(header->pair_cost_high, pair_cost_once.streamed << 8);
	header->pair_cost_streamed = ticks_saturated(streamed);
	header->pair_stream_ticks = ticks_saturated(pair_cost_once.stream);
	header->pair_cost_cold =
		pair_cost_once.cold ? ticks_saturated(most(streamed, pair_cost_once.cold << 8)) : 0;
}

void brick__pair_cost_measure(struct brick_session_header *header)
{
	struct brick__thread self = brick__thread;
	SCOPED struct brick_lane *lane = calloc(1, sizeof(*lane));
	SCOPED struct brick_record *ring = calloc(RING, sizeof(*ring));
	uint32_t on = brick__serial_here();
	uint64_t cost[BATCHES];

	if (lane && ring) {
		lane->capacity = lane->backed = RING;
		brick__thread = (struct brick__thread){
			.lane = lane, .ring = ring, .mask = RING - 1, .serial = on, .tag = on << 8};
		brick__thread_aim(&brick__thread);
		run_batches(cost);
		measure_once();
		brick__thread = self;
		pair_cost_store(header, cost);
	}
}

void brick__pair_cost_share(struct brick_session_refusals *page)
{
	struct brick_session_header unused = {0};

	brick_clock_get();
	brick__pair_cost_measure(&unused);
	page->pair_overlapped = pair_cost_once.overlapped;
	page->pair_streamed = pair_cost_once.streamed;
	page->pair_cold = pair_cost_once.cold;
	page->pair_stream = pair_cost_once.stream;
}

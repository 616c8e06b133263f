/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up engine whose every length is known: threads that run bricks between barriers, step
 * after step. Running it again with other lengths shows what a what-if should have said. The same
 * seed gives the same engine.
 */
#pragma once

#include "tests/unit/run_builder.h"

enum { ENGINE_BRICKS = 6, ENGINE_THREADS = 4 };

/* What can be made shorter: its bricks, and what no brick has. */
enum engine_owner {
	ENGINE_BUILD = ENGINE_BRICKS, /* GraphBuild */
	ENGINE_COMPUTE,		      /* GraphCompute's own time */
	ENGINE_COPY,		      /* OutputCopy, after the threads have come together */
	ENGINE_SAMPLING,	      /* after the step */
	ENGINE_BARRIER,		      /* what it takes to leave a barrier when all have come */
	ENGINE_OWNERS,
};

struct engine {
	uint64_t seed;
	unsigned threads, steps, phases;
	unsigned tenths[ENGINE_OWNERS];	     /* of its time; 10: as it is */
	unsigned longer_lane, longer_sample; /* one execution ... */
	uint64_t longer_ns;		     /* ... takes so much longer */
	bool background;		     /* a thread that has nothing to do with all that */
	/* what came out */
	struct run run;
	uint32_t sites[ENGINE_OWNERS];
	uint64_t total_ns; /* of all steps, with their sampling */
};

struct engine_state {
	struct engine *e;
	uint64_t random, now[ENGINE_THREADS];
};

static uint32_t engine_random(struct engine_state *s, uint32_t n)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((s->random >> 33) % n);
}

/* A length in tens, so that tenths of it are whole; 0 now and then. */
static uint64_t engine_length(struct engine_state *s, unsigned owner, uint32_t most)
{
	uint64_t ns = 10 * (engine_random(s, 8) ? engine_random(s, most) : 0);
	return ns / 10 * s->e->tenths[owner];
}

static struct run_sample *engine_brick(
	struct engine_state *s, unsigned lane, unsigned owner, uint32_t most, unsigned depth)
{
	struct run *run = &s->e->run;
	uint64_t begin = s->now[lane];

	s->now[lane] += engine_length(s, owner, most);
	if (s->e->longer_ns && lane == s->e->longer_lane &&
		run->lanes[lane].sample_count == s->e->longer_sample)
		s->now[lane] += s->e->longer_ns;
	return builder_sample(run, lane, s->e->sites[owner], begin, s->now[lane], depth);
}

/* All have arrived when the last one has; leaving takes each its own time, but never none. */
static void engine_barrier(struct engine_state *s, struct run_sample **last)
{
	struct engine *e = s->e;
	uint64_t all = 0;

	for (unsigned t = 0; t < e->threads; t++)
		all = s->now[t] > all ? s->now[t] : all;
	for (unsigned t = 0; t < e->threads; t++) {
		uint64_t leave = all + (1 + engine_random(s, 40)) * e->tenths[ENGINE_BARRIER];
		if (engine_random(s, 2) && last[t])
			last[t]->wait_ns = (uint32_t)(leave - s->now[t]);
		else
			builder_sample(&e->run, t, e->sites[ENGINE_BARRIER], s->now[t], leave,
				t == 0 ? 2 : 0);
		s->now[t] = leave;
	}
}

static void engine_graph(struct engine_state *s)
{
	struct engine *e = s->e;

	for (unsigned t = 1; t < e->threads; t++) /* threads start a little later */
		s->now[t] = s->now[0] + 10 * engine_random(s, 50);
	for (unsigned p = 0; p < e->phases; p++) {
		struct run_sample *last[ENGINE_THREADS] = {NULL};
		for (unsigned t = 0; t < e->threads; t++) {
			for (uint32_t n = engine_random(s, 4); n > 0; n--) {
				if (t == 0)
					s->now[0] += engine_length(s, ENGINE_COMPUTE, 10);
				else if (p || last[t]) /* nobody knows why */
					s->now[t] += 10 * engine_random(s, 10);
				last[t] = engine_brick(
					s, t, engine_random(s, ENGINE_BRICKS), 500, t == 0 ? 2 : 0);
			}
		}
		engine_barrier(s, last);
	}
}

static void engine_step(struct engine_state *s)
{
	struct engine *e = s->e;
	uint64_t begin = s->now[0];

	size_t step = e->run.lanes[0].sample_count;
	builder_sample(&e->run, 0,
		builder_site(&e->run, builder_known(&e->run, BRICK_DECODE), -1, NULL, NULL), begin,
		begin, 0);
	s->now[0] += 10 * engine_random(s, 20);
	engine_brick(s, 0, ENGINE_BUILD, 100, 1);
	size_t compute = e->run.lanes[0].sample_count;
	builder_sample(&e->run, 0, e->sites[ENGINE_COMPUTE], s->now[0], s->now[0], 1);
	engine_graph(s);
	s->now[0] += engine_length(s, ENGINE_COMPUTE, 10);
	e->run.lanes[0].samples[compute].end_ns = s->now[0];
	engine_brick(s, 0, ENGINE_COPY, 100, 1);
	s->now[0] += 10 * engine_random(s, 20);
	struct run_sample *own = &e->run.lanes[0].samples[step];
	own->end_ns = s->now[0];
	BUILDER_GROW(e->run.steps, e->run.step_count);
	e->run.steps[e->run.step_count++] = (struct run_step){.sample = (uint32_t)step,
		.phase = BRICK_PHASE_DECODE,
		.tokens = 1,
		.begin_ns = begin,
		.end_ns = s->now[0]};
	e->total_ns += s->now[0] - begin;
	s->now[0] += 10 * engine_random(s, 20);
	uint64_t before = s->now[0];
	engine_brick(s, 0, ENGINE_SAMPLING, 50, 0);
	e->total_ns += s->now[0] - before;
	s->now[0] += 1000;
}

static void engine_declare(struct engine *e)
{
	static const int known[] = {BRICK_GRAPH_BUILD, BRICK_GRAPH_COMPUTE, BRICK_OUTPUT_COPY,
		BRICK_SAMPLING, BRICK_BARRIER_WAIT};

	builder_process(&e->run, 1);
	for (unsigned t = 0; t < e->threads + e->background; t++)
		builder_lane(&e->run, 0, 100 + t);
	for (int i = 0; i < ENGINE_OWNERS; i++) {
		uint32_t brick =
			builder_known(&e->run, i < ENGINE_BRICKS ? i : known[i - ENGINE_BRICKS]);
		e->sites[i] = builder_site(&e->run, brick, i < ENGINE_BRICKS ? 3 : -1, NULL, NULL);
	}
}

/* Run it; run_fini(&e->run) frees what it made. */
static BUILDER_UNUSED void engine_run(struct engine *e)
{
	struct engine_state s = {.e = e, .random = e->seed};

	memset(&e->run, 0, sizeof(e->run));
	e->total_ns = 0;
	engine_declare(e);
	for (unsigned t = 0; t < e->threads; t++)
		s.now[t] = 1000000;
	for (unsigned step = 0; step < e->steps; step++)
		engine_step(&s);
	for (uint64_t ns = 900000; e->background && ns < s.now[0] + 5000; ns += 7770)
		builder_sample(&e->run, e->threads, e->sites[0], ns, ns + 7000, 0);
}

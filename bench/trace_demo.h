/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as a small llama.cpp model leaves them, made up for benches of the trace: decode steps
 * of 107 nodes in the same order on every thread, node times that vary, a barrier wait behind each
 * node when there are several threads. Header only.
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock_ns.h"
#include "lib/writer/writer.h"

enum { DEMO_LAYERS = 6, DEMO_NODES_PER_LAYER = 17, DEMO_MAX_NODES = 4096, DEMO_BATCH = 8192 };

struct demo {
	struct brick_session_header header;
	struct brick_session_brick bricks[BRICK_FIRST_DYNAMIC];
	struct brick_session_category categories[BRICK_CATEGORY_FIRST_DYNAMIC];
	struct brick_session_site sites[DEMO_MAX_NODES + 1];
	double mean_ticks[DEMO_MAX_NODES + 1];
	struct sink_tables tables;
	uint32_t nodes;
	uint64_t random;
};

/* xorshift64 */
static inline uint64_t demo_random(struct demo *d)
{
	d->random ^= d->random << 13;
	d->random ^= d->random >> 7;
	d->random ^= d->random << 17;
	return d->random;
}

static inline double demo_uniform(struct demo *d)
{
	return (double)(demo_random(d) >> 11) * 0x1p-53;
}

static inline double demo_normal(struct demo *d)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += demo_uniform(d);
	return sum - 6;
}

static inline void demo_site(struct demo *d, uint32_t index, int layer, uint16_t brick,
	const char *operation, const char *label)
{
	struct brick_session_site *site = &d->sites[index];

	*site = (struct brick_session_site){.brick = brick,
		.layer = (int16_t)layer,
		.flags = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS,
		.elements = 512 + index % 7 * 128,
		.bytes = 1000 * index + 4096,
		.flops = 524288 + index * 64};
	snprintf(site->operation, sizeof site->operation, "%s", operation);
	snprintf(site->label, sizeof site->label, "%s-%d", label, layer);
	/* between 0.8 and 30 us, at 2.6 ticks per ns */
	d->mean_ticks[index] = 2.6 * exp(log(800) + demo_uniform(d) * log(38));
}

static inline void demo_init(struct demo *d, uint32_t layers)
{
	static const struct {
		const char *name;
		uint16_t category;
	} bricks[] = {
#define BRICK_X(id, identifier, text, kind, aliases) [id] = {text, BRICK_CATEGORY_##kind},
		BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
	};

	memset(d, 0, sizeof *d);
	d->random = 88172645463325252ull;
	for (size_t i = 0; i < sizeof bricks / sizeof *bricks; i++) {
		strcpy(d->bricks[i].name, bricks[i].name);
		d->bricks[i].category = bricks[i].category;
	}
	for (int i = 0; i < BRICK_CATEGORY_FIRST_DYNAMIC; i++)
		snprintf(d->categories[i].name, sizeof d->categories[i].name, "Category%d", i);
	for (uint32_t layer = 0; layer < layers; layer++)
		for (uint32_t i = 0; i < DEMO_NODES_PER_LAYER; i++)
			demo_site(d, ++d->nodes, (int)layer, (uint16_t)(i % 12), "MUL_MAT", "node");
	for (uint32_t i = 0; i < 5; i++)
		demo_site(d, ++d->nodes, -1, (uint16_t)(12 + i % 2), "GET_ROWS", "out");
	d->tables = (struct sink_tables){.bricks = d->bricks,
		.brick_count = sizeof bricks / sizeof *bricks,
		.categories = d->categories,
		.category_count = BRICK_CATEGORY_FIRST_DYNAMIC,
		.sites = d->sites,
		.site_count = d->nodes + 1};
	d->header = (struct brick_session_header){.pid = 4242,
		.state = BRICK_SESSION_OPEN,
		.rank = -1,
		.world = -1,
		.clock = {.source = BRICK_CLOCK_TSC,
			.shift = 32,
			.mult = (uint64_t)(4294967296.0 / 2.6),
			.base_ns = 1000000000,
			.frequency = 2600000000},
		.executable = "/opt/engine"};
}

/* One thread's way through the steps. */
struct demo_lane {
	int number;
	uint64_t ticks;
	uint32_t node; /* 0: the step begins; nodes + 1: it ends */
	int leads;     /* records the steps */
};

/* The lane's next records; with waits: a wait behind each node. */
static inline size_t demo_records(struct demo *d, struct demo_lane *lane, int waits,
	struct brick_record *records, size_t count)
{
	size_t n = 0;

	while (n < count) {
		struct brick_record *r = &records[n];
		memset(r, 0, sizeof *r);
		r->source = BRICK_SOURCE_TSC;
		r->layer = -1;
		if (!lane->node || lane->node > d->nodes) {
			int begins = !lane->node;
			lane->node = begins ? 1 : 0;
			lane->ticks += 30000 + (uint64_t)(2000 * demo_uniform(d));
			if (!lane->leads)
				continue;
			r->begin = lane->ticks;
			r->brick = BRICK_DECODE;
			r->kind = begins ? BRICK_RECORD_OPEN : BRICK_RECORD_CLOSE;
			r->elements = begins;
			n++;
			continue;
		}
		double mean = d->mean_ticks[lane->node];
		lane->ticks += (uint64_t)(160 + 80 * fabs(demo_normal(d)));
		r->begin = lane->ticks;
		r->ticks = (uint32_t)(mean * exp(0.06 * demo_normal(d)));
		if (demo_uniform(d) < 0.01)
			r->ticks += (uint32_t)(5000 * demo_uniform(d));
		if (waits)
			r->wait = (uint32_t)(100 + 0.3 * mean * fabs(demo_normal(d)));
		r->kind = BRICK_RECORD_SAMPLE;
		r->brick = d->sites[lane->node].brick;
		r->layer = d->sites[lane->node].layer;
		r->flags = BRICK_FLAG_SITE;
		r->site = lane->node++;
		lane->ticks += r->ticks + r->wait;
		n++;
	}
	return n;
}

static inline double demo_cpu_seconds(void)
{
	return 1e-9 * (double)thread_cpu_ns();
}

/* What was written, and what it cost the writer alone. */
struct demo_result {
	uint64_t samples, pairs, bytes;
	double cpu_seconds;
};

/* 0, or the writer's error. */
static inline int demo_write(struct demo *d, const char *path, uint32_t lanes, uint64_t samples,
	int waits, int compress, struct demo_result *result)
{
	static struct brick_record records[DEMO_BATCH];
	struct demo_lane lane[16] = {{0}};
	static struct brick_lane state = {
		.kind = BRICK_LANE_THREAD, .start_ticks = 1, .name = "worker"};
	struct trace_writer_options options = {.path = path,
		.start_unix_ns = 1,
		.start_ns = 1000000000,
		.host = "box",
		.cpu = "CPU",
		.compress = compress};
	struct trace_writer *w;
	int error = trace_writer_create(&w, &options);

	memset(result, 0, sizeof *result);
	if (error)
		return error;
	sink_clock(w, &d->header.clock);
	sink_process(w, &d->header);
	sink_tables(w, 0, &d->tables);
	for (uint32_t i = 0; i < lanes; i++) {
		state.tid = 100 + i;
		lane[i] = (struct demo_lane){sink_lane(w, 0, &state), 1000, 0, i == 0};
	}
	for (uint32_t i = 0; result->samples < samples; i = (i + 1) % lanes) {
		size_t n = demo_records(d, &lane[i], waits, records, DEMO_BATCH);
		double start = demo_cpu_seconds();
		sink_records(w, lane[i].number, records, n);
		result->cpu_seconds += demo_cpu_seconds() - start;
		result->samples += n;
	}
	double start = demo_cpu_seconds();
	sink_process_end(w, 0, lane[0].ticks, 1);
	sink_flush(w);
	trace_writer_counts(w, &result->bytes, &result->pairs);
	error = trace_writer_finish(w);
	result->cpu_seconds += demo_cpu_seconds() - start;
	return error;
}

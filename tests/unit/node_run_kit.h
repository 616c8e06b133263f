/* SPDX-License-Identifier: Apache-2.0 */
/* What node_run.c calls, as doubles that keep what is recorded. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/masks.h"
#include "attach/ggml/nodes/node_run.h"

enum { MAX_RECORDED = 1 << 12 };

/* What was recorded, in order. */
static struct {
	uint32_t site;
	uint64_t begin, length;
} recorded[MAX_RECORDED];
static uint32_t recorded_count, calls;
static uint64_t cost;

struct attach_shared attach_shared;
__thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));
struct brick__series_timing node_run_none[NODE_RUN_BEFORE + 1];
struct brick__series {
	uint32_t count, sites[];
};

struct brick__series *brick__series_create(const uint32_t *sites, uint32_t count)
{
	struct brick__series *series = malloc(sizeof *series + count * sizeof *sites);

	assert_non_null(series);
	series->count = count;
	memcpy(series->sites, sites, count * sizeof *sites);
	return series;
}

void brick__series_free(struct brick__series *series)
{
	free(series);
}

static void keep(uint32_t site, uint64_t begin, uint64_t length)
{
	assert_in_range(recorded_count, 0, MAX_RECORDED - 1);
	recorded[recorded_count].site = site;
	recorded[recorded_count].begin = begin;
	recorded[recorded_count++].length = length;
}

uint64_t brick__series_record(struct brick__series *series, const struct brick__series_run *run)
{
	uint64_t begin = run->begin, sum = 0;

	assert_in_range(run->first + run->count, 1, series->count);
	for (uint32_t i = 0; i < run->count; i++) {
		begin += run->timings[i].begin - (uint32_t)begin;
		keep(series->sites[run->first + i], begin, run->timings[i].ticks);
		sum += run->timings[i].ticks;
	}
	assert_true(run->last >= begin);
	return sum;
}

void node_record(struct node_thread *t, uint64_t end)
{
	keep(t->site, t->begin, end - t->begin);
}

void node_flush_events(struct node_thread *t)
{
	t->event_count = 0;
}

void node_cost_add(struct node_cost *of, uint32_t count, uint64_t ticks)
{
	(void)of;
	calls += count;
	cost += ticks;
}

uint32_t masks_count(const struct masks *masks)
{
	(void)masks;
	return 0;
}

const struct known_node *masks_node(const struct masks *masks, uint32_t index)
{
	(void)masks, (void)index;
	return NULL;
}

uint32_t masks_works(
	const uint32_t *places, uint32_t first, uint32_t count, struct brick_timing_work *works)
{
	(void)places, (void)first, (void)count, (void)works;
	return 0;
}

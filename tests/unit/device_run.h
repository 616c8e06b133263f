/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of what devices did: a run by hand with queues and commands.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/path/graph_from_run.h"
#include "analysis/path/path.h"
#include "analysis/roofline/roofline.h"
#include "analysis/accounts/summary.h"
#include "analysis/statistics/unknown.h"
#include "brick/graph_path.h"
#include "tests/unit/run_builder.h"

/*
 * A step of 1000 ns on a thread and two queues. b launches k1 (queue 1), a copy (queue 2) and k2
 * (queue 1, after the copy), and waits for k2:
 *
 *   thread    b[1000 .. 1300: Launch 1010-1020, 1030-1040, 1050-1060]  Synchronize[1300 .. 1910]
 *   queue 1   k1[1100 .. 1400]                    k2[1650 .. 1900]
 *   queue 2              copy[1130 .. 1600]
 */
struct scene {
	struct run run;
	struct step_index index;
	uint32_t thread, queue, other, b, decode;
	uint32_t k1, copy, k2; /* commands */
};

enum { CALL = 2 }; /* the first of the samples that launch */

static inline void scene_init(struct scene *s)
{
	struct run *run = &s->run;

	memset(s, 0, sizeof(*s));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	builder_process(run, 1);
	s->thread = builder_lane(run, 0, 11);
	s->queue = builder_queue(run, 0, 1);
	s->other = builder_queue(run, 0, 2);
	s->decode = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	s->b = builder_site(run, builder_brick(run, "b", "FFN"), 3, NULL, NULL);
	uint32_t launch = builder_site(run, builder_brick(run, "Launch", "Engine"), 3, NULL, NULL);
	uint32_t sync = builder_site(run, builder_known(run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
	uint32_t kernel = builder_kernel(run, "k", BRICK_KERNEL_COMPUTE, 4);
	uint32_t larger = builder_kernel(run, "k", BRICK_KERNEL_COMPUTE, 8);
	uint32_t upload = builder_kernel(run, "up", BRICK_KERNEL_H2D, 0);

	builder_sample(run, s->thread, s->decode, 1000, 2000, 0);
	builder_step(run, s->thread, 1);
	builder_sample(run, s->thread, s->b, 1000, 1300, 1);
	for (uint64_t at = 1010; at <= 1050; at += 20)
		builder_sample(run, s->thread, launch, at, at + 10, 2);
	builder_sample(run, s->thread, sync, 1300, 1910, 1);
	builder_sample(run, s->queue, s->b, 1100, 1400, 0)->source = BRICK_SOURCE_DEVICE_EVENT;
	s->k1 = builder_command(run, s->queue, kernel, s->thread, CALL, RUN_NONE);
	builder_sample(run, s->queue, s->b, 1650, 1900, 0)->source = BRICK_SOURCE_DEVICE_EVENT;
	s->k2 = builder_command(run, s->queue, larger, s->thread, CALL + 2, 2);
	builder_sample(run, s->other, s->b, 1130, 1600, 0)->source = BRICK_SOURCE_DEVICE_ACTIVITY;
	s->copy = builder_command(run, s->other, upload, s->thread, CALL + 1, RUN_NONE);
	builder_waits(run, s->thread, CALL + 3, s->k2);
	run->commands[s->k1].submitted_ns = 1050;
	assert_int_equal(s->copy, 2);
	assert_int_equal(step_index_init(&s->index, run), 0);
}

static inline void scene_fini(struct scene *s)
{
	step_index_fini(&s->index);
	run_fini(&s->run);
}

static inline const struct summary_row *row_named(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->row_count; i++)
		if (!strcmp(s->rows[i].name, name))
			return &s->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

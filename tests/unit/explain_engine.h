/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in miniature whose decode steps take a millisecond each, with one thing wrong with it,
 * or nothing. One test at a time.
 */
#pragma once

#include "brick/abi/step_counters.h"
#include "analysis/explain/finding.h"
#include "tests/unit/run_builder.h"

enum {
	EXPLAIN_STEPS = 40,
	US = 1000,
	STEP_US = 1000,
};

/* In us of each step, but for what is said. */
struct wrong {
	uint32_t sampling, build, gap, preempted, blocked, wait;
	uint32_t first;	       /* of the first step, in attention */
	uint32_t slow;	       /* of step 17, in attention */
	uint32_t growth;       /* of each step more than of the one before, in attention */
	uint32_t on_cpu;       /* beside a device */
	uint32_t copy;	       /* between backends */
	uint32_t device;       /* a device is busy for so long */
	uint32_t others;       /* percent of the CPUs */
	uint32_t usable;       /* CPUs; 0: both */
	uint32_t repeated;     /* tokens of a second prompt of 64 */
	uint64_t bytes, flops; /* of one execution of DownProjection */
};

struct explain_engine {
	struct run run;
	uint32_t thread, worker, queue, process;
	uint32_t kernel, transfer;
	uint64_t now;
};

static uint32_t engine_site(struct explain_engine *e, int brick)
{
	return builder_site(&e->run, builder_known(&e->run, brick), 0, "OP", "tensor");
}

static uint32_t named_site(struct explain_engine *e, const char *brick, const char *category)
{
	return builder_site(&e->run, builder_brick(&e->run, brick, category), -1, NULL, NULL);
}

/* A brick of so many us on the engine's thread from now on. Returns its sample. */
static uint32_t take(struct explain_engine *e, uint32_t site, uint64_t us, unsigned depth)
{
	struct run_lane *lane = &e->run.lanes[e->thread];

	builder_sample(&e->run, e->thread, site, e->now, e->now + us * US, depth);
	e->now += us * US;
	return (uint32_t)lane->sample_count - 1;
}

/* The thread was off its CPU from `at` on. */
static void off_cpu(struct explain_engine *e, uint64_t at, uint64_t us, int preempted)
{
	struct run_lane *lane = &e->run.lanes[e->thread];
	struct run_off_times before = {0, 0};

	if (lane->off_cpu_count) {
		const struct run_off_cpu *last = &lane->off_cpu[lane->off_cpu_count - 1];
		before = last->before;
		*(last->preempted ? &before.preempted_ns : &before.blocked_ns) +=
			last->end_ns - last->begin_ns;
	}
	BUILDER_GROW(lane->off_cpu, lane->off_cpu_count);
	lane->off_cpu[lane->off_cpu_count++] =
		(struct run_off_cpu){at, at + us * US, before, preempted};
}

static void start_engine(struct explain_engine *e, const struct wrong *w)
{
	*e = (struct explain_engine){.now = 5000};
	e->run.complete = 1;
	e->run.path = builder_copy("run.pftrace");
	e->run.clock = (struct brick_clock){.mult = 1};
	e->run.cpus = 2;
	e->run.usable_cpus = w->usable;
	e->run.off_cpu.source = OFF_CPU_SWITCHES;
	e->run.start_ns = 0;
	e->process = builder_process(&e->run, 1);
	e->thread = builder_lane(&e->run, e->process, 1);
	e->worker = w->wait ? builder_lane(&e->run, e->process, 2) : RUN_NONE;
	e->queue = w->device ? builder_queue(&e->run, e->process, 1) : RUN_NONE;
	e->kernel = builder_kernel(&e->run, "mul_mat", BRICK_KERNEL_COMPUTE, 4);
	e->transfer = builder_kernel(&e->run, "copy", BRICK_KERNEL_H2D, 0);
	builder_known(&e->run, BRICK_BARRIER_WAIT);
}

/* Launched by that sample, of so many us, from the begin of the launch on. */
static void command(struct explain_engine *e, uint32_t launch, uint32_t site, uint64_t us)
{
	uint64_t at = e->run.lanes[e->thread].samples[launch].begin_ns + US;

	builder_sample(&e->run, e->queue, site, at, at + us * US, 0);
	builder_command(&e->run, e->queue, e->kernel, e->thread, launch, RUN_NONE);
}

static void count_point(struct explain_engine *e, double value)
{
	uint32_t brick = builder_brick(&e->run, BRICK_REPEATED_NAME, "Engine");

	BUILDER_GROW(e->run.points, e->run.point_count);
	e->run.points[e->run.point_count++] =
		(struct run_point){e->now, e->thread, RUN_POINT_COUNTER, brick, 0, value};
}

static void add_prompt(struct explain_engine *e, uint32_t repeated)
{
	uint32_t step =
		builder_site(&e->run, builder_known(&e->run, BRICK_PREFILL), -1, NULL, NULL);
	uint32_t work = engine_site(e, BRICK_DOWN_PROJECTION);

	builder_sample(&e->run, e->thread, step, e->now, e->now + 5 * STEP_US * US, 0);
	builder_step(&e->run, e->thread, 64);
	count_point(e, repeated);
	take(e, work, 5 * STEP_US, 1);
	e->now += 10 * US;
}

/* The worker has waited at the end of what the thread just did. */
static void let_worker_wait(struct explain_engine *e, uint32_t site, uint64_t us, uint64_t wait)
{
	struct run_sample *sample =
		builder_sample(&e->run, e->worker, site, e->now - us * US, e->now - wait * US, 0);

	sample->wait_ns = (uint32_t)(wait * US);
}

static void add_step(struct explain_engine *e, const struct wrong *w, uint32_t i)
{
	uint64_t begin = e->now;
	uint32_t step = builder_site(&e->run, builder_known(&e->run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t down = engine_site(e, BRICK_DOWN_PROJECTION);
	uint64_t attention =
		STEP_US / 2 + (i == 0) * w->first + (i == 17) * w->slow + i * w->growth;
	struct run_lane *lane = &e->run.lanes[e->thread];

	e->run.sites[down].flags = w->bytes ? BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS : 0;
	e->run.sites[down].bytes = w->bytes;
	e->run.sites[down].flops = w->flops;
	uint32_t at = (uint32_t)lane->sample_count;
	builder_sample(&e->run, e->thread, step, begin, begin, 0);
	uint32_t number = builder_step(&e->run, e->thread, 1);
	if (w->build)
		take(e, engine_site(e, BRICK_GRAPH_BUILD), w->build, 1);
	if (w->copy)
		take(e, named_site(e, "SplitCopy", "Engine"), w->copy, 1);
	uint32_t launch = take(e,
		w->device && !w->on_cpu ? named_site(e, "RecordCommands", "Engine")
					: engine_site(e, BRICK_QKV_PROJECTION),
		attention, 1);
	if (w->device)
		command(e, launch, down, w->device);
	e->now += w->gap * US;
	take(e, w->device ? named_site(e, "GraphCompute", "Engine") : down, STEP_US / 2, 1);
	if (w->wait)
		let_worker_wait(e, down, STEP_US / 2, w->wait);
	if (w->preempted)
		off_cpu(e, e->now - (w->preempted + 1) * (uint64_t)US, w->preempted, 1);
	if (w->blocked)
		off_cpu(e, e->now - (w->blocked + 1) * (uint64_t)US, w->blocked, 0);
	lane->samples[at].end_ns = e->run.steps[number].end_ns = e->now;
	take(e, engine_site(e, BRICK_SAMPLING), w->sampling ? w->sampling : 5, 0);
	e->now += 10 * US;
}

static void make_engine(struct explain_engine *e, const struct wrong *w)
{
	start_engine(e, w);
	if (w->repeated) {
		add_prompt(e, 0);
		add_prompt(e, w->repeated);
	}
	for (uint32_t i = 0; i < EXPLAIN_STEPS; i++)
		add_step(e, w, i);
	for (size_t i = 0; i < e->run.lane_count; i++)
		e->run.lanes[i].end_ns = e->now;
	e->run.end_ns = e->run.processes[0].end_ns = e->now;
	uint64_t all = 2 * e->now, others = all / 100 * w->others;
	e->run.program_cpu_ns = e->now;
	e->run.machine = (struct machine_use){.busy_ns = e->now + others,
		.idle_ns = all - e->now - others,
		.neighbour_ns = others,
		.neighbour = "cc1 (12)"};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in miniature whose decode steps take a millisecond each, with one thing wrong with it,
 * or nothing. One test at a time.
 */
#pragma once

#include "brick/abi/overhead.h"
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
	uint32_t lookup;       /* of the first step and step 17, Brick's own */
	uint32_t gap_off;      /* of the gap, without a CPU */
	uint32_t slow_off;     /* of that, without a CPU */
	uint32_t blocked_too;  /* in two other bricks of each step together */
	uint32_t first_off;    /* of `first`, in which the thread sleeps */
	uint32_t growth;       /* of each step more than of the one before, in attention */
	uint32_t on_cpu;       /* beside a device */
	uint32_t copy;	       /* between backends */
	uint32_t device;       /* a device is busy for so long */
	uint32_t others;       /* percent of the CPUs */
	uint32_t usable;       /* CPUs; 0: both */
	uint32_t repeated;     /* tokens of a second prompt of 64 */
	uint64_t bytes, flops; /* of one execution of DownProjection */
	uint32_t steps;	       /* 0: EXPLAIN_STEPS */
	uint32_t crowd;	       /* the worker is preempted for so long, too */
	uint32_t pause, work;  /* between steps: the thread sleeps, or it computes */
	uint32_t work_once;    /* it computes between the prompt and its first token */
	uint32_t faults;       /* in all */
	uint32_t records;      /* 1: the kernel's records have all faults ... */
	uint32_t in_fault;     /* ... in which each step sleeps, as part of `blocked` */
	uint32_t disk;	       /* of the kernel, to read as much as a model from a disk */
	uint32_t touched;      /* of the kernel, for page faults */
	bool touched_early;    /* that, in the first 24 steps, and in no later one */
	uint32_t throttled;    /* of each step */
	uint32_t cast;	       /* of a cache of f32 */
	uint32_t logits;       /* copied for each of a prompt's 64 tokens */
	uint32_t vocabulary;   /* in LmHead */
	uint32_t saved;	       /* in copying state, 12 times */
	uint32_t watched;      /* in planning 20 parts of a graph */
	uint32_t sequences;    /* single tokens of so many in turn */
	uint32_t prompt;       /* tokens of a prompt, each evaluated by itself */
	uint64_t elements;     /* of DownProjection's result, which makes it a product */
	uint32_t held;	       /* of each fourth step, in DownProjection */
	uint32_t adapter;      /* in LoraProjection, twice */
	uint32_t moved;	       /* in rotating the whole cache */
	uint32_t norm;	       /* in RmsNorm, beside five other simple operations of 2 us */
	uint32_t longer;       /* in DownProjection */
	uint32_t anew;	       /* until a thread that begins in the step computes */
	uint32_t pale;	       /* of a small product of UpProjection */
	uint32_t pale_once;    /* of the first such product, longer */
	uint32_t first_build;  /* of the first step, in building its graph */
	uint32_t pool;	       /* of the first step, until the worker begins */
	uint32_t first_gap;    /* of the first step, in no brick */
	uint32_t softmax;      /* of the prompt, in attention without flash attention */
	uint32_t kept;	       /* bytes that each step leaves behind ... */
	uint32_t cached;       /* ... and in a cache */
	uint32_t kept_until;   /* the first step that leaves none; 0: all do */
	bool tail;	       /* DownProjection shrinks to a hundredth behind the first step */
	bool one_brick;	       /* behind which the worker waits */
	bool mixed, software, old_library;
	bool unseen;	   /* nobody saw when threads had no CPU */
	bool gave_up;	   /* nobody saw it from the fourth step on */
	bool alike;	   /* the engine's thread executes more, and the worker waits as long */
	bool own_softmax;  /* of a program that states its work and has no operations */
	bool silent;	   /* with `mixed`: a single token without logits, and no prompt */
	bool own_callback; /* Brick's, which watches nodes */
	bool torch;	   /* recorded in PyTorch */
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

/* A lane's thread was off its CPU from `at` on. */
static void be_off(struct run_lane *lane, uint64_t at, uint64_t us, int preempted)
{
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

static void off_cpu(struct explain_engine *e, uint64_t at, uint64_t us, int preempted)
{
	be_off(&e->run.lanes[e->thread], at, us, preempted);
}

static void start_engine(struct explain_engine *e, const struct wrong *w)
{
	*e = (struct explain_engine){.now = 5000};
	e->run.complete = 1;
	e->run.path = builder_copy("run.pftrace");
	e->run.clock = (struct brick_clock){.mult = 1};
	e->run.cpus = 2;
	e->run.usable_cpus = w->usable;
	e->run.off_cpu.source = w->unseen ? OFF_CPU_UNKNOWN : OFF_CPU_SWITCHES;
	e->run.off_cpu.gap_count = w->gave_up;
	e->run.off_cpu.gaps[0] = (struct off_cpu_gap){4 * STEP_US * US, UINT64_MAX, 20000, 1700};
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

static void count_as(struct explain_engine *e, const char *name, double value)
{
	uint32_t brick = builder_brick(&e->run, name, "Engine");

	BUILDER_GROW(e->run.points, e->run.point_count);
	e->run.points[e->run.point_count++] =
		(struct run_point){e->now, e->thread, RUN_POINT_COUNTER, brick, 0, value};
}

static void count_disk(struct explain_engine *e, const struct wrong *w)
{
	count_as(e, BRICK_DISK_NAME, 1 << 20);
	count_as(e, BRICK_KERNEL_TIME_NAME, w->disk * (double)US);
}

static void count_faults(struct explain_engine *e, const struct wrong *w)
{
	count_as(e, BRICK_FAULTS_NAME, 1000);
	count_as(e, BRICK_KERNEL_TIME_NAME, w->touched * (double)US);
}

static void add_prompt(struct explain_engine *e, uint32_t repeated)
{
	uint32_t step =
		builder_site(&e->run, builder_known(&e->run, BRICK_PREFILL), -1, NULL, NULL);
	uint32_t work = engine_site(e, BRICK_DOWN_PROJECTION);

	builder_sample(&e->run, e->thread, step, e->now, e->now + 5 * STEP_US * US, 0);
	builder_step(&e->run, e->thread, 64);
	count_as(e, BRICK_REPEATED_NAME, repeated);
	take(e, work, 5 * STEP_US, 1);
	e->now += 10 * US;
}

/* The worker has waited at the end of what the thread just did. */
static void let_worker_wait(
	struct explain_engine *e, uint32_t site, uint64_t us, uint64_t wait, uint64_t preempted_us)
{
	struct run_sample *sample =
		builder_sample(&e->run, e->worker, site, e->now - us * US, e->now - wait * US, 0);

	sample->wait_ns = (uint32_t)(wait * US);
	if (preempted_us)
		be_off(&e->run.lanes[e->worker], sample->begin_ns + US, preempted_us, 1);
}

static void note(struct explain_engine *e, const char *key, const char *value)
{
	BUILDER_GROW(e->run.notes, e->run.note_count);
	e->run.notes[e->run.note_count++] =
		(struct run_note){e->process, builder_copy(key), builder_copy(value)};
}

static void remember(
	struct explain_engine *e, uint32_t kind, uint32_t site, uint32_t step, uint64_t bytes)
{
	BUILDER_GROW(e->run.memories, e->run.memory_count);
	e->run.memories[e->run.memory_count++] = (struct run_memory){.ns = e->now,
		.lane = e->thread,
		.step = step,
		.kind = kind,
		.site = site,
		.is_of_site = site != RUN_NONE,
		.live_bytes = bytes,
		.peak_bytes = bytes};
}

/* Beside 4 MB that live all the time. */
static void leave_behind(
	struct explain_engine *e, const struct wrong *w, uint32_t i, uint32_t step, uint32_t site)
{
	uint64_t kept =
		(uint64_t)w->kept * (w->kept_until && i > w->kept_until ? w->kept_until : i);
	uint64_t cached = (uint64_t)w->cached * i;

	remember(e, BRICK_MEMORY_ALL, RUN_NONE, step, (4 << 20) + kept + cached);
	remember(e, BRICK_MEMORY_CACHE, RUN_NONE, step, cached);
	remember(e, BRICK_MEMORY_ACTIVATIONS, site, step, kept);
	remember(e, BRICK_MEMORY_CACHE, site, step, cached);
}

static void add_step(struct explain_engine *e, const struct wrong *w, uint32_t i)
{
	uint64_t begin = e->now;
	uint32_t step = builder_site(&e->run, builder_known(&e->run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t down =
		w->elements ? builder_site(&e->run, builder_known(&e->run, BRICK_DOWN_PROJECTION),
				      w->tail && i, "MUL_MAT", "ffn_down")
			    : engine_site(e, BRICK_DOWN_PROJECTION);
	uint64_t attention =
		STEP_US / 2 + (i == 0) * w->first + (i == 17) * w->slow + i * w->growth;
	struct run_lane *lane = &e->run.lanes[e->thread];
	static const int shared[] = {
		BRICK_DOWN_PROJECTION, BRICK_UP_PROJECTION, BRICK_GATE_PROJECTION};

	e->run.sites[down].flags = w->bytes ? BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS : 0;
	uint32_t shrinks = w->tail && i ? 100 : 1;
	e->run.sites[down].bytes = w->bytes / shrinks;
	e->run.sites[down].flops = w->flops / shrinks;
	e->run.sites[down].elements = w->elements;
	uint32_t at = (uint32_t)lane->sample_count;
	builder_sample(&e->run, e->thread, step, begin, begin, 0);
	uint32_t number = builder_step(&e->run, e->thread, 1);
	if (w->mixed && i % 2) {
		e->run.steps[number].phase = BRICK_PHASE_MIXED;
		e->run.steps[number].tokens = w->silent ? 2 : 17;
		e->run.steps[number].output_tokens = 1;
	}
	if (w->sequences)
		count_as(e, BRICK_SEQUENCE_NAME, i % w->sequences);
	if (w->disk && i % 2) /* as earlier versions did */
		count_disk(e, w);
	if (w->cast)
		take(e,
			builder_site(&e->run, builder_known(&e->run, BRICK_KV_CACHE_WRITE), 0,
				"CPY", "cache_v"),
			w->cast, 1);
	if (w->cast) {
		uint32_t write = builder_site(&e->run, builder_known(&e->run, BRICK_KV_CACHE_WRITE),
			0, "SET_ROWS", "cache_k_l0 (view)");
		e->run.sites[write].elements = 100;
		e->run.sites[write].bytes = 808; /* in f32, out f32, an index */
		take(e, write, 1, 1);
	}
	if (w->vocabulary)
		take(e, engine_site(e, BRICK_LM_HEAD), w->vocabulary, 1);
	if (w->anew) {
		BUILDER_GROW(e->run.points, e->run.point_count);
		e->run.points[e->run.point_count++] = (struct run_point){
			e->now, e->thread, RUN_POINT_THREAD, RUN_NONE, 0, 100 + i};
		take(e, named_site(e, "ThreadStart", "Engine"), w->anew, 1);
	}
	for (int k = 0; k < 2 && w->adapter; k++)
		take(e,
			builder_site(&e->run, builder_brick(&e->run, "LoraProjection", "Other"), 0,
				"MUL_MAT", "lora_a"),
			w->adapter / 2, 1);
	if (w->moved) {
		uint32_t prepare = take(e, named_site(e, "KvCachePrepare", "Engine"), 0, 1);
		uint32_t compute = take(e, engine_site(e, BRICK_GRAPH_COMPUTE), 0, 2);
		take(e, engine_site(e, BRICK_ROPE_EMBEDDING), w->moved, 3);
		lane->samples[prepare].end_ns = lane->samples[compute].end_ns = e->now;
	}
	static const int simple[] = {BRICK_RMS_NORM, BRICK_ROPE_EMBEDDING, BRICK_RESIDUAL_ADD,
		BRICK_ACTIVATION, BRICK_KV_CACHE_WRITE, BRICK_EMBEDDING};
	for (int k = 0; k < 6 && w->norm; k++) {
		uint32_t pass =
			builder_site(&e->run, builder_known(&e->run, simple[k]), 0, "ADD", "a");
		e->run.sites[pass].flags = BRICK_SITE_HAS_BYTES;
		e->run.sites[pass].bytes = 4000;
		e->run.sites[pass].elements = 1000;
		take(e, pass, k ? 2 : w->norm, 1);
	}
	if (w->pale) {
		uint32_t up = builder_site(&e->run, builder_known(&e->run, BRICK_UP_PROJECTION), 0,
			"MUL_MAT", "ffn_up");
		e->run.sites[up].flags = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
		e->run.sites[up].bytes = w->bytes / (w->tail ? 2 : 100);
		e->run.sites[up].flops = w->flops / (w->tail ? 2 : 100);
		e->run.sites[up].elements = w->elements / 10;
		take(e, up, w->pale + (i == 0) * w->pale_once, 1);
	}
	if (w->mixed && i % 2)
		e->now += 600 * US;
	for (uint32_t k = 0; k < 12 && w->saved; k++)
		take(e, engine_site(e, BRICK_OUTPUT_COPY), w->saved / 12, 1);
	for (uint32_t k = 0; k < 20 && w->watched; k++)
		take(e, named_site(e, "GraphPlan", "Engine"), w->watched / 20, 1);
	if (w->lookup && (i == 0 || i == 17))
		take(e, named_site(e, BRICK_LOOKUP_NAME, "Engine"), w->lookup, 1);
	if (w->build)
		take(e, engine_site(e, BRICK_GRAPH_BUILD), w->build, 1);
	if (w->first_build && i == 0)
		take(e, engine_site(e, BRICK_GRAPH_BUILD), w->first_build, 1);
	if (w->pool && i == 0)
		take(e, engine_site(e, BRICK_BARRIER_WAIT), w->pool, 1);
	if (w->copy)
		take(e, named_site(e, "SplitCopy", "Engine"), w->copy, 1);
	uint32_t launch = take(e,
		w->device && !w->on_cpu ? named_site(e, "RecordCommands", "Engine")
					: engine_site(e, BRICK_QKV_PROJECTION),
		attention, 1);
	if (i == 17 && w->slow_off)
		off_cpu(e, e->now - (w->slow_off + 1) * (uint64_t)US, w->slow_off, 1);
	if (i == 0 && w->first_off)
		off_cpu(e, e->now - (w->first_off + 1) * (uint64_t)US, w->first_off, 0);
	if (w->device)
		command(e, launch, down, w->device);
	if (w->gap_off)
		off_cpu(e, e->now, w->gap_off, 1);
	for (int k = 0; k < 2 && w->blocked_too; k++) {
		take(e, engine_site(e, k ? BRICK_UP_PROJECTION : BRICK_RMS_NORM),
			w->blocked_too / 2 + 2, 1);
		off_cpu(e, e->now - (w->blocked_too / 2 + 1) * (uint64_t)US, w->blocked_too / 2, 0);
	}
	e->now += (w->gap + (i == 0) * w->first_gap) * (uint64_t)US;
	for (int k = 0; k < 5 && w->alike; k++)
		take(e, engine_site(e, shared[1 + k % 2]), STEP_US / 10, 1);
	take(e, w->device ? named_site(e, "GraphCompute", "Engine") : down,
		w->alike ? STEP_US / 10
			 : STEP_US / 2 / shrinks + w->longer + (i % 4 == 1) * w->held,
		1);
	if (w->wait)
		let_worker_wait(e, w->one_brick ? down : engine_site(e, shared[i % 3]), STEP_US / 2,
			w->wait, w->crowd);
	if (w->preempted)
		off_cpu(e, e->now - (w->preempted + 1) * (uint64_t)US, w->preempted, 1);
	if (w->blocked)
		off_cpu(e, e->now - (w->blocked + 1) * (uint64_t)US, w->blocked, 0);
	if (w->in_fault) {
		uint64_t begin = e->now - (w->blocked + 1) * (uint64_t)US;
		BUILDER_GROW(e->run.faults, e->run.fault_count);
		e->run.faults[e->run.fault_count++] = (struct run_fault){.begin_ns = begin,
			.end_ns = begin + w->in_fault * (uint64_t)US,
			.pid = 1,
			.tid = 1,
			.lane = e->thread,
			.is_major = 1};
	}
	if (w->kept || w->cached)
		leave_behind(e, w, i, number, down);
	lane->samples[at].end_ns = e->run.steps[number].end_ns = e->now;
	if (w->disk && i % 2 == 0)
		count_disk(e, w);
	if (w->touched && (w->touched_early ? i < 24 : i > 20 || w->touched > 100))
		count_faults(e, w);
	take(e, engine_site(e, BRICK_SAMPLING), w->sampling ? w->sampling : 5, 0);
	if (w->pause)
		off_cpu(e, e->now, w->pause, 0);
	e->now += (10 + w->pause + w->work) * (uint64_t)US;
}

/* Of 64 tokens, all at once or each by itself; with logits of the last or of all. */
static void add_long_prompt(struct explain_engine *e, const struct wrong *w)
{
	uint32_t phase =
		builder_site(&e->run, builder_known(&e->run, BRICK_PREFILL), -1, NULL, NULL);
	uint32_t head =
		builder_site(&e->run, builder_known(&e->run, BRICK_LM_HEAD), -1, "MUL_MAT", "head");
	uint32_t all = builder_site(
		&e->run, builder_known(&e->run, BRICK_LM_HEAD), -1, "MUL_MAT", "heads");
	uint64_t begin = e->now;
	uint32_t step = (uint32_t)e->run.lanes[e->thread].sample_count;

	e->run.sites[head].elements = 1000;
	e->run.sites[all].elements = 64000;
	builder_sample(&e->run, e->thread, phase, begin, begin, 0);
	uint32_t number = builder_step(&e->run, e->thread, 64);
	for (uint32_t i = 0; i < (w->prompt ? 64 : 1); i++) {
		uint32_t compute = (uint32_t)e->run.lanes[e->thread].sample_count;
		builder_sample(
			&e->run, e->thread, engine_site(e, BRICK_GRAPH_COMPUTE), e->now, e->now, 1);
		take(e, engine_site(e, BRICK_DOWN_PROJECTION), w->prompt ? STEP_US : 10 * STEP_US,
			2);
		e->run.lanes[e->thread].samples[compute].end_ns = e->now;
	}
	take(e, head, 20, 1);
	if (w->softmax)
		take(e,
			builder_site(&e->run, builder_known(&e->run, BRICK_ATTENTION_SOFTMAX), 0,
				w->own_softmax ? NULL : "SOFT_MAX", "kq"),
			w->softmax, 1);
	if (w->logits)
		take(e, all, w->logits, 1);
	e->run.lanes[e->thread].samples[step].end_ns = e->run.steps[number].end_ns = e->now;
	e->now += 10 * US;
}

static void make_engine(struct explain_engine *e, const struct wrong *w)
{
	start_engine(e, w);
	if (w->repeated) {
		add_prompt(e, 0);
		add_prompt(e, w->repeated);
	}
	e->now += w->work_once * (uint64_t)US;
	if (w->logits || w->prompt || w->softmax)
		add_long_prompt(e, w);
	if (w->software) {
		note(e, "backend", "vulkan llvmpipe (LLVM 19, 256 bits)");
	}
	if (w->old_library) {
		note(e, "ggml.library", "/lib/libggml-cpu-sse42.so");
		note(e, "cpu.features", "sse4.2 avx f16c avx2 ");
	}
	if (w->torch)
		note(e, "torch.version", "2.13.0+cpu");
	if (w->own_callback)
		note(e, "attach", "eval callback: it splits the graph, times are inflated");
	for (uint32_t i = 0; i < (w->steps ? w->steps : EXPLAIN_STEPS); i++)
		add_step(e, w, i);
	for (size_t i = 0; i < e->run.lane_count; i++)
		e->run.lanes[i].end_ns = e->now;
	e->run.end_ns = e->run.processes[0].end_ns = e->now;
	uint64_t all = 2 * e->now, others = all / 100 * w->others;
	e->run.program_cpu_ns = e->now;
	e->run.fault_account = (struct fault_account){
		.is_known = w->records, .sees_kernel = w->records, .until_ns = UINT64_MAX};
	e->run.machine = (struct machine_use){.busy_ns = e->now + others,
		.idle_ns = all - e->now - others,
		.neighbour_ns = others,
		.major_faults = w->faults,
		.throttled_ns = w->throttled * (uint64_t)US * EXPLAIN_STEPS,
		.neighbour = "cc1 (12)"};
}

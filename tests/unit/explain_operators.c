/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule on PyTorch's operators, on a run where it must find something, with its cost to the
 * nanosecond; on its neighbour, which differs by the cause alone, none finds anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "brick/abi/step_counters.h"
#include "ui/text/explain_view.h"
#include "ui/text/words.h"
#include "tests/unit/run_builder.h"

enum { STEPS = 8, US = 1000 };

/* What is wrong in each step. Times are in us. */
struct wrong {
	int loading, slept;	    /* for a batch, behind a step; asleep */
	int disk;		    /* bytes that are read meanwhile */
	int loading_reads;	    /* numbers that the loader takes out */
	int works;		    /* of the program, behind a step */
	int recompiling, compiling; /* times a step; us of the first step */
	int compiles;		    /* times a step, some for long */
	int regions;		    /* compiled, each with an operator; 0: none */
	int breaks;		    /* of the graph, because of which the regions are there */
	bool is_eager;		    /* each region computes in operators alone, two of them */
	int backward_regions;	    /* with 30 us to leave each, and 40 us to the next one */
	int entering;		    /* it takes so much longer to enter a region */
	int fused;		    /* each region computes so long in no operator */
	bool is_resumed;	    /* two functions by turns */
	bool is_nested;		    /* each region but the first lies in the one before */
	int recomputing,
		unpacks; /* a node of the backward pass that asks for it, at first for so long */
	int reads, reads_apart;	 /* numbers taken out, with so many us between two */
	int reads_list;		 /* the numbers are in a list: 50 us, and so many for its objects */
	bool has_two_lists;	 /* each number of one is compared with one of another */
	int chosen;		 /* the largest of a row is looked for, in each step */
	int softmax;		 /* between two products of activations */
	bool is_apart;		 /* between the products of two steps */
	int copy, copy_call;	 /* Python calls it for so long */
	const char *type;	 /* of the product */
	uint64_t flops;		 /* of it */
	uint64_t bytes;		 /* that it moves */
	int passes;		 /* of the optimizer; 0: it is fused */
	int gathers;		 /* what it updates, in front of these */
	int roots;		 /* one more of these operators, of a slow kind */
	int state;		 /* that the optimizer makes in its first step */
	bool is_momentum;	 /* it has one in its first step */
	int closures;		 /* calls of a closure, in the optimizer's step */
	int accumulated;	 /* further batches before it */
	bool has_small_pages;	 /* one for each 10 us */
	int faults_us;		 /* of the kernel, for as many huge pages as it takes */
	int first;		 /* us more of the first step */
	int warming;		 /* twice as much, and as much of the second */
	int touched, touched_at; /* of a page fault in this step */
	int kept;		 /* KB more alive after each step, beside 10 MB */
	int padding, repeated;	 /* tokens, tokens of the first step */
	int lock_ns;		 /* of each of two sleeps between operators */
	int lock_late_ns;	 /* the second one waits for a CPU behind it */
	bool locks_late;	 /* so does the first one, but in the first step */
	bool locks_behind;	 /* a third one, behind the step */
	int lock_rest_ns;	 /* of a sleep at once behind the first */
	int others_ns;		 /* of CPU, of other threads in each step */
	int seen;		 /* the kernel's switches, in so many steps; 0: in all */
	int crowded;		 /* preempted, in each step */
	int python;		 /* in front of each of eight operators of a forward pass ... */
	int choosing;		 /* ... and of four behind a step, and of the next step */
	int crowded_behind;	 /* preempted, behind a step */
	int crowded_at, colder;	 /* but only behind each such step; it works longer there */
	int reads_crowded;	 /* preempted, in the middle of the numbers taken out */
	const char *sleeps;	 /* the brick in which the thread sleeps for 300 us ... */
	int sleeping;		 /* ... in so many steps from the first on */
	int touching;		 /* of which so many read from disk */
	int steps;		 /* if not as many as usual */
	int threads, uneven;	 /* each second product takes longer by so much */
	int shared;		 /* of sleep in an operator, for those that share its work */
	bool is_busy;		 /* other programs have half of the CPUs; more steps */
	bool decodes, evaluates; /* without backward passes; evaluates: prompts */
	bool trains;		 /* in the phase of training */
};

struct world {
	struct run run;
	uint32_t lane;
	uint64_t now;
	bool is_blind; /* switches are not recorded */
};

static struct world world;
static struct explain_facts facts;
static struct findings findings;

static void advance(int us)
{
	world.now += (uint64_t)us * US;
}

static uint32_t site(const char *brick, const char *operation, uint64_t flops)
{
	for (uint32_t i = 0; i < world.run.site_count; i++)
		if (!strcmp(world.run.bricks[world.run.sites[i].brick].name, brick) &&
			!strcmp(world.run.sites[i].operation ? world.run.sites[i].operation : "",
				operation) &&
			world.run.sites[i].flops == flops)
			return i;
	uint32_t made = builder_site(&world.run, builder_brick(&world.run, brick, "Engine"), -1,
		*operation ? operation : NULL, "layers.0");
	world.run.sites[made].flops = flops;
	return made;
}

static void operator(const char *name, int us, unsigned depth)
{
	builder_sample(&world.run, world.lane, site("Elementwise", name, 0), world.now,
		world.now + (uint64_t)us * US, depth);
	advance(us);
}

static size_t begin(const char *brick, const char *operation, unsigned depth)
{
	builder_sample(
		&world.run, world.lane, site(brick, operation, 0), world.now, world.now, depth);
	return world.run.lanes[world.lane].sample_count - 1;
}

static void end(size_t sample)
{
	world.run.lanes[world.lane].samples[sample].end_ns = world.now;
}

static void count(const char *name, double value)
{
	BUILDER_GROW(world.run.points, world.run.point_count);
	world.run.points[world.run.point_count++] = (struct run_point){.ns = world.now,
		.lane = world.lane,
		.kind = RUN_POINT_COUNTER,
		.brick = builder_brick(&world.run, name, "Engine"),
		.value = value};
}

static void off_cpu_for(uint64_t ns, bool is_preempted)
{
	struct run_lane *lane = &world.run.lanes[world.lane];
	struct run_off_times before = {0};

	if (!ns)
		return;
	if (world.is_blind) {
		world.now += ns;
		return;
	}
	if (lane->off_cpu_count) {
		const struct run_off_cpu *last = &lane->off_cpu[lane->off_cpu_count - 1];
		before = last->before;
		*(last->preempted ? &before.preempted_ns : &before.blocked_ns) +=
			last->end_ns - last->begin_ns;
	}
	BUILDER_GROW(lane->off_cpu, lane->off_cpu_count);
	lane->off_cpu[lane->off_cpu_count++] =
		(struct run_off_cpu){world.now, world.now + ns, before, is_preempted};
	world.now += ns;
}

static void sleep_for(uint64_t ns)
{
	off_cpu_for(ns, false);
}

static void forward(const struct wrong *w, int step)
{
	size_t span = begin("Forward", "", 1);
	char product[64];

	snprintf(product, sizeof(product), w->type ? "aten::linear(%s)" : "aten::linear", w->type);
	if (w->is_apart)
		operator("aten::bmm", 20, 2);
	for (int i = 0; w->python && i < 8; i++) {
		advance(w->python);
		operator("aten::add", 5, 2);
	}
	for (int i = 0; i < w->compiles; i++) {
		size_t compiles = begin("Compilation", "Compilation", 2);
		advance(step % 4 == 3 && !i ? 2000 : 20);
		end(compiles);
	}
	for (int i = 0; step && i < w->recompiling; i++) {
		size_t compiles = begin("Recompilation", "Recompilation", 2);
		advance(100);
		end(compiles);
	}
	if (!step && w->compiling) {
		size_t compiles = begin("Compilation", "Compilation", 2);
		advance(w->compiling);
		end(compiles);
	}
	for (int i = 0; !step && i < w->breaks; i++)
		builder_sample(&world.run, world.lane, site("GraphBreak", "GraphBreak", 0),
			world.now, world.now, 2);
	size_t regions[8];
	for (int i = 0; i < w->regions; i++) {
		char name[64];
		snprintf(name, sizeof(name), "Torch-Compiled Region: %d/0",
			w->is_resumed ? i % 2 : i);
		size_t region = begin(name, name, 2);
		advance(10 + w->entering + w->fused);
		operator("aten::mm", 20, 3);
		if (w->is_eager) {
			advance(2);
			operator("aten::add", 5, 3);
		}
		regions[i] = region;
		if (!w->is_nested)
			end(region);
		advance(5);
	}
	for (int i = w->regions; w->is_nested && i-- > 0;)
		end(regions[i]);
	if (w->shared) {
		size_t product = begin("MatrixProduct", "aten::mm", 2);
		advance(50);
		sleep_for((uint64_t)w->shared * US);
		end(product);
	}
	sleep_for((uint64_t)(w->lock_ns + (w->locks_late && step ? w->lock_late_ns : 0)));
	advance(w->lock_rest_ns ? 10 : 0);
	sleep_for((uint64_t)w->lock_rest_ns);
	uint32_t products = site("UpProjection", product, w->flops);
	world.run.sites[products].bytes = w->bytes;
	builder_sample(&world.run, world.lane, products, world.now,
		world.now + (uint64_t)(400 + (step % 2 ? w->uneven : 0)) * US, 2);
	advance(400 + (step % 2 ? w->uneven : 0));
	sleep_for((uint64_t)(w->lock_ns + w->lock_late_ns));
	if (w->reads_list) {
		for (int i = 0; i < 1 + w->has_two_lists; i++) {
			operator("aten::unbind", 50, 2);
			advance(w->reads_list);
		}
	}
	if (w->chosen)
		builder_sample(&world.run, world.lane,
			builder_site(&world.run, builder_known(&world.run, BRICK_SAMPLING), -1,
				"aten::argmax", NULL),
			world.now, world.now + (uint64_t)w->chosen * US, 2);
	advance(w->chosen);
	for (int i = 0; i < w->reads; i++) {
		operator("aten::item", 1, 2);
		off_cpu_for((uint64_t)(2 * i == w->reads ? w->reads_crowded : 0) * US, true);
		advance(w->reads_apart);
	}
	if (w->softmax) {
		operator("aten::bmm", 20, 2);
		operator("aten::softmax", w->softmax, 2);
		operator("aten::bmm", 20, 2);
	}
	if (w->is_apart) {
		operator("aten::bmm", 20, 2);
		operator("aten::softmax", 10, 2);
	}
	advance(w->copy_call);
	if (w->copy)
		operator("aten::contiguous", w->copy, 2);
	end(span);
}

static void backward(const struct wrong *w)
{
	size_t span = begin("Backward", "", 1);

	if (w->recomputing) {
		size_t node = begin("Elementwise", "MulBackward0", 2);
		advance(w->unpacks);
		for (int i = 0; i < 1 + (w->unpacks != 0); i++) {
			size_t again = begin("Recomputation", "", 3);
			operator("aten::linear", w->recomputing, 4);
			end(again);
			advance(20);
		}
		end(node);
	}
	for (int i = 0; i < w->backward_regions; i++) {
		size_t region = begin("CompiledFunctionBackward", "CompiledFunctionBackward", 2);
		operator("aten::mul", 20, 3);
		advance(30);
		end(region);
		operator("torch::autograd::AccumulateGrad", 1, 2);
		advance(5);
		operator("torch::autograd::AccumulateGrad", 1, 2);
		advance(40);
	}
	operator("AddmmBackward0", 400, 2);
	for (int i = 0; i < 4; i++)
		operator("torch::autograd::AccumulateGrad", 1, 2);
	end(span);
}

static void optimize(const struct wrong *w, int step)
{
	int passes = w->is_momentum && !step ? 1 : w->passes;

	advance(w->gathers);
	if (!step && w->state)
		operator("aten::zeros_like", w->state, 2);
	if (!passes)
		operator("aten::_fused_adamw_", 90, 2);
	for (int i = 0; i < 4 * passes; i++)
		operator("aten::mul_", 10, 2);
	for (int i = 0; i < 4 && w->roots; i++)
		operator("aten::sqrt", w->roots, 2);
}

static void train(const struct wrong *w, int step)
{
	size_t span;

	if (w->closures) {
		span = begin("OptimizerStep", "", 1);
		for (int i = 0; i < w->closures; i++) {
			forward(w, step);
			backward(w);
		}
		optimize(w, step);
		end(span);
		return;
	}
	for (int i = 0; i <= w->accumulated; i++) {
		forward(w, step);
		backward(w);
	}
	span = begin("OptimizerStep", "", 1);
	optimize(w, step);
	end(span);
}

static void make_world(const struct wrong *w)
{
	memset(&world, 0, sizeof(world));
	world.now = 1000000;
	world.run.complete = 1;
	world.run.clock = *brick_clock_get();
	world.run.cpus = world.run.usable_cpus = 2;
	world.run.off_cpu.source = OFF_CPU_UNKNOWN;
	if (w->is_busy)
		world.run.machine = (struct machine_use){.busy_ns = 60, .idle_ns = 40};
	if (w->touched)
		world.run.fault_account =
			(struct fault_account){.is_known = 1, .until_ns = UINT64_MAX};
	if (w->is_busy || w->lock_ns || w->slept || w->sleeps || w->crowded || w->crowded_behind ||
		w->reads_crowded)
		world.run.off_cpu.source = OFF_CPU_UNKNOWN + 1;
}

static uint32_t begin_step(const struct wrong *w)
{
	int phase = w->decodes ? BRICK_DECODE : w->trains ? BRICK_OTHER_STEP : BRICK_PREFILL;
	uint32_t kind = builder_site(&world.run, builder_known(&world.run, phase), -1, NULL, NULL);

	builder_sample(&world.run, world.lane, kind, world.now, world.now, 0);
	return builder_step(&world.run, world.lane, 100);
}

static void finish_world(void)
{
	world.run.start_ns = 1000000;
	world.run.end_ns = world.now;
	for (size_t i = 0; i < world.run.lane_count; i++)
		world.run.lanes[i].end_ns = world.now;
	assert_int_equal(explain_facts_init(&facts, &world.run, NULL), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
}

static void make(const struct wrong *w)
{
	make_world(w);
	world.lane = builder_lane(&world.run, builder_process(&world.run, 1), 1);
	if (w->threads) {
		char number[16];
		snprintf(number, sizeof(number), "%d", w->threads);
		builder_note(&world.run, "torch.threads", number);
	}
	int steps = w->steps ? w->steps : w->kept || w->is_busy ? 6 * STEPS : STEPS;
	for (int i = 0; i < steps; i++) {
		if (w->seen && i == w->seen) {
			world.is_blind = true;
			world.run.off_cpu.gaps[world.run.off_cpu.gap_count++] =
				(struct off_cpu_gap){world.now, UINT64_MAX, 10000, 2000};
		}
		uint32_t number = begin_step(w);
		size_t step = world.run.lanes[world.lane].sample_count - 1;
		if (w->others_ns)
			count(BRICK_OTHERS_TIME_NAME, w->others_ns);
		if (w->padding)
			count(BRICK_PADDING_NAME, w->padding);
		if (w->repeated)
			count(BRICK_REPEATED_NAME, w->repeated + i);
		if (w->disk)
			count(BRICK_DISK_NAME, w->disk);
		if (w->faults_us) {
			count(BRICK_FAULTS_NAME,
				w->faults_us / (w->has_small_pages ? 10.0 : 100.0));
			count(BRICK_KERNEL_TIME_NAME, w->faults_us * 1000.0);
		}
		advance(i ? 0 : w->first);
		advance(i < STEPS / 4 ? w->warming * (STEPS / 4 - i) : 0);
		if (w->touched && i == w->touched_at) {
			BUILDER_GROW(world.run.faults, world.run.fault_count);
			world.run.faults[world.run.fault_count++] =
				(struct run_fault){.begin_ns = world.now,
					.end_ns = world.now + (uint64_t)w->touched * US,
					.pid = 1,
					.tid = 1};
			advance(w->touched);
		}
		if (w->decodes || w->evaluates)
			forward(w, i);
		else
			train(w, i);
		if (i < w->sleeping) {
			size_t sleeps = begin(w->sleeps, "", 1);
			sleep_for(300 * US);
			end(sleeps);
			if (i < w->touching)
				count(BRICK_DISK_NAME, 4096);
		}
		advance(w->repeated ? 10 * (w->repeated + i) : 0);
		off_cpu_for((uint64_t)w->crowded * US, true);
		end(step);
		world.run.steps[number].end_ns = world.now;
		sleep_for(w->locks_behind ? (uint64_t)w->lock_ns : 0);
		if (w->kept) {
			BUILDER_GROW(world.run.memories, world.run.memory_count);
			world.run.memories[world.run.memory_count++] =
				(struct run_memory){.ns = world.now,
					.lane = world.lane,
					.step = number,
					.kind = BRICK_MEMORY_ALL,
					.site = RUN_NONE,
					.live_bytes = (10 << 20) + (uint64_t)w->kept * 1024 * i};
		}
		if (w->loading || w->slept) {
			size_t loads = begin("DataLoading", "enumerate(DataLoader)", 0);
			advance(w->loading);
			sleep_for((uint64_t)w->slept * US);
			for (int k = 0; k < w->loading_reads; k++)
				operator("aten::item", 1, 1);
			end(loads);
		}
		advance(w->works);
		for (int k = 0; w->choosing && k < 4; k++) {
			advance(w->choosing);
			operator("aten::select", 2, 0);
		}
		if (!w->crowded_at || i % w->crowded_at == 1) {
			off_cpu_for((uint64_t)w->crowded_behind * US, true);
			advance(w->colder);
		}
		advance(w->choosing);
	}
	finish_world();
}

static void forget(void)
{
	findings_fini(&findings);
	explain_facts_fini(&facts);
	run_fini(&world.run);
}

static const char *first(void)
{
	return findings.count ? finding_rule_id(findings.list[0].rule) : "nothing";
}

/* The rule comes first, at that cost (us; 0: not asked), and says all that a finding says. */
static void finds(const struct wrong *w, const char *rule, uint64_t us)
{
	struct finding_words words;

	make(w);
	if (strcmp(first(), rule))
		fail_msg("%s is first, not %s", first(), rule);
	if (us && findings.list[0].cost_ns != us * US)
		fail_msg("%s: %llu ns, expected %llu us", rule,
			(unsigned long long)findings.list[0].cost_ns, (unsigned long long)us);
	finding_words(&words, &facts, &findings.list[0]);
	assert_true(words.what[0] && words.evidence[0] && words.advice[0] && words.show[0]);
	forget();
}

/* The cost of a rule's finding, in us; 0: it finds nothing. */
static uint64_t cost_of(const char *rule)
{
	for (size_t i = 0; i < findings.count; i++)
		if (!strcmp(finding_rule_id(findings.list[i].rule), rule))
			return findings.list[i].cost_ns / US;
	return 0;
}

static void finds_nothing(const struct wrong *w)
{
	make(w);
	if (findings.count)
		fail_msg("%s found", first());
	forget();
}

static void a_program_without_a_fault(void **state)
{
	(void)state;
	finds_nothing(&(struct wrong){0});
	finds_nothing(&(struct wrong){.decodes = true});
	finds_nothing(&(struct wrong){.compiling = 500, .regions = 1});
}

static void batches(void **state)
{
	(void)state;
	finds(&(struct wrong){.loading = 300}, "data-loader", 300 * STEPS);
	finds(&(struct wrong){.slept = 300}, "data-loader", 300 * STEPS);
	finds_nothing(&(struct wrong){.loading = 20});
	make(&(struct wrong){.loading = 300, .loading_reads = 40});
	assert_int_equal(cost_of("data-loader"), 340 * STEPS);
	assert_int_equal(cost_of("element-reads"), 0);
	forget();
	/* the program's own work is not the loader's, nor is it asleep when the loader is */
	make(&(struct wrong){.slept = 300, .works = 100});
	assert_int_equal(cost_of("data-loader"), 300 * STEPS);
	assert_int_equal(cost_of("host-works"), 100 * (STEPS - 1));
	assert_int_equal(cost_of("host-pauses") + cost_of("blocked"), 0);
	forget();
	/* a loader that reads files waits for the disk, and not the model */
	make(&(struct wrong){.slept = 300, .disk = 64 << 20});
	assert_int_equal(cost_of("data-loader"), 300 * STEPS);
	assert_int_equal(cost_of("cold-pages"), 0);
	forget();
	/* neither is another wait a loader's */
	make(&(struct wrong){.slept = 300, .lock_ns = 2000000});
	assert_int_equal(cost_of("data-loader"), 300 * STEPS);
	assert_int_equal(cost_of("blocked"), 2 * 2000 * STEPS);
	forget();
	make(&(struct wrong){.loading = 3000, .evaluates = true, .works = 500});
	assert_int_equal(cost_of("data-loader"), 3000 * STEPS);
	assert_int_equal(facts.phases[STEP_PREFILL].elapsed_ns, 3400 * STEPS * US);
	forget();
}

/* Another process, of a host; NULL: of the first one's. */
static void spawn(uint32_t pid, uint32_t parent, const char *host)
{
	uint32_t process = builder_process(&world.run, pid);

	world.run.processes[process].parent = parent;
	world.run.processes[process].host = builder_copy(host);
}

static void workers(void **state)
{
	(void)state;
	make(&(struct wrong){0});
	findings_fini(&findings);
	explain_facts_fini(&facts);
	spawn(2, 1, NULL);
	spawn(3, 2, NULL);    /* a child's */
	spawn(4, 1, "other"); /* of a process there */
	assert_int_equal(explain_facts_init(&facts, &world.run, NULL), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	assert_int_equal(facts.operators[STEP_PREFILL].workers, 1);
	forget();
}

static void compilations(void **state)
{
	(void)state;
	/* each is of other code, so none is held up */
	make(&(struct wrong){.compiles = 4, .crowded = 1});
	assert_int_equal(cost_of("excess"), 0);
	forget();
	finds(&(struct wrong){.recompiling = 1}, "compilation-in-steps", 100 * (STEPS - 2));
	/* from a region's last operator to the next one's first 15 us, where 2 us are usual */
	finds(&(struct wrong){.regions = 5, .breaks = 4, .is_eager = true}, "graph-breaks",
		4 * 13 * STEPS);
	finds(&(struct wrong){.regions = 5, .breaks = 4, .is_eager = true, .entering = 400},
		"graph-breaks", 4 * 413 * STEPS);
	/* nobody knows how long it takes to enter a region that computes in no operator */
	finds(&(struct wrong){.regions = 8, .breaks = 7}, "graph-breaks", 7 * 5 * STEPS);
	finds(&(struct wrong){.regions = 5, .breaks = 4, .fused = 1000}, "graph-breaks", 0);
	make(&(struct wrong){.regions = 5, .breaks = 4, .fused = 1000});
	assert_int_equal(findings.list[0].cost_ns, 0);
	forget();
	finds_nothing(&(struct wrong){.regions = 5, .is_eager = true}); /* so many functions */
	/* four, and one is broken */
	finds_nothing(&(struct wrong){.regions = 5, .breaks = 1, .is_eager = true});
	finds(&(struct wrong){.breaks = 1}, "graph-breaks", 0); /* nothing was compiled */
	/* one break in a function of three layers */
	finds(&(struct wrong){.regions = 6, .breaks = 1, .is_resumed = true, .is_eager = true},
		"graph-breaks", 3 * 13 * STEPS);
	/* what goes on lies in the region that broke, also if fewer places broke */
	finds(&(struct wrong){.regions = 5, .breaks = 1, .is_nested = true, .is_eager = true},
		"graph-breaks", 4 * 13 * STEPS);
	finds_nothing(&(struct wrong){.regions = 5, .is_nested = true, .is_eager = true});
	/* in backward passes as often; another tensor's gradient, 5 us behind, is there anyway */
	finds(&(struct wrong){.regions = 3, .breaks = 2, .is_eager = true, .backward_regions = 3},
		"graph-breaks", 2 * (13 + 30 + 40) * STEPS);
}

static void work_that_is_not_needed(void **state)
{
	(void)state;
	finds(&(struct wrong){.recomputing = 300}, "recomputation", 300 * STEPS);
	/* and Python on the way there, up to the last one */
	finds(&(struct wrong){.recomputing = 300, .unpacks = 40}, "recomputation",
		(40 + 300 + 20 + 300) * STEPS);
	finds(&(struct wrong){.reads = 40, .reads_apart = 2}, "element-reads",
		(40 + 39 * 2) * STEPS);
	finds(&(struct wrong){.reads = 40, .reads_apart = 2, .reads_list = 500}, "element-reads",
		(550 + 40 + 39 * 2) * STEPS);
	finds(
		&(struct wrong){
			.reads = 80, .reads_apart = 2, .reads_list = 400, .has_two_lists = true},
		"element-reads", (2 * 450 + 80 + 79 * 2) * STEPS);
	/* between the list and the reads the program did something else */
	make(&(struct wrong){.reads = 40, .reads_apart = 2, .reads_list = 1000});
	assert_int_equal(cost_of("element-reads"), (40 + 39 * 2) * STEPS);
	forget();
	finds_nothing(&(struct wrong){.reads = 4, .reads_apart = 2});
	finds(&(struct wrong){.softmax = 200}, "attention-not-fused", 200 * STEPS);
	finds_nothing(&(struct wrong){.softmax = 10});
	make(&(struct wrong){.is_apart = true, .evaluates = true, .works = 300});
	assert_int_equal(cost_of("attention-not-fused"), 0);
	forget();
	finds(&(struct wrong){.copy = 200}, "tensor-copies", 200 * STEPS);
	finds(&(struct wrong){.copy = 200, .copy_call = 8}, "tensor-copies", 208 * STEPS);
	finds(&(struct wrong){.copy = 200, .copy_call = 12}, "tensor-copies", 200 * STEPS);
	finds_nothing(&(struct wrong){.copy = 20});
	/* also backward passes, whose nodes have no types: 400, 400 and 4 */
	finds(&(struct wrong){.type = "float64"}, "computes-in-float64", 804 * STEPS * 5 / 8);
	/* 10 FLOPs per ns */
	finds(&(struct wrong){.type = "bfloat16", .flops = 4000000}, "half-without-instructions",
		0);
	finds_nothing(&(struct wrong){.type = "bfloat16", .flops = 40000000});
	/* one token: memory decides */
	finds_nothing(&(struct wrong){.type = "bfloat16", .flops = 4000000, .bytes = 4000000});
	finds_nothing(&(struct wrong){.flops = 4000000});
	finds(&(struct wrong){.passes = 6}, "optimizer-not-fused", 240 * 3 / 4 * STEPS);
	make(&(struct wrong){.passes = 6, .state = 1000});
	assert_in_range(cost_of("optimizer-not-fused"), 240 * 3 / 4 * STEPS, 242 * 3 / 4 * STEPS);
	forget();
	/* a fused one takes as many roots, and as long for them */
	make(&(struct wrong){.passes = 6, .roots = 50});
	assert_int_equal(cost_of("optimizer-not-fused"), 240 * STEPS);
	forget();
	/* what it updates, a fused one has to find, too */
	finds(&(struct wrong){.passes = 6, .gathers = 100}, "optimizer-not-fused",
		240 * 3 / 4 * STEPS);
	finds_nothing(&(struct wrong){.passes = 1});
	finds_nothing(&(struct wrong){.passes = 2});
	/* what a closure computes is not the optimizer's */
	finds(&(struct wrong){.passes = 6, .closures = 1}, "optimizer-not-fused",
		240 * 3 / 4 * STEPS);
	finds_nothing(&(struct wrong){.closures = 1});
	finds_nothing(&(struct wrong){.passes = 6, .closures = 2}); /* none is fused */
	finds(&(struct wrong){.passes = 6, .accumulated = 1}, "optimizer-not-fused",
		240 * 3 / 4 * STEPS);
	finds(&(struct wrong){.passes = 3, .is_momentum = true}, "optimizer-not-fused", 0);
	finds(&(struct wrong){.type = "float64", .closures = 1}, "computes-in-float64",
		804 * STEPS * 5 / 8);
}

static void tokens(void **state)
{
	(void)state;
	/* half of what is no optimizer's */
	finds(&(struct wrong){.padding = 100}, "padding", 804 / 2 * STEPS);
	finds_nothing(&(struct wrong){.padding = 2});
	/* 10 us a token: 20 to 27 */
	finds(&(struct wrong){.repeated = 20, .decodes = true}, "prompt-repeated",
		10 * (20 * STEPS + 28));
	/* the first steps are slower for another reason */
	make(&(struct wrong){.repeated = 20, .warming = 60, .decodes = true});
	assert_int_equal(cost_of("prompt-repeated"), 10 * (20 * STEPS + 28));
	forget();
}

static void threads(void **state)
{
	const struct wrong lock = {.lock_ns = 5100000, .others_ns = 10000000};
	struct wrong w = lock;

	(void)state;
	finds(&w, "interpreter-lock", 2 * 5100 * STEPS);
	w.lock_late_ns = 3000000;
	finds(&w, "interpreter-lock", 2 * 5100 * STEPS);
	w.locks_late = true;
	finds(&w, "interpreter-lock", 2 * 5100 * STEPS);
	w = lock;
	w.locks_behind = true;
	finds(&w, "interpreter-lock", (3 * STEPS - 1) * 5100);
	/* in the last steps nobody looked; they are as the others */
	w = lock;
	w.seen = STEPS / 2;
	finds(&w, "interpreter-lock", 2 * 5100 * STEPS);
	/* the thread that was asked for the lock had no CPU in each step */
	w = lock;
	w.lock_rest_ns = 2000000;
	finds(&w, "interpreter-lock", 2 * 5100 * STEPS);
	w = lock;
	w.locks_behind = true;
	/* what a program sleeps before a prompt may have been long: it is no time of the steps */
	w.evaluates = true;
	finds(&w, "interpreter-lock", 2 * 5100 * STEPS);
	/* the other threads mostly slept, too; or there is none that could hold the lock */
	for (int others_ns = 1000000; others_ns >= 0; others_ns -= 1000000) {
		make(&(struct wrong){.lock_ns = 5100000, .others_ns = others_ns});
		assert_int_equal(cost_of("interpreter-lock"), 0);
		assert_string_equal(first(), "blocked");
		forget();
	}
	w = lock;
	w.lock_ns = 2000000; /* it waits for something else */
	make(&w);
	assert_string_equal(first(), "blocked");
	forget();
	finds(&(struct wrong){.threads = 8, .uneven = 400}, "oversubscribed", 400 * STEPS / 2);
	make(&(struct wrong){.threads = 2, .uneven = 400});
	assert_string_not_equal(first(), "oversubscribed");
	forget();
}

static void sleep_in_bricks(void **state)
{
	(void)state;
	finds(&(struct wrong){.sleeps = "Convolution", .sleeping = 4}, "blocked", 4 * 300);
	/* code of a library is read when it runs for the first time; but not in each step */
	finds_nothing(&(struct wrong){.sleeps = "Convolution", .sleeping = 4, .touching = 4});
	finds_nothing(
		&(struct wrong){.sleeps = "Convolution", .sleeping = 1, .touching = 1, .steps = 3});
	finds(&(struct wrong){.sleeps = "Convolution", .sleeping = 3, .touching = 3, .steps = 3},
		"blocked", 3 * 300);
	finds(&(struct wrong){.sleeps = "Convolution", .sleeping = STEPS, .touching = STEPS},
		"blocked", STEPS * 300);
	/* all steps sleep as long as those that read */
	finds(&(struct wrong){.sleeps = "Convolution", .sleeping = STEPS, .touching = 2}, "blocked",
		STEPS * 300);
	finds_nothing(&(struct wrong){.sleeps = "Compilation", .sleeping = 1});
	finds_nothing(&(struct wrong){.sleeps = "CollectiveWait", .sleeping = STEPS});
}

enum { RANK_STEPS = 64 };

/*
 * Two ranks, of which one computes longer, and is preempted for so long, before each collective.
 * Before each fourth the other one is preempted for so long that it comes last.
 */
static void make_ranks(int late, int preempted, int other)
{
	const struct wrong nothing = {0};
	uint32_t lanes[2];

	make_world(&nothing);
	for (int rank = 0; rank < 2; rank++) {
		uint32_t process = builder_process(&world.run, (uint32_t)rank + 1);
		world.run.processes[process].rank = rank;
		world.run.processes[process].world = 2;
		lanes[rank] = builder_lane(&world.run, process, (uint32_t)rank + 1);
	}
	for (int i = 0; i < RANK_STEPS; i++) {
		uint64_t begin_ns = world.now, over_ns = 0;
		bool is_other = other && i % 4 == 3;
		for (int k = 0; k < 2; k++) {
			int rank = k == is_other;
			world.lane = lanes[rank];
			world.now = begin_ns;
			uint32_t number = begin_step(&nothing);
			size_t step = world.run.lanes[world.lane].sample_count - 1;
			train(&nothing, i);
			int off = rank ? preempted : is_other ? other : 0;
			if (off)
				off_cpu_for((uint64_t)off * US, true);
			if (rank && late)
				operator("aten::linear", late, 1);
			size_t call = begin("AllReduce", "c10d::allreduce_", 1);
			advance(10);
			end(call);
			if (!k)
				over_ns = world.now;
			size_t wait = begin("CollectiveWait", "", 1);
			world.now = over_ns;
			end(wait);
			end(step);
			world.run.steps[number].end_ns = world.now;
		}
	}
	finish_world();
}

static void ranks(void **state)
{
	struct finding_words words;

	(void)state;
	make_ranks(400, 0, 0);
	assert_string_equal(first(), "late-rank");
	assert_int_equal(cost_of("late-rank"), (400 - 10) * RANK_STEPS); /* the call takes 10 */
	finding_words(&words, &facts, &findings.list[0]);
	assert_non_null(strstr(words.what, "rank 1 comes late"));
	assert_non_null(strstr(words.evidence, "in Elementwise"));
	forget();
	make_ranks(0, 400, 0);
	assert_int_equal(cost_of("late-rank"), 0);
	forget();
	/* other programs take CPUs from both, and from the rank with more work for longer */
	make_ranks(200, 300, 900);
	assert_int_equal(cost_of("late-rank"), 200 * (RANK_STEPS - 1)); /* between collectives */
	forget();
	make_ranks(0, 300, 900);
	assert_int_equal(cost_of("late-rank"), 0);
	forget();
	make_ranks(0, 0, 0);
	assert_int_equal(findings.count, 0);
	forget();
}

/* Others that take the CPU hide no cause. */
static void crowds(void **state)
{
	(void)state;
	make(&(struct wrong){.works = 100, .crowded = 4000});
	assert_int_equal(cost_of("host-works"), 100 * (STEPS - 1));
	const struct finding *works = &findings.list[findings.count - 1];
	assert_string_equal(finding_rule_id(works->rule), "host-works");
	assert_true(finding_share(works) >= 0.05);
	assert_true(finding_share(&findings.list[0]) < 1); /* preempted, of all time */
	forget();
	make(&(struct wrong){.reads = 24, .reads_apart = 2, .reads_crowded = 4000});
	assert_int_equal(cost_of("element-reads"), (24 * 3 - 2) * STEPS);
	forget();
}

/* Of threads that record nothing, nobody knows whether they kept their CPUs. */
static void unseen_threads(void **state)
{
	(void)state;
	struct wrong w = {.uneven = 4000, .is_busy = true, .threads = 1, .flops = 4000000};

	finds(&w, "excess", 4000 * 3 * STEPS);
	w.threads = 2;
	finds_nothing(&w);
	/* of which size they are is not known, and they may be of several */
	finds_nothing(&(struct wrong){.uneven = 4000, .is_busy = true, .threads = 1});
	finds(&(struct wrong){.shared = 300, .is_busy = true, .threads = 1}, "blocked",
		300 * 6 * STEPS);
	finds_nothing(&(struct wrong){.shared = 300, .is_busy = true, .threads = 2});
	/* sleep elsewhere is not for them */
	make(&(struct wrong){.shared = 300, .lock_ns = 100 * US, .is_busy = true, .threads = 2});
	assert_int_equal(cost_of("blocked"), 2 * 100 * 6 * STEPS);
	forget();
}

/* A program that lost its CPU works for longer afterwards, as its caches are cold. */
static void cold_caches(void **state)
{
	struct wrong w = {.works = 20, .crowded_behind = 4000, .crowded_at = 4, .colder = 200};

	(void)state;
	make(&w);
	assert_int_equal(cost_of("host-works"), 0);
	forget();
	w.works = 100;
	make(&w);
	assert_int_equal(cost_of("host-works"), 100 * (STEPS - 1) + 2 * 200);
	forget();
	/* it always loses its CPU: nobody knows how long it works without */
	w.crowded_at = 0;
	make(&w);
	assert_int_equal(cost_of("host-works"), 300 * (STEPS - 1));
	forget();
}

/* A thread that wakes up while others have the CPUs waits for one, and nobody knows since when. */
static void sleeps_that_end_late(void **state)
{
	struct wrong w = {.shared = 300, .crowded = 4000, .is_busy = true, .threads = 1};

	(void)state;
	make(&w);
	assert_int_equal(cost_of("blocked"), 0);
	forget();
	w.shared = 9000;
	make(&w);
	assert_int_equal(cost_of("blocked"), 5000 * 6 * STEPS);
	forget();
	w.shared = 300;
	w.is_busy = false; /* its own threads had the CPU */
	make(&w);
	assert_int_equal(cost_of("blocked"), 300 * STEPS);
	forget();
}

/* Python that calls operators between steps as the model does is no other work; more of it is. */
static void calls(void **state)
{
	(void)state;
	finds_nothing(&(struct wrong){.python = 50, .choosing = 50, .decodes = true});
	finds_nothing(&(struct wrong){.python = 50, .choosing = 50});
	finds_nothing(&(struct wrong){.python = 50, .choosing = 40, .works = 10, .decodes = true});
	finds(&(struct wrong){.python = 50, .choosing = 300, .decodes = true}, "host-works",
		5 * (300 - 50) * (STEPS - 1));
	finds(&(struct wrong){.choosing = 50, .decodes = true}, "host-works", 5 * 50 * (STEPS - 1));
	/* neither is the time in which others had the CPU, before or behind Python */
	make(&(struct wrong){
		.python = 50, .choosing = 50, .crowded_behind = 4000, .decodes = true});
	assert_int_equal(cost_of("host-works"), 0);
	forget();
	make(&(struct wrong){
		.python = 50, .choosing = 300, .crowded_behind = 4000, .decodes = true});
	assert_int_equal(cost_of("host-works"), 5 * (300 - 50) * (STEPS - 1));
	forget();
}

static void pages(void **state)
{
	(void)state;
	make(&(struct wrong){.faults_us = 400});
	assert_int_equal(cost_of("page-faults"), 400 * STEPS);
	forget();
	/* a kernel whose caches others use takes longer */
	make(&(struct wrong){.faults_us = 100, .crowded = 4000});
	assert_int_equal(cost_of("page-faults"), 0);
	forget();
	/* PyTorch's threads have no lanes, and the kernel worked for all of them */
	make(&(struct wrong){.faults_us = 400, .threads = 2});
	assert_int_equal(cost_of("page-faults"), 200 * STEPS);
	forget();
	/* 80 small ones of 3 us, on both threads together */
	make(&(struct wrong){.faults_us = 800, .has_small_pages = true, .threads = 2});
	assert_int_equal(cost_of("page-faults"), 120 * STEPS);
	forget();
}

/* Whether memory grows, by so many KB a step. */
static bool grows(int kept, bool evaluates)
{
	struct finding_words words;
	bool does = false;

	make(&(struct wrong){.kept = kept, .evaluates = evaluates});
	for (size_t i = 0; i < findings.count; i++)
		if (findings.list[i].rule == FINDING_memory_growth) {
			does = true;
			finding_words(&words, &facts, &findings.list[i]);
			assert_int_equal(
				!strncmp(words.what, "results that the program", 24), evaluates);
		}
	forget();
	return does;
}

static void memory(void **state)
{
	(void)state;
	assert_true(grows(64, false));
	assert_true(grows(64, true));
	assert_false(grows(26, false)); /* 1.1 MB of 11 */
}

static void first_steps(void **state)
{
	(void)state;
	finds(&(struct wrong){.first = 2000}, "slow-first-step", 2000);
	make(&(struct wrong){.first = 2000, .trains = true});
	assert_int_equal(cost_of("slow-first-step"), 0);
	forget();
	/* the first one makes gradients and the optimizer's state */
	for (int at = 0; at < 2; at++) {
		make(&(struct wrong){.touched = 12000, .touched_at = at, .trains = true});
		assert_int_equal(cost_of("first-touch") > 0, at);
		forget();
	}
	/* and takes the largest of a row to count hits: it chooses no token */
	for (int trains = 0; trains < 2; trains++) {
		make(&(struct wrong){.chosen = 400, .trains = trains, .evaluates = !trains});
		assert_int_equal(cost_of("slow-sampling"), trains ? 0 : 400 * STEPS);
		forget();
	}
}

/* A loader that was as slow in earlier recordings is no name for what an operator takes more. */
static void history(void **state)
{
	struct usual_part part = {.phase = STEP_PREFILL,
		.now_ns = 400 * US,
		.all_ns = 400 * US / 100.0,
		.median_ns = US,
		.quickest_ns = US,
		.slower_ns = US};
	struct usual_times usual = {.parts = &part, .count = 1};

	(void)state;
	make(&(struct wrong){.loading = 300});
	findings_fini(&findings);
	part.now_ns = part.all_ns;
	part.brick = builder_brick(&world.run, "UpProjection", "Engine");
	usual.runs[STEP_PREFILL] = USUAL_RUNS_LEAST;
	usual.whole[STEP_PREFILL] =
		(struct usual_part){.now_ns = 12 * US, .median_ns = 9 * US, .slower_ns = 9 * US};
	facts.usual = &usual;
	assert_int_equal(findings_init(&findings, &facts), 0);
	assert_int_equal(cost_of("data-loader"), 300 * STEPS);
	assert_int_equal(cost_of("excess"), 300 * STEPS);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_without_a_fault),
		cmocka_unit_test(batches),
		cmocka_unit_test(workers),
		cmocka_unit_test(compilations),
		cmocka_unit_test(work_that_is_not_needed),
		cmocka_unit_test(tokens),
		cmocka_unit_test(threads),
		cmocka_unit_test(sleep_in_bricks),
		cmocka_unit_test(ranks),
		cmocka_unit_test(crowds),
		cmocka_unit_test(unseen_threads),
		cmocka_unit_test(cold_caches),
		cmocka_unit_test(sleeps_that_end_late),
		cmocka_unit_test(calls),
		cmocka_unit_test(pages),
		cmocka_unit_test(memory),
		cmocka_unit_test(first_steps),
		cmocka_unit_test(history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

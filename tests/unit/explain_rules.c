/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule on a run where it must find something, which then comes first, with its cost to the
 * nanosecond where that is known; and on a run with nothing wrong, where none finds anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>
#include "ui/text/explain_view.h"
#include "ui/text/words.h"
#include "tests/unit/explain_engine.h"
#include "tests/unit/explain_machine.h"

static struct explain_engine engine;
static struct explain_facts facts;
static struct findings findings;
static struct finding_words words;

static void ask(const struct wrong *wrong)
{
	make_engine(&engine, wrong);
	assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
}

static void forget(void)
{
	findings_fini(&findings);
	explain_facts_fini(&facts);
	run_fini(&engine.run);
}

static void words_of(const struct finding *finding)
{
	finding_words(&words, &facts, finding);
}

static const struct finding *find(const char *rule)
{
	for (size_t i = 0; i < findings.count; i++)
		if (!strcmp(finding_rule_id(findings.list[i].rule), rule))
			return &findings.list[i];
	return NULL;
}

/* It comes first; us: what it costs; 0: not asked. */
static void first(const struct wrong *wrong, const char *rule, uint64_t us)
{
	ask(wrong);
	const char *found = findings.count ? finding_rule_id(findings.list[0].rule) : "nothing";
	if (strcmp(found, rule))
		fail_msg("%s is first, not %s", found, rule);
	if (us && findings.list[0].cost_ns != us * US)
		fail_msg("%s: %llu ns, expected %llu us", rule,
			(unsigned long long)findings.list[0].cost_ns, (unsigned long long)us);
	words_of(&findings.list[0]);
	assert_true(words.what[0] && words.evidence[0] && words.advice[0] && words.show[0]);
	forget();
}

static void never(const struct wrong *wrong, const char *rule)
{
	ask(wrong);
	if (find(rule)) {
		words_of(find(rule));
		fail_msg("%s found: %s (%s)", rule, words.what, words.evidence);
	}
	forget();
}

static void nothing_is_found(void)
{
	if (!findings.count)
		return;
	words_of(&findings.list[0]);
	fail_msg("%s found: %s", finding_rule_id(findings.list[0].rule), words.what);
}

/* A recording with a damaged time has phases that took no time, or less than the parts that rules
 * ask for. */
static void without_time(void **state)
{
	const struct wrong none = {.steps = 1};
	(void)state;

	for (uint64_t ns = 0; ns <= 18; ns += 6) {
		make_engine(&engine, &none);
		for (uint32_t i = 0; i < engine.run.lane_count; i++) {
			struct run_lane *lane = &engine.run.lanes[i];
			for (size_t k = 0; k < lane->sample_count; k++) {
				lane->samples[k].begin_ns = 5000;
				lane->samples[k].end_ns = 5000 + ns;
			}
		}
		for (uint32_t i = 0; i < engine.run.step_count; i++) {
			engine.run.steps[i].begin_ns = 5000;
			engine.run.steps[i].end_ns = 5000 + ns;
		}
		assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
		assert_int_equal(findings_init(&findings, &facts), 0);
		for (size_t i = 0; i < findings.count; i++)
			words_of(&findings.list[i]);
		if (find("host-pauses") || find("host-works"))
			fail_msg("a pause in a phase of one step of %llu ns",
				(unsigned long long)ns);
		forget();
	}
}

static void nothing_wrong(void **state)
{
	const struct wrong none = {0}, quick = {.device = 990};
	(void)state;

	ask(&none);
	nothing_is_found();
	forget();
	ask(&quick);
	nothing_is_found();
	forget();
}

/* What a smaller type gives follows from the roofs: of memory as many bytes fewer, of i8 the peak.
 */
static void smaller_types(const struct wrong *wide)
{
	ask(wide);
	const struct explain_products *m = &facts.phases[STEP_DECODE].products;
	double part = m->saved_ns / (double)m->single_ns;
	assert_int_equal(m->roof_ns, m->single_ns);
	/* 16 of 16.02 MB are weights, of which 8.5 of 32 bits are left */
	assert_true(fabs(part - 16 / 16.02 * (1 - 8.5 / 32)) < 0.001);
	words_of(find("large-weights"));
	assert_non_null(strstr(words.what, "weights in f32"));
	assert_non_null(strstr(words.evidence, "by the measured roofs"));
	forget();
	make_engine(&engine, wide);
	assert_int_equal(explain_facts_init(&facts, &engine.run, NULL), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	m = &facts.phases[STEP_DECODE].products;
	assert_int_equal(m->roof_ns, 0);
	assert_true(fabs(m->saved_ns / (double)m->single_ns - 0.75 * (1 - 8.5 / 32)) < 0.001);
	words_of(find("large-weights"));
	assert_non_null(strstr(words.evidence, "without measured roofs"));
	forget();
}

/* Another way has its own expectation, and is not told where it is slower everywhere. */
static void other_ways(void **state)
{
	struct wrong crowd = {.preempted = 300, .others = 40, .wait = 1, .usable = 1, .crowd = 400};
	const struct wrong team = {.wait = 1};
	const struct finding anew = {.rule = FINDING_threads_anew, .phase = STEP_DECODE};
	(void)state;

	ask(&crowd);
	words_of(&findings.list[0]);
	/* others have 0.8 of the second CPU: one thread is what helps for certain */
	assert_string_equal(words.advice, "run it with 1 thread");
	assert_non_null(strstr(words.evidence, "other programs used 0.8 of the machine's CPUs"));
	assert_int_equal(findings.list[0].of.crowd.left, 1);
	assert_non_null(strstr(words.other, "stop the other programs, and let it have 2 CPUs"));
	assert_in_range(words.expected_ns / US, 799, 830);
	uint64_t two_ns = finding_with_threads_ns(
		&facts.phases[STEP_DECODE], EXPLAIN_STEPS, words.other_threads);
	assert_true(two_ns < words.expected_ns);
	forget();
	crowd.others = 0;
	ask(&crowd);
	words_of(&findings.list[0]);
	assert_string_equal(words.other, "run it with 1 thread");
	uint64_t ns = finding_with_threads_ns(
		&facts.phases[STEP_DECODE], EXPLAIN_STEPS, words.other_threads);
	assert_in_range(ns / US, 799, 830); /* with the time between steps; it takes 1000 */
	assert_int_equal(findings.list[0].of.crowd.left, 2);
	assert_int_equal(words.expected_ns, two_ns);
	assert_null(strstr(words.evidence, "other programs"));
	forget();
	ask(&team);
	words_of(&anew);
	assert_string_equal(words.other, "");
	assert_null(strstr(words.advice, "-t 1"));
	forget();
	const struct wrong vocabulary = {.vocabulary = 900};
	ask(&vocabulary);
	words_of(&findings.list[0]);
	assert_int_equal(words.expected_ns, 0); /* a smaller type does not take it away */
	forget();
}

/* Drafts that do not hold cost what checking them took; those that hold spare whole evaluations. */
static void drafts(void **state)
{
	const struct wrong nothing = {0};
	(void)state;

	for (int held = 0; held <= 4; held += 4) {
		make_engine(&engine, &nothing);
		for (size_t i = 0; i < engine.run.step_count; i++) {
			struct run_step *step = &engine.run.steps[i];
			if (step->phase != BRICK_PHASE_DECODE)
				continue;
			step->checked = 4;
			step->drafts = (uint64_t)(4 - held);
			step->tokens += (uint64_t)held;
		}
		assert_int_equal(explain_facts_init(&facts, &engine.run, NULL), 0);
		assert_int_equal(findings_init(&findings, &facts), 0);
		const struct finding *found = find("drafts-rejected");
		assert_int_equal(found != NULL, held == 0);
		if (found) {
			assert_int_equal(found->of.drafts.checked, 4 * EXPLAIN_STEPS);
			assert_int_equal(found->of.drafts.held, 0);
			assert_in_range(
				found->cost_ns, EXPLAIN_STEPS * 200 * US, EXPLAIN_STEPS * 700 * US);
			words_of(found);
			assert_non_null(strstr(words.what, "160 of 160 are rejected"));
			/* no model drafted, and none of so many held */
			assert_null(strstr(words.evidence, "drafting took"));
			assert_null(strstr(words.evidence, "saved"));
			assert_non_null(strstr(words.evidence, "may be a bug"));
		}
		forget();
	}
}

static void threads(void **state)
{
	(void)state;
	first(&(struct wrong){.preempted = 300, .others = 40}, "preempted-by-others",
		300 * EXPLAIN_STEPS);
	assert_non_null(strstr(words.evidence, "nearly all of it cc1 (12)"));
	first(&(struct wrong){.preempted = 300}, "preempted", 300 * EXPLAIN_STEPS);
	never(&(struct wrong){.preempted = 300, .others = 40}, "preempted");
	never(&(struct wrong){.preempted = 300}, "preempted-by-others");
	/* the program has one CPU and uses all of it: the others were elsewhere */
	first(&(struct wrong){.preempted = 300, .others = 40, .usable = 1}, "preempted",
		300 * EXPLAIN_STEPS);
	/* two threads: 500 alone, 200 and 99 together; they took 1000 */
	const struct wrong crowd = {
		.preempted = 300, .others = 40, .wait = 1, .usable = 1, .crowd = 400};
	first(&crowd, "affinity", 0);
	never(&crowd, "oversubscribed");
	never(&crowd, "preempted-by-others");
	never(&(struct wrong){.preempted = 300, .others = 40, .usable = 1}, "oversubscribed");
	never(&(struct wrong){.preempted = 300, .others = 40, .wait = 1, .crowd = 400}, "affinity");
	never(&(struct wrong){.preempted = 10, .others = 40}, "preempted-by-others");
	const struct wrong quota = {.preempted = 300, .others = 40, .throttled = 300};
	first(&quota, "cpu-quota", 300 * EXPLAIN_STEPS);
	never(&quota, "preempted-by-others");
	first(&(struct wrong){.blocked = 200}, "blocked", 200 * EXPLAIN_STEPS);
	assert_non_null(strstr(words.what, "all of it in DownProjection"));
	assert_non_null(strstr(words.evidence, "40 times"));
	never(&(struct wrong){.blocked = 10}, "blocked");
	first(&(struct wrong){.blocked = 200, .faults = 1000}, "cold-pages", 200 * EXPLAIN_STEPS);
	/* 40 sleeps are not for three faults; two may be for one */
	never(&(struct wrong){.blocked = 200, .faults = 3}, "cold-pages");
	first(&(struct wrong){.blocked = 200, .faults = 1, .steps = 2}, "cold-pages", 2 * 200);
	assert_string_equal(words.what, "1 page fault read from disk, once: 400us");
	assert_true(words.is_once);
	/* the kernel's records of all faults say for which of the sleep they were */
	never(&(struct wrong){.blocked = 200, .faults = 1000, .records = 1}, "cold-pages");
	first(&(struct wrong){.blocked = 200, .faults = 1000, .records = 1, .in_fault = 150},
		"cold-pages", 150 * EXPLAIN_STEPS);
	/* a quick disk lets nobody sleep, and few faults read all of a model */
	first(&(struct wrong){.disk = 200, .faults = 1}, "cold-pages", 200 * EXPLAIN_STEPS);
	first(&(struct wrong){.disk = 200, .blocked = 100}, "cold-pages", 300 * EXPLAIN_STEPS);
	assert_false(words.is_once);
	never(&(struct wrong){.disk = 5}, "cold-pages");
	never(&(struct wrong){.device = 990, .blocked = 200, .faults = 1000}, "cold-pages");
	/* 42 MB are next to nothing of 1.6 GB */
	const struct wrong large = {
		.disk = 200, .elements = 40000, .flops = 800000000, .bytes = 1600200000};
	never(&large, "cold-pages");
	first(&(struct wrong){.touched = 300}, "page-faults", 300 * EXPLAIN_STEPS);
	assert_null(strstr(words.evidence, "threads"));
	/* two threads fault at the same time */
	first(&(struct wrong){.touched = 300, .wait = 1}, "page-faults", 150 * EXPLAIN_STEPS);
	assert_non_null(strstr(words.evidence, "12.0ms on 2 threads, which is 6.00ms of each"));
	/* fewer than half of the steps */
	never(&(struct wrong){.touched = 100}, "page-faults");
	/* one thread never waits, and the other does: without it nothing would be quicker */
	first(&(struct wrong){.wait = 300}, "slow-thread", 300 * EXPLAIN_STEPS);
	/* without its CPU, one thread would need longer than both do now */
	assert_string_equal(words.other, "");
	assert_non_null(strstr(words.evidence, "of 2 threads"));
	/* it has more of one brick's work, and is not slow */
	never(&(struct wrong){.wait = 300, .one_brick = true}, "slow-thread");
	never(&(struct wrong){.wait = 300}, "barrier-waits");
	never(&(struct wrong){.wait = 30}, "slow-thread");
	first(&(struct wrong){.anew = 300}, "threads-made-anew", 300 * EXPLAIN_STEPS);
	never(&(struct wrong){.anew = 20}, "threads-made-anew");
	/* a device's driver has threads of its own; a single step's pool is made once */
	never(&(struct wrong){.anew = 300, .device = 990}, "threads-made-anew");
	never(&(struct wrong){.anew = 300, .steps = 1}, "threads-made-anew");
}

/* Who had the CPUs is said plainly, and neither Brick nor the program itself is blamed. */
static void neighbours(void **state)
{
	static const struct {
		const char *name, *says, *advice;
		uint32_t part; /* percent of what others used */
	} cases[] = {
		{"cc1 (12)", "which used 40.0% of all CPUs, nearly all of it cc1 (12)",
			"stop cc1 (12)", 100},
		{"cc1 (12)",
			"40.0% of all CPUs: cc1 (12) 10.0%, and programs that are not known "
			"30.0%",
			"stop the other programs", 25},
		{"brick (7)", "; which programs these were is not known", "stop the other", 100},
		{"engine (9)", "nearly all of it another process (9) of this program's name",
			"stop another process (9)", 100},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		make_engine(&engine, &(struct wrong){.preempted = 300, .others = 40});
		struct machine_use *use = &engine.run.machine;
		snprintf(use->neighbour, sizeof(use->neighbour), "%s", cases[i].name);
		use->neighbour_ns = use->neighbour_ns / 100 * cases[i].part;
		engine.run.processes[0].executable = builder_copy("/opt/engine");
		assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
		assert_int_equal(findings_init(&findings, &facts), 0);
		words_of(find("preempted-by-others"));
		if (!strstr(words.evidence, cases[i].says) ||
			!strstr(words.advice, cases[i].advice))
			fail_msg("%s: %s; %s", cases[i].name, words.evidence, words.advice);
		forget();
	}
}

/* A step of two threads that compute 100 us and wait `wait_us`, `off_us` of it preempted. */
static void add_barrier_step(int brick, uint64_t tokens, uint64_t wait_us, uint64_t off_us)
{
	struct run *run = &engine.run;
	uint32_t step = builder_site(run, builder_known(run, brick), -1, NULL, NULL);
	uint32_t down = engine_site(&engine, BRICK_DOWN_PROJECTION);
	uint32_t wait = engine_site(&engine, BRICK_BARRIER_WAIT);
	uint32_t at = (uint32_t)run->lanes[engine.thread].sample_count;
	uint64_t begin = engine.now;

	builder_sample(run, engine.thread, step, begin, begin, 0);
	uint32_t number = builder_step(run, engine.thread, tokens);
	take(&engine, down, 100, 1);
	if (off_us)
		be_off(&run->lanes[engine.worker], engine.now + US, off_us, 1);
	take(&engine, wait, wait_us, 1);
	builder_sample(run, engine.worker, down, begin, begin + 100 * US, 0);
	builder_sample(run, engine.worker, wait, begin + 100 * US, engine.now, 0);
	run->lanes[engine.thread].samples[at].end_ns = engine.now;
	run->steps[number].end_ns = engine.now;
	engine.now += 10 * US;
}

static void find_of_team(void)
{
	struct run *run = &engine.run;

	run->lanes[engine.thread].end_ns = run->lanes[engine.worker].end_ns = engine.now;
	run->end_ns = run->processes[0].end_ns = engine.now;
	assert_int_equal(explain_facts_init(&facts, run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
}

static uint64_t barriers_cost(uint64_t wait_us, uint64_t off_us)
{
	const struct wrong team = {.wait = 1};

	start_engine(&engine, &team);
	for (int i = 0; i < EXPLAIN_STEPS; i++)
		add_barrier_step(BRICK_DECODE, 1, wait_us, off_us);
	find_of_team();
	const struct finding *found = find("barrier-waits");
	uint64_t cost_ns = found ? found->cost_ns : 0;
	if (found)
		words_of(found);
	forget();
	return cost_ns;
}

/* One thread computes 200 us a step. What a thread has no CPU for is no fault of barriers. */
static void barriers(void **state)
{
	(void)state;
	/* two threads compute 8 ms and wait 24 ms, 0.6 ms less for the longest of each */
	assert_int_equal(barriers_cost(300, 0), (8000 + 23400) / 2 * US - 8000 * US);
	assert_non_null(strstr(words.evidence,
		"2 threads computed 8.00ms and waited 23.4ms for one another, while none was off "
		"its "
		"CPU: 15.7ms each; 1 thread without waits would need 8.00ms"));
	assert_int_equal(barriers_cost(90, 0), 0);
	assert_int_equal(barriers_cost(300, 250), 0);
}

static void devices(void **state)
{
	(void)state;
	first(&(struct wrong){.device = 990, .on_cpu = 1}, "ran-on-cpu", 500 * EXPLAIN_STEPS);
	never(&(struct wrong){.on_cpu = 1}, "ran-on-cpu");
	first(&(struct wrong){.device = 1300, .copy = 400}, "copies-between-backends",
		400 * EXPLAIN_STEPS);
	never(&(struct wrong){.device = 990, .copy = 5}, "copies-between-backends");
	first(&(struct wrong){.device = 400}, "launch-bound", 0);
	first(&(struct wrong){.device = 990, .first = 40000}, "device-setup", 0);
	never(&(struct wrong){.device = 990, .first = 40000}, "launch-bound");
	never(&(struct wrong){.device = 990, .first = 40000}, "slow-first-step");
	never(&(struct wrong){.first = 40000}, "device-setup");
	never(&(struct wrong){.device = 400}, "device-setup");
	never(&(struct wrong){.device = 990}, "launch-bound");
	/* the host had other things to do, which are findings of their own */
	never(&(struct wrong){.device = 400, .on_cpu = 1}, "launch-bound");
	never(&(struct wrong){.device = 400, .preempted = 450, .others = 40}, "launch-bound");
	never(&(struct wrong){.device = 900, .copy = 600}, "launch-bound");
	first(&(struct wrong){.device = 990, .software = true}, "software-device",
		1000 * EXPLAIN_STEPS); /* 10 of them in launching */
	never(&(struct wrong){.device = 990}, "software-device");
	/* what waits for launches waits on such a device, too */
	ask(&(struct wrong){.device = 400, .software = true});
	assert_non_null(find("software-device"));
	assert_non_null(find("launch-bound"));
	forget();
}

static void tokens(void **state)
{
	(void)state;
	first(&(struct wrong){.repeated = 60}, "prompt-repeated", 5 * STEP_US);
	never(&(struct wrong){.repeated = 20}, "prompt-repeated");
	first(&(struct wrong){.sampling = 300}, "slow-sampling", 300 * EXPLAIN_STEPS);
	assert_string_equal(words.expected_note, ", if sampling took no time");
	never(&(struct wrong){.sampling = 50}, "slow-sampling");
	/* a tenth of the steps is no tenth of the phase, which has the time between them, too */
	never(&(struct wrong){.sampling = 110, .work = 500}, "slow-sampling");
	first(&(struct wrong){.growth = 2, .steps = 1200}, "context-growth", 0);
	/* it takes longer there, too, but nobody would cut a context that short */
	never(&(struct wrong){.growth = 5, .steps = 600}, "context-growth");
	never(&(struct wrong){.growth = 5, .steps = 150}, "context-growth");
	never(&(struct wrong){.growth = 1}, "context-growth");
	never(&(struct wrong){.growth = 2, .steps = 1200}, "slow-steps");
	/* between 40 steps are 39 pauses; 10 us are there anyway */
	first(&(struct wrong){.pause = 500}, "host-pauses", 500 * (EXPLAIN_STEPS - 1));
	never(&(struct wrong){.pause = 500}, "host-works");
	first(&(struct wrong){.work = 500}, "host-works", 510 * (EXPLAIN_STEPS - 1));
	never(&(struct wrong){.work = 500}, "host-pauses");
	never(&(struct wrong){.work = 500, .gave_up = true}, "host-works");
	/* once for 40 tokens it is a part of the cost, and no cause; for 7 tokens it is one */
	never(&(struct wrong){.work_once = 5000, .repeated = 1}, "host-works");
	first(&(struct wrong){.work = 500, .work_once = 5000, .repeated = 1}, "host-works",
		510 * (EXPLAIN_STEPS - 1) + 5010);
	first(&(struct wrong){.work_once = 5000, .repeated = 1, .steps = 7}, "host-works", 0);
	first(&(struct wrong){.mixed = true}, "prefill-in-decode", 0);
	never(&(struct wrong){.mixed = true, .silent = true}, "prefill-in-decode");
	first(&(struct wrong){.logits = 30000}, "all-logits", 0);
	never(&(struct wrong){.prompt = 1}, "all-logits");
	first(&(struct wrong){.prompt = 1}, "small-ubatch", 0);
	assert_non_null(
		strstr(words.evidence, "64 evaluations took 64.0ms, with 1.0 token in each"));
	never(&(struct wrong){.logits = 1}, "small-ubatch");
	first(&(struct wrong){.sequences = 4}, "sequences-apart", 0);
	never(&(struct wrong){.sequences = 1}, "sequences-apart");
	first(&(struct wrong){.cast = 900}, "kv-type", 900 * EXPLAIN_STEPS);
	first(&(struct wrong){.vocabulary = 900}, "large-vocabulary", 900 * EXPLAIN_STEPS);
	never(&(struct wrong){.vocabulary = 100}, "large-vocabulary");
	/* who samples too slowly can mend it; who has a large vocabulary has chosen it */
	first(&(struct wrong){.vocabulary = 900, .sampling = 450}, "slow-sampling", 0);
	never(&(struct wrong){.slow = 9000}, "context-growth");
	first(&(struct wrong){.first = 5000}, "slow-first-step", 5000);
	never(&(struct wrong){.first = 900}, "slow-first-step");
	never(&(struct wrong){.first = 5000, .steps = 4}, "slow-first-step");
	first(&(struct wrong){.slow = 5000}, "slow-steps", 5000);
	never(&(struct wrong){.slow = 900}, "slow-steps");
	never(&(struct wrong){.first = 5000}, "slow-steps");
	never(&(struct wrong){.lookup = 5000}, "slow-first-step");
	never(&(struct wrong){.lookup = 5000}, "slow-steps");
	/* others had the CPU, and its caches afterwards */
	never(&(struct wrong){.slow = 6000, .slow_off = 3100, .others = 40}, "slow-steps");
	first(&(struct wrong){.slow = 6000, .slow_off = 400, .others = 40}, "slow-steps", 5600);
}

static uint64_t cost_apart(uint64_t bytes)
{
	ask(&(struct wrong){.sequences = 4, .elements = 4000, .flops = 8000000, .bytes = bytes});
	const struct finding *found = find("sequences-apart");
	assert_non_null(found);
	uint64_t ns = found->cost_ns;
	forget();
	return ns;
}

/* Weights of 4 bits are read in half the time, and computed with in the same: batches gain less. */
static void what_batches_gain(void **state)
{
	(void)state;
	double four = (double)cost_apart(2020000), eight = (double)cost_apart(4020000),
	       sixteen = (double)cost_apart(8020000);

	assert_true(four > 0.88 * eight && four < 0.91 * eight);       /* 0.7 / 0.78 */
	assert_true(sixteen > 0.79 * eight && sixteen < 0.82 * eight); /* 0.63 / 0.78 */
}

static void engines(void **state)
{
	(void)state;
	/* the first graph is new in any run */
	first(&(struct wrong){.build = 200}, "graph-rebuilt", 200 * (EXPLAIN_STEPS - 1));
	never(&(struct wrong){.build = 20}, "graph-rebuilt");
	never(&(struct wrong){.build = 200, .steps = 4}, "graph-rebuilt");
	first(&(struct wrong){.watched = 200}, "graph-watched", 200 * EXPLAIN_STEPS);
	never(&(struct wrong){.watched = 20}, "graph-watched");
	never(&(struct wrong){.watched = 200, .own_callback = true}, "graph-watched");
	first(&(struct wrong){.saved = 120}, "state-copied", 120 * EXPLAIN_STEPS);
	never(&(struct wrong){.saved = 36}, "state-copied");
	first(&(struct wrong){.gap = 200}, "in-no-brick", 200 * EXPLAIN_STEPS);
	never(&(struct wrong){.gap = 50}, "in-no-brick");
	never(&(struct wrong){.gap = 200, .gave_up = true}, "in-no-brick");
	never(&(struct wrong){.gap = 300, .gap_off = 290, .others = 40}, "in-no-brick");
	first(&(struct wrong){.bytes = 18000000, .flops = 1000}, "at-memory-roof", 0);
	never(&(struct wrong){.bytes = 5000000, .flops = 1000}, "at-memory-roof");
	never(&(struct wrong){0}, "at-memory-roof");
	const struct wrong leaves = {.kept = 1 << 17};
	first(&leaves, "memory-growth", 0);
	never(&(struct wrong){.cached = 1 << 17}, "memory-growth");
	never(&(struct wrong){.kept = 1 << 17, .kept_until = EXPLAIN_STEPS / 2}, "memory-growth");
	never(&(struct wrong){.kept = 16}, "memory-growth");
	never(&(struct wrong){.kept = 1 << 17, .steps = 15}, "memory-growth");
	first(&(struct wrong){.kept = 1 << 17, .steps = 24}, "memory-growth", 0);
	ask(&leaves);
	const struct finding *growth = find("memory-growth");
	assert_non_null(growth);
	assert_int_equal(growth->cost_ns, 0);
	words_of(growth);
	assert_non_null(strstr(words.evidence, "activations that OP in tensor asked for"));
	assert_non_null(strstr(words.evidence, "131kB a step"));
	forget();
	/* 4000 x 1000 weights of 32 bits; 4 bits */
	const struct wrong wide = {.elements = 4000, .flops = 8000000, .bytes = 16020000};
	first(&wide, "large-weights", 0);
	smaller_types(&wide);
	const struct wrong narrow = {.elements = 4000, .flops = 8000000, .bytes = 2020000};
	never(&narrow, "large-weights");
	const struct wrong old = {
		.elements = 4000, .flops = 8000000, .bytes = 2020000, .old_library = true};
	first(&old, "lesser-cpu-build", 0);
	never(&narrow, "lesser-cpu-build");
}

static char printed[1 << 14];

static void print(const struct wrong *wrong)
{
	FILE *out = tmpfile();

	ask(wrong);
	explain_text(&facts, &findings, 0, out);
	rewind(out);
	printed[fread(printed, 1, sizeof(printed) - 1, out)] = 0;
	fclose(out);
	forget();
}

static size_t times(const char *text)
{
	size_t count = 0;

	for (const char *at = printed; (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* One finding for both phases, with the figures of each; what adds up, and what does not. */
static void said_once(void **state)
{
	(void)state;
	print(&(struct wrong){.preempted = 300, .others = 40, .mixed = true});
	assert_int_equal(times("the program's threads were preempted"), 1);
	assert_int_equal(times("% of decode (measured)"), 1);
	assert_true(times("% of mixed (measured)") >= 1);
	assert_int_equal(times("\n  and "), 2); /* its costs, and what to expect */
	print(&(struct wrong){.sampling = 300, .preempted = 200, .others = 40});
	assert_int_equal(times(" with those above"), 1);
	assert_int_equal(times("not in addition"), 0);
	print(&(struct wrong){
		.sequences = 4, .elements = 4000, .flops = 8000000, .bytes = 16020000});
	assert_int_equal(times("; not in addition to 1: the same time"), 1);
}

/* Prompts have a number of threads of their own, which a finding of both phases names, too. */
static void both_phases(void **state)
{
	const struct wrong team = {.wait = 1};
	FILE *out = tmpfile();
	(void)state;

	start_engine(&engine, &team);
	engine.run.cpus = 1;
	note(&engine, "llama.library", "/lib/libllama.so");
	for (int i = 0; i < EXPLAIN_STEPS; i++) {
		add_barrier_step(BRICK_PREFILL, 64, 300, 0);
		add_barrier_step(BRICK_DECODE, 1, 300, 0);
	}
	find_of_team();
	assert_non_null(find("oversubscribed"));
	explain_text(&facts, &findings, 0, out);
	rewind(out);
	printed[fread(printed, 1, sizeof(printed) - 1, out)] = 0;
	fclose(out);
	forget();
	assert_int_equal(times("llama_context_params.n_threads = 1\n"), 1);
	assert_int_equal(times("llama_context_params.n_threads_batch = 1\n"), 1);
	assert_int_equal(times("  and      in decode: "), 1);
	assert_int_equal(times(" in prefill\n"), 1);
	assert_int_equal(times(" in decode\n"), 1);
}

/* Savings of different parts of the time add up; those of the same part are the larger one's. */
static void what_adds_up(void **state)
{
	(void)state;
	ask(&(struct wrong){.sampling = 300, .preempted = 200, .others = 40, .pause = 400});
	uint64_t left_ns = facts.phases[STEP_DECODE].elapsed_ns;
	assert_int_equal(findings.count, 3);
	for (size_t i = 0; i < findings.count; i++) {
		left_ns -= findings.list[i].cost_ns;
		assert_int_equal(findings.list[i].overlaps, 0);
		assert_int_equal(findings.list[i].left_ns, left_ns);
	}
	assert_int_equal(
		findings.explained_ns[STEP_DECODE], facts.phases[STEP_DECODE].elapsed_ns - left_ns);
	forget();

	ask(&(struct wrong){.sequences = 4, .elements = 4000, .flops = 8000000, .bytes = 16020000});
	const struct finding *apart = find("sequences-apart"), *wide = find("large-weights");
	assert_true(apart && wide && apart < wide);
	assert_int_equal(wide->overlaps, apart - findings.list + 1);
	assert_int_equal(wide->left_ns, apart->left_ns);
	forget();

	/* a device waits for the host while that is in no brick */
	ask(&(struct wrong){.device = 400, .gap = 300});
	const struct finding *launches = find("launch-bound"), *gap = find("in-no-brick");
	assert_true(launches && gap);
	assert_true(launches->overlaps || gap->overlaps);
	forget();
}

/* Everything at once is ranked, and fits. */
static void bounded(void **state)
{
	char text[4 * EXPLAIN_JSON_BYTES];
	FILE *out = tmpfile();
	(void)state;

	ask(&(struct wrong){.sampling = 300,
		.build = 200,
		.gap = 300,
		.preempted = 60,
		.blocked = 60,
		.wait = 300,
		.first = 4000,
		.slow = 5000,
		.growth = 20,
		.others = 40,
		.repeated = 60,
		.bytes = 5000000,
		.flops = 1000});
	assert_in_range(findings.count, 6, 20);
	for (size_t i = 1; i < findings.count; i++)
		assert_true(finding_rule_kind(findings.list[i].rule) == FINDING_CHOICE ||
			    finding_rule_kind(findings.list[i - 1].rule) == FINDING_CHOICE ||
			    findings.list[i].cost_ns <= findings.list[i - 1].cost_ns);
	for (int p = 0; p < STEP_PHASES; p++)
		assert_true(findings.explained_ns[p] <= facts.phases[p].elapsed_ns);
	explain_json(&facts, &findings, 0, out);
	assert_in_range(ftell(out), 1000, EXPLAIN_JSON_BYTES);
	rewind(out);
	text[fread(text, 1, sizeof text - 1, out)] = 0;
	words_of(&findings.list[0]);
	assert_non_null(strstr(text, words.what));
	fclose(out);
	forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_wrong),
		cmocka_unit_test(drafts),
		cmocka_unit_test(threads),
		cmocka_unit_test(other_ways),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(barriers),
		cmocka_unit_test(devices),
		cmocka_unit_test(tokens),
		cmocka_unit_test(what_batches_gain),
		cmocka_unit_test(engines),
		cmocka_unit_test(said_once),
		cmocka_unit_test(both_phases),
		cmocka_unit_test(what_adds_up),
		cmocka_unit_test(bounded),
		cmocka_unit_test(without_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

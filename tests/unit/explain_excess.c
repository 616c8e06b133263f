/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time beyond what is expected is a finding, with its row, its cost and the source of the
 * expectation, though no rule knows its cause. Where a rule knows it, that finding has the cost and
 * nothing is counted twice: whatever is wrong with a run, the costs of a phase's findings add up to
 * the phase at most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ui/text/explain_view.h"
#include "ui/text/words.h"
#include "tests/unit/explain_engine.h"
#include "tests/unit/explain_machine.h"

static struct explain_engine engine;
static struct explain_facts facts;
static struct findings findings;

static void ask_with(const struct wrong *wrong, const struct ceilings *ceilings)
{
	make_engine(&engine, wrong);
	assert_int_equal(explain_facts_init(&facts, &engine.run, ceilings), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
}

static void ask(const struct wrong *wrong)
{
	ask_with(wrong, &machine);
}

static void forget(void)
{
	findings_fini(&findings);
	explain_facts_fini(&facts);
	run_fini(&engine.run);
}

static const struct finding *find(const char *id)
{
	for (size_t i = 0; i < findings.count; i++)
		if (!strcmp(finding_rule_id(findings.list[i].rule), id))
			return &findings.list[i];
	return NULL;
}

static void first(const struct wrong *wrong, const char *id, const char *row, uint64_t us)
{
	ask(wrong);
	assert_true(findings.count > 0);
	assert_string_equal(finding_rule_id(findings.list[0].rule), id);
	assert_string_equal(finding_row(&facts, &findings.list[0]), row);
	if (us)
		assert_int_equal(findings.list[0].cost_ns, us * US);
	forget();
}

static void never(const struct wrong *wrong, const char *id)
{
	ask(wrong);
	if (find(id))
		fail_msg("%s found, %llu ns", id, (unsigned long long)find(id)->cost_ns);
	forget();
}

/* Ten of 40 executions of one brick take longer than the rest, for no known reason. */
static void executions_are_held_up(void **state)
{
	(void)state;
	first(&(struct wrong){.held = 400}, "excess", "DownProjection", 10 * 400);
	/* less than half as long again is what executions vary by */
	never(&(struct wrong){.held = 240}, "excess");
	/* the same name, of any work; of work that is known, it is held up */
	never(&(struct wrong){.held = 400, .torch = true}, "excess");
	first(&(struct wrong){.held = 400, .torch = true, .bytes = 1000, .flops = 1000}, "excess",
		"DownProjection", 10 * 400);
	/* other programs had the machine's caches */
	never(&(struct wrong){.held = 400, .others = 40}, "excess");
	/* a single slow step has a finding of its own */
	never(&(struct wrong){.slow = 5000}, "excess");
	never(&(struct wrong){.first = 9000}, "excess");
	/* a context that grows makes nothing slower than what is next to it */
	never(&(struct wrong){.growth = 20, .steps = 200}, "excess");
}

static uint64_t held_up_in_attention(const struct wrong *wrong)
{
	ask(wrong);
	uint32_t brick = run_brick_find(facts.run, brick_name(BRICK_QKV_PROJECTION));
	uint64_t held_up = repeats_of(facts.repeats, STEP_DECODE, brick)->held_up;
	forget();
	return held_up;
}

/* Executions of a slow first step are compared with no others. In training no other rule names that
 * step. */
static void a_slow_first_step_is_no_neighbour(void **state)
{
	(void)state;
	assert_int_equal(held_up_in_attention(&(struct wrong){.slow = 5000}), 1);
	assert_int_equal(held_up_in_attention(&(struct wrong){.first = 600}), 1);
	assert_int_equal(held_up_in_attention(&(struct wrong){.first = 5000}), 0);
}

/* 16 MB at 32 GB/s are near the memory's 40 GB/s; a small product that goes at a fifth is not. */
static void products_are_slower_than_others(void **state)
{
	struct wrong pale = {.elements = 4000, .flops = 8000000, .bytes = 16020000, .pale = 120};

	(void)state;
	/* 160200 bytes take 5 us at the pace of the others, whatever the machine can do */
	ask_with(&pale, NULL);
	const struct finding *found = find("excess");
	assert_non_null(found);
	assert_string_equal(finding_row(&facts, found), "UpProjection");
	assert_int_equal(found->of.excess.source, EXPECTATION_WORK);
	assert_in_range(found->cost_ns, 114 * EXPLAIN_STEPS * US, 116 * EXPLAIN_STEPS * US);
	assert_true(found->of.excess.low_ns < found->cost_ns);
	assert_true(found->of.excess.high_ns >= found->cost_ns);
	forget();
	pale.pale = 10;
	never(&pale, "excess");
	/* of two products the longer one has nearly all work, as a prompt's without the last layer
	 */
	pale.tail = true;
	pale.steps = 2;
	pale.pale = 250;
	never(&pale, "excess");
	pale.pale = 5000;
	first(&pale, "excess", "UpProjection", 0);
}

/* 1.6 MB in 500 us are 3.2 GB/s, a twelfth of memory's bandwidth. Products reach half as a rule. */
static void products_are_slower_than_the_machine(void **state)
{
	const struct wrong slow = {.elements = 400, .flops = 800000, .bytes = 1605600};

	(void)state;
	ask(&slow);
	const struct finding *found = find("excess"), *weights = find("large-weights");
	assert_non_null(found);
	assert_int_equal(found->of.excess.source, EXPECTATION_MACHINE);
	assert_string_equal(finding_row(&facts, found), "DownProjection");
	assert_in_range(found->cost_ns, 415 * EXPLAIN_STEPS * US, 425 * EXPLAIN_STEPS * US);
	/* all products of the phase are slow */
	struct finding_words words;
	finding_words(&words, &facts, found);
	assert_true(found->of.excess.others_rate <= 0);
	assert_non_null(strstr(words.evidence, "in DownProjection with weights in f32"));
	assert_non_null(strstr(words.advice, "-march"));
	/* smaller weights save their part of what reading takes, and none of the excess */
	assert_true(!weights || weights->cost_ns < 85 * EXPLAIN_STEPS * US);
	forget();
	/* a small product is slow, and 8 MFLOP in 500 us, at the pace of memory, are not */
	ask(&(struct wrong){.elements = 4000, .flops = 8000000, .bytes = 16020000, .pale = 120});
	found = find("excess");
	assert_non_null(found);
	assert_int_equal(found->of.excess.source, EXPECTATION_MACHINE);
	finding_words(&words, &facts, found);
	assert_in_range(found->of.excess.others_rate * 1000, 15900, 16100);
	assert_non_null(strstr(words.evidence, "the other products of the phase go at 16.0"));
	assert_non_null(strstr(words.advice, "a slow path of their own"));
	assert_null(strstr(words.advice, "-march"));
	forget();
	/* that rate is as it should be */
	never(&(struct wrong){.elements = 4000, .flops = 8000000, .bytes = 10020000}, "excess");
}

/* A program that embeds Brick states bytes and FLOPs of its products, and no operation. */
static void products_need_no_operation(void **state)
{
	const struct wrong slow = {.elements = 400, .flops = 800000, .bytes = 1605600};

	(void)state;
	make_engine(&engine, &slow);
	for (size_t i = 0; i < engine.run.site_count; i++)
		engine.run.sites[i].operation = NULL;
	assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	const struct finding *found = find("excess");
	assert_non_null(found);
	assert_string_equal(finding_row(&facts, found), "DownProjection");
	assert_in_range(found->cost_ns, 415 * EXPLAIN_STEPS * US, 425 * EXPLAIN_STEPS * US);
	forget();
}

/* 4000 bytes in 300 us; five others of the size take 2 us. Twice that time is due: for the bytes,
 * and for the execution. */
static void simple_operations_are_slow(void **state)
{
	(void)state;
	ask(&(struct wrong){.norm = 300});
	const struct finding *found = find("excess");
	assert_non_null(found);
	assert_int_equal(found->of.excess.source, EXPECTATION_PASSES);
	assert_string_equal(finding_row(&facts, found), "RmsNorm");
	assert_in_range(found->cost_ns, 295 * EXPLAIN_STEPS * US, 297 * EXPLAIN_STEPS * US);
	forget();
	never(&(struct wrong){.norm = 15}, "excess");
}

/* The rate is kept, but products that wait for memory are not compared with those of another run.
 */
static void rates_are_kept(void **state)
{
	struct wrong products = {.elements = 4000, .flops = 8000000, .bytes = 16020000};
	struct ceilings kept = machine;

	(void)state;
	ask_with(&products, &kept);
	assert_null(find("excess"));
	assert_int_equal(expectation_learn(&kept, &facts), 1);
	assert_int_equal(expectation_learn(&kept, &facts), 0);
	forget();
	assert_int_equal(kept.product_count, 1);
	products.longer = 1000;
	ask_with(&products, &kept);
	assert_null(find("excess"));
	assert_int_equal(expectation_learn(&kept, &facts), 0);
	forget();
	free(kept.products);
}

/*
 * True if products that compute, with weights of 4.5 bits, are slower than seen ones. own: of a
 * program that states its products itself. learns: their rate is kept.
 */
static bool is_slower_than_seen(
	struct ceilings *kept, const char *own, uint32_t longer, bool learns)
{
	const struct wrong products = {
		.elements = 4000, .flops = 8000000, .bytes = 2270000, .longer = longer};

	make_engine(&engine, &products);
	for (size_t i = 0; i < engine.run.site_count && own; i++)
		engine.run.sites[i].operation = NULL;
	engine.run.processes[0].executable = own ? builder_copy(own) : NULL;
	assert_int_equal(explain_facts_init(&facts, &engine.run, kept), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	const struct finding *found = find("excess");
	bool is_slower = found && found->of.excess.seen;
	if (learns)
		assert_int_equal(expectation_learn(kept, &facts), 1);
	forget();
	return is_slower;
}

/* An engine's products compare with any model's; a program's own with those of that program. */
static void rates_are_of_one_code(void **state)
{
	struct ceilings kept = machine;

	(void)state;
	assert_false(is_slower_than_seen(&kept, NULL, 0, true));
	assert_true(is_slower_than_seen(&kept, NULL, 1000, false));
	assert_false(is_slower_than_seen(&kept, "/bin/decoder", 1000, false));
	assert_false(is_slower_than_seen(&kept, "/bin/decoder", 0, true));
	assert_true(is_slower_than_seen(&kept, "/opt/decoder", 1000, false));
	assert_false(is_slower_than_seen(&kept, "/bin/other", 1000, false));
	free(kept.products);
}

/* An entry of the engine's workload, whose tokens take so many us, `down` of it DownProjection. */
static struct history_run entry(uint64_t start_ns, uint64_t us, uint64_t down_us, bool disturbed)
{
	static const struct {
		const char *kind, *name;
	} parts[] = {{"step", ""}, {"brick", "DownProjection"}, {"brick", "QkvProjection"}};
	const uint64_t ns[] = {us * US, down_us * US, (us - down_us) * US};
	struct history_run run;

	assert_int_equal(history_run_init(&run), 0);
	run.start_ns = start_ns;
	snprintf(run.id, sizeof(run.id), "%llx", (unsigned long long)start_ns);
	assert_int_equal(history_text_set(&run.workload, "engine model"), 0);
	if (disturbed)
		assert_int_equal(history_run_fact(&run, HISTORY_DISTURBED, "yes"), 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct history_part *part =
			history_run_part(&run, "decode", parts[i].kind, parts[i].name);
		assert_non_null(part);
		part->tokens = part->typical_tokens = EXPLAIN_STEPS;
		part->total_ns = part->typical_ns = ns[i] * EXPLAIN_STEPS;
	}
	return run;
}

enum { EARLIER = 5 };

/* The cost of the excess over EARLIER recordings whose tokens took these us; 0: there is none. */
static uint64_t slower_than(const uint64_t us[EARLIER], size_t disturbed, uint64_t first_ns)
{
	struct history_run now = entry(100, 1010, 500, false), earlier[EARLIER];
	struct usual_times usual;

	for (size_t i = 0; i < EARLIER; i++)
		earlier[i] = entry(first_ns - i, us[i], us[i] - 510, i < disturbed);
	make_engine(&engine, &(struct wrong){0});
	assert_int_equal(usual_times_init(&usual, &engine.run, &now, earlier, EARLIER), 0);
	assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
	facts.usual = &usual;
	assert_int_equal(findings_init(&findings, &facts), 0);
	const struct finding *found = find("excess");
	uint64_t ns = found ? found->cost_ns : 0;
	if (found) {
		struct finding_words words;
		finding_words(&words, &facts, found);
		assert_string_equal(
			words.show, disturbed ? "brick diff @61 --" : "brick diff @63 --");
		assert_int_equal(found->of.excess.source, EXPECTATION_HISTORY);
		assert_string_equal(finding_row(&facts, found), "DownProjection");
	}
	forget();
	usual_times_fini(&usual);
	for (size_t i = 0; i < EARLIER; i++)
		history_run_fini(&earlier[i]);
	history_run_fini(&now);
	return ns;
}

/* A brick that took 200 us a token in earlier recordings of the workload, and takes 500 now. */
static void slower_than_before(void **state)
{
	static const uint64_t quick[] = {710, 700, 720, 705, 715},
			      slow[] = {900, 700, 950, 705, 920},
			      other[] = {1000, 1005, 990, 710, 720};

	(void)state;
	assert_int_equal(slower_than(quick, 0, 99), 300 * EXPLAIN_STEPS * US);
	/* most of the earlier ones took nearly as long */
	assert_int_equal(slower_than(slow, 0, 99), 0);
	/* nobody knows what later recordings had */
	assert_int_equal(slower_than(quick, 0, 150), 0);
	/* the disturbed ones do not count, unless too few others are there */
	assert_int_equal(slower_than(other, 3, 99), 0);
	assert_int_equal(slower_than(quick, 2, 99), 295 * EXPLAIN_STEPS * US);
}

/* Two bricks of a token of 1010 us took 100 us each in earlier recordings. */
static void ask_for_two(int adapter_us)
{
	static struct usual_part parts[2];
	static struct usual_times usual;
	const struct wrong wrong = {.adapter = adapter_us};

	usual = (struct usual_times){.parts = parts, .count = 2};
	make_engine(&engine, &wrong);
	for (int i = 0; i < 2; i++)
		parts[i] = (struct usual_part){.phase = STEP_DECODE,
			.brick = builder_known(
				&engine.run, i ? BRICK_QKV_PROJECTION : BRICK_DOWN_PROJECTION),
			.now_ns = (500 - 100 * i) * US,
			.all_ns = (500 - 100 * i) * US,
			.median_ns = 100 * US,
			.quickest_ns = 100 * US,
			.slower_ns = 100 * US};
	usual.runs[STEP_DECODE] = USUAL_RUNS_LEAST;
	usual.whole[STEP_DECODE] = (struct usual_part){
		.now_ns = 1010 * US, .median_ns = 310 * US, .slower_ns = 310 * US};
	assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
	facts.usual = &usual;
	assert_int_equal(findings_init(&findings, &facts), 0);
}

static uint64_t two_cost(const char *row)
{
	for (size_t i = 0; i < findings.count; i++)
		if (findings.list[i].rule >= FINDING_excess_repeats &&
			!strcmp(finding_row(&facts, &findings.list[i]), row))
			return findings.list[i].cost_ns / EXPLAIN_STEPS / US;
	return 0;
}

static void two_bricks_are_two_findings(void **state)
{
	(void)state;
	ask_for_two(0);
	assert_int_equal(findings.count, 2);
	assert_string_equal(finding_row(&facts, &findings.list[0]), "DownProjection");
	const struct excess *excess = &findings.list[0].of.excess;
	assert_true(excess->low_ns <= excess->ns && excess->ns <= excess->high_ns);
	assert_int_equal(excess->high_ns, 400 * EXPLAIN_STEPS * US);
	assert_int_equal(findings.list[0].cost_ns, 400 * EXPLAIN_STEPS * US);
	assert_string_equal(finding_row(&facts, &findings.list[1]), "QkvProjection");
	assert_int_equal(findings.list[1].cost_ns, 300 * EXPLAIN_STEPS * US);
	forget();
	/* a name is taken out of both once: 200 of 400, or 400 and 100 of 300 */
	ask_for_two(200);
	assert_int_equal(two_cost("DownProjection"), 200);
	assert_int_equal(two_cost("QkvProjection"), 300);
	forget();
	ask_for_two(500);
	assert_int_equal(two_cost("DownProjection"), 0);
	assert_int_equal(two_cost("QkvProjection"), 200);
	forget();
}

/*
 * The engine's thread waits 600 us in some steps while another thread is in a brick. Where these
 * are all steps, earlier recordings did not wait. Returns the excess, which finding has the words
 * of.
 */
static const struct finding *wait_for(uint32_t (*site)(void), bool is_seldom)
{
	enum { SELDOM = 4 };
	static struct usual_times usual;
	static struct usual_part parts[2];
	const struct wrong none = {.wait = 1};

	start_engine(&engine, &none);
	struct run *run = &engine.run;
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t down = engine_site(&engine, BRICK_DOWN_PROJECTION), awaited = site();
	for (int i = 0; i < EXPLAIN_STEPS; i++) {
		uint64_t begin = engine.now, wait_ns = is_seldom && i % SELDOM ? 0 : 600 * US;
		uint32_t at = (uint32_t)run->lanes[engine.thread].sample_count;
		builder_sample(run, engine.thread, step, begin, begin, 0);
		uint32_t number = builder_step(run, engine.thread, 1);
		take(&engine, down, 700, 1);
		uint32_t last = (uint32_t)run->lanes[engine.thread].sample_count - 1;
		run->lanes[engine.thread].samples[last].wait_ns = wait_ns;
		engine.now += wait_ns;
		if (wait_ns)
			builder_sample(run, engine.worker, awaited, begin, engine.now - US, 0)
				->wait_ns = US;
		run->lanes[engine.thread].samples[at].end_ns = engine.now;
		run->steps[number].end_ns = engine.now;
		engine.now += 10 * US;
	}
	run->lanes[engine.thread].end_ns = run->lanes[engine.worker].end_ns = engine.now;
	run->end_ns = run->processes[0].end_ns = engine.now;
	/* what Brick itself does is nobody's excess */
	parts[0] = (struct usual_part){.phase = STEP_DECODE,
		.brick = builder_known(run, BRICK_BARRIER_WAIT),
		.now_ns = 600 * US,
		.all_ns = 600 * US};
	parts[1] = (struct usual_part){.phase = STEP_DECODE,
		.brick = builder_brick(run, BRICK_LOOKUP_NAME, "Engine"),
		.now_ns = 900 * US,
		.all_ns = 900 * US};
	usual = (struct usual_times){.parts = parts, .count = 2};
	usual.runs[STEP_DECODE] = USUAL_RUNS_LEAST;
	usual.whole[STEP_DECODE] = (struct usual_part){
		.now_ns = 1300 * US, .median_ns = 700 * US, .slower_ns = 700 * US};
	assert_int_equal(explain_facts_init(&facts, run, &machine), 0);
	facts.usual = is_seldom ? NULL : &usual;
	assert_int_equal(findings_init(&findings, &facts), 0);
	return find("excess");
}

static uint32_t norm_site(void)
{
	return engine_site(&engine, BRICK_RMS_NORM);
}

static uint32_t ready_site(void)
{
	return named_site(&engine, BRICK_READY_NAME, "Engine");
}

static void waits_are_for_a_brick(void **state)
{
	struct finding_words words;

	(void)state;
	for (int is_seldom = 0; is_seldom < 2; is_seldom++) {
		const struct finding *found = wait_for(norm_site, is_seldom);
		assert_non_null(found);
		assert_int_equal(found->of.excess.source,
			is_seldom ? EXPECTATION_REPEATS : EXPECTATION_HISTORY);
		assert_string_equal(finding_row(&facts, found), "RmsNorm");
		finding_words(&words, &facts, found);
		assert_non_null(strstr(words.what, "while other threads were in RmsNorm"));
		forget();
	}
}

/* A thread that is made ready to record holds others up, which no engine can change. */
static void waits_for_the_profiler_are_none(void **state)
{
	(void)state;
	for (int is_seldom = 0; is_seldom < 2; is_seldom++) {
		assert_null(wait_for(ready_site, is_seldom));
		forget();
	}
}

static void known_causes_are_names(void **state)
{
	struct wrong slow = {.elements = 1000, .flops = 2000000, .bytes = 1008000};

	(void)state;
	ask(&slow);
	assert_non_null(find("excess"));
	uint64_t unnamed_ns = find("excess")->cost_ns;
	forget();
	slow.old_library = true;
	ask(&slow);
	const struct finding *name = find("lesser-cpu-build"), *rest = find("excess");
	assert_non_null(name);
	assert_int_equal(name->cost_ns + (rest ? rest->cost_ns : 0), unnamed_ns);
	forget();
	first(&(struct wrong){.adapter = 300}, "adapter-apart", "LoraProjection",
		300 * EXPLAIN_STEPS);
	never(&(struct wrong){.adapter = 30}, "adapter-apart");
	first(&(struct wrong){.moved = 300}, "cache-moved", "RopeEmbedding", 300 * EXPLAIN_STEPS);
	never(&(struct wrong){.moved = 30}, "cache-moved");
}

static uint32_t below(uint32_t limit)
{
	return (uint32_t)rand() % limit;
}

static void add_stack(uint64_t ns, uint32_t call)
{
	struct run *run = &engine.run;

	BUILDER_GROW(run->stacks, run->stack_count);
	run->stacks[run->stack_count++] =
		(struct run_stack){.ns = ns, .call = call, .lane = engine.thread};
}

/* Stacks name the function that holds executions up, which is not the one that computes. */
static void stacks_say_where(void **state)
{
	static const struct run_function functions[] = {
		{"dot", "/lib/libggml.so"}, {"handler", "/lib/other.so"}};
	const struct wrong held = {.held = 400};
	struct finding_words words;
	int down = 0;

	(void)state;
	make_engine(&engine, &held);
	struct run *run = &engine.run;
	for (uint32_t i = 0; i < 2; i++) {
		BUILDER_GROW(run->functions, run->function_count);
		run->functions[run->function_count++] = (struct run_function){
			builder_copy(functions[i].name), builder_copy(functions[i].object)};
		BUILDER_GROW(run->calls, run->call_count);
		run->calls[run->call_count++] = (struct run_call){RUN_NONE, i};
	}
	for (size_t i = 0; i < run->lanes[engine.thread].sample_count; i++) {
		const struct run_sample *s = &run->lanes[engine.thread].samples[i];
		uint32_t brick = run->sites[s->site].brick;
		if (run->bricks[brick].well_known != BRICK_DOWN_PROJECTION)
			continue;
		add_stack(s->begin_ns + 10 * US, 0);
		if (down++ % 4 == 1)
			add_stack(s->end_ns - 10 * US, 1);
	}
	assert_int_equal(explain_facts_init(&facts, run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	finding_words(&words, &facts, find("excess"));
	assert_non_null(
		strstr(words.evidence, "; 20.0% of 50 stacks there were in handler (other.so)"));
	forget();
}

/* Whatever is wrong, and however much of it: the costs of a phase's findings fit into it. */
static void costs_add_up(void **state)
{
	(void)state;
	srand(42);
	for (int i = 0; i < 300; i++) {
		struct wrong wrong = {.others = below(60), .usable = below(3)};
		uint32_t *const amounts[] = {&wrong.sampling, &wrong.build, &wrong.gap,
			&wrong.preempted, &wrong.blocked, &wrong.wait, &wrong.first, &wrong.slow,
			&wrong.copy, &wrong.pause, &wrong.work, &wrong.faults, &wrong.disk,
			&wrong.cast, &wrong.vocabulary, &wrong.saved, &wrong.watched, &wrong.held,
			&wrong.adapter, &wrong.moved, &wrong.repeated, &wrong.throttled,
			&wrong.growth, &wrong.logits, &wrong.device, &wrong.crowd};
		for (int k = 0; k < 4; k++)
			*amounts[below(sizeof(amounts) / sizeof(*amounts))] = below(480);
		if (below(2)) {
			wrong.elements = 4000;
			wrong.flops = 8000000;
			wrong.bytes = 20000 + (uint64_t)below(16) * 1000000;
			wrong.pale = below(400);
		}
		wrong.sequences = below(5);
		wrong.mixed = !below(4);
		wrong.old_library = !below(4);
		if (wrong.wait > 400)
			wrong.wait = 400;
		ask(&wrong);
		uint64_t sums[STEP_PHASES] = {0};
		for (size_t n = 0; n < findings.count; n++)
			sums[findings.list[n].phase] += findings.list[n].cost_ns;
		for (int p = 0; p < STEP_PHASES; p++)
			if (sums[p] > facts.phases[p].elapsed_ns)
				fail_msg("run %d: findings cost %llu of %llu ns", i,
					(unsigned long long)sums[p],
					(unsigned long long)facts.phases[p].elapsed_ns);
		forget();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executions_are_held_up),
		cmocka_unit_test(a_slow_first_step_is_no_neighbour),
		cmocka_unit_test(products_are_slower_than_others),
		cmocka_unit_test(products_are_slower_than_the_machine),
		cmocka_unit_test(products_need_no_operation),
		cmocka_unit_test(simple_operations_are_slow),
		cmocka_unit_test(rates_are_kept),
		cmocka_unit_test(rates_are_of_one_code),
		cmocka_unit_test(slower_than_before),
		cmocka_unit_test(two_bricks_are_two_findings),
		cmocka_unit_test(waits_are_for_a_brick),
		cmocka_unit_test(waits_for_the_profiler_are_none),
		cmocka_unit_test(known_causes_are_names),
		cmocka_unit_test(stacks_say_where),
		cmocka_unit_test(costs_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

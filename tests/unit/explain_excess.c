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
	/* other programs had the machine's caches */
	never(&(struct wrong){.held = 400, .others = 40}, "excess");
	/* a single slow step has a finding of its own */
	never(&(struct wrong){.slow = 5000}, "excess");
	never(&(struct wrong){.first = 9000}, "excess");
	/* a context that grows makes nothing slower than what is next to it */
	never(&(struct wrong){.growth = 20, .steps = 200}, "excess");
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
	/* smaller weights save their part of what reading takes, and none of the excess */
	assert_true(!weights || weights->cost_ns < 85 * EXPLAIN_STEPS * US);
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
		cmocka_unit_test(products_are_slower_than_others),
		cmocka_unit_test(products_are_slower_than_the_machine),
		cmocka_unit_test(products_need_no_operation),
		cmocka_unit_test(simple_operations_are_slow),
		cmocka_unit_test(rates_are_kept),
		cmocka_unit_test(known_causes_are_names),
		cmocka_unit_test(stacks_say_where),
		cmocka_unit_test(costs_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

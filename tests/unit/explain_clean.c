/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in which nothing is wrong has no finding, though it has something that looks like a cause:
 * the first token's graph is new, a pool's threads begin late, a program computes attention in its
 * own way. Beside each stands the cause that it looks like, which is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "ui/text/explain_view.h"
#include "ui/text/words.h"
#include "tests/unit/explain_engine.h"
#include "tests/unit/explain_machine.h"

static struct explain_engine engine;
static struct explain_facts facts;
static struct findings findings;

/* True if a rule finds something that costs anything; id NULL: any rule. */
static bool finds(const struct wrong *wrong, const char *id)
{
	bool found = false;

	make_engine(&engine, wrong);
	assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.list[i];
		found |= f->cost_ns && (!id || !strcmp(finding_rule_id(f->rule), id));
	}
	findings_fini(&findings);
	explain_facts_fini(&facts);
	run_fini(&engine.run);
	return found;
}

static void first_graph(void **state)
{
	(void)state;
	assert_false(finds(&(struct wrong){.first_build = 3000}, NULL));
	/* sleep has a finding of its own */
	assert_false(finds(&(struct wrong){.first = 4000, .first_off = 3900}, "slow-first-step"));
	/* a fiftieth of the phase, which caches that hold a prompt may be */
	assert_false(finds(&(struct wrong){.first = 1300}, NULL));
	assert_true(finds(&(struct wrong){.first_build = 3000, .first = 3000}, "slow-first-step"));
}

static void threads_begin(void **state)
{
	(void)state;
	assert_false(finds(&(struct wrong){.wait = 1, .pool = 26000}, NULL));
	assert_true(finds(&(struct wrong){.wait = 450, .pool = 500}, "slow-thread"));
}

/* Other programs may have had the CPU in steps of which nobody saw it. */
static void unseen_steps(void **state)
{
	(void)state;
	assert_true(finds(&(struct wrong){.slow = 9000, .others = 40}, "slow-steps"));
	assert_true(finds(&(struct wrong){.slow = 9000, .unseen = true}, "slow-steps"));
	assert_false(
		finds(&(struct wrong){.slow = 9000, .unseen = true, .others = 40}, "slow-steps"));
}

static void own_attention(void **state)
{
	(void)state;
	assert_true(finds(&(struct wrong){.softmax = 9000}, "no-flash-attention"));
	assert_false(finds(&(struct wrong){.softmax = 9000, .own_softmax = true}, NULL));
}

/* Beside other programs one time is no pattern; many are, and so is one on a quiet machine. */
static void one_time(void **state)
{
	struct wrong gap = {.first_gap = 300, .steps = 1, .others = 40};

	(void)state;
	assert_false(finds(&gap, NULL));
	gap.others = 0;
	assert_true(finds(&gap, "in-no-brick"));
	assert_true(finds(&(struct wrong){.gap = 200, .others = 40}, "in-no-brick"));
	assert_false(finds(&(struct wrong){.blocked = 300, .steps = 2, .others = 40}, NULL));
	assert_true(finds(&(struct wrong){.blocked = 300, .steps = 2}, "blocked"));
	assert_true(finds(&(struct wrong){.blocked = 300, .others = 40}, "blocked"));
}

/* The cost of page faults that take so many us of the kernel in each step, which is longer by it.
 */
static uint64_t faults_cost(uint32_t touched, uint32_t longer)
{
	uint64_t cost_ns = 0;

	make_engine(&engine, &(struct wrong){.touched = touched, .longer = longer});
	assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	for (size_t i = 0; i < findings.count; i++)
		if (!strcmp(finding_rule_id(findings.list[i].rule), "page-faults"))
			cost_ns = findings.list[i].cost_ns;
	findings_fini(&findings);
	explain_facts_fini(&facts);
	run_fini(&engine.run);
	return cost_ns;
}

/* Memory that is touched for the first time is no memory that earlier steps had. */
static void first_touch(void **state)
{
	(void)state;
	assert_false(finds(&(struct wrong){.touched = 300, .touched_early = true}, "page-faults"));
	assert_true(finds(&(struct wrong){.touched = 300}, "page-faults"));
	/* 1000 small pages take no 20 ms: the kernel did something else; as many huge ones do */
	assert_int_equal(faults_cost(20000, 20000), 3000 * (uint64_t)US * EXPLAIN_STEPS);
	assert_int_equal(faults_cost(40000, 40000), 40000 * (uint64_t)US * EXPLAIN_STEPS);
}

/* A host or an interrupt took the CPU for long while one of a prompt's few executions ran. */
static void one_execution(void **state)
{
	struct wrong product = {.elements = 4000, .flops = 8000000, .bytes = 16020000, .steps = 2};

	(void)state;
	product.pale = 120;
	assert_true(finds(&product, "excess"));
	product.pale = 10;
	product.pale_once = 900;
	assert_false(finds(&product, "excess"));
}

/* The engine's thread does all of the small operations, and is as quick as the other one. */
static void one_thread_does_more(void **state)
{
	(void)state;
	assert_false(finds(&(struct wrong){.wait = 300, .alike = true}, "slow-thread"));
	assert_true(finds(&(struct wrong){.wait = 300}, "slow-thread"));
}

/*
 * Two threads with 10 steps of 1 ms each. turn_us: from a step's begin to the next step's of the
 * other thread; the threads sleep between their own steps. contexts: 2, or 1 that both use. model:
 * of the second one. prompts: half of a thread's sleep is before a prompt of its own.
 */
static uint64_t turns_of(uint64_t turn_us, uint32_t contexts, const char *model, bool prompts)
{
	const struct wrong none = {0};
	uint64_t cost_ns = 0;

	start_engine(&engine, &none);
	struct run *run = &engine.run;
	const uint32_t lanes[] = {engine.thread, builder_lane(run, engine.process, 2)};
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	builder_note(run, "model.0", "small");
	builder_note(run, "model.1", model);
	uint32_t prompt = builder_site(run, builder_known(run, BRICK_PREFILL), -1, NULL, NULL);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t begin = 5000 + i * turn_us * US, end = begin + STEP_US * US;
		uint32_t lane = lanes[i % 2];
		builder_sample(run, lane, step, begin, end, 0);
		uint32_t number = builder_step(run, lane, 1);
		run->steps[number].model = (uint32_t)i % contexts;
		builder_sample(
			run, lane, engine_site(&engine, BRICK_DOWN_PROJECTION), begin, end, 1);
		if (prompts) { /* while the other thread is in the middle of its step */
			uint64_t at = end + 500 * US;
			be_off(&run->lanes[lane], end, 500, 0);
			builder_sample(run, lane, prompt, at, at + 10 * US, 0);
			number = builder_step(run, lane, 1);
			run->steps[number].model = (uint32_t)i % contexts;
			end = at + 10 * US;
			be_off(&run->lanes[lane], end, 2 * turn_us - STEP_US - 510, 0);
		} else {
			be_off(&run->lanes[lane], end, 2 * turn_us - STEP_US, 0);
		}
		run->end_ns = run->lanes[lane].end_ns = end;
	}
	assert_int_equal(explain_facts_init(&facts, run, &machine), 0);
	assert_int_equal(findings_init(&findings, &facts), 0);
	for (size_t i = 0; i < findings.count; i++)
		if (!strcmp(finding_rule_id(findings.list[i].rule), "threads-in-turns")) {
			/* it is no excess, which has an expectation */
			assert_true(findings.list[i].rule < FINDING_excess_repeats);
			cost_ns = findings.list[i].cost_ns;
			if (prompts)
				continue;
			/* 20 tokens take 38.4 ms of two threads */
			struct finding_words words;
			finding_words(&words, &facts, &findings.list[i]);
			assert_non_null(
				strstr(words.evidence, "1.92ms a token for each thread, which is a "
						       "user, and 960us in all"));
			assert_non_null(strstr(words.expected_note, "instead of 960us in all"));
		}
	findings_fini(&findings);
	explain_facts_fini(&facts);
	run_fini(run);
	return cost_ns;
}

static uint64_t turns_cost(uint64_t turn_us, uint32_t contexts)
{
	return turns_of(turn_us, contexts, "small", false);
}

/* A lock lets one of two threads evaluate: each waits for the other's step, but for the first. */
static void threads_in_turns(void **state)
{
	(void)state;
	assert_int_equal(turns_cost(STEP_US + 20, 2), 18 * STEP_US * US);
	/* two models share no weights that one batch would read once */
	assert_int_equal(turns_of(STEP_US + 20, 2, "large", false), 0);
	/* what a thread slept before its own prompt, it did not sleep for the other's step */
	uint64_t ns = turns_of(STEP_US + 20, 2, "small", true);
	assert_true(ns > 0 && ns <= 18 * (STEP_US - 490) * US);
	/* one context goes from thread to thread: nobody waits twice */
	assert_int_equal(turns_cost(STEP_US + 20, 1), 0);
	/* steps run at the same time: there is no lock */
	assert_int_equal(turns_cost(STEP_US - 100, 2), 0);
	/* threads that wait for work of their own */
	assert_int_equal(turns_cost(5 * STEP_US, 2), 0);
}

/* A thread that sleeps in bricks of all kinds is stopped; in a single one, that one sleeps. */
static void sleeps_everywhere(void **state)
{
	const struct wrong sleeps[] = {{.blocked = 200}, {.blocked = 200, .blocked_too = 250}};
	const char *const rows[] = {"DownProjection", "blocked"};
	struct finding_words words;

	(void)state;
	for (int i = 0; i < 2; i++) {
		make_engine(&engine, &sleeps[i]);
		assert_int_equal(explain_facts_init(&facts, &engine.run, &machine), 0);
		assert_int_equal(findings_init(&findings, &facts), 0);
		assert_true(findings.count > 0);
		assert_string_equal(finding_rule_id(findings.list[0].rule), "blocked");
		assert_string_equal(finding_row(&facts, &findings.list[0]), rows[i]);
		finding_words(&words, &facts, &findings.list[0]);
		assert_int_equal(strstr(words.evidence, " in RmsNorm") != NULL, i);
		findings_fini(&findings);
		explain_facts_fini(&facts);
		run_fini(&engine.run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_graph),
		cmocka_unit_test(threads_begin),
		cmocka_unit_test(unseen_steps),
		cmocka_unit_test(own_attention),
		cmocka_unit_test(one_time),
		cmocka_unit_test(one_execution),
		cmocka_unit_test(first_touch),
		cmocka_unit_test(one_thread_does_more),
		cmocka_unit_test(threads_in_turns),
		cmocka_unit_test(sleeps_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

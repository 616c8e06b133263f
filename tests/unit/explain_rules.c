/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule on a run where it must find something, which then comes first, with its cost to the
 * nanosecond where that is known; and on a run with nothing wrong, where none finds anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "ui/text/explain_view.h"
#include "tests/unit/explain_engine.h"

#define FIGURE(best)                                            \
	{                                                       \
		(best), (best)*0.95, (best)*0.9, 7, (best)*0.95 \
	}

static struct ceilings_level levels[] = {{"memory", 0, 1}};
static struct ceilings_compute compute[] = {{"wide", "f32", 1, FIGURE(100.0)}};
static struct ceilings_bandwidth bandwidth[] = {
	{"memory", "read", "wide", 1, 1 << 28, FIGURE(40.0)},
};
static const struct ceilings machine = {.cpus = 2,
	.levels = levels,
	.level_count = 1,
	.compute = compute,
	.compute_count = 1,
	.bandwidth = bandwidth,
	.bandwidth_count = 1};

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

static void nothing_wrong(void **state)
{
	const struct wrong none = {0}, quick = {.device = 990};
	(void)state;

	ask(&none);
	nothing_is_found();
	assert_int_equal(FINDING_RULES, 16);
	forget();
	ask(&quick);
	nothing_is_found();
	forget();
}

static void threads(void **state)
{
	(void)state;
	first(&(struct wrong){.preempted = 300, .others = 40}, "preempted-by-others",
		300 * EXPLAIN_STEPS);
	first(&(struct wrong){.preempted = 300}, "oversubscribed", 300 * EXPLAIN_STEPS);
	never(&(struct wrong){.preempted = 300, .others = 40}, "oversubscribed");
	never(&(struct wrong){.preempted = 300}, "preempted-by-others");
	const struct wrong crowd = {.preempted = 300, .others = 40, .wait = 1, .usable = 1};
	first(&crowd, "oversubscribed", 0);
	never(&crowd, "preempted-by-others");
	never(&(struct wrong){.preempted = 300, .others = 40, .usable = 1}, "oversubscribed");
	never(&(struct wrong){.preempted = 10, .others = 40}, "preempted-by-others");
	first(&(struct wrong){.blocked = 200}, "blocked", 200 * EXPLAIN_STEPS);
	never(&(struct wrong){.blocked = 10}, "blocked");
	first(&(struct wrong){.wait = 300}, "barrier-waits", 150 * EXPLAIN_STEPS);
	never(&(struct wrong){.wait = 30}, "barrier-waits");
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
	never(&(struct wrong){.device = 990}, "launch-bound");
	/* the host had other things to do, which are findings of their own */
	never(&(struct wrong){.device = 400, .on_cpu = 1}, "launch-bound");
	never(&(struct wrong){.device = 400, .preempted = 450, .others = 40}, "launch-bound");
	never(&(struct wrong){.device = 900, .copy = 600}, "launch-bound");
}

static void tokens(void **state)
{
	(void)state;
	first(&(struct wrong){.repeated = 60}, "prompt-repeated", 5 * STEP_US);
	never(&(struct wrong){.repeated = 20}, "prompt-repeated");
	first(&(struct wrong){.sampling = 300}, "slow-sampling", 300 * EXPLAIN_STEPS);
	never(&(struct wrong){.sampling = 50}, "slow-sampling");
	first(&(struct wrong){.growth = 20}, "context-growth", 0);
	never(&(struct wrong){.growth = 1}, "context-growth");
	never(&(struct wrong){.slow = 9000}, "context-growth");
	first(&(struct wrong){.first = 5000}, "slow-first-step", 5000);
	never(&(struct wrong){.first = 900}, "slow-first-step");
	first(&(struct wrong){.slow = 5000}, "slow-steps", 5000);
	never(&(struct wrong){.slow = 900}, "slow-steps");
	never(&(struct wrong){.first = 5000}, "slow-steps");
}

static void engines(void **state)
{
	(void)state;
	first(&(struct wrong){.build = 200}, "graph-rebuilt", 200 * EXPLAIN_STEPS);
	never(&(struct wrong){.build = 20}, "graph-rebuilt");
	first(&(struct wrong){.gap = 200}, "in-no-brick", 200 * EXPLAIN_STEPS);
	never(&(struct wrong){.gap = 50}, "in-no-brick");
	/* 10 GB/s of 40; 500 us could be 125 */
	first(&(struct wrong){.bytes = 5000000, .flops = 1000}, "far-below-roof",
		375 * EXPLAIN_STEPS);
	never(&(struct wrong){.bytes = 18000000, .flops = 1000}, "far-below-roof");
	first(&(struct wrong){.bytes = 18000000, .flops = 1000}, "at-memory-bandwidth", 0);
	never(&(struct wrong){.bytes = 5000000, .flops = 1000}, "at-memory-bandwidth");
	never(&(struct wrong){0}, "at-memory-bandwidth");
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
	assert_in_range(findings.count, 8, 16);
	for (size_t i = 1; i < findings.count; i++)
		assert_true(findings.list[i].cost_ns <= findings.list[i - 1].cost_ns);
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
		cmocka_unit_test(threads),
		cmocka_unit_test(devices),
		cmocka_unit_test(tokens),
		cmocka_unit_test(engines),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what reads runs with every allocation failing in turn: it says -ENOMEM, or has all
 * that it would have had; nothing leaks and nothing crashes. Needs an allocator that can be
 * replaced: skipped with sanitizers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "tests/unit/failing_memory.h"

#include "tests/unit/breakdown_kit.h"
#include "analysis/accounts/call_tree.h"
#include "analysis/path/path.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/step_times.h"
#include "analysis/accounts/summary.h"
#include "tests/unit/path_nonsense.h"

/* What a try came to: 0 or an error, and something of the result that tells it from another. */
struct outcome {
	int rc;
	uint64_t sum;
};

typedef struct outcome (*try_fn)(const struct run *run, int argument);

static struct outcome summarise(const struct run *run, int by)
{
	struct summary *s = NULL;
	struct outcome o = {.rc = summary_create(&s, run, (enum summary_by)by, SUMMARY_ALL_PHASES)};

	if (o.rc < 0)
		return o;
	o.sum = s->wall_ns + s->rests.unattributed_ns + s->device_ns + s->row_count +
		s->category_count + s->queues.count + s->wait_causes.count;
	for (size_t i = 0; i < s->row_count; i++)
		o.sum += s->rows[i].count + s->rows[i].total_ns + s->rows[i].p50_ns;
	summary_destroy(s);
	return o;
}

static struct outcome find_path(const struct run *run, int step)
{
	struct step_index index;
	struct path *path = NULL;
	struct outcome o = {.rc = step_index_init(&index, run)};

	if (o.rc < 0)
		return o;
	o.rc = path_create(&path, run, &index, step < 0 ? RUN_NONE : (uint32_t)step);
	for (size_t i = 0; o.rc == 0 && i < path->section_count; i++)
		o.sum += path->sections[i].length_ns + path->sections[i].row_count;
	if (o.rc == 0)
		path_destroy(path);
	step_index_fini(&index);
	return o;
}

static struct outcome grow_tree(const struct run *run, int lane)
{
	struct step_index index;
	struct call_tree *tree = NULL;
	struct outcome o = {.rc = step_index_init(&index, run)};

	if (o.rc < 0)
		return o;
	o.rc = call_tree_of_lane(&tree, run, &index, (uint32_t)lane);
	if (o.rc == 0) {
		o.sum = tree->count;
		call_tree_destroy(tree);
	}
	step_index_fini(&index);
	return o;
}

static struct outcome break_down(const struct run *run, int unused)
{
	struct step_index index;
	struct breakdown *b = NULL;
	struct outcome o = {.rc = step_index_init(&index, run)};

	(void)unused;
	if (o.rc < 0)
		return o;
	o.rc = breakdown_create(&b, run, &index);
	if (o.rc == 0) {
		for (size_t i = 0; i < (size_t)BREAKDOWN_PHASES * b->layer_count * b->brick_count;
			i++)
			o.sum += b->layers[i] + b->counts[i];
		breakdown_destroy(b);
	}
	step_index_fini(&index);
	return o;
}

static struct outcome place(const struct run *run, int unused)
{
	struct step_index index;
	struct roofline *r = NULL;
	struct outcome o = {.rc = step_index_init(&index, run)};

	(void)unused;
	if (o.rc < 0)
		return o;
	o.rc = roofline_create(&r, run, &index, NULL);
	if (o.rc == 0) {
		o.sum = r->row_count;
		roofline_destroy(r);
	}
	step_index_fini(&index);
	return o;
}

static void fail_each(const struct run *run, try_fn attempt, int argument)
{
	struct outcome want = attempt(run, argument);

	for (long n = 0;; n++) {
		memory_fail_at(n);
		struct outcome got = attempt(run, argument);
		int failed = memory_stop_failing();
		memory_count_end();
		assert_int_equal(memory_blocks, 0);
		if (got.rc != -ENOMEM) {
			assert_int_equal(got.rc, want.rc);
			assert_int_equal(got.sum, want.sum);
		}
		if (!failed)
			break;
		assert_true(n < 10000);
	}
}

static void every_allocation(void **state)
{
	uint64_t seed = 7;

	(void)state;
	if (!MEMORY_CAN_FAIL)
		skip();
	for (uint32_t round = 0; round < 20; round++) {
		struct run run;
		nonsense_run(&run, &seed, 6);
		for (int by = 0; by < SUMMARY_BY_COUNT; by++)
			fail_each(&run, summarise, by);
		fail_each(&run, find_path, -1);
		fail_each(&run, grow_tree, 0);
		fail_each(&run, break_down, 0);
		fail_each(&run, place, 0);
		run_fini(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation),
	};
	return cmocka_run_group_tests_name("analysis_memory", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GB/s has one meaning: of random runs (processes, threads that overlap, nesting, waits, time off
 * the CPU, steps, work told once for a team or by each) the rate of every row is its bytes over the
 * ns that are counted one by one here, and report and roofline say the same, brick by brick and
 * phase by phase. And which step's is what a thread does that got the lane of another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/roofline/roofline.h"
#include "analysis/steps/step_times.h"
#include "analysis/accounts/summary.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/run_builder.h"

enum { HORIZON = 600, LANES = 8, BRICKS = 3, RUNS = 400, NOBODY = -1, LONG = 30000 };

static uint64_t state = 88172645463325252u;

static unsigned below(unsigned limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % limit;
}

struct scene {
	struct run run;
	int at[LANES][HORIZON]; /* site that runs there */
	uint32_t sites[6], step_site;
};

static void paint(struct scene *s, uint32_t lane, uint64_t begin, uint64_t end, int site)
{
	for (uint64_t t = begin; t < end; t++)
		s->at[lane][t] = site;
}

/* One execution and what is nested in it, in [begin, end). */
static void execute(struct scene *s, uint32_t lane, uint64_t begin, uint64_t end, unsigned depth)
{
	uint32_t site = s->sites[below(6)];

	builder_sample(&s->run, lane, site, begin, end, depth);
	paint(s, lane, begin, end, (int)site);
	while (depth < 4 && end - begin > 12 && below(3)) {
		uint64_t from = begin + below(5), to = from + 1 + below((unsigned)(end - from) / 2);
		size_t nested = s->run.lanes[lane].sample_count;
		uint64_t wait = below(3);
		execute(s, lane, from, to, depth + 1);
		wait = to + wait > end ? end - to : wait;
		s->run.lanes[lane].samples[nested].wait_ns = (uint32_t)wait;
		paint(s, lane, to, to + wait, NOBODY);
		begin = to + wait;
	}
}

static void add_off(struct scene *s, uint32_t lane, uint64_t begin, uint64_t end)
{
	struct run_lane *l = &s->run.lanes[lane];

	BUILDER_GROW(l->off_cpu, l->off_cpu_count);
	l->off_cpu[l->off_cpu_count] =
		(struct run_off_cpu){.begin_ns = begin, .end_ns = end, .preempted = 1};
	if (l->off_cpu_count) {
		const struct run_off_cpu *last = &l->off_cpu[l->off_cpu_count - 1];
		l->off_cpu[l->off_cpu_count].before = last->before;
		l->off_cpu[l->off_cpu_count].before.preempted_ns += last->end_ns - last->begin_ns;
	}
	l->off_cpu_count++;
	paint(s, lane, begin, end, NOBODY);
}

static void fill_lane(struct scene *s, uint32_t lane, bool steps)
{
	uint64_t t = below(20);

	while (t + 60 < HORIZON) {
		uint64_t end = t + 5 + below(50);
		if (steps && below(2)) {
			builder_sample(&s->run, lane, s->step_site, t, end, 0);
			builder_step(&s->run, lane, 1);
			execute(s, lane, t, end, 1);
		} else {
			execute(s, lane, t, end, 0);
		}
		t = end + below(20);
	}
	for (t = below(100); t + 30 < HORIZON && below(4); t += below(100)) {
		uint64_t end = t + 1 + below(25);
		add_off(s, lane, t, end);
		t = end + 1;
	}
	s->run.lanes[lane].end_ns = HORIZON;
}

static void make(struct scene *s)
{
	struct run *run = &s->run;
	uint32_t bricks[BRICKS];

	memset(s, 0, sizeof(*s));
	memset(s->at, NOBODY, sizeof(s->at));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	run->off_cpu.source = OFF_CPU_SWITCHES;
	bricks[0] = builder_brick(run, "A", "X");
	bricks[1] = builder_brick(run, "B", "X");
	bricks[2] = builder_brick(run, "C", "Y");
	for (unsigned i = 0; i < 6; i++) {
		/* B's: the same node, told by one thread and not by the others */
		uint32_t b = bricks[i / 2];
		s->sites[i] = builder_site(run, b, 0, b == bricks[1] ? "OP" : NULL, "t");
		if (i == 3 || i == 5)
			continue;
		run->sites[s->sites[i]].flags = BRICK_SITE_HAS_BYTES;
		run->sites[s->sites[i]].bytes = 100 + 50 * i;
	}
	s->step_site = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	unsigned processes = 1 + below(2);
	for (uint32_t p = 0; p < processes; p++) {
		builder_process(run, p + 1);
		unsigned lanes = 1 + below(LANES / 2);
		for (unsigned i = 0; i < lanes; i++)
			fill_lane(s, builder_lane(run, p, i + 1), i == 0);
	}
}

/* C's second site says nothing of its work; B's second is a part of the first. */
static bool counts(const struct scene *s, int site, uint32_t brick, uint32_t category)
{
	if (site == NOBODY || (uint32_t)site == s->sites[5])
		return false;
	uint32_t b = s->run.sites[site].brick;
	return brick == RUN_NONE ? s->run.bricks[b].category == category : b == brick;
}

static double expected(const struct scene *s, uint32_t brick, uint32_t category, int only_lane)
{
	uint64_t bytes = 0, ns = 0;

	for (uint32_t p = 0; p < s->run.process_count; p++)
		for (unsigned t = 0; t < HORIZON; t++) {
			bool any = false;
			for (uint32_t i = 0; i < s->run.lane_count; i++)
				any |= s->run.lanes[i].process == p &&
				       (only_lane < 0 || i == (uint32_t)only_lane) &&
				       counts(s, s->at[i][t], brick, category);
			ns += any;
		}
	for (uint32_t i = 0; i < s->run.lane_count; i++)
		for (size_t k = 0; k < s->run.lanes[i].sample_count; k++) {
			uint32_t site = s->run.lanes[i].samples[k].site;
			if (counts(s, (int)site, brick, category) &&
				(only_lane < 0 || i == (uint32_t)only_lane))
				bytes += s->run.sites[site].bytes;
		}
	return ns && bytes ? (double)bytes / (double)ns : -1;
}

static void assert_same(double got, double want, const char *what)
{
	double scale = want < 0 ? -want : want;

	if (got < want - 1e-9 * (1 + scale) || got > want + 1e-9 * (1 + scale))
		fail_msg("%s: %.12g, expected %.12g", what, got, want);
}

static void against_single_ns(const struct scene *s)
{
	struct summary *sum;

	assert_int_equal(summary_create(&sum, &s->run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	for (size_t i = 0; i < sum->row_count; i++)
		if (sum->rows[i].id < BRICKS)
			assert_same(sum->rows[i].bytes_per_ns, expected(s, sum->rows[i].id, 0, -1),
				sum->rows[i].name);
	for (size_t i = 0; i < sum->category_count; i++)
		if (strlen(sum->categories[i].name) == 1)
			assert_same(sum->categories[i].bytes_per_ns,
				expected(s, RUN_NONE, sum->categories[i].id, -1),
				sum->categories[i].name);
	summary_destroy(sum);
}

/* B's work is told by one thread for all: no thread has a rate of its own for it. */
static void against_threads(struct scene *s)
{
	struct summary *sum;
	struct run_site saved = s->run.sites[s->sites[2]];

	assert_int_equal(summary_create(&sum, &s->run, SUMMARY_BY_THREAD, SUMMARY_ALL_PHASES), 0);
	for (size_t i = 0; i < sum->row_count; i++) {
		uint64_t bytes = 0, ns = 0;
		int lane = (int)sum->rows[i].id;
		for (unsigned t = 0; t < HORIZON; t++)
			ns += counts(s, s->at[lane][t], 0, 0) || counts(s, s->at[lane][t], 2, 0);
		for (size_t k = 0; k < s->run.lanes[lane].sample_count; k++) {
			uint32_t site = s->run.lanes[lane].samples[k].site;
			if (s->run.sites[site].brick != saved.brick && site != s->sites[5])
				bytes += s->run.sites[site].bytes;
		}
		assert_same(sum->rows[i].bytes_per_ns,
			bytes && ns ? (double)bytes / (double)ns : -1, sum->rows[i].name);
	}
	summary_destroy(sum);
}

static double row_rate(const struct summary *s, uint32_t brick)
{
	for (size_t i = 0; i < s->row_count; i++)
		if (s->rows[i].id == brick)
			return s->rows[i].bytes_per_ns;
	return -1;
}

/* The roofline's rows are of a phase each, and so is a report that is asked for one. */
static void against_roofline(const struct scene *s)
{
	struct step_index index;
	struct roofline *r;

	assert_int_equal(step_index_init(&index, &s->run), 0);
	assert_int_equal(roofline_create(&r, &s->run, &index, NULL), 0);
	for (size_t i = 0; i < r->row_count; i++) {
		struct summary *sum;
		if (r->rows[i].phase == ROOFLINE_OUTSIDE || !r->rows[i].bytes)
			continue;
		assert_int_equal(
			summary_create(&sum, &s->run, SUMMARY_BY_BRICK, (int)r->rows[i].phase), 0);
		assert_same(
			row_rate(sum, r->rows[i].brick), r->rows[i].bytes_per_ns, r->rows[i].name);
		summary_destroy(sum);
	}
	roofline_destroy(r);
	step_index_fini(&index);
}

static void one_meaning(void **state_)
{
	(void)state_;
	for (int i = 0; i < RUNS; i++) {
		static struct scene scene;
		make(&scene);
		against_single_ns(&scene);
		against_threads(&scene);
		against_roofline(&scene);
		run_fini(&scene.run);
	}
}

/* Three lanes, each 3 ns behind the one before, every 10 ns for 5 ns, in layers 0 and 1 by turns.
 */
static void make_long(struct run *run)
{
	uint32_t sites[2], brick;

	memset(run, 0, sizeof(*run));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	brick = builder_brick(run, "A", "X");
	for (int layer = 0; layer < 2; layer++) {
		sites[layer] = builder_site(run, brick, layer, NULL, NULL);
		run->sites[sites[layer]].flags = BRICK_SITE_HAS_BYTES;
		run->sites[sites[layer]].bytes = 7;
	}
	builder_process(run, 1);
	for (uint32_t k = 0; k < 3; k++) {
		uint32_t lane = builder_lane(run, 0, k + 1);
		for (uint64_t i = 0; i < LONG; i++)
			builder_sample(
				run, lane, sites[i % 2], 10 * i + 3 * k, 10 * i + 3 * k + 5, 0);
		run->lanes[lane].end_ns = 10 * LONG + 1;
	}
}

/* So many that they are added up in a thread of their own, some pieces ahead of each other. */
static void of_many_samples(void **state_)
{
	struct run run;
	struct summary *sum;
	int layers = 0;

	(void)state_;
	make_long(&run);
	assert_int_equal(summary_create(&sum, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_same(row_rate(sum, 0), 7 * 3.0 * LONG / (10.0 * LONG + 1), "A");
	summary_destroy(sum);
	assert_int_equal(summary_create(&sum, &run, SUMMARY_BY_LAYER, SUMMARY_ALL_PHASES), 0);
	for (size_t i = 0; i < sum->row_count; i++)
		if (sum->rows[i].bytes_per_ns >= 0) {
			assert_same(sum->rows[i].bytes_per_ns, 7 * 3.0 / 11, sum->rows[i].name);
			layers++;
		}
	assert_int_equal(layers, 2);
	summary_destroy(sum);
	run_fini(&run);
}

/* A thread that gets the lane of one that ran steps is beside other steps; then one runs its own.
 */
static void lanes_go_on_with_other_threads(void **state_)
{
	struct run run = {.complete = 1, .clock = *brick_clock_get()};
	struct step_index index;
	struct step_times times;
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t work = builder_site(&run, builder_brick(&run, "A", "Other"), -1, NULL, NULL);
	uint32_t process = builder_process(&run, 1);
	uint32_t lane = builder_lane(&run, process, 1), other = builder_lane(&run, process, 2);

	(void)state_;
	builder_sample(&run, lane, decode, 100, 200, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, work, 200, 210, 0);
	builder_owner(&run, lane, 300, 3);
	builder_sample(&run, lane, work, 400, 500, 0);
	builder_sample(&run, other, work, 250, 380, 0); /* it has run no step yet */
	builder_sample(&run, other, decode, 390, 510, 0);
	builder_step(&run, other, 1);
	builder_owner(&run, lane, 600, 4);
	builder_sample(&run, lane, decode, 700, 750, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, work, 760, 800, 0);
	assert_int_equal(step_index_init(&index, &run), 0);
	assert_int_equal(step_times_measure(&times, &run, &index), 0);
	assert_int_equal(times.steps[0].after_ns, 10);
	assert_int_equal(times.steps[1].after_ns, 0);
	assert_int_equal(times.steps[2].after_ns, 40);
	assert_int_equal(times.phases[STEP_DECODE].union_ns, 100 + 10 + 120 + 50 + 40);
	step_times_fini(&times);
	step_index_fini(&index);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_meaning),
		cmocka_unit_test(of_many_samples),
		cmocka_unit_test(lanes_go_on_with_other_threads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

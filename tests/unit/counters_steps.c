/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of steps and bricks. The real software counters of this kernel: faults are counted
 * exactly; per step they land in the recording, and the analysis finds each step's own.
 */
#include "tests/unit/counters_kit.h"
#include "brick/abi/step_counters.h"

enum { PAGES = 40, PAGE_BYTES = 4096 };

/* Touch so many fresh pages that each must fault. */
static void fault(int pages)
{
	char *memory = mmap(NULL, (size_t)pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	madvise(memory, (size_t)pages * PAGE_BYTES, MADV_NOHUGEPAGE);
	for (int i = 0; i < pages; i++)
		memory[(size_t)i * PAGE_BYTES] = 1;
	munmap(memory, (size_t)pages * PAGE_BYTES);
}

static int can_count_faults(void)
{
	char reason[200];
	if (!brick_counters_available(BRICK_COUNTER_PAGE_FAULTS, reason, sizeof reason))
		return 1;
	print_message("skipped: %s\n", reason);
	return 0;
}

/* Sanitizers fault for memory of their own: then there is no upper bound. */
static int only_ours;

static void faults_are_counted(void **state)
{
	struct brick_counters *c;
	struct brick_counter_values before = BRICK_COUNTER_VALUES_INIT,
				    after = BRICK_COUNTER_VALUES_INIT;
	if (!can_count_faults())
		skip();
	fault(PAGES);
	assert_true(brick_counters_open(&c, 1 << BRICK_COUNTER_PAGE_FAULTS) > 0);
	brick_counters_read(c, &before);
	fault(PAGES);
	brick_counters_read(c, &after);
	assert_int_equal(after.valid, 1 << BRICK_COUNTER_PAGE_FAULTS);
	uint64_t faults =
		after.value[BRICK_COUNTER_PAGE_FAULTS] - before.value[BRICK_COUNTER_PAGE_FAULTS];
	assert_true(faults >= PAGES);
	only_ours = faults < PAGES + 10;
	brick_counters_close(c);
}

static pthread_barrier_t meeting;

/* Another thread that records: its faults are the step's, too. */
static void *helper(void *argument)
{
	brick_end(brick_begin(BRICK_ACTIVATION));
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	fault(PAGES);
	pthread_barrier_wait(&meeting);
	return NULL;
}

static void record_steps(const char *path)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	pthread_t thread;
	options.output = path;
	assert_int_equal(brick_counters_set(BRICK_COUNTERS_ALL), 0);
	assert_int_equal(brick_session_start(&options), 0);
	pthread_barrier_init(&meeting, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, helper, NULL), 0);
	pthread_barrier_wait(&meeting);
	brick_span span = brick_step_begin(BRICK_PHASE_PREFILL, 7);
	fault(3 * PAGES);
	brick_end(brick_begin(BRICK_RMS_NORM));
	brick_end(span);
	span = brick_step_begin(BRICK_PHASE_DECODE, 1);
	pthread_barrier_wait(&meeting);
	pthread_barrier_wait(&meeting);
	brick_end(span);
	pthread_join(thread, NULL);
	span = brick_step_begin(
		BRICK_PHASE_DECODE, 1); /* the thread is gone: nothing is counted twice */
	brick_end(span);
	assert_int_equal(brick_counters_set(0), 0);
	span = brick_step_begin(BRICK_PHASE_DECODE, 1);
	fault(PAGES);
	brick_end(span);
	assert_int_equal(brick_session_stop(), 0);
}

static void steps_are_counted(void **state)
{
	char path[] = "/tmp/brick-counters-XXXXXX";
	struct run *run;
	struct load_error error;
	struct step_index index;
	struct counters c;
	if (!can_count_faults())
		skip();
	close(mkstemp(path));
	record_steps(path);
	assert_int_equal(run_load(&run, path, &error), 0);
	assert_int_equal(step_index_init(&index, run), 0);
	counters_measure(&c, run, &index);
	const struct counters_sum *sum = &c.phases[STEP_PREFILL][BRICK_COUNTER_PAGE_FAULTS];
	assert_int_equal(sum->steps, 1);
	assert_true(sum->sum >= 3 * PAGES);
	assert_true(!only_ours || sum->sum < 3 * PAGES + 30);
	sum = &c.phases[STEP_DECODE][BRICK_COUNTER_PAGE_FAULTS];
	assert_int_equal(sum->steps, 2); /* the last step was not asked for */
	assert_true(sum->most >= PAGES && sum->least < sum->most);
	assert_true(!only_ours || (sum->most < PAGES + 30 && sum->least < 20));
	assert_true(counters_mean(&c, STEP_DECODE, COUNTERS_READING) > 0);
	assert_true(counters_mean(&c, STEP_DECODE, BRICK_COUNTER_TASK_CLOCK) > 0);
	char reason[200];
	if (brick_counters_available(BRICK_COUNTER_CYCLES, reason, sizeof reason)) {
		assert_true(counters_ipc(&c, STEP_DECODE) < 0);
		assert_true(counters_mean(&c, STEP_DECODE, BRICK_COUNTER_CYCLES) < 0);
		assert_non_null(strstr(run_note_find(run, "counters.unavailable"), reason));
	}
	step_index_fini(&index);
	run_destroy(run);
	unlink(path);
}

/* Each reading of a counter moves it by 100; three are read at each end of a brick. */
static void bricks_are_counted(void **state)
{
	char path[] = "/tmp/brick-counters-XXXXXX";
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_counted outer, inner;
	struct brick_counted_stats stats = BRICK_COUNTED_STATS_INIT;
	struct run *run;
	struct load_error error;
	close(mkstemp(path));
	options.output = path;
	ticking = 100;
	assert_int_equal(brick_session_start(&options), 0);
	brick_counted_begin(&outer, BRICK_GATE_PROJECTION, 3);
	for (int i = 0; i < 2; i++) {
		brick_counted_begin(&inner, BRICK_RMS_NORM, 3);
		brick_counted_end(&inner, 5, 6, 7);
		ticking = 100 + 100 * !i; /* the second takes twice as many */
	}
	brick_counted_end(&outer, 0, 0, 0);
	page.time_running = 400; /* shared from now on: timed, but not counted */
	brick_counted_begin(&inner, BRICK_RMS_NORM, 3);
	brick_counted_end(&inner, 5, 6, 7);
	assert_int_equal(brick_counted_stats_get(BRICK_RMS_NORM, &stats), 0);
	assert_int_equal(stats.counted, 2);
	assert_int_equal(stats.cycles, 900);
	assert_int_equal(stats.cycles_min, 300);
	assert_int_equal(stats.cycles_max, 600);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(brick_counted_stats_get(BRICK_RMS_NORM, &stats), -ENOENT);
	brick_counted_begin(&inner, BRICK_RMS_NORM, 3); /* off */
	brick_counted_end(&inner, 5, 6, 7);
	assert_int_equal(run_load(&run, path, &error), 0);
	uint32_t norm = run_brick_find(run, "RmsNorm"),
		 gate = run_brick_find(run, "GateProjection");
	struct counters_brick sum = counters_of_brick(run, norm);
	assert_int_equal(sum.counted, 2);
	assert_int_equal(sum.cycles, 900);
	assert_int_equal(sum.cycles_min, 300);
	assert_int_equal(sum.cycles_max, 600);
	assert_int_equal(sum.instructions, 900);
	assert_int_equal(sum.cache_misses, 900);
	assert_int_equal(run->lanes[0].stats[norm].count, 3);
	assert_int_equal(run->lanes[0].stats[norm].bytes, 18);
	sum = counters_of_brick(run, gate);
	assert_int_equal(sum.counted, 1);
	assert_int_equal(sum.cycles, 2100); /* its own ends, and four readings inside */
	assert_true(sum.cycles_min == 2100 && sum.cycles_max == 2100);
	assert_int_equal(counters_of_brick(run, RUN_NONE).counted, 0);
	run_destroy(run);
	unlink(path);
}

static void point(struct run *run, const char *name, uint64_t ns, double value)
{
	BUILDER_GROW(run->points, run->point_count);
	run->points[run->point_count++] = (struct run_point){.ns = ns,
		.kind = RUN_POINT_COUNTER,
		.brick = builder_brick(run, name, "Counter"),
		.value = value};
}

static void steps_own_their_counts(void **state)
{
	struct run run = {0};
	struct step_index index;
	struct counters c;
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	for (uint64_t i = 0; i < 3; i++) {
		builder_sample(&run, lane, decode, 100 * i + 10, 100 * i + 50, 0);
		builder_step(&run, lane, 1);
	}
	point(&run, "cycles", 5, 999);	/* before any step */
	point(&run, "cycles", 50, 100); /* at the end of the first */
	point(&run, "instructions", 51, 250);
	point(&run, "cycles", 155, 300);
	point(&run, "instructions", 156, 550);
	point(&run, "cycles", 230, 999); /* inside of the third */
	point(&run, "task-clock", 260, 20);
	point(&run, "somebody's", 261, 5);
	assert_int_equal(step_index_init(&index, &run), 0);
	counters_measure(&c, &run, &index);
	const struct counters_sum *cycles = &c.phases[STEP_DECODE][BRICK_COUNTER_CYCLES];
	assert_int_equal(cycles->steps, 2);
	assert_true(cycles->sum == 400 && cycles->least == 100 && cycles->most == 300);
	assert_true(counters_ipc(&c, STEP_DECODE) == 2);
	assert_true(counters_ipc(&c, STEP_PREFILL) < 0);
	assert_true(counters_mean(&c, STEP_DECODE, BRICK_COUNTER_TASK_CLOCK) == 20);
	assert_int_equal(c.span_ns[STEP_DECODE], 40);
	assert_true(counters_any(&c));
	step_index_fini(&index);
	run_fini(&run);
}

/* A step of `tokens`, in which the engine says a counter of step_counters.h; NULL: none. */
static void step_that_says(enum brick_phase phase, uint64_t tokens, const char *name, double value)
{
	brick_span span = brick_step_begin(phase, tokens);

	brick_end(brick_begin(BRICK_RMS_NORM));
	if (name)
		brick_counter((uint32_t)brick_register(name, BRICK_CATEGORY_ENGINE), value);
	brick_end(span);
}

/* Statistics and the recording's reader have the same tokens of steps whose tokens change. */
static void tokens_are_what_counters_say(void **state)
{
	static const uint32_t ids[] = {BRICK_PREFILL, BRICK_DECODE, BRICK_OTHER_STEP};
	static const uint64_t wanted[] = {24, 8, 7};
	char path[] = "/tmp/brick-tokens-XXXXXX";
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct run *run;
	struct load_error error;
	close(mkstemp(path));
	options.output = path;
	assert_int_equal(brick_session_start(&options), 0);
	step_that_says(BRICK_PHASE_PREFILL, 24, NULL, 0);
	step_that_says(BRICK_PHASE_PREFILL, 10, BRICK_REFUSED_NAME, 10);
	step_that_says(BRICK_PHASE_PREFILL, 20, BRICK_ABORTED_NAME, 20);
	step_that_says(BRICK_PHASE_DECODE, 9, BRICK_CHECKED_NAME, 8);
	step_that_says(BRICK_PHASE_DECODE, 1, BRICK_REFUTED_NAME, 2);
	step_that_says(BRICK_PHASE_OTHER, 3, BRICK_ADDED_NAME, 4);
	for (size_t i = 0; i < 3; i++) {
		struct brick_stats stats = BRICK_STATS_INIT;
		assert_int_equal(brick_stats_get(ids[i], &stats), 0);
		assert_int_equal(stats.elements, wanted[i]);
	}
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(run_load(&run, path, &error), 0);
	uint64_t read[3] = {0};
	for (size_t i = 0; i < run->step_count; i++)
		read[run->steps[i].phase == BRICK_PHASE_OTHER	    ? 2
			: run->steps[i].phase == BRICK_PHASE_DECODE ? 1
								    : 0] += run->steps[i].tokens;
	assert_memory_equal(read, wanted, sizeof(wanted));
	run_destroy(run);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bricks_are_counted, use_fake, use_real),
		cmocka_unit_test(faults_are_counted),
		cmocka_unit_test(steps_are_counted),
		cmocka_unit_test(steps_own_their_counts),
		cmocka_unit_test(tokens_are_what_counters_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters. Reading a hardware counter in user space, against a double of the kernel's page and of
 * the CPU: base and index, width and sign, a page that changes while it is read, counters that are
 * shared or not running. What cannot be opened is unavailable with a reason. The real software
 * counters of this kernel: faults are counted exactly; per step they land in the recording, and the
 * analysis finds each step's own.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "analysis/counters.h"
#include "brick/brick.h"
#include "lib/counters.h"
#include "lib/sys/perf.h"
#include "tests/unit/run_builder.h"
#include "trace/load.h"

/* The double: descriptors 100 + config for hardware, each with the one page. */
static struct perf_event_mmap_page page;
static uint64_t hardware_counter, ticking, by_descriptor[3];
static uint32_t last_index;
static int hardware_error, software_error, kernel_error, level, changes, reads, opens;

static int fake_open(uint32_t type, uint64_t config, int exclude_kernel)
{
	int error = type == PERF_TYPE_HARDWARE ? hardware_error : software_error;
	if (!error && !exclude_kernel)
		error = kernel_error;
	opens += !error;
	return error ? error : 100 + (int)config;
}

static void *fake_map(int fd)
{
	return &page;
}

static int fake_read(int fd, uint64_t words[3])
{
	reads++;
	memcpy(words, by_descriptor, sizeof by_descriptor);
	return 0;
}

static void fake_close(int fd, void *mapped)
{
	opens--;
}

/* The kernel moves the thread while its counter is read: everything changes. */
static uint64_t fake_rdpmc(uint32_t index)
{
	uint64_t value = hardware_counter;
	last_index = index;
	hardware_counter += ticking;
	if (changes > 0) {
		changes--;
		page.lock += 2;
		page.offset += 1000;
		page.index = 3;
		hardware_counter = 7;
	}
	return value;
}

static int fake_paranoid(void)
{
	return level;
}

static const struct brick__perf_system fake = {
	fake_open, fake_map, fake_read, fake_close, fake_rdpmc, fake_paranoid};
static const struct brick__perf_system *real;

static int use_fake(void **state)
{
	real = brick__perf_system;
	brick__perf_system = &fake;
	memset(&page, 0, sizeof page);
	page.cap_user_rdpmc = 1;
	page.index = 1;
	page.pmc_width = 48;
	page.time_enabled = page.time_running = 500;
	hardware_counter = ticking = 0;
	hardware_error = software_error = kernel_error = changes = reads = opens = 0;
	return 0;
}

static int use_real(void **state)
{
	brick__perf_system = real;
	return 0;
}

static uint64_t read_value(void)
{
	struct brick__perf perf = {100, &page};
	struct brick__perf_reading reading;
	assert_int_equal(brick__perf_read_page(&perf, &reading), 0);
	return reading.value;
}

static void base_and_sign(void **state)
{
	page.offset = 1000;
	hardware_counter = 234;
	assert_int_equal(read_value(), 1234);
	assert_int_equal(last_index, 0);     /* the page counts from 1 */
	hardware_counter = (1ull << 48) - 4; /* -4 in 48 bits: the counter was preset */
	assert_int_equal(read_value(), 996);
	hardware_counter = 0xabcd000000000005ull; /* what is beyond the width does not count */
	assert_int_equal(read_value(), 1005);
	page.pmc_width = 40;
	hardware_counter = 1ull << 39; /* the sign of a narrower one */
	page.offset = (int64_t)(1ull << 39) + 9;
	assert_int_equal(read_value(), 9);
	page.pmc_width = 64;
	hardware_counter = UINT64_MAX;
	page.offset = 5;
	assert_int_equal(read_value(), 4);
	page.offset = -3; /* the base is signed, too */
	hardware_counter = 10;
	assert_int_equal(read_value(), 7);
}

static void changes_while_read(void **state)
{
	page.offset = 1000;
	hardware_counter = 50;
	changes = 1;
	assert_int_equal(read_value(), 2007); /* all of the new one, nothing of the old */
	assert_int_equal(last_index, 2);
	struct brick__perf perf = {100, &page};
	struct brick__perf_reading reading;
	changes = 1 << 30; /* never still: no value rather than a mixed one */
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	changes = 0;
	page.lock |= 1; /* being written */
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
}

static void not_readable_in_user_space(void **state)
{
	struct brick__perf perf = {100, &page}, without = {100, NULL};
	struct brick__perf_reading reading;
	assert_int_equal(brick__perf_read_page(&without, &reading), -EAGAIN);
	page.index = 0; /* not on the CPU's counters just now */
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	page.index = 1;
	page.cap_user_rdpmc = 0;
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	page.cap_user_rdpmc = 1;
	page.pmc_width = 0;
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	page.pmc_width = 65;
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
}

static void sets_of_counters(void **state)
{
	struct brick_counters *c;
	struct brick_counter_values v = BRICK_COUNTER_VALUES_INIT;
	by_descriptor[0] = 77;
	by_descriptor[1] = by_descriptor[2] = 10;
	hardware_counter = 40;
	page.offset = 2;
	assert_int_equal(brick_counters_open(&c, BRICK_COUNTERS_ALL), BRICK_COUNTERS_ALL);
	brick_counters_read(c, &v);
	assert_int_equal(v.valid, BRICK_COUNTERS_ALL);
	assert_int_equal(v.direct, BRICK_COUNTERS_HARDWARE);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 42);
	assert_int_equal(v.value[BRICK_COUNTER_PAGE_FAULTS], 77);
	assert_int_equal(reads, 3);
	page.time_running = 400; /* it had to share: a lower bound, not scaled to 52 */
	brick_counters_read(c, &v);
	assert_int_equal(v.valid, BRICK_COUNTERS_SOFTWARE);
	assert_int_equal(v.shared, BRICK_COUNTERS_HARDWARE);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 42);
	page.index = 0;
	brick_counters_read(c, &v); /* by system calls */
	assert_int_equal(v.direct, 0);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 77);
	brick_counters_close(c);
	brick_counters_close(NULL);
	assert_int_equal(opens, 0);
	assert_int_equal(brick_counters_open(&c, 0), -EINVAL);
	assert_int_equal(brick_counters_open(&c, 64), -EINVAL);
}

static void unavailable_with_a_reason(void **state)
{
	struct brick_counters *c;
	struct brick_counter_values v = BRICK_COUNTER_VALUES_INIT;
	char reason[200];
	hardware_error = -ENOENT;
	level = 2;
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_CYCLES, reason, sizeof reason), -ENOENT);
	assert_non_null(strstr(reason, "no such hardware counter"));
	assert_int_equal(brick_counters_open(&c, BRICK_COUNTERS_ALL), BRICK_COUNTERS_SOFTWARE);
	brick_counters_read(c, &v);
	assert_int_equal(v.valid, BRICK_COUNTERS_SOFTWARE);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 0);
	brick_counters_close(c);
	assert_int_equal(brick_counters_open(&c, BRICK_COUNTERS_HARDWARE), -ENOENT);
	kernel_error = -EACCES; /* paranoid: user space only, which has no context switches */
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_PAGE_FAULTS, reason, sizeof reason), 0);
	assert_string_equal(reason, "");
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_CONTEXT_SWITCHES, reason, sizeof reason),
		-EACCES);
	assert_non_null(strstr(reason, "perf_event_paranoid is 2"));
	hardware_error = software_error = -EPERM;
	level = 4;
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_CYCLES, reason, sizeof reason), -EPERM);
	assert_non_null(strstr(reason, "perf_event_paranoid is 4"));
	assert_non_null(strstr(reason, "seccomp"));
	hardware_error = -ENOSYS;
	brick_counters_available(BRICK_COUNTER_CYCLES, reason, sizeof reason);
	assert_non_null(strstr(reason, "no perf_event"));
	assert_int_equal(brick_counters_available(99, reason, sizeof reason), -EINVAL);
	assert_int_equal(opens, 0);
}

static void lists(void **state)
{
	assert_int_equal(brick_counters_parse("all"), 63);
	assert_int_equal(brick_counters_parse("software,cycles"), 57);
	assert_int_equal(brick_counters_parse("page-faults,context-switches"), 48);
	assert_int_equal(brick_counters_parse(""), -EINVAL);
	assert_int_equal(brick_counters_parse("cycle"), -EINVAL);
	assert_int_equal(brick_counters_parse("cycles,"), -EINVAL);
	assert_int_equal(brick_counters_parse(NULL), -EINVAL);
	assert_null(brick_counters_name(6));
	assert_int_equal(brick_counters_set(64), -EINVAL);
}

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
	}
	brick_counted_end(&outer, 0, 0, 0);
	page.time_running = 400; /* shared from now on: timed, but not counted */
	brick_counted_begin(&inner, BRICK_RMS_NORM, 3);
	brick_counted_end(&inner, 5, 6, 7);
	assert_int_equal(brick_counted_stats_get(BRICK_RMS_NORM, &stats), 0);
	assert_int_equal(stats.counted, 2);
	assert_int_equal(stats.cycles, 600);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(brick_counted_stats_get(BRICK_RMS_NORM, &stats), -ENOENT);
	brick_counted_begin(&inner, BRICK_RMS_NORM, 3); /* off */
	brick_counted_end(&inner, 5, 6, 7);
	assert_int_equal(run_load(&run, path, &error), 0);
	uint32_t norm = run_brick_find(run, "RmsNorm"),
		 gate = run_brick_find(run, "GateProjection");
	struct counters_brick sum = counters_of_brick(run, norm);
	assert_int_equal(sum.counted, 2);
	assert_int_equal(sum.cycles, 600);
	assert_int_equal(sum.instructions, 600);
	assert_int_equal(sum.cache_misses, 600);
	assert_int_equal(run->lanes[0].stats[norm].count, 3);
	assert_int_equal(run->lanes[0].stats[norm].bytes, 18);
	sum = counters_of_brick(run, gate);
	assert_int_equal(sum.counted, 1);
	assert_int_equal(sum.cycles, 1500); /* its own ends, and four readings inside */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(base_and_sign, use_fake, use_real),
		cmocka_unit_test_setup_teardown(changes_while_read, use_fake, use_real),
		cmocka_unit_test_setup_teardown(not_readable_in_user_space, use_fake, use_real),
		cmocka_unit_test_setup_teardown(sets_of_counters, use_fake, use_real),
		cmocka_unit_test_setup_teardown(unavailable_with_a_reason, use_fake, use_real),
		cmocka_unit_test(lists),
		cmocka_unit_test_setup_teardown(bricks_are_counted, use_fake, use_real),
		cmocka_unit_test(faults_are_counted),
		cmocka_unit_test(steps_are_counted),
		cmocka_unit_test(steps_own_their_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

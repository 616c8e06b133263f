/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick selftest`: checks on this machine that Brick measures correctly. Each protocol measures a
 * value and compares it with its limit, by medians of many repetitions, never by a single reading.
 * Exit code 1 if a protocol has failed.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/statistics/statistics.h"
#include "base/clock_ns.h"
#include "brick/brick.h"
#include "brick/export.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/options.h"
#include "lib/sys/ticks.h"
#include "trace/load.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"

enum selftest_state {
	SELFTEST_PASSED,
	SELFTEST_FAILED,
	SELFTEST_UNKNOWN, /* this machine does not allow the measurement */
};

struct selftest_result {
	enum selftest_state state;
	double measured, limit; /* limit: the largest good value; NaN: there is no single number */
	const char *unit;
	char text[256]; /* the finding, as a sentence */
};

struct selftest {
	const char *id;	   /* the protocol's number, or a word for protocols of our own */
	const char *title; /* the claim */
	void (*run)(struct selftest_result *result);
};

static void selftest_say(
	struct selftest_result *r, enum selftest_state state, const char *format, ...)
{
	va_list arguments;

	r->state = state;
	va_start(arguments, format);
	vsnprintf(r->text, sizeof(r->text), format, arguments);
	va_end(arguments);
}

/* A measured value against its limit. */
static void selftest_judge(struct selftest_result *r, double measured, double limit,
	const char *unit, const char *what)
{
	r->measured = measured;
	r->limit = limit;
	r->unit = unit;
	selftest_say(r, measured <= limit ? SELFTEST_PASSED : SELFTEST_FAILED,
		"%s: %.3g %s (at most %.4g)", what, measured, unit, limit);
}

/* The fastest of `rounds` rounds of function(count), in ns per call. */
static double selftest_cost_ns(void (*function)(unsigned count), unsigned count, unsigned rounds)
{
	double best = INFINITY;

	for (unsigned i = 0; i < rounds; i++) {
		uint64_t begin = monotonic_ns();
		function(count);
		best = fmin(best, (double)(monotonic_ns() - begin) / count);
	}
	return best;
}

/* Clocks. */

enum { READINGS = 1000000, HANDOVERS = 2000, MAX_CPUS = 256 };

static void clock_monotonic(struct selftest_result *r)
{
	uint64_t last = brick_ticks();
	unsigned back = 0;

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t now = brick_ticks();
		back += now < last;
		last = now;
	}
	selftest_say(r, back ? SELFTEST_FAILED : SELFTEST_PASSED,
		"%u of %u consecutive readings ran backwards", back, READINGS);
}

static void read_counter(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t now = brick_ticks();
		__asm__ volatile("" : : "r"(now));
	}
}

static void counter_cost(struct selftest_result *r)
{
	double ns = selftest_cost_ns(read_counter, 10000, 50);

	if (brick_clock_get()->source == BRICK_CLOCK_MONOTONIC)
		selftest_say(r, SELFTEST_UNKNOWN,
			"this machine has no counter that can be trusted: %.80s; a reading of the "
			"clock takes %.3g ns",
			brick_clock_reason(), ns);
	else
		selftest_judge(r, ns, 15, "ns", "a reading of the counter");
}

/* Reads the clock on every CPU in turn: no reading may be earlier than the one before. */
static void counter_over_cpus(struct selftest_result *r)
{
	cpu_set_t before, one;
	uint64_t last = brick_ticks();
	unsigned cpus = 0, back = 0;

	if (sched_getaffinity(0, sizeof(before), &before)) {
		selftest_say(r, SELFTEST_UNKNOWN, "the CPUs of this process are not known");
		return;
	}
	for (int round = 0; round < 20; round++)
		for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (!CPU_ISSET(cpu, &before))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			if (sched_setaffinity(0, sizeof(one), &one))
				continue;
			uint64_t now = brick_ticks();
			back += now < last;
			last = now;
			cpus += !round;
		}
	sched_setaffinity(0, sizeof(before), &before);
	if (cpus < 2) {
		selftest_say(r, SELFTEST_UNKNOWN, "this process may run on one CPU only");
		return;
	}
	selftest_say(r, back ? SELFTEST_FAILED : SELFTEST_PASSED,
		"20 rounds over %u CPUs: %u readings lay before one on another CPU", cpus, back);
}

/* Two threads read in turn. */
struct relay {
	unsigned turn;
	uint64_t last;
	unsigned back;
};

static void run_relay(struct relay *relay, unsigned mine)
{
	for (unsigned i = 0; i < HANDOVERS; i++) {
		for (unsigned looks = 0;
			__atomic_load_n(&relay->turn, __ATOMIC_ACQUIRE) % 2 != mine;)
			if (++looks % 1024 == 0)
				sched_yield();
		brick__counter_order();
		uint64_t now = brick_ticks();
		relay->back += now < relay->last;
		relay->last = now;
		__atomic_add_fetch(&relay->turn, 1, __ATOMIC_RELEASE);
	}
}

static void *other_runner(void *relay)
{
	run_relay(relay, 1);
	return NULL;
}

static void clock_over_threads(struct selftest_result *r)
{
	struct relay relay = {0, 0, 0};
	pthread_t thread;

	if (pthread_create(&thread, NULL, other_runner, &relay)) {
		selftest_say(r, SELFTEST_UNKNOWN, "a second thread cannot be had");
		return;
	}
	run_relay(&relay, 0);
	pthread_join(thread, NULL);
	selftest_say(r, relay.back ? SELFTEST_FAILED : SELFTEST_PASSED,
		"%u of %u readings lay before the other thread's before it", relay.back,
		2 * HANDOVERS);
}

/* Durations by our clock against durations by the system's, over a tenth of a second. */
static void clock_rate(struct selftest_result *r)
{
	const struct brick_clock *clock = brick_clock_get();
	double least = INFINITY; /* larger differences are from interrupted readings */

	for (int i = 0; i < 5; i++) {
		uint64_t ns = monotonic_ns(), ticks = brick_ticks();
		while (monotonic_ns() - ns < 20000000)
			;
		uint64_t ns_after = monotonic_ns(), ticks_after = brick_ticks();
		double own = (double)brick_clock_duration_ns(clock, ticks_after - ticks);
		double off = fabs(own / (double)(ns_after - ns) - 1);
		least = fmin(least, off);
	}
	selftest_judge(
		r, least * 1e6, 1000, "ppm", "the difference of its durations from the system's");
}

/* The cost of a brick. */

enum { PAIRS = 10000, ROUNDS = 40, THREADS = 4, MANY_BRICKS = 900, RING = 1024 };

static uint32_t brick_used = BRICK_RMS_NORM;

static void run_pairs(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		brick_end(brick_begin(brick_used));
}

static void run_nothing(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		__asm__ volatile("" : : "r"(i));
}

static void run_readings(unsigned count)
{
	for (unsigned i = 0; i < 2 * count; i++) {
		uint64_t now = brick_ticks();
		__asm__ volatile("" : : "r"(now));
	}
}

/* A session that only counts. */
static int cmd_selftest_start(struct selftest_result *r)
{
	int error = brick_session_start(NULL);

	if (error < 0)
		selftest_say(r, SELFTEST_UNKNOWN, "no session: %s", brick_strerror(error));
	return !error;
}

static void off_costs_nothing(struct selftest_result *r)
{
	double pair = selftest_cost_ns(run_pairs, PAIRS, ROUNDS);
	double nothing = selftest_cost_ns(run_nothing, PAIRS, ROUNDS);

	selftest_judge(r, fmax(0, pair - nothing), 2, "ns",
		"a pair while nothing records, above an empty loop");
}

static void span_cost(struct selftest_result *r)
{
	double readings = selftest_cost_ns(run_readings, PAIRS, ROUNDS);

	if (!cmd_selftest_start(r))
		return;
	double pair = selftest_cost_ns(run_pairs, PAIRS, ROUNDS);
	brick_session_stop();
	if (readings > 40 && pair >= 50)
		selftest_say(r, SELFTEST_UNKNOWN,
			"two readings of this machine's clock alone take %.3g ns; a pair takes "
			"%.3g ns, %.2f times that",
			readings, pair, pair / readings);
	else
		selftest_judge(r, pair, 50, "ns", "a pair with exact statistics");
}

/* A brick that was registered last against the first one. */
static void lookup_is_constant(struct selftest_result *r)
{
	double ratios[ROUNDS];
	int last = -1;

	for (int i = 0; i < MANY_BRICKS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "Selftest%d", i);
		int id = brick_register(name, BRICK_CATEGORY_OTHER);
		last = id > last ? id : last;
	}
	if (last < 0 || !cmd_selftest_start(r))
		return;
	for (int i = 0; i < ROUNDS; i++) {
		brick_used = BRICK_RMS_NORM;
		double first = selftest_cost_ns(run_pairs, PAIRS / 10, 5);
		brick_used = (uint32_t)last;
		ratios[i] = selftest_cost_ns(run_pairs, PAIRS / 10, 5) / first;
	}
	brick_used = BRICK_RMS_NORM;
	brick_session_stop();
	char what[64];
	snprintf(what, sizeof(what), "brick %d takes, of what brick 0 takes", last);
	selftest_judge(r, statistics_median(ratios, ROUNDS), 1.5, "times", what);
}

enum { DIRECTORY_BYTES = 256 };

static bool selftest_make_directory(char directory[DIRECTORY_BYTES])
{
	const char *base = getenv("TMPDIR");
	int n = snprintf(directory, DIRECTORY_BYTES, "%s/brick-selftest-XXXXXX",
		base && *base ? base : "/tmp");

	return n < DIRECTORY_BYTES && mkdtemp(directory);
}

/* A session whose records stay in its rings. */
static int start_in(
	struct selftest_result *r, char directory[DIRECTORY_BYTES], uint32_t ring_records)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	bool is_made = selftest_make_directory(directory);

	options.directory = directory;
	options.ring_records = ring_records;
	if (is_made && brick_session_start(&options) == 0)
		return 1;
	if (is_made)
		rmdir(directory);
	selftest_say(r, SELFTEST_UNKNOWN, "TMPDIR cannot hold a session");
	return 0;
}

static void stop_in(const char *directory)
{
	char path[DIRECTORY_BYTES + 32];

	brick_session_stop();
	snprintf(path, sizeof(path), "%s/%d.session", directory, (int)getpid());
	unlink(path);
	rmdir(directory);
}

static void no_page_faults(struct selftest_result *r)
{
	char directory[DIRECTORY_BYTES];
	struct rusage before, after;

	if (!start_in(r, directory, 21 * PAIRS))
		return;
	run_pairs(10);
	getrusage(RUSAGE_THREAD, &before);
	run_pairs(20 * PAIRS);
	getrusage(RUSAGE_THREAD, &after);
	stop_in(directory);
	/* the kernel may take pages away and give them back under load */
	selftest_judge(r,
		(double)(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt),
		8, "page faults", "200000 pairs, 6.4 MB of records");
}

static void *cmd_selftest_work(void *unused)
{
	for (unsigned i = 0; i < PAIRS; i++)
		brick_end_elements(brick_begin(BRICK_ACTIVATION), 3);
	return NULL;
}

static void threads_merge(struct selftest_result *r)
{
	pthread_t threads[THREADS];
	struct brick_stats stats = BRICK_STATS_INIT;
	int started = 0;

	if (!cmd_selftest_start(r))
		return;
	while (started < THREADS &&
		!pthread_create(&threads[started], NULL, cmd_selftest_work, NULL))
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	brick_stats_get(BRICK_ACTIVATION, &stats);
	brick_session_stop();
	uint64_t expected = (uint64_t)started * PAIRS;
	selftest_say(r,
		started && stats.count == expected && stats.elements == 3 * expected
			? SELFTEST_PASSED
			: SELFTEST_FAILED,
		"%d threads ran a brick %llu times, for %llu elements: counted were %llu and %llu",
		started, (unsigned long long)expected, (unsigned long long)(3 * expected),
		(unsigned long long)stats.count, (unsigned long long)stats.elements);
}

/* A ring that nobody empties: records without room are counted as dropped, and in statistics. */
static void cmd_selftest_ledger(struct selftest_result *r)
{
	char directory[DIRECTORY_BYTES];
	struct brick_stats stats = BRICK_STATS_INIT;
	struct brick_losses losses = BRICK_LOSSES_INIT;

	if (!start_in(r, directory, RING))
		return;
	run_pairs(PAIRS);
	brick_stats_get(BRICK_RMS_NORM, &stats);
	brick_losses_get(&losses);
	stop_in(directory);
	int good = stats.count == PAIRS && losses.dropped < PAIRS && losses.dropped >= PAIRS - RING;
	selftest_say(r, good ? SELFTEST_PASSED : SELFTEST_FAILED,
		"%d executions into a ring for %d that nobody empties: %llu dropped and counted, "
		"statistics have %llu",
		PAIRS, RING, (unsigned long long)losses.dropped, (unsigned long long)stats.count);
}

static void handle_size(struct selftest_result *r)
{
	selftest_judge(r, sizeof(brick_span), 32, "bytes", "an open brick in its caller's memory");
}

enum { PARTS = 6, REPEATS = 50, STEPS = 2 * REPEATS * PARTS };

/* A running engine. */

static const struct part {
	uint32_t brick;
	uint32_t length_ns, slower_ns;
} parts[PARTS] = {
	{BRICK_RMS_NORM, 15000, 10000},
	{BRICK_QKV_PROJECTION, 60000, 30000},
	{BRICK_ATTENTION_SCORE, 40000, 25000},
	{BRICK_ACTIVATION, 20000, 15000},
	{BRICK_DOWN_PROJECTION, 80000, 40000},
	{BRICK_LM_HEAD, 30000, 20000},
};

/* The part that a step slows; PARTS: none. */
static int slowed_in(int step)
{
	return step % 2 ? step / (2 * REPEATS) : PARTS;
}

static void spin(uint32_t length_ns)
{
	uint64_t begin = monotonic_ns();

	while (monotonic_ns() - begin < length_ns)
		;
}

/* The engine's recording; NULL: the result says why. */
static struct run *cmd_selftest_record(struct selftest_result *r)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	char directory[DIRECTORY_BYTES], path[DIRECTORY_BYTES + 32];
	struct load_error error = {0};
	struct run *run = NULL;

	if (!selftest_make_directory(directory)) {
		selftest_say(r, SELFTEST_UNKNOWN, "TMPDIR cannot hold a recording");
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/run.pftrace", directory);
	options.output = path;
	int failed = brick_session_start(&options);
	if (!failed) {
		for (int i = 0; i < STEPS; i++) {
			brick_span whole = brick_step_begin(BRICK_PHASE_DECODE, 1),
				   graph = brick_begin(BRICK_GRAPH_COMPUTE);
			for (int k = 0; k < PARTS; k++) {
				brick_span span = brick_begin_layer(parts[k].brick, 0);
				spin(parts[k].length_ns +
					(slowed_in(i) == k ? parts[k].slower_ns : 0));
				brick_end(span);
			}
			brick_end(graph);
			brick_end(whole);
		}
		failed = brick_session_stop();
	}
	if (failed)
		selftest_say(r, SELFTEST_UNKNOWN, "no recording: %s", brick_strerror(failed));
	else if (run_load(&run, path, &error) < 0)
		selftest_say(
			r, SELFTEST_FAILED, "its own recording cannot be read: %.150s", error.text);
	unlink(path);
	rmdir(directory);
	return run;
}

/* Once for all protocols of this file. */
static struct run *recorded(struct selftest_result *r)
{
	static struct run *run;

	if (!run)
		run = cmd_selftest_record(r);
	return run;
}

static int cmd_selftest_part_of(const struct run *run, const struct run_sample *sample)
{
	int32_t brick = run->bricks[run->sites[sample->site].brick].well_known;

	for (int i = 0; i < PARTS; i++)
		if (brick == (int32_t)parts[i].brick)
			return i;
	return brick == BRICK_GRAPH_COMPUTE ? PARTS : -1;
}

/* Durations in us of the parts; the last is the own time of the brick around them. */
struct durations {
	double us[STEPS][PARTS + 1];
	int steps;
};

static int read_durations(const struct run *run, struct durations *out)
{
	out->steps = 0;
	for (size_t s = 0; s < run->step_count && s < STEPS; s++) {
		const struct run_lane *lane = &run->lanes[run->steps[s].lane];
		double *row = out->us[out->steps++], inner = 0;
		memset(row, 0, sizeof(out->us[0]));
		for (size_t i = run->steps[s].sample + 1;
			i < lane->sample_count && lane->samples[i].depth > 0; i++) {
			int part = cmd_selftest_part_of(run, &lane->samples[i]);
			double us = (double)(lane->samples[i].end_ns - lane->samples[i].begin_ns) /
				    1000;
			if (part < 0)
				continue;
			row[part] += us;
			inner += part < PARTS ? us : 0;
		}
		row[PARTS] -= inner;
	}
	return out->steps == STEPS;
}

/* The us by which a part is longer in the steps that slow `slowed` than in the other steps. */
static double moved_us(const struct durations *durations, int slowed, int part)
{
	double plain[REPEATS], slow[REPEATS];

	for (int i = 0; i < REPEATS; i++) {
		int step = 2 * (slowed * REPEATS + i);
		plain[i] = durations->us[step][part];
		slow[i] = durations->us[step + 1][part];
	}
	return statistics_median(slow, REPEATS) - statistics_median(plain, REPEATS);
}

/* The most by which a move may miss its expected value. */
static double tolerance_us(int slowed)
{
	return 1 + 0.05 * parts[slowed].slower_ns / 1000;
}

/* One part, in the steps in which one is slowed. */
struct move {
	int slowed, part;
	double us;  /* by which the part became longer */
	double off; /* distance from the expected value, relative to that */
};

static struct move move_of(const struct durations *durations, int slowed, int part)
{
	double expected = part == slowed ? parts[slowed].slower_ns / 1000.0 : 0;
	double us = moved_us(durations, slowed, part);

	return (struct move){slowed, part, us, fabs(us - expected)};
}

/* Judges by the move that misses its tolerance most. */
static void judge_moves(struct selftest_result *r, const struct durations *durations)
{
	struct move worst = move_of(durations, 0, 0);
	double most = 0, most_other = 0;

	for (int slowed = 0; slowed < PARTS; slowed++)
		for (int part = 0; part <= PARTS; part++) {
			struct move move = move_of(durations, slowed, part);
			if (move.off * tolerance_us(worst.slowed) >
				worst.off * tolerance_us(move.slowed))
				worst = move;
			if (part == slowed)
				most = fmax(most, move.off);
			else
				most_other = fmax(most_other, move.off);
		}
	r->measured = worst.off;
	r->limit = tolerance_us(worst.slowed);
	r->unit = "us";
	if (worst.off > tolerance_us(worst.slowed))
		selftest_say(r, SELFTEST_FAILED, "%s was slowed by %.1f us: %s moved by %.2f us",
			brick_name((int)parts[worst.slowed].brick),
			parts[worst.slowed].slower_ns / 1000.0,
			worst.part < PARTS ? brick_name((int)parts[worst.part].brick)
					   : "what is around it",
			worst.us);
	else
		selftest_say(r, SELFTEST_PASSED,
			"each of %d bricks was slowed by 10 to 40 us in turn: it moved by that, "
			"within %.2f us, and every other brick by at most %.2f us (medians of %d)",
			PARTS, most, most_other, REPEATS);
}

static void moves(struct selftest_result *r)
{
	const struct run *run = recorded(r);

	if (!run)
		return;
	SCOPED struct durations *durations = xcalloc(1, sizeof(*durations));
	if (read_durations(run, durations))
		judge_moves(r, durations);
	else
		selftest_say(r, SELFTEST_FAILED, "%d steps ran, the recording has %d", STEPS,
			durations->steps);
}

/* The own times of all bricks, summed by category, equal the time of the step around them. */
static void categories_sum(struct selftest_result *r)
{
	const struct run *run = recorded(r);
	uint64_t self = 0, steps = 0;

	if (!run)
		return;
	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t b = 0; run->lanes[l].stats && b < run->brick_count; b++)
			self += run->lanes[l].stats[b].self_ns;
	for (size_t s = 0; s < run->step_count; s++)
		steps += run->steps[s].end_ns - run->steps[s].begin_ns;
	/* the conversion of each sum from ticks may cut off a ns */
	double off = steps ? fabs((double)self / (double)steps - 1) : 1;
	selftest_judge(r, off * 1e6, 10, "ppm",
		"the difference of all categories' own times from the steps' time");
}

static void nothing_lost(struct selftest_result *r)
{
	const struct run *run = recorded(r);
	uint64_t lost = 0, samples = 0;

	if (!run)
		return;
	for (size_t l = 0; l < run->lane_count; l++) {
		const struct brick_ledger *g = &run->lanes[l].ledger;
		lost += g->dropped + g->unmatched + g->clamped + g->unsupported + g->too_deep;
		samples += run->lanes[l].sample_count;
	}
	uint64_t expected = (uint64_t)STEPS * (PARTS + 2);
	int good = !lost && samples == expected && run->complete && !run->bad_packets;
	selftest_say(r, good ? SELFTEST_PASSED : SELFTEST_FAILED,
		"%llu bricks ran, %llu are in the recording, %llu in its ledger of losses",
		(unsigned long long)expected, (unsigned long long)samples,
		(unsigned long long)lost);
}

/* The command. */

static const struct selftest protocols[] = {
	{"F109", "the clock never runs back", clock_monotonic},
	{"F109b", "nor does it between threads", clock_over_threads},
	{"F150", "reading the CPU's counter takes less than 15 ns", counter_cost},
	{"F151", "the counter never runs back, on whatever CPU it is read", counter_over_cpus},
	{"rate", "a length in ticks is the length that the system's clock says", clock_rate},
	{"F105", "bricks cost nothing while nothing records", off_costs_nothing},
	{"F106", "which brick it is does not matter: lookup is O(1)", lookup_is_constant},
	{"F107", "any number of threads: counts merge exactly", threads_merge},
	{"F108", "the handle of an open brick has at most 32 bytes", handle_size},
	{"F143", "begin and end take less than 50 ns", span_cost},
	{"F155", "recording touches no new pages", no_page_faults},
	{"ledger", "what is lost is counted, and statistics are exact all the same",
		cmd_selftest_ledger},
	{"F110", "what categories took adds up to the whole", categories_sum},
	{"whole", "a recording holds every brick that ran", nothing_lost},
	{"moves", "slow one brick: exactly that one moves, by exactly that much", moves},
};

enum { PROTOCOLS = sizeof(protocols) / sizeof(*protocols) };

static const char *const state_names[] = {"passed", "failed", "unknown"};

struct report {
	struct terminal terminal;
	json_t *rows; /* NULL: text */
	unsigned counts[3];
};

static void cmd_selftest_show(
	struct report *report, const struct selftest *test, const struct selftest_result *r)
{
	static const enum terminal_style styles[] = {STYLE_GOOD, STYLE_BAD, STYLE_WARN};
	size_t width = report->terminal.width ? report->terminal.width : 100;

	report->counts[r->state]++;
	if (report->rows) {
		json_t *row = json_object();
		json_put(row, "protocol", json_text(test->id));
		json_put(row, "claim", json_text(test->title));
		json_put(row, "state", json_text(state_names[r->state]));
		json_put_rates(row, r, measured, limit);
		json_put(row, "unit", json_text(r->unit));
		json_put(row, "found", json_text(r->text));
		json_add(report->rows, row);
		return;
	}
	terminal_print(&report->terminal, styles[r->state], state_names[r->state]);
	printf("%*s %-6s ", 7 - (int)strlen(state_names[r->state]), "", test->id);
	text_flow(stdout, width, 15, 15, test->title);
	printf("%15s", "");
	text_flow(stdout, width, 15, 15, r->text);
	fflush(stdout);
}

static bool cmd_selftest_is_chosen(const struct selftest *test, int argc, char **argv)
{
	for (int i = optind; i < argc; i++)
		if (!strcmp(argv[i], test->id))
			return true;
	return optind >= argc;
}

struct options {
	bool json;
};

static const struct cli_option cmd_selftest_option_table[] = {
	{"json", NULL, "as JSON (schema brick/selftest/1)", option_flag, AT(json)},
	OPTION_HELP,
};

static int run_selftest(int argc, char **argv)
{
	struct options options = {0};
	struct report report = {.rows = NULL};
	json_t *root = NULL;

	options_parse(&command_selftest, &options, argc, argv);
	if (options.json) {
		root = json_object();
		report.rows = json_array();
	}
	for (int i = optind; i < argc; i++) {
		bool is_known = false;
		for (size_t k = 0; k < PROTOCOLS; k++)
			is_known |= !strcmp(protocols[k].id, argv[i]);
		if (!is_known)
			die_usage("selftest", "%s: no such protocol", argv[i]);
	}
	if (getenv("BRICK_SESSION_DIR"))
		die(CLI_SYSTEM, "selftest: is being recorded itself: run it without brick record");
	terminal_init(&report.terminal, stdout);
	for (size_t k = 0; k < PROTOCOLS; k++) {
		struct selftest_result r = {SELFTEST_UNKNOWN, NAN, NAN, NULL, "it said nothing"};
		if (!cmd_selftest_is_chosen(&protocols[k], argc, argv))
			continue;
		protocols[k].run(&r);
		cmd_selftest_show(&report, &protocols[k], &r);
	}
	if (root) {
		json_put(root, "schema", json_text("brick/selftest/1"));
		json_put(root, "clock",
			json_text(brick_clock_source_name(brick_clock_get()->source)));
		json_put(root, "passed", json_number(report.counts[SELFTEST_PASSED]));
		json_put(root, "failed", json_number(report.counts[SELFTEST_FAILED]));
		json_put(root, "unknown", json_number(report.counts[SELFTEST_UNKNOWN]));
		json_put(root, "protocols", report.rows);
		json_print(root, stdout);
	} else {
		printf("\n%u passed, %u failed, %u could not be found out\n", report.counts[0],
			report.counts[1], report.counts[2]);
	}
	return report.counts[SELFTEST_FAILED] ? CLI_GATE : CLI_DONE;
}

static void words_protocols(struct option_words *words)
{
	for (size_t k = 0; k < PROTOCOLS; k++)
		words_add(words, protocols[k].id);
}

const struct cli_command command_selftest = {
	.name = "selftest",
	.summary = "show on this machine that the numbers are measured",
	.run = run_selftest,
	.flags = CLI_ANSWERS,
	.usage = "[OPTIONS] [PROTOCOL...]",
	.about = "Show on this machine that the numbers are measured: the clock, the cost of a "
		 "brick, losses, sums; and that slowing one brick of a running engine by a known "
		 "amount moves exactly that brick, and no other, by that amount. PROTOCOL is a "
		 "number such as F109, or 'moves'; default: all. Exit code 1 when one fails.",
	.options = cmd_selftest_option_table,
	.operands = words_protocols,
};

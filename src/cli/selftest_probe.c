/* SPDX-License-Identifier: Apache-2.0 */
/* Protocols about begin and end of a brick: what they cost, and that what they count is exact. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/accounts/statistics.h"
#include "brick/brick.h"
#include "cli/cmd_selftest.h"

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
static int start(struct selftest_result *r)
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

	if (!start(r))
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
		snprintf(name, sizeof name, "Selftest%d", i);
		int id = brick_register(name, BRICK_CATEGORY_OTHER);
		last = id > last ? id : last;
	}
	if (last < 0 || !start(r))
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
	snprintf(what, sizeof what, "brick %d takes, of what brick 0 takes", last);
	selftest_judge(r, statistics_median(ratios, ROUNDS), 1.5, "times", what);
}

/* A session whose records stay in its rings. */
static int start_in(struct selftest_result *r, char directory[], uint32_t ring_records)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.directory = mkdtemp(directory);
	options.ring_records = ring_records;
	if (options.directory && brick_session_start(&options) == 0)
		return 1;
	selftest_say(r, SELFTEST_UNKNOWN, "/tmp cannot hold a session");
	return 0;
}

static void stop_in(const char *directory)
{
	char path[128];

	brick_session_stop();
	snprintf(path, sizeof path, "%s/%d.session", directory, (int)getpid());
	unlink(path);
	rmdir(directory);
}

static void no_page_faults(struct selftest_result *r)
{
	char directory[] = "/tmp/brick-selftest-XXXXXX";
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

static void *work(void *unused)
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

	if (!start(r))
		return;
	while (started < THREADS && !pthread_create(&threads[started], NULL, work, NULL))
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

/* A ring that nobody empties: what it has no room for is counted as dropped, and in statistics. */
static void ledger(struct selftest_result *r)
{
	char directory[] = "/tmp/brick-selftest-XXXXXX";
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

const struct selftest selftest_probe[] = {
	{"F105", "bricks cost nothing while nothing records", off_costs_nothing},
	{"F106", "which brick it is does not matter: lookup is O(1)", lookup_is_constant},
	{"F107", "any number of threads: counts merge exactly", threads_merge},
	{"F108", "the handle of an open brick has at most 32 bytes", handle_size},
	{"F143", "begin and end take less than 50 ns", span_cost},
	{"F155", "recording touches no new pages", no_page_faults},
	{"ledger", "what is lost is counted, and statistics are exact all the same", ledger},
};
const size_t selftest_probe_count = sizeof selftest_probe / sizeof *selftest_probe;

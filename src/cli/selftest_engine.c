/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine of bricks that spin on the system's clock for known durations, recorded like any other
 * and read back from its recording. Every second step one brick is slowed by a known amount; the
 * recording must say so of that brick and of no other. Nothing that is derived from totals, shares
 * or the step's length could pass.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/accounts/statistics.h"
#include "base/clock_ns.h"
#include "brick/brick.h"
#include "cli/die.h"
#include "cli/cmd_selftest.h"
#include "trace/load.h"

enum { PARTS = 6, REPEATS = 50, STEPS = 2 * REPEATS * PARTS };

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

/* Which part a step slows, PARTS: none. */
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

static void run_step(int step)
{
	brick_span whole = brick_step_begin(BRICK_PHASE_DECODE, 1),
		   graph = brick_begin(BRICK_GRAPH_COMPUTE);

	for (int i = 0; i < PARTS; i++) {
		brick_span span = brick_begin_layer(parts[i].brick, 0);
		spin(parts[i].length_ns + (slowed_in(step) == i ? parts[i].slower_ns : 0));
		brick_end(span);
	}
	brick_end(graph);
	brick_end(whole);
}

/* The engine's recording; NULL: the result says why. */
static struct run *record(struct selftest_result *r)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	char directory[] = "/tmp/brick-selftest-XXXXXX", path[64];
	struct load_error error = {0};
	struct run *run = NULL;

	if (!mkdtemp(directory)) {
		selftest_say(r, SELFTEST_UNKNOWN, "/tmp cannot hold a recording");
		return NULL;
	}
	snprintf(path, sizeof path, "%s/run.pftrace", directory);
	options.output = path;
	int failed = brick_session_start(&options);
	if (!failed) {
		for (int i = 0; i < STEPS; i++)
			run_step(i);
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
		run = record(r);
	return run;
}

static int part_of(const struct run *run, const struct run_sample *sample)
{
	int32_t brick = run->bricks[run->sites[sample->site].brick].well_known;

	for (int i = 0; i < PARTS; i++)
		if (brick == (int32_t)parts[i].brick)
			return i;
	return brick == BRICK_GRAPH_COMPUTE ? PARTS : -1;
}

/* Durations in us, of parts and, last, of what the brick around them keeps for itself. */
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
		memset(row, 0, sizeof out->us[0]);
		for (size_t i = run->steps[s].sample + 1;
			i < lane->sample_count && lane->samples[i].depth > 0; i++) {
			int part = part_of(run, &lane->samples[i]);
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

/* How much longer a part is in the steps that slow `slowed` than in those between them. */
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

/* What a move may be off by. */
static double tolerance_us(int slowed)
{
	return 1 + 0.05 * parts[slowed].slower_ns / 1000;
}

/* One part, in the steps in which one is slowed. */
struct move {
	int slowed, part;
	double us;  /* it moved by */
	double off; /* of what was expected */
};

static struct move move_of(const struct durations *durations, int slowed, int part)
{
	double expected = part == slowed ? parts[slowed].slower_ns / 1000.0 : 0;
	double us = moved_us(durations, slowed, part);

	return (struct move){slowed, part, us, fabs(us - expected)};
}

/* By the one that is off by most of what it may be off by. */
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
	SCOPED struct durations *durations = xcalloc(1, sizeof *durations);
	if (read_durations(run, durations))
		judge_moves(r, durations);
	else
		selftest_say(r, SELFTEST_FAILED, "%d steps ran, the recording has %d", STEPS,
			durations->steps);
}

/* Own times of all bricks, grouped by category, are the time of what holds them all. */
static void categories_sum(struct selftest_result *r)
{
	const struct run *run = recorded(r);
	uint64_t self = 0, steps = 0;

	if (!run)
		return;
	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t b = 0; run->lanes[l].stats && b < run->brick_count; b++)
			self += run->lanes[l].stats[b].self;
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

const struct selftest selftest_engine[] = {
	{"F110", "what categories took adds up to the whole", categories_sum},
	{"whole", "a recording holds every brick that ran", nothing_lost},
	{"moves", "slow one brick: exactly that one moves, by exactly that much", moves},
};
const size_t selftest_engine_count = sizeof selftest_engine / sizeof *selftest_engine;

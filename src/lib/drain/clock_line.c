/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a recording: src/lib/sys/clock.c's method with a baseline of a second instead of
 * its 2 ms, which a process cannot wait for but a consumer can. A baseline shorter than that of the
 * process's own calibration is not used.
 */
#include "lib/drain/clock_line.h"

#include <stdlib.h>
#include <string.h>

enum {
	MIN_BASELINE_NS = 3000000,
	WITNESS_NS = 1000000, /* between two witnesses, and from the line's end to a late one */
};

void drain_clock_start(struct drain_clock *c)
{
	memset(c, 0, sizeof(*c));
	c->clock = *brick_clock_get();
	c->read = brick__clock_pair;
	c->first = c->read();
}

/* Witnesses are kept evenly: when there are too many of them, every other one goes. */
static void add_witness(struct drain_clock *c, const struct clock_pair *pair)
{
	uint64_t last_ns = c->witness_count ? c->witnesses[c->witness_count - 1].ns : c->first.ns;

	if (pair->ns - last_ns < WITNESS_NS)
		return;
	if (c->witness_count == DRAIN_CLOCK_WITNESSES) {
		c->witness_count /= 2;
		for (uint32_t i = 0; i < c->witness_count; i++)
			c->witnesses[i] = c->witnesses[2 * i];
	}
	c->witnesses[c->witness_count++] = *pair;
}

uint64_t drain_clock_baseline_ns(struct drain_clock *c)
{
	struct clock_pair now = c->read();

	if (!c->fitted)
		add_witness(c, &now);
	return now.ns - c->first.ns;
}

static void clock_line_compare(struct drain_clock *c, const struct clock_pair *pair)
{
	int64_t off_ns = brick__clock_off(&c->clock, pair);
	uint64_t changed_ns = (uint64_t)llabs(off_ns - c->off_ns),
		 most_ns = (uint64_t)llabs(off_ns);

	c->off_ns = off_ns;
	c->changed_ns = changed_ns > c->changed_ns ? changed_ns : c->changed_ns;
	c->most_ns = most_ns > c->most_ns ? most_ns : c->most_ns;
}

static uint32_t residual_ns(const struct drain_clock *c)
{
	uint64_t ns = c->most_ns + (c->changed_ns + 1) / 2;

	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

const struct brick_clock *drain_clock_fit(struct drain_clock *c)
{
	struct brick_clock fitted = c->clock;

	if (c->fitted)
		return &c->clock;
	c->fitted = true;
	if (c->clock.source == BRICK_CLOCK_MONOTONIC)
		return &c->clock;
	struct clock_pair last = c->read();
	if (last.ns - c->first.ns >= MIN_BASELINE_NS && brick__clock_fit(&fitted, &c->first, &last))
		c->clock = fitted;
	for (uint32_t i = 0; i < c->witness_count; i++)
		clock_line_compare(c, &c->witnesses[i]);
	clock_line_compare(c, &last);
	if (!c->witness_count) {
		/*
		 * If only the two ends of the line are known, the line is held against a third
		 * reading.
		 */
		struct clock_pair late = last;
		while (late.ns - last.ns < WITNESS_NS)
			late = c->read();
		clock_line_compare(c, &late);
	}
	c->clock.residual_ns = residual_ns(c);
	return &c->clock;
}

uint32_t drain_clock_check(struct drain_clock *c)
{
	if (c->fitted && c->clock.source != BRICK_CLOCK_MONOTONIC) {
		struct clock_pair now = c->read();
		clock_line_compare(c, &now);
	}
	return residual_ns(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a benchmark's runs, and when to stop. A block has each kind once, in random order,
 * and its mirror image follows (A B, B A), so that a machine that becomes slower does so for all
 * kinds alike. The same seed gives the same order.
 *
 * The rule for stopping depends on the widths of intervals, never on their places, so a difference
 * that happens to look large does not stop the runs: the error rate of the verdict, which is made
 * once at the end, does not grow (Chow and Robbins 1965). A caller that also stops when a verdict
 * is settled (STOP_SETTLED) adds `stop_early_alpha` to that rate. Pure; one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_KINDS_MAX = 256 };

struct plan {
	size_t kinds;
	size_t at;		       /* the next run's place in the block */
	uint64_t blocks;	       /* complete ones; each mirror image counts as a block */
	uint64_t state;		       /* of the random numbers */
	uint8_t order[PLAN_KINDS_MAX]; /* [kinds] of the present block, before it is mirrored */
};

/* kinds: from 1 to PLAN_KINDS_MAX. */
void plan_init(struct plan *plan, size_t kinds, uint64_t seed);

/* The kind of the next run. */
size_t plan_next(struct plan *plan);

/* Whether a block and its mirror image are complete: only then are all kinds treated alike. */
static inline bool plan_is_even(const struct plan *plan)
{
	return plan->at == 0 && plan->blocks % 2 == 0;
}

enum {
	STOP_RUNS_MIN = 10,	 /* of each side: with fewer, 95 % intervals cover less than 95 % */
	STOP_RUNS_MAX = 60,	 /* of each side, unless the rule has its own number or a time */
	STOP_HOPELESS_FROM = 20, /* runs from which on stop_forecast() decides */
	STOP_SETTLED_FROM = 4,	 /* runs from which on a verdict may be settled */
	STOP_SETTLED_ALL = 6,	 /* with fewer runs, the verdicts of all measures must be settled */
	STOP_LOOKS = (STOP_RUNS_MAX - STOP_SETTLED_FROM) / 2 + 1,
};

/*
 * The probability that a look at the runs settles a verdict that is wrong, over all looks: each
 * takes the same part of it (Bonferroni), which holds for runs that come one after the other.
 */
static const double stop_early_alpha = 0.01;

struct stop_rule {
	uint64_t runs;	  /* of each side; 0: as many as the precision takes */
	uint64_t time_ns; /* the longest time; 0: no limit */
	double precision; /* wanted half-width of the interval, as a ratio less 1; 0: none wanted */
};

enum stop_reason {
	STOP_GO_ON,
	STOP_PRECISE,	  /* the interval is narrow enough */
	STOP_SETTLED,	  /* the verdict cannot change any more */
	STOP_RUNS,	  /* as many as were asked for, or at most are made */
	STOP_TIME,	  /* the time is up */
	STOP_HOPELESS,	  /* it will not become narrow enough with that many */
	STOP_INTERRUPTED, /* somebody, or something, ended it */
};

/* half_width: of the widest interval, as a logarithm; negative: not known yet. */
enum stop_reason stop_look(
	const struct stop_rule *rule, uint64_t runs, uint64_t elapsed_ns, double half_width);

/* The runs of each side that the precision would take; UINT64_MAX: too many, or not known. */
uint64_t stop_forecast(const struct stop_rule *rule, uint64_t runs, double half_width);

const char *stop_reason_name(enum stop_reason reason);

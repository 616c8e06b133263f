/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order the runs of a benchmark are made, and when to stop. Runs come in blocks in which
 * each kind stands once, in random order, each followed by its mirror image (A B, B A), so that a
 * machine that becomes slower does so for all alike; the same seed gives the same order. The rule
 * for stopping looks at how wide intervals are, never at where they lie, so that it does not stop
 * because a difference happens to look large: the error rate of the verdict, which is made once at
 * the end, stays what it is (Chow and Robbins 1965). Who also stops as soon as a verdict is settled
 * adds `stop_early_alpha` to that rate. Pure; one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_KINDS_MAX = 256 };

struct plan {
	size_t kinds, at; /* place in the block */
	uint64_t blocks;  /* that are done */
	uint64_t state;
	uint8_t order[PLAN_KINDS_MAX];
};

void plan_init(struct plan *plan, size_t kinds, uint64_t seed);

/* The kind of the next run. */
size_t plan_next(struct plan *plan);

/* Whether a block and its mirror image are complete: only then are all kinds treated alike. */
static inline bool plan_is_even(const struct plan *plan)
{
	return plan->at == 0 && plan->blocks % 2 == 0;
}

enum {
	STOP_RUNS_MIN = 10,	 /* of each side: fewer make intervals of 95 % that hold less */
	STOP_RUNS_MAX = 60,	 /* unless more are asked for */
	STOP_HOPELESS_FROM = 20, /* runs after which a width is a forecast */
	STOP_SETTLED_FROM = 4,	 /* runs after which a verdict may be settled */
	STOP_SETTLED_ALL = 6,	 /* before, all measures must be */
	STOP_LOOKS = (STOP_RUNS_MAX - STOP_SETTLED_FROM) / 2 + 1,
};

/*
 * The probability that a look at the runs settles a verdict that is wrong, over all looks: each
 * takes the same part of it (Bonferroni), which holds for runs that come one after the other.
 */
static const double stop_early_alpha = 0.01;

struct stop_rule {
	uint64_t runs;	  /* of each side; 0: as many as the precision takes */
	uint64_t time_ns; /* 0: any */
	double precision; /* half a width, as a ratio less 1 */
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

/* Runs of each side that the precision would take, by what it is now. */
uint64_t stop_forecast(const struct stop_rule *rule, uint64_t runs, double half_width);

const char *stop_reason_name(enum stop_reason reason);

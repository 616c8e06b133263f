/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks under the ceilings of a machine. A brick's rate is its work (FLOPs and bytes, computed
 * from shapes and types) over the wall time in which at least one thread was in the brick. So it
 * does not matter whether the work is reported once for a whole team, as attached engines do, or by
 * each thread for its part. Waits after a brick and nested bricks are not its time.
 *
 * A roof is what a measured ceiling allows. The level of memory that holds a brick's data follows
 * from the bytes touched between two uses of them (reuse.h) and from the part of its caches that
 * the machine was seen to use, never from the rate. A credible row above its ceiling raises the
 * ceiling and is then at its roof: roofline_learn() keeps such rates. A row that is not credible is
 * flagged and has no roof. Phases have rows of their own. Pure; read-only once made: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/accounts/work_accounts.h"
#include "analysis/machine/ceilings.h"
#include "analysis/roofline/reuse.h"
#include "trace/run.h"

enum roofline_phase {
	ROOFLINE_PREFILL = STEP_PREFILL,
	ROOFLINE_DECODE = STEP_DECODE,
	ROOFLINE_MIXED = STEP_MIXED,
	ROOFLINE_WARM_UP = STEP_WARM_UP,
	ROOFLINE_OTHER = STEP_OTHER,
	ROOFLINE_OUTSIDE = STEP_PHASES,
	ROOFLINE_PHASES,
};

enum roofline_bound {
	ROOFLINE_UNKNOWN, /* no ceiling that applies was measured */
	ROOFLINE_MEMORY,
	ROOFLINE_COMPUTE,
	ROOFLINE_LATENCY, /* at its roof it would take less time than floor_ns */
};

/* A flag whose comment ends with "no roof" needs a case in roofline_why_none(). */
enum roofline_flags {
	ROOFLINE_ABOVE_COMPUTE = 1, /* its FLOP rate is above the ceiling, so it is not believed */
	ROOFLINE_ABOVE_BANDWIDTH =
		2,		    /* its byte rate is above the ceiling, so it is not believed */
	ROOFLINE_OTHER_THREADS = 4, /* its number of threads was not measured: see roof_threads */
	ROOFLINE_NOT_ALL = 8,	    /* some of its executions do not tell their work */
	ROOFLINE_AT_MOST = 16,	    /* work and rates are upper bounds: no roof */
	ROOFLINE_RAISED = 32,	    /* it reached more than was measured, and raised the ceiling */
	ROOFLINE_OFF_CPU =
		64, /* preempted, or waiting for pages, for a tenth of its time: no roof */
	ROOFLINE_DOUBTED = 128, /* its ceilings are in doubt: no roof */
	/* nobody knows which level its data come from: no roof, if memory would limit it */
	ROOFLINE_NO_LEVEL = 256,
	ROOFLINE_CROWDED = 512,	     /* others had a tenth of all threads' time: no roof */
	ROOFLINE_NO_WORK = 1024,     /* its FLOPs, bytes or time are not known: no roof */
	ROOFLINE_NO_CEILINGS = 2048, /* nothing was measured for it: no roof */
};

/* ANALYSIS_UNKNOWN where a count is not known; rates then negative. Rates are per ns: 1e9/s. */
struct roofline_row {
	const char *name, *category; /* the run's */
	uint32_t brick;
	enum roofline_phase phase;
	int on_device;	  /* on queues of a device */
	uint64_t count;	  /* executions whose work is known */
	uint64_t silent;  /* executions whose work is not known; left out of all else here */
	uint64_t wall_ns; /* its part of the wall time, as in a report; unknown on devices */
	uint64_t team_ns; /* wall time with at least one thread in it */
	uint64_t busy_ns; /* time in it, summed over threads */
	double mean_ns;	  /* of one execution, on the thread that reports it */
	/*
	 * wall_ns (on devices team_ns) as a share of the time of the phase's steps; < 0: no steps
	 */
	double share;
	double at_once;	  /* busy_ns / team_ns: threads in it at the same time, on average */
	uint32_t threads; /* at_once, rounded up if it is a tenth or more above a whole number */
	uint64_t flops, bytes;
	double flops_per_ns, bytes_per_ns;
	double intensity; /* FLOPs per byte */

	const struct ceilings *can; /* ceilings of the machine or device; NULL: not known */
	uint32_t roof_threads; /* number of threads of the ceilings below; 0: none were measured */

	const char *level; /* of can->levels, that it waits for most; NULL: not known */
	/* Valid if `level` is known: */
	uint64_t reuse_bytes;	 /* reuse distance of the data from that level */
	double level_share;	 /* of its bytes that come from that level or from beyond */
	double bandwidth_per_ns; /* ceiling in bytes, for a working set of reuse_bytes */

	const struct ceilings_compute *peak; /* NULL: none was measured */
	double peak_per_ns;		     /* ceiling in operations */

	double floor_ns;	  /* the least time of one execution, by latency */
	double roof_flops_per_ns; /* the rate that the nearer ceiling allows; negative: no roof */
	double roof_bytes_per_ns; /* the same rate in bytes */
	double distance;	  /* 1 - achieved / roof: 0 to 1; negative: no roof */
	enum roofline_bound bound;
	uint32_t flags; /* enum roofline_flags */
};

struct roofline {
	const struct run *run;
	const struct ceilings *ceilings;
	enum ceilings_doubt doubt; /* if not CEILINGS_TRUSTED, no row has a roof */
	struct ceilings
		raised; /* `ceilings` and rates that this run reached; owns only `reached` */
	const struct ceilings_device *device; /* whose queues the run has; NULL: not known */
	struct roofline_row *rows;	      /* by phase, then by wall time, longest first */
	size_t row_count;
	struct reuse reuse;
	/* Valid only while the walk feeds it: */
	struct work_accounts *work;
	uint64_t *wall_ns; /* [STEP_PHASES][brick_count] */
	struct step_times times;
	const struct step_index *index;
};

/*
ceilings may be NULL: then no row has a roof. The run, the index and the ceilings must outlive the
 * roofline. 0 or -ENOMEM.
 */
int roofline_create(struct roofline **out, const struct run *run, const struct step_index *index,
	const struct ceilings *ceilings);
/* As roofline_create(), but the rows are there only when the walk has run. */
int roofline_create_in(struct roofline **out, struct walk *walk, const struct ceilings *ceilings);
void roofline_destroy(struct roofline *roofline);

/*
 * The row of a brick in a phase; NULL: it has none there. Its distance is negative unless its roof
 * is known and its ceilings are not in doubt, so callers need no other test; flags say why.
 */
const struct roofline_row *roofline_find(
	const struct roofline *roofline, uint32_t brick, enum roofline_phase phase, bool on_device);

/*
 * Adds to `kept` the rates that the run reached above it. 1: something was added; 0: nothing; or
 * -ENOMEM.
 */
int roofline_learn(struct ceilings *kept, const struct roofline *roofline);

/* The flag that says why a row has no roof, the first of several; 0: it has one. */
enum roofline_flags roofline_why_none(const struct roofline_row *row);

/* "prefill", "decode", NULL for outside of steps; "memory", ..., NULL for unknown. */
const char *roofline_phase_name(enum roofline_phase phase);
const char *roofline_bound_name(enum roofline_bound bound);

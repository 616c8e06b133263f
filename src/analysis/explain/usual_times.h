/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a token takes in each part of a phase, now and in earlier recordings of the same workload on
 * the same machine. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/history/history_run.h"
#include "analysis/steps/step_times.h"
#include "trace/run.h"

/* ns of a token. */
struct usual_part {
	int phase; /* enum step_phase */
	uint32_t brick;
	double now_ns, all_ns;	       /* of this recording, in typical steps and in all */
	double median_ns;	       /* of the earlier recordings */
	double quickest_ns, slower_ns; /* the quickest, and the upper quartile */
};

struct usual_times {
	struct usual_part *parts;
	size_t count;
	size_t runs[STEP_PHASES];	      /* earlier recordings that a phase is compared with */
	struct usual_part whole[STEP_PHASES]; /* steps; brick RUN_NONE */
	char like[HISTORY_ID_BYTES];	      /* an earlier recording, the newest */
};

enum { USUAL_RUNS_LEAST = 3, USUAL_RUNS_MOST = 24 };

/*
 * now: the recording's own entry in a history. earlier: entries of its workload and machine, newest
 * first; others are left out: this very one, later ones, those with other lengths of a phase, and
 * disturbed ones if there are enough others. A phase with fewer than USUAL_RUNS_LEAST has no parts.
 * -ENOMEM; *usual is then empty.
 */
int usual_times_init(struct usual_times *usual, const struct run *run,
	const struct history_run *now, const struct history_run *earlier, size_t count);
void usual_times_fini(struct usual_times *usual);

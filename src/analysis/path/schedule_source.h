/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that all schedules of a run share: above all the samples after the end of a step that are in
 * its account (mostly sampling). A walk finds them. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/accounts/launches.h"
#include "analysis/walk/walk.h"
#include "analysis/walk/step_index.h"
#include "base/array.h"
#include "trace/run.h"

/* The time of a sample that is in the account of a step which had ended. */
struct schedule_after_item {
	uint64_t begin_ns;
	uint64_t own_ns, wait_ns;
	struct run_off_times off;   /* of own_ns */
	uint64_t wait_preempted_ns; /* of wait_ns */
	uint32_t step, lane, sample;
	uint32_t is_part; /* 1: the rest of the sample ran beside another step, and is in that one's
			     window */
};

struct schedule_source {
	ARRAY(struct schedule_after_item) items; /* by step, then by begin */
	uint32_t *first;			 /* [step_count + 1]: a step's first item */
	/*
	 * Has kinds of bricks and no steps: walks through a step's window need not look for steps.
	 */
	struct step_index windows;
	struct launches launches;
	/* Valid only while the walk feeds it: */
	const struct run *run;
	uint32_t lane;
	bool failed;
};

/* The source is valid when the walk has run. 0 or -ENOMEM; *source is then empty. */
int schedule_source_init(struct schedule_source *source, struct walk *walk);
/* As schedule_source_init(), with a walk of its own. */
int schedule_source_find(
	struct schedule_source *source, const struct run *run, const struct step_index *index);
void schedule_source_fini(struct schedule_source *source);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that all schedules of a run share: above all the samples in the accounts of steps after
 * their ends, sampling mostly. The walk that feeds the report finds them.
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

/* Time of a sample in the account of a step that had ended. */
struct schedule_after_item {
	uint64_t begin_ns;
	uint64_t own_ns, wait_ns;
	struct run_off_times off; /* of own_ns */
	uint32_t step, lane, sample;
	uint32_t is_part; /* the rest ran beside a step, in whose window the sample is */
};

struct schedule_source {
	/* items in the accounts of steps after their ends */
	ARRAY(struct schedule_after_item) items; /* by step, then by begin */
	uint32_t *first;			 /* [step_count + 1] */
	/* kinds of bricks, but no steps: a walk through a window needs not look for them */
	struct step_index windows;
	struct launches launches;
	/* while it is fed */
	const struct run *run;
	uint32_t lane;
	bool failed;
};

/* It is whole when the walk has run. -ENOMEM; *source is then empty. */
int schedule_source_init(struct schedule_source *source, struct walk *walk);
/* As schedule_source_init(), with a walk of its own. */
int schedule_source_find(
	struct schedule_source *source, const struct run *run, const struct step_index *index);
void schedule_source_fini(struct schedule_source *source);

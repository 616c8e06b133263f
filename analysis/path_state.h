/* SPDX-License-Identifier: Apache-2.0 */
/* What solving schedules adds up, by owner and lane. Inside of analysis/path*.c only. */
#pragma once

#include "analysis/path.h"

struct path_sum {
	uint64_t count, own_ns, on_path_ns, on_path_count;
	uint64_t slack_count, slack_ns, slack_min_ns, slack_max_ns;
	uint64_t less_ns, nothing_ns;
	int seen;	  /* has activities in the section */
	uint8_t trial;	  /* number of its trial from 1, while it is tried */
	uint64_t stretch; /* that it was tried in last */
};

/* Schedules that are run at once: one cache line of times. */
enum { PATH_TRIALS = 8 };

struct path_solver {
	const struct run *run;
	struct path_sum *sums;	 /* [brick_count + SCHEDULE_OWNERS] */
	struct path_lane *lanes; /* [lane_count] */
	uint32_t owner_count;
	/* scratch for one schedule, [activities] */
	size_t capacity;
	uint64_t *duration_ns, *finish_ns, *latest_ns;
	uint32_t *path;
	uint8_t *sample_on_path; /* [activities]: its sample has time on the path, or had before it
				  */
	uint64_t *trial_ns;	 /* [activities][PATH_TRIALS]: when they finish */
	uint32_t *place;	 /* [activities]: in the dag's order */
	uint8_t *is_joint;	 /* [places]: all chains to the end go through it */
	uint64_t stretches;
};

/* -ENOMEM; *solver is then empty. */
int path_solver_init(struct path_solver *solver, const struct run *run);
void path_solver_fini(struct path_solver *solver);

/* Solve one schedule and add it to the sums and the section. -ENOMEM. */
int path_solve(struct path_solver *solver, const struct schedule *schedule,
	struct path_section *section, int keep_hops);

/* path_what_if.c: what all owners could save in a schedule that has been solved. */
void path_try_owners(
	struct path_solver *solver, const struct schedule *schedule, size_t path_count);

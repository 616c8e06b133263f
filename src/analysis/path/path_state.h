/* SPDX-License-Identifier: Apache-2.0 */
/* What solving schedules adds up, by owner and lane. Inside of analysis/path*.c only. */
#pragma once

#include "analysis/path/path.h"

struct path_sum {
	uint64_t count, own_ns, on_path_ns, on_path_count;
	uint64_t slack_count, slack_ns, slack_min_ns, slack_max_ns;
	uint64_t less_ns, nothing_ns;
	int seen;	  /* has activities in the section */
	uint8_t trial;	  /* number of its trial from 1, while it is tried */
	uint64_t stretch; /* that it was tried in last */
	uint64_t chain;	  /* that it was found in last, and where in the solver's savings */
	uint32_t saving;
};

/* Schedules that are run at once: one cache line of times. */
enum { PATH_TRIALS = 8 };
typedef uint64_t trial_times[PATH_TRIALS];

/* Activities one after the other, with no others before or after any but the first and the last. */
struct path_chain {
	uint64_t duration_ns;
	uint32_t head, tail; /* activities */
	uint32_t saving_first, saving_count;
	int is_joint; /* all ways to the end go through it */
};

/* What a chain is shorter where all that an owner does in it takes a tenth less, or nothing. */
struct path_saving {
	uint64_t less_ns, nothing_ns;
	uint32_t owner;
};

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
	/* for trials, in the dag's order; what leads to the end only */
	uint32_t *followers; /* [activities] */
	uint32_t *chain_of;  /* [activities] */
	struct path_chain *chains;
	struct path_saving *savings;
	uint32_t chain_count, saving_count;
	trial_times *trial_ns;		 /* [chains]: when they finish */
	uint64_t stretches, chains_made; /* of all schedules */
};

/* -ENOMEM; *solver is then empty. */
int path_solver_init(struct path_solver *solver, const struct run *run);
void path_solver_fini(struct path_solver *solver);

/* Solve one schedule and add it to the sums and the section. -ENOMEM. */
int path_solve(struct path_solver *solver, const struct schedule *schedule,
	struct path_section *section, int keep_hops);

/* path_chains.c: of a schedule that has been solved backward. */
void path_find_chains(struct path_solver *solver, const struct schedule *schedule);

/* path_what_if.c: what all owners could save in a schedule that has been solved. */
void path_try_owners(
	struct path_solver *solver, const struct schedule *schedule, size_t path_count);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time in which at least one lane of a process was in a piece of work: lanes are walked side by
 * side, in the order of time, so that nothing is kept but how far each sum is. Inside of analysis/
 * only.
 */
#pragma once

#include <pthread.h>

#include "analysis/accounts/walk.h"

struct work_time {
	uint64_t wall_ns;
	uint64_t until_ns; /* how far that is, in the process being walked */
};

/* Those of a brick in a phase, its category, and of both in all phases; NULL behind the last. */
struct work_times {
	struct work_time *of[5];
};

struct work_team {
	const struct run *run;
	const struct step_index *index;
	const uint8_t *owners; /* of work_owners() */
	/* Where work in that frame counts; beside: where else, as many as slots, NULL in none. */
	const struct work_times *(*find)(void *context, uint32_t lane,
		const struct walk_frame *frame, struct work_time **beside);
	void *context;
	size_t slots;
	/* of work_team.c */
	uint32_t process;
	bool threaded;
	int result;
	pthread_t thread;
};

/*
 * Adds what no lane was alone in: from start to finish in a thread of its own, where there is much
 * to add. Finish tells: -ENOMEM, nothing or a part of it.
 */
void work_team_start(struct work_team *team, uint32_t process);
int work_team_finish(struct work_team *team);

/* Whether all other lanes of its process that have samples are of another kind. */
bool work_team_alone(const struct run *run, uint32_t lane);

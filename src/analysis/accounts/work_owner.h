/* SPDX-License-Identifier: Apache-2.0 */
/* Whose work an execution is, so that work is counted once. Pure; any thread. */
#pragma once

#include "analysis/accounts/walk.h"

enum work_owner {
	WORK_UNKNOWN = 0, /* nobody says what its executions did */
	WORK_OWN = 1,	  /* says what an execution did */
	WORK_PART = 2,	  /* one thread's part of executions that another one's site owns */
};

/* owners: [site_count], all 0: enum work_owner. -ENOMEM. */
int work_owners(uint8_t *owners, const struct run *run);

/* Of a queue: the work that commands without counts go on with, if it is theirs. */
struct work_told {
	uint32_t brick; /* RUN_NONE: none */
	int32_t layer;
};

/* Whether the frame is in any account: work that has ended and was not left out. */
static inline bool work_is_counted(
	const struct run *run, const struct step_index *index, const struct walk_frame *frame)
{
	return index->kinds[frame->brick] == BRICK_KIND_WORK &&
	       !run->sites[frame->sample->site].left_out &&
	       !(frame->sample->flags & RUN_SAMPLE_OPEN);
}

/*
 * What a device is given for one node may be several commands, of which the first tells of all the
 * work: those right behind it in its queue, of the same brick and layer, are parts of it.
 */
static inline enum work_owner work_owner_of(const uint8_t *owners, const struct run *run,
	const struct work_told *told, const struct walk_frame *frame)
{
	enum work_owner owner = (enum work_owner)owners[frame->sample->site];

	return owner == WORK_UNKNOWN && told->brick == frame->brick &&
			       told->layer == run->sites[frame->sample->site].layer
		       ? WORK_PART
		       : owner;
}

/* A command of a queue has ended: whose work goes on? */
void work_tell(const uint8_t *owners, const struct run *run, struct work_told *told,
	const struct walk_frame *frame);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose work, and which time, the rates of a row are of: a brick's and a category's are shared by
 * all summaries of a walk; groups have their own. Called by summary_accumulator.c and
 * summary_rows.c.
 */
#include "analysis/accounts/summary_accumulator.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/work_owner.h"

/* Of a group, on threads or on devices. */
static size_t key_of(uint32_t group, int on_device)
{
	return (size_t)group * 2 + (on_device != 0);
}

static uint32_t group_of(
	const struct summary_accumulator *t, uint32_t lane, const struct walk_frame *frame)
{
	if (t->run->lanes[lane].kind == BRICK_LANE_QUEUE)
		return summary_device_group(t, lane, frame);
	if (t->by > SUMMARY_BY_THREAD)
		return RUN_NONE;
	/* what one thread tells of the work of all of a team is no rate of its own */
	if (t->by == SUMMARY_BY_THREAD && t->teams[frame->brick])
		return RUN_NONE;
	return summary_group(t, frame);
}

static size_t group_key(void *context, uint32_t lane, const struct walk_frame *frame)
{
	const struct summary_accumulator *t = context;
	uint32_t group = group_of(t, lane, frame);

	if (group == RUN_NONE ||
		(t->only != SUMMARY_ALL_PHASES &&
			work_phase(t->run, t->index, lane, frame) != (unsigned)t->only))
		return SIZE_MAX;
	return key_of(group, t->run->lanes[lane].kind == BRICK_LANE_QUEUE);
}

static int find_teams(struct summary_accumulator *t)
{
	t->teams = calloc(t->run->brick_count + 1, sizeof(*t->teams));
	for (size_t i = 0; t->teams && i < t->run->site_count; i++)
		if (t->group_work.owners[i] == WORK_PART)
			t->teams[t->run->sites[i].brick] = true;
	return t->teams ? 0 : -ENOMEM;
}

int summary_work_init(struct summary_accumulator *t, struct walk *walk)
{
	t->work = work_accounts_get(
		walk, t->only == SUMMARY_ALL_PHASES ? WORK_OF_ALL : WORK_OF_PHASES);
	if (!t->work)
		return -ENOMEM;
	if (!t->groups)
		return 0;
	int rc = work_accounts_init(&t->group_work, walk, (size_t)t->group_count * 2, group_key, t);
	t->group_work.by_lane = t->by == SUMMARY_BY_THREAD;
	return rc < 0 || t->by != SUMMARY_BY_THREAD ? rc : find_teams(t);
}

void summary_work_fini(struct summary_accumulator *t)
{
	work_accounts_fini(&t->group_work);
	work_accounts_put(t->work);
	free(t->teams);
}

const struct work_account *summary_work(
	const struct summary_accumulator *t, enum summary_row_kind kind, uint32_t id, int on_device)
{
	int phase = t->only == SUMMARY_ALL_PHASES ? (int)WORK_ALL_PHASES : t->only;

	if (kind == SUMMARY_ROW_GROUP)
		return &t->group_work.accounts[key_of(id, on_device)];
	return kind == SUMMARY_ROW_BRICK ? work_of_brick(t->work, id, phase, on_device)
					 : work_of_category(t->work, id, phase, on_device);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up what each execution did in how much time of its own: without what is nested, the waits
 * behind it and the time off the CPU. Where more than one lane of a process recorded, the time
 * that they had in common is work_team.c's. Fed by a walk, for summaries and rooflines.
 */
#include "analysis/accounts/work_accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/launches.h"
#include "analysis/accounts/work_owner.h"
#include "base/members.h"

unsigned work_phase(const struct run *run, const struct step_index *index, uint32_t lane,
	const struct walk_frame *frame)
{
	uint32_t step = frame->step;

	if (run->lanes[lane].kind == BRICK_LANE_QUEUE)
		step = launches_step(run, index, lane, frame->index);
	return step == RUN_NONE ? STEP_PHASES : run->steps[step].phase;
}

static void count_work(struct work_account *account, const struct run_site *site, uint64_t ns)
{
	account->told_ns += ns;
	account->count++;
	account->flops += site->flops;
	account->bytes += site->bytes;
	account->without_flops += !(site->flags & BRICK_SITE_HAS_FLOPS);
	account->without_bytes += !(site->flags & BRICK_SITE_HAS_BYTES);
	account->at_most += (site->flags & BRICK_SITE_AT_MOST) != 0;
}

/* Bricks, then categories: each has one for all phases behind those of its phases. */
static size_t key_of(size_t thing, int phase, int on_device)
{
	return (thing * (WORK_PHASES + 1) + (size_t)phase) * 2 + (on_device != 0);
}

static inline size_t shared_key(
	const struct work_accounts *shared, uint32_t lane, const struct walk_frame *frame)
{
	return key_of(frame->brick, (int)work_phase(shared->run, shared->index, lane, frame),
		shared->run->lanes[lane].kind == BRICK_LANE_QUEUE);
}

static inline void count(const struct work_accounts *a, size_t key, const struct walk_frame *frame,
	enum work_owner owner, bool alone)
{
	uint64_t ns = frame->self_ns - frame->off.preempted_ns - frame->off.blocked_ns;
	struct work_account *account = &a->accounts[key];

	if (owner == WORK_UNKNOWN) {
		account->silent++;
		return;
	}
	account->busy_ns += ns;
	account->blocked_ns += frame->off.blocked_ns;
	if (alone)
		account->alone_ns += ns;
	if (owner == WORK_OWN)
		count_work(account, &a->run->sites[frame->sample->site], ns);
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct work_accounts *shared = context;
	const struct run *run = shared->run;
	enum work_owner owner = work_owner_of(shared->owners, run, &shared->told, frame);

	if (run->lanes[shared->lane].kind == BRICK_LANE_QUEUE)
		work_tell(shared->owners, run, &shared->told, frame);
	if (!work_is_counted(run, shared->index, frame))
		return;
	count(shared, shared_key(shared, shared->lane, frame), frame, owner, shared->alone);
	for (const struct work_accounts *a = shared->beside; a; a = a->beside) {
		size_t key = a->key(a->context, shared->lane, frame);
		if (key != SIZE_MAX)
			count(a, key, frame, owner, shared->alone || a->by_lane);
	}
}

static int on_lane(void *context, uint32_t lane)
{
	struct work_accounts *a = context;

	a->lane = lane;
	a->told.brick = RUN_NONE;
	a->alone = work_team_alone(a->run, lane);
	return 1;
}

static size_t category_thing(const struct run *run, uint32_t category)
{
	return run->brick_count + 1 + category;
}

/* All but the time, of which some may have been at the same time. */
static void add_account(struct work_account *to, const struct work_account *from)
{
	members_add(to, from, alone_ns, busy_ns, blocked_ns, told_ns, count, silent, flops, bytes,
		without_flops, without_bytes, at_most);
}

static void sum_work(struct work_accounts *a, uint32_t brick, int phase, int on_device)
{
	const struct work_account *from = &a->accounts[key_of(brick, phase, on_device)];
	size_t category = category_thing(a->run, a->run->bricks[brick].category);

	add_account(&a->accounts[key_of(brick, WORK_ALL_PHASES, on_device)], from);
	add_account(&a->accounts[key_of(category, phase, on_device)], from);
	add_account(&a->accounts[key_of(category, WORK_ALL_PHASES, on_device)], from);
}

static int finish(void *context)
{
	struct work_accounts *shared = context;

	for (uint32_t b = 0; b < shared->run->brick_count; b++)
		for (int phase = 0; phase < WORK_PHASES; phase++) {
			sum_work(shared, b, phase, 0);
			sum_work(shared, b, phase, 1);
		}
	for (struct work_accounts *a = shared; a; a = a->beside)
		for (size_t i = 0; i < a->count; i++)
			a->accounts[i].wall_ns += a->times[i].wall_ns + a->accounts[i].alone_ns;
	return 0;
}

/* Where pieces of a brick in a phase count. */
static void find_times(const struct work_accounts *shared, uint32_t brick, int phase, int on_device)
{
	size_t category = category_thing(shared->run, shared->run->bricks[brick].category);
	struct work_time **to = shared->team_times[key_of(brick, phase, on_device)].of;

	if (shared->asked & (WORK_OF_BRICKS | WORK_OF_PHASES))
		*to++ = &shared->times[key_of(brick, phase, on_device)];
	if (shared->asked & WORK_OF_PHASES)
		*to++ = &shared->times[key_of(category, phase, on_device)];
	if (shared->asked & WORK_OF_ALL) {
		*to++ = &shared->times[key_of(brick, WORK_ALL_PHASES, on_device)];
		*to++ = &shared->times[key_of(category, WORK_ALL_PHASES, on_device)];
	}
	*to = NULL;
}

static void find_all_times(const struct work_accounts *shared)
{
	for (uint32_t b = 0; b < shared->run->brick_count; b++)
		for (int phase = 0; phase < WORK_PHASES; phase++) {
			find_times(shared, b, phase, 0);
			find_times(shared, b, phase, 1);
		}
}

/* Where a piece of that frame counts. */
static const struct work_times *times_of(
	void *context, uint32_t lane, const struct walk_frame *frame, struct work_time **beside)
{
	const struct work_accounts *shared = context;

	for (const struct work_accounts *a = shared->beside; a; a = a->beside)
		if (!a->by_lane) {
			size_t key = a->key(a->context, lane, frame);
			*beside++ = key == SIZE_MAX ? NULL : &a->times[key];
		}
	return &shared->team_times[shared_key(shared, lane, frame)];
}

static void on_process(void *context, uint32_t process)
{
	struct work_accounts *shared = context;

	shared->team = (struct work_team){.run = shared->run,
		.index = shared->index,
		.owners = shared->owners,
		.find = times_of,
		.context = shared};
	find_all_times(shared);
	for (struct work_accounts *a = shared; a; a = a->beside) {
		shared->team.slots += a != shared && !a->by_lane;
		for (size_t i = 0; i < a->count; i++)
			a->times[i].until_ns = 0;
	}
	work_team_start(&shared->team, process);
}

static int on_process_end(void *context, uint32_t process)
{
	struct work_accounts *shared = context;

	return work_team_finish(&shared->team);
}

/* Of all accounts that share them, too. */
static const struct walk_ops shared_ops = {.begin_lane = on_lane,
	.end = on_end,
	.begin_process = on_process,
	.end_process = on_process_end,
	.finish = finish};

static int init(struct work_accounts *a, const struct walk *walk, size_t count, work_key_fn key,
	void *context)
{
	memset(a, 0, sizeof(*a));
	a->run = walk->run;
	a->index = walk->index;
	a->count = count;
	a->key = key;
	a->context = context;
	a->accounts = calloc(a->count + 1, sizeof(*a->accounts));
	a->times = calloc(a->count + 1, sizeof(*a->times));
	if (a->accounts && a->times)
		return 0;
	free(a->accounts);
	free(a->times);
	memset(a, 0, sizeof(*a));
	return -ENOMEM;
}

int work_accounts_init(
	struct work_accounts *a, struct walk *walk, size_t count, work_key_fn key, void *context)
{
	if (init(a, walk, count, key, context) < 0)
		return -ENOMEM;
	a->owners = walk->work->owners;
	a->shared = walk->work;
	a->beside = walk->work->beside;
	walk->work->beside = a;
	return 0;
}

void work_accounts_fini(struct work_accounts *a)
{
	struct work_accounts **link = a->shared ? &a->shared->beside : NULL;

	while (link && *link && *link != a)
		link = &(*link)->beside;
	if (link && *link)
		*link = a->beside;
	free(a->accounts);
	free(a->times);
	memset(a, 0, sizeof(*a));
}

const struct work_account *work_of_brick(
	const struct work_accounts *a, uint32_t brick, int phase, int on_device)
{
	return &a->accounts[key_of(brick, phase, on_device)];
}

const struct work_account *work_of_category(
	const struct work_accounts *a, uint32_t category, int phase, int on_device)
{
	return &a->accounts[key_of(category_thing(a->run, category), phase, on_device)];
}

static struct work_accounts *create_shared(struct walk *walk)
{
	size_t things = category_thing(walk->run, (uint32_t)walk->run->category_count + 1);
	struct work_accounts *a = malloc(sizeof(*a));
	uint8_t *owners = calloc(walk->run->site_count + 1, 1);
	struct work_times *times = calloc(key_of(walk->run->brick_count + 1, 0, 0), sizeof(*times));

	if (!a || !owners || !times || work_owners(owners, walk->run) < 0 ||
		init(a, walk, key_of(things, 0, 0), NULL, NULL) < 0) {
		free(owners);
		free(times);
		free(a);
		return NULL;
	}
	a->owners = owners;
	a->team_times = times;
	walk_join(walk, &shared_ops, a);
	return a;
}

struct work_accounts *work_accounts_get(struct walk *walk, enum work_asked asked)
{
	if (!walk->work)
		walk->work = create_shared(walk);
	if (!walk->work)
		return NULL;
	walk->work->asked |= asked;
	walk->work->users++;
	return walk->work;
}

void work_accounts_put(struct work_accounts *a)
{
	if (!a || --a->users)
		return;
	free((void *)a->owners);
	free(a->team_times);
	work_accounts_fini(a);
	free(a);
}

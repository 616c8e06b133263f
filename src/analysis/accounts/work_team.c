/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each lane is some pieces ahead of the others; the piece that begins first, of all lanes, is next.
 * Called by work_accounts.c.
 */
#include "analysis/accounts/work_team.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/work_owner.h"

/* So many samples end at most so many pieces: those that they interrupt, and those that end. */
enum { AHEAD = 64, PIECES = 2 * AHEAD + UINT8_MAX + 3 };

enum { THREAD_FROM_SAMPLES = 50000 };

struct piece {
	uint64_t begin_ns, end_ns;
	const struct work_times *times;
};

struct team_lane {
	const struct work_team *team;
	struct walk_lane *walk;
	const struct run_lane *lane;
	uint32_t number;
	struct work_told told;
	struct piece pieces[PIECES];
	size_t at, count;
	size_t off;		    /* the first of its times off the CPU that may matter yet */
	uint64_t rest_ns;	    /* of the piece at hand, what is not begun yet */
	uint64_t begin_ns, end_ns;  /* next of what is united */
	struct work_time *beside[]; /* [PIECES][team->slots] */
};

/* Those that go on, a heap: that which is first is [0]. */
struct lanes {
	struct team_lane **list;
	size_t count;
};

static void on_piece(
	void *context, const struct walk_frame *frame, uint64_t begin_ns, uint64_t end_ns)
{
	struct team_lane *l = context;
	const struct work_team *t = l->team;

	if (end_ns <= begin_ns || !work_is_counted(t->run, t->index, frame) ||
		work_owner_of(t->owners, t->run, &l->told, frame) == WORK_UNKNOWN)
		return;
	struct piece *piece = &l->pieces[l->count];
	piece->begin_ns = begin_ns;
	piece->end_ns = end_ns;
	piece->times = t->find(t->context, l->number, frame, &l->beside[l->count * t->slots]);
	l->count++;
}

static void on_command(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct team_lane *l = context;

	work_tell(l->team->owners, l->team->run, &l->told, frame);
}

/* The next time in the piece at hand in which its thread was on its CPU. */
static bool next_part(struct team_lane *l)
{
	const struct run_off_cpu *off = l->lane->off_cpu;
	uint64_t end_ns = l->pieces[l->at].end_ns;

	while (l->rest_ns < end_ns) {
		while (l->off < l->lane->off_cpu_count && off[l->off].end_ns <= l->rest_ns)
			l->off++;
		bool cut = l->off < l->lane->off_cpu_count && off[l->off].begin_ns < end_ns;
		l->begin_ns = l->rest_ns;
		l->end_ns = cut ? off[l->off].begin_ns : end_ns;
		l->rest_ns = cut ? off[l->off].end_ns : end_ns;
		if (l->begin_ns < l->end_ns)
			return true;
	}
	return false;
}

/* false: the lane has no more. */
static bool next(struct team_lane *l)
{
	while (!next_part(l)) {
		if (++l->at >= l->count) {
			l->at = l->count = 0;
			while (!l->count)
				if (!walk_lane_next(l->walk, AHEAD))
					return false;
		}
		l->rest_ns = l->pieces[l->at].begin_ns;
	}
	return true;
}

static inline void unite(struct work_time *time, uint64_t begin_ns, uint64_t end_ns)
{
	if (end_ns <= time->until_ns)
		return;
	time->wall_ns += end_ns - (begin_ns > time->until_ns ? begin_ns : time->until_ns);
	time->until_ns = end_ns;
}

static void unite_all(const struct team_lane *l, size_t slots)
{
	struct work_time *const *beside = &l->beside[l->at * slots];

	for (struct work_time *const *of = l->pieces[l->at].times->of; *of; of++)
		unite(*of, l->begin_ns, l->end_ns);
	for (size_t i = 0; i < slots; i++)
		if (beside[i])
			unite(beside[i], l->begin_ns, l->end_ns);
}

/* Lane i may be later than those below it. */
static void sift(const struct lanes *lanes, size_t i)
{
	struct team_lane **list = lanes->list, *moved = list[i];

	for (size_t child = 2 * i + 1; child < lanes->count; child = 2 * i + 1) {
		if (child + 1 < lanes->count && list[child + 1]->begin_ns < list[child]->begin_ns)
			child++;
		if (moved->begin_ns <= list[child]->begin_ns)
			break;
		list[i] = list[child];
		i = child;
	}
	list[i] = moved;
}

static void drop(struct team_lane *l)
{
	walk_lane_destroy(l->walk);
	free(l);
}

static void merge(struct lanes *lanes, size_t slots)
{
	for (size_t i = lanes->count / 2; i-- > 0;)
		sift(lanes, i);
	while (lanes->count) {
		struct team_lane *first = lanes->list[0];
		unite_all(first, slots);
		if (!next(first)) {
			drop(first);
			lanes->list[0] = lanes->list[--lanes->count];
		}
		if (lanes->count)
			sift(lanes, 0);
	}
}

static int add_lane(struct lanes *lanes, const struct work_team *team, uint32_t number)
{
	static const struct walk_ops thread_ops = {.piece = on_piece};
	static const struct walk_ops queue_ops = {.piece = on_piece, .end = on_command};
	size_t beside = PIECES * team->slots;
	struct team_lane *l = malloc(sizeof(*l) + beside * sizeof(struct work_time *));

	if (!l)
		return -ENOMEM;
	l->team = team;
	l->number = number;
	l->lane = &team->run->lanes[number];
	l->told.brick = RUN_NONE;
	l->at = l->count = l->off = 0;
	l->pieces[0].end_ns = l->rest_ns = 0;
	l->walk = walk_lane_create(team->run, team->index, number);
	if (!l->walk) {
		free(l);
		return -ENOMEM;
	}
	walk_lane_join(l->walk, l->lane->kind == BRICK_LANE_QUEUE ? &queue_ops : &thread_ops, l);
	if (next(l))
		lanes->list[lanes->count++] = l;
	else
		drop(l);
	return 0;
}

bool work_team_alone(const struct run *run, uint32_t lane)
{
	for (uint32_t i = 0; i < run->lane_count; i++)
		if (i != lane && run->lanes[i].process == run->lanes[lane].process &&
			run->lanes[i].kind == run->lanes[lane].kind && run->lanes[i].sample_count)
			return false;
	return true;
}

static int unite_process(const struct work_team *team)
{
	const struct run *run = team->run;
	struct lanes lanes = {malloc((run->lane_count + 1) * sizeof(struct team_lane *)), 0};
	int rc = lanes.list ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < run->lane_count && !rc; i++)
		if (run->lanes[i].process == team->process && !work_team_alone(run, i))
			rc = add_lane(&lanes, team, i);
	if (!rc)
		merge(&lanes, team->slots);
	while (lanes.count)
		drop(lanes.list[--lanes.count]);
	free(lanes.list);
	return rc;
}

static void *run_thread(void *argument)
{
	struct work_team *team = argument;

	team->result = unite_process(team);
	return NULL;
}

static bool is_worth_a_thread(const struct work_team *team)
{
	size_t samples = 0;

	for (uint32_t i = 0; i < team->run->lane_count; i++)
		if (team->run->lanes[i].process == team->process && !work_team_alone(team->run, i))
			samples += team->run->lanes[i].sample_count;
	return samples >= THREAD_FROM_SAMPLES;
}

void work_team_start(struct work_team *team, uint32_t process)
{
	team->process = process;
	team->threaded =
		is_worth_a_thread(team) && !pthread_create(&team->thread, NULL, run_thread, team);
}

int work_team_finish(struct work_team *team)
{
	if (!team->threaded)
		return unite_process(team);
	pthread_join(team->thread, NULL);
	return team->result;
}

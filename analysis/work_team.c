/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each lane is some pieces ahead of the others; the piece that begins first, of all lanes, is next.
 * Called by work_accounts.c.
 */
#include "analysis/work_team.h"

#include <errno.h>
#include <stdlib.h>

/* What one sample ends and begins fits behind AHEAD pieces. */
enum { AHEAD = 64, PIECES = AHEAD + UINT8_MAX + 3 };

struct piece {
	uint64_t begin_ns, end_ns;
};

struct team_lane {
	const struct work_team *team;
	struct walk_lane *walk;
	const struct run_lane *lane;
	uint32_t number;
	struct work_told told;
	struct piece pieces[PIECES];
	size_t at, count;
	size_t off;		   /* the first of its times off the CPU that may matter yet */
	uint64_t rest_ns;	   /* of the piece at hand, what is not begun yet */
	uint64_t begin_ns, end_ns; /* next of what is united */
	struct work_account *accounts[]; /* [PIECES][team->slots]; NULL: in none */
};

struct work_team {
	struct work_accounts *shared;
	size_t slots;		  /* accounts that one piece may be in */
	struct team_lane **lanes; /* a heap: that which goes on first is [0] */
	size_t count;
};

static void on_piece(
	void *context, const struct walk_frame *frame, uint64_t begin_ns, uint64_t end_ns)
{
	struct team_lane *l = context;
	struct work_accounts *shared = l->team->shared;

	if (end_ns <= begin_ns || !work_is_counted(shared, &l->told, frame))
		return;
	struct work_account **to = &l->accounts[l->count * l->team->slots];
	l->pieces[l->count++] = (struct piece){begin_ns, end_ns};
	to = work_shared_accounts(shared, l->number, frame, to);
	for (const struct work_accounts *a = shared->beside; a; a = a->beside)
		if (!a->by_lane) {
			size_t key = a->key(a->context, l->number, frame);
			*to++ = key == SIZE_MAX ? NULL : &a->accounts[key];
		}
}

static void on_command(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct team_lane *l = context;

	(void)depth;
	work_tell(l->team->shared, &l->told, frame);
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
			while (l->count < AHEAD && walk_lane_next(l->walk))
				;
			if (!l->count)
				return false;
		}
		l->rest_ns = l->pieces[l->at].begin_ns;
	}
	return true;
}

static inline void unite(struct work_account *account, uint64_t begin_ns, uint64_t end_ns)
{
	if (end_ns <= account->until_ns)
		return;
	account->wall_ns += end_ns - (begin_ns > account->until_ns ? begin_ns : account->until_ns);
	account->until_ns = end_ns;
}

static void unite_all(const struct work_team *t, const struct team_lane *l)
{
	struct work_account *const *accounts = &l->accounts[l->at * t->slots];

	for (size_t i = 0; i < t->slots; i++)
		if (accounts[i])
			unite(accounts[i], l->begin_ns, l->end_ns);
}

/* Lane i may be later than those below it. */
static void sift(struct work_team *t, size_t i)
{
	struct team_lane *moved = t->lanes[i];

	for (size_t child = 2 * i + 1; child < t->count; child = 2 * i + 1) {
		if (child + 1 < t->count &&
			t->lanes[child + 1]->begin_ns < t->lanes[child]->begin_ns)
			child++;
		if (moved->begin_ns <= t->lanes[child]->begin_ns)
			break;
		t->lanes[i] = t->lanes[child];
		i = child;
	}
	t->lanes[i] = moved;
}

static void drop(struct team_lane *l)
{
	walk_lane_destroy(l->walk);
	free(l);
}

static void merge(struct work_team *t)
{
	for (size_t i = t->count / 2; i-- > 0;)
		sift(t, i);
	while (t->count) {
		struct team_lane *first = t->lanes[0];
		unite_all(t, first);
		if (!next(first)) {
			drop(first);
			t->lanes[0] = t->lanes[--t->count];
		}
		if (t->count)
			sift(t, 0);
	}
}

static int add_lane(struct work_team *t, uint32_t number)
{
	static const struct walk_ops thread_ops = {.piece = on_piece};
	static const struct walk_ops queue_ops = {.piece = on_piece, .end = on_command};
	struct team_lane *l =
		malloc(sizeof(*l) + PIECES * t->slots * sizeof(struct work_account *));

	if (!l)
		return -ENOMEM;
	l->team = t;
	l->number = number;
	l->lane = &t->shared->run->lanes[number];
	l->told.brick = RUN_NONE;
	l->at = l->count = l->off = 0;
	l->pieces[0].end_ns = l->rest_ns = 0;
	l->walk = walk_lane_create(t->shared->run, t->shared->index, number);
	if (!l->walk) {
		free(l);
		return -ENOMEM;
	}
	walk_lane_join(l->walk, l->lane->kind == BRICK_LANE_QUEUE ? &queue_ops : &thread_ops, l);
	if (next(l))
		t->lanes[t->count++] = l;
	else
		drop(l);
	return 0;
}

static void clear(struct work_accounts *a)
{
	for (size_t i = 0; i < a->count; i++)
		a->accounts[i].until_ns = 0;
}

int work_team_unite(struct work_accounts *shared, uint32_t process)
{
	const struct run *run = shared->run;
	struct work_team t = {.shared = shared, .slots = work_shared_slots(shared)};
	int rc = 0;

	clear(shared);
	for (struct work_accounts *a = shared->beside; a; a = a->beside) {
		t.slots += !a->by_lane;
		clear(a);
	}
	t.lanes = malloc((run->lane_count + 1) * sizeof(struct team_lane *));
	if (!t.lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->lane_count && !rc; i++)
		if (run->lanes[i].process == process && !work_is_alone(run, i))
			rc = add_lane(&t, i);
	if (!rc)
		merge(&t);
	while (t.count)
		drop(t.lanes[--t.count]);
	free(t.lanes);
	return rc;
}

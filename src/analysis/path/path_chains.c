/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts activities together that come one after the other and have no part in anything else, so that
 * trying other times (path_what_if.c) goes from chain to chain. What does not lead to the end of
 * the schedule is in no chain.
 */
#include <string.h>

#include "analysis/path/path_state.h"

static uint64_t tenth_less(uint64_t ns)
{
	return ns - ns / 10 - (ns % 10 >= 5);
}

/*
 * A wait for a device, or for what is not known, has no work of its own: it ends sooner when what
 * it was for does. To leave a barrier takes time that can be less. Off its CPU a thread does no
 * work either.
 */
static int is_only_a_wait(const struct run *run, const struct schedule_activity *a)
{
	if (a->kind == SCHEDULE_OFF)
		return 1;
	return a->kind == SCHEDULE_WAIT && a->owner < run->brick_count &&
	       run->bricks[a->owner].well_known != BRICK_BARRIER_WAIT;
}

/* How many leading activities begin after each. */
static void count_followers(struct path_solver *s, const struct brick__dag *dag)
{
	memset(s->followers, 0, dag->count * sizeof(*s->followers));
	for (uint32_t v = 0; v < dag->count; v++)
		for (uint32_t p = dag->first[v];
			s->latest_ns[v] != UINT64_MAX && p < dag->first[v + 1]; p++)
			s->followers[dag->before[p]]++;
}

/* What the activity adds to its chain, and what that saves where the owner takes less. */
static void add_activity(struct path_solver *s, const struct schedule_activity *a)
{
	struct path_chain *chain = &s->chains[s->chain_count - 1];
	struct path_sum *sum = &s->sums[a->owner];

	chain->duration_ns += a->duration_ns;
	if (!a->duration_ns || is_only_a_wait(s->run, a))
		return;
	if (sum->chain != s->chains_made) {
		sum->chain = s->chains_made;
		sum->saving = s->saving_count;
		s->savings[s->saving_count++] = (struct path_saving){.owner = a->owner};
		chain->saving_count++;
	}
	struct path_saving *saving = &s->savings[sum->saving];
	saving->less_ns += a->duration_ns - tenth_less(a->duration_ns);
	saving->nothing_ns += a->duration_ns;
}

void path_find_chains(struct path_solver *s, const struct schedule *schedule)
{
	const struct brick__dag *dag = &schedule->dag;
	uint32_t last = RUN_NONE;

	s->chain_count = s->saving_count = 0;
	count_followers(s, dag);
	for (uint32_t i = 0; i < dag->count; i++) {
		uint32_t v = dag->order[i], first = dag->first[v];
		if (s->latest_ns[v] == UINT64_MAX)
			continue;
		if (last == RUN_NONE || dag->first[v + 1] - first != 1 ||
			dag->before[first] != last || s->followers[last] != 1) {
			s->chains[s->chain_count++] =
				(struct path_chain){.head = v, .saving_first = s->saving_count};
			s->chains_made++;
		}
		s->chain_of[v] = s->chain_count - 1;
		s->chains[s->chain_count - 1].tail = v;
		add_activity(s, &schedule->activities.items[v]);
		last = v;
	}
}

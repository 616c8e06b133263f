/* SPDX-License-Identifier: Apache-2.0 */
/* Owners come from the run's points of the kind RUN_POINT_THREAD and from its thread names. */
#include "trace/owners.h"

#include <errno.h>
#include <stdlib.h>
#include "base/hashmap.h"
#include "base/order.h"
#include "base/scope.h"

COMPARATOR(owners_by_time, struct owner, ORDER(x->ns, y->ns))

static bool is_handover(const struct run_point *p)
{
	return p->kind == RUN_POINT_THREAD;
}

/* Sets o->lanes: each lane has a first owner, and one more for each handover. */
static void count_owners(struct owners *o, const struct run *run)
{
	for (uint32_t i = 0; i < run->lane_count; i++)
		o->lanes[i + 1] = 1;
	for (size_t i = 0; i < run->point_count; i++)
		o->lanes[run->points[i].lane + 1] += is_handover(&run->points[i]);
	for (uint32_t i = 0; i < run->lane_count; i++)
		o->lanes[i + 1] += o->lanes[i];
}

static void fill_owners(struct owners *o, const struct run *run, size_t *next)
{
	for (uint32_t i = 0; i < run->lane_count; i++) {
		next[i] = o->lanes[i];
		o->all[next[i]++].tid = run->lanes[i].first_tid;
	}
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		if (is_handover(p))
			o->all[next[p->lane]++] =
				(struct owner){.ns = p->ns, .tid = (uint64_t)p->value};
	}
	for (uint32_t i = 0; i < run->lane_count; i++)
		qsort(o->all + o->lanes[i], next[i] - o->lanes[i], sizeof(*o->all), owners_by_time);
}

static uint64_t owners_key_of(uint32_t lane, uint64_t tid)
{
	return (uint64_t)lane << 32 | (uint32_t)tid;
}

/* Names owners by their threads' names. The lane's own name, if any, is that of its last owner. */
static int name_owners(struct owners *o, const struct run *run)
{
	SCOPED_BY(hashmap_fini) struct hashmap names = {0};
	int error = 0;

	for (size_t i = 0; i < run->thread_name_count && !error; i++)
		error = hashmap_set(&names,
			owners_key_of(run->thread_names[i].lane, run->thread_names[i].tid), i);
	for (uint32_t lane = 0; lane < run->lane_count && !error; lane++) {
		for (size_t k = o->lanes[lane]; k < o->lanes[lane + 1]; k++) {
			uint64_t i = hashmap_get(&names, owners_key_of(lane, o->all[k].tid));
			if (i != HASHMAP_NONE)
				o->all[k].name = run->thread_names[i].name;
		}
		if (run->lanes[lane].name && *run->lanes[lane].name)
			o->all[o->lanes[lane + 1] - 1].name = run->lanes[lane].name;
	}
	return error;
}

int owners_init(struct owners *o, const struct run *run)
{
	SCOPED size_t *next = calloc(run->lane_count + (size_t)1, sizeof(*next));

	*o = (struct owners){.lanes = calloc(run->lane_count + (size_t)1, sizeof(*o->lanes))};
	if (o->lanes)
		count_owners(o, run);
	o->all = o->lanes ? calloc(o->lanes[run->lane_count] + 1, sizeof(*o->all)) : NULL;
	if (next && o->all)
		fill_owners(o, run, next);
	return next && o->all ? name_owners(o, run) : -ENOMEM;
}

void owners_fini(struct owners *o)
{
	free(o->lanes);
	free(o->all);
}

size_t owners_place(const struct owners *o, uint32_t lane, uint64_t ns)
{
	return BISECT(i, o->lanes[lane] + 1, o->lanes[lane + 1], o->all[i].ns <= ns) - 1;
}

size_t owners_first(const struct owners *o, const struct run *run, uint32_t lane)
{
	const struct run_lane *l = &run->lanes[lane];
	size_t first = o->lanes[lane];
	bool is_empty = o->lanes[lane + 1] - first > 1 &&
			(!l->sample_count || l->samples[0].begin_ns >= o->all[first + 1].ns);

	return first + is_empty;
}

static bool is_used_thread(const struct run *run, const struct run_lane *lane)
{
	bool used = lane->sample_count != 0;

	for (size_t b = 0; lane->stats && b < run->brick_count && !used; b++)
		used = lane->stats[b].count != 0;
	return used && lane->kind != BRICK_LANE_QUEUE;
}

size_t run_thread_count(const struct run *run)
{
	SCOPED_BY(owners_fini) struct owners owners;
	bool known = owners_init(&owners, run) == 0;
	size_t count = 0;

	for (uint32_t i = 0; i < run->lane_count; i++)
		if (is_used_thread(run, &run->lanes[i]))
			count += known ? owners.lanes[i + 1] - owners_first(&owners, run, i) : 1;
	return count;
}

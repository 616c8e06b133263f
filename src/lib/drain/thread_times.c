/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If a lane's thread changes between two readings, the time between them is not counted. The
 * numbers of a thread vanish when it ends, so that up to one interval is missing.
 */
#include "lib/drain/thread_times.h"

#include "base/clock_ns.h"
#include "lib/sys/sys.h"

enum { MAX_TID = 1 << 22 };

static bool read_thread(uint32_t pid, uint64_t tid, struct thread_times_reading *out)
{
	if (!tid || tid > MAX_TID)
		return false;
	out->tid = (uint32_t)tid;
	out->ns = monotonic_ns();
	return !brick__sys_thread_schedule(pid, out->tid, &out->ran_ns, &out->queued_ns);
}

static void take(struct thread_times *s, struct thread_times_reading *last,
	const struct thread_times_reading *now)
{
	if (last->tid == now->tid && now->ran_ns >= last->ran_ns &&
		now->queued_ns >= last->queued_ns) {
		s->watched_ns += now->ns - last->ns;
		s->ran_ns += now->ran_ns - last->ran_ns;
		s->queued_ns += now->queued_ns - last->queued_ns;
	}
	*last = *now;
}

void thread_times_look(struct thread_times *s, const struct drain_map *map, uint32_t interval_ms)
{
	uint64_t now_ns = monotonic_ns();

	if (s->looked_ns && now_ns - s->looked_ns < (uint64_t)interval_ms * 1000000)
		return;
	s->looked_ns = now_ns;
	while (s->last.count < map->lane_count)
		if (array_push(&s->last, (struct thread_times_reading){0}))
			return; /* those without memory are watched from later on */
	for (uint32_t i = 0; i < map->lane_count; i++) {
		const struct brick_lane *lane = map->lanes[i]->shared;
		struct thread_times_reading now = {0};
		if (lane && lane->kind == BRICK_LANE_THREAD &&
			__atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) == BRICK_LANE_LIVE &&
			read_thread(map->header.pid, lane->tid, &now))
			take(s, &s->last.items[i], &now);
	}
}

void thread_times_add(const struct thread_times *s, struct off_cpu_account *account)
{
	account->watched_ns += s->watched_ns;
	account->ran_ns += s->ran_ns;
	account->queued_ns += s->queued_ns;
}

void thread_times_fini(struct thread_times *s)
{
	array_fini(&s->last);
}

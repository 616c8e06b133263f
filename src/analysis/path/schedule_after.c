/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the account of a schedule's step and comes after its end: sampling, mostly. Found by
 * schedule_source.c.
 */
#include "analysis/path/schedule_state.h"

/* `ns` more of what comes after the last part. */
static void add_part(struct schedule_maker *m, struct schedule_activity *part, uint64_t ns,
	uint32_t owner, uint8_t kind)
{
	part->begin_ns = part->end_ns;
	part->end_ns += ns;
	part->duration_ns = ns;
	part->owner = owner;
	part->kind = kind;
	schedule_add(m, part);
}

/* Of one sample: first what it was off its CPU, which no brick buys. */
static void add_after_item(struct schedule_maker *m, const struct schedule_after_item *item)
{
	const struct run_site *site =
		&m->run->sites[m->run->lanes[item->lane].samples[item->sample].site];
	uint32_t bricks = (uint32_t)m->run->brick_count, off = bricks + SCHEDULE_OWNER_PREEMPTED;
	enum brick_kind kind = m->index->kinds[site->brick];
	bool waits = kind == BRICK_KIND_WAIT;
	struct schedule_activity part = {.end_ns = item->begin_ns,
		.lane = item->lane,
		.sample = item->sample,
		.cause = RUN_NONE};
	uint64_t own_ns = item->own_ns;

	if (!waits && item->off.preempted_ns)
		add_part(m, &part, item->off.preempted_ns, off, SCHEDULE_OFF);
	off = bricks + SCHEDULE_OWNER_BLOCKED;
	if (!waits && item->off.blocked_ns)
		add_part(m, &part, item->off.blocked_ns, off, SCHEDULE_OFF);
	if (!waits)
		own_ns -= item->off.preempted_ns + item->off.blocked_ns;
	part.is_last = !item->is_part;
	if (kind != BRICK_KIND_STEP) /* else only its wait is here */
		add_part(m, &part, own_ns, schedule_owner_of(m->run, site),
			waits ? SCHEDULE_WAIT : SCHEDULE_WORK);
	if (item->wait_ns)
		add_part(m, &part, item->wait_ns, m->wait_owner, SCHEDULE_WAIT);
}

/* What is in the step's account after its end comes one after the other. */
void schedule_take_after(struct schedule_maker *m)
{
	const struct schedule_source *source = m->source;
	uint32_t step = m->schedule->step;

	for (uint32_t i = source->first[step]; i < source->first[step + 1]; i++) {
		const struct schedule_after_item *item = &source->items[i];
		if (m->has_tail && item->lane == m->driver && item->begin_ns < m->end_ns)
			continue; /* in the window */
		add_after_item(m, item);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that a sweep takes: how long a slot runs, how often it is repeated, and what is measured
 * once more because other figures contradict it. Called by sweep.c.
 */
#include "analysis/machine/sweep_state.h"

#include "base/clock_ns.h"

enum {
	REST_MS = 300, /* of it, for latencies and what is measured again */
	MIN_SLOT_US = 500,
	MAX_SLOT_US = 20000,
};

uint64_t sweep_now_ns(const struct sweep *s)
{
	return s->options->now_ns ? s->options->now_ns() : monotonic_ns();
}

/* A slot's share of the time is also that of finding its rounds and of warming its caches. */
static void plan_time(struct sweep *s)
{
	uint64_t runs = s->slots.count * (s->repetitions + 1), now_ns = sweep_now_ns(s);

	s->end_ns = s->begin_ns + s->budget_ns - REST_MS * 1000000ull;
	uint64_t left_us = now_ns < s->end_ns ? (s->end_ns - now_ns) / 1000 : 0;
	uint64_t slot_us = left_us / (runs ? runs : 1);
	slot_us = slot_us < MIN_SLOT_US ? MIN_SLOT_US : slot_us;
	s->slot_ns = (slot_us > MAX_SLOT_US ? MAX_SLOT_US : slot_us) * 1000;
}

/* By slots or by time, whichever is further. */
static void tell_progress(const struct sweep *s, uint64_t done)
{
	double runs = (double)s->slots.count * s->repetitions;
	double time = (double)(sweep_now_ns(s) - s->begin_ns) / (double)(s->end_ns - s->begin_ns);
	double share = (double)done / runs;

	share = time > share && done >= s->slots.count ? time : share;
	if (s->options->progress)
		s->options->progress(s->options->context, share > 1 ? 1 : share);
}

void sweep_measure_all(struct sweep *s, void (*measure)(struct sweep *s, struct sweep_slot *slot))
{
	plan_time(s);
	for (uint32_t i = 0; i < s->repetitions; i++)
		for (size_t k = 0; k < s->slots.count; k++) {
			/* On a busy machine fewer repetitions, rather than minutes. */
			if (i && sweep_now_ns(s) >= s->end_ns)
				return;
			measure(s, &s->slots.items[k]);
			if (k % 8 == 0)
				tell_progress(s, i * s->slots.count + k);
		}
}

static struct ceilings_figure *figure_of(struct sweep *s, const struct sweep_slot *slot)
{
	return slot->compute ? &s->ceilings->compute[slot->row].rate
			     : &s->ceilings->bandwidth[slot->row].rate;
}

static int is_doubtful(const struct sweep *s, const struct sweep_slot *slot)
{
	const struct ceilings *c = s->ceilings;

	return slot->count &&
	       (slot->compute ? ceilings_compute_doubtful(c, &c->compute[slot->row])
			      : ceilings_bandwidth_doubtful(c, &c->bandwidth[slot->row]));
}

void sweep_measure_again(struct sweep *s, void (*measure)(struct sweep *s, struct sweep_slot *slot))
{
	uint64_t end_ns = s->end_ns + REST_MS / 2 * 1000000ull;

	for (int i = 0; i < SWEEP_AGAIN; i++)
		for (size_t k = 0; k < s->slots.count; k++) {
			struct sweep_slot *slot = &s->slots.items[k];
			if (!is_doubtful(s, slot))
				continue;
			if (sweep_now_ns(s) >= end_ns)
				return;
			measure(s, slot);
			/* The greatest stays; what was lower widens the spread. */
			*figure_of(s, slot) = ceilings_figure_of(slot->values, slot->count, 0);
		}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repetitions go round all slots. A first run finds how many rounds take a slot's share of the
 * time; on a busy machine there are fewer repetitions.
 */
#include "analysis/machine/sweep_slots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock_ns.h"

enum {
	REST_MS = 300, /* of it, for latencies */
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

/* Rounds that take about one slot's time. */
static void calibrate(struct sweep *s, struct sweep_slot *slot)
{
	uint64_t rounds = slot->compute && !slot->device.set ? 1024 : 1;
	uint64_t ns = s->run(s, slot, rounds);

	while (ns && ns < s->slot_ns / 4 && rounds < UINT32_MAX / 2) {
		rounds *= 2;
		ns = s->run(s, slot, rounds);
	}
	/* That was one already, and a long one. */
	if (slot->stream && rounds == 1 && ns >= s->slot_ns)
		slot->values[slot->count++] = slot->work / (double)ns;
	double wanted = (double)rounds * (double)s->slot_ns / (double)(ns ? ns : 1);
	slot->rounds = wanted < 1 ? 1 : (uint64_t)wanted;
}

static void measure(struct sweep *s, struct sweep_slot *slot)
{
	if (!slot->rounds) {
		calibrate(s, slot);
		if (slot->count)
			return;
	} else if (slot->stream && slot->rounds > 1) {
		s->run(s, slot, 1); /* into the caches */
	}
	uint64_t ns = s->run(s, slot, slot->rounds);
	if (ns)
		slot->values[slot->count++] = slot->work * (double)slot->rounds / (double)ns;
}

static void keep_compute(struct ceilings *c, struct sweep_slot *slot)
{
	struct ceilings_compute *row = &c->compute[c->compute_count++];

	snprintf(row->isa, sizeof(row->isa), "%s", slot->compute->isa);
	snprintf(row->type, sizeof(row->type), "%s", slot->compute->type);
	row->threads = slot->threads;
	row->rate = ceilings_figure_of(slot->values, slot->count, false);
}

static void keep_stream(struct ceilings *c, struct sweep_slot *slot)
{
	struct ceilings_bandwidth *row = &c->bandwidth[c->bandwidth_count++];

	snprintf(row->kernel, sizeof(row->kernel), "%s", machine_stream_name(slot->stream->kind));
	snprintf(row->isa, sizeof(row->isa), "%s", slot->stream->isa);
	row->threads = slot->threads;
	row->bytes = slot->device.set ? slot->bytes : (uint64_t)slot->work;
	row->rate = ceilings_figure_of(slot->values, slot->count, false);
}

static int keep_all(struct sweep *s)
{
	struct ceilings *c = s->ceilings;

	c->compute = calloc(s->slots.count + 1, sizeof(*c->compute));
	c->bandwidth = calloc(s->slots.count + 1, sizeof(*c->bandwidth));
	if (!c->compute || !c->bandwidth)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots.count; i++) {
		if (!s->slots.items[i].count)
			continue;
		if (s->slots.items[i].compute)
			keep_compute(c, &s->slots.items[i]);
		else
			keep_stream(c, &s->slots.items[i]);
	}
	return 0;
}

int sweep_figures(struct sweep *s)
{
	sweep_measure_all(s, measure);
	int rc = keep_all(s);
	return rc ? rc : ceilings_find_levels(s->ceilings);
}

int sweep_add_latency(struct sweep *s, const char *backend, const char *what, uint32_t threads,
	double *values, uint32_t count)
{
	struct ceilings *c = s->ceilings;
	struct ceilings_latency *rows =
		array_grow(c->latency, &s->latency_capacity, c->latency_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	c->latency = rows;
	struct ceilings_latency *row = &rows[c->latency_count++];
	*row = (struct ceilings_latency){.threads = threads};
	snprintf(row->backend, sizeof(row->backend), "%s", backend);
	snprintf(row->what, sizeof(row->what), "%s", what);
	row->ns = ceilings_figure_of(values, count, true);
	return 0;
}

int sweep_add_missing(struct sweep *s, const char *what, const char *reason)
{
	struct ceilings *c = s->ceilings;
	struct ceilings_missing *rows =
		array_grow(c->missing, &s->missing_capacity, c->missing_count + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	c->missing = rows;
	struct ceilings_missing *row = &rows[c->missing_count++];
	snprintf(row->what, sizeof(row->what), "%s", what);
	snprintf(row->reason, sizeof(row->reason), "%s", reason);
	return 0;
}

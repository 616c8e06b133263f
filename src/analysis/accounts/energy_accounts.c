/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps are cut into stretches that do not overlap: a ns belongs to the step that began first.
 * Readings and stretches are both in the order of time, so one pass over them is enough.
 */
#include "analysis/accounts/energy_accounts.h"

#include <errno.h>

#include "base/number.h"

struct energy_stretch {
	uint64_t begin_ns, end_ns;
	uint32_t phase;
};

struct energy_stretches {
	ARRAY(struct energy_stretch) list;
};

static void energy_stretches_fini(struct energy_stretches *stretches)
{
	array_fini(&stretches->list);
}

static int energy_stretches_fill(
	struct energy_stretches *to, const struct run *run, const struct step_times *times)
{
	uint64_t free_ns = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		uint64_t length_ns = step_time_total_ns(&times->steps[i]);
		const struct energy_stretch s = {number_max(step->begin_ns, free_ns),
			step->begin_ns + length_ns, step_phase_of(step)};
		if (!length_ns || s.end_ns <= s.begin_ns)
			continue;
		free_ns = s.end_ns;
		if (array_push(&to->list, s))
			return -ENOMEM;
	}
	return 0;
}

/* The time of each phase between two readings. first: of the stretches; moved on to the next. */
static void energy_time_between(const struct energy_stretches *stretches, size_t *first,
	uint64_t from_ns, uint64_t to_ns, uint64_t ns[STEP_PHASES])
{
	for (size_t i = *first; i < stretches->list.count; i++) {
		const struct energy_stretch *s = &stretches->list.items[i];
		if (s->end_ns <= from_ns)
			*first = i + 1;
		if (s->begin_ns >= to_ns)
			break;
		ns[s->phase] += number_minus(
			number_min(s->end_ns, to_ns), number_max(s->begin_ns, from_ns));
	}
}

static void energy_spread(
	struct energy_row *row, const uint64_t ns[STEP_PHASES], uint64_t length_ns, double joules)
{
	int phases = 0;

	for (int p = 0; p < STEP_PHASES; p++)
		phases += ns[p] != 0;
	for (int p = 0; p < STEP_PHASES; p++) {
		struct energy_of_phase *of = &row->phases[p];
		double part = joules * (double)ns[p] / (double)length_ns;
		if (!ns[p])
			continue;
		of->joules += part;
		of->low += phases > 1 ? 0 : part;
		of->high += phases > 1 ? joules : part;
	}
}

/* A step that lies partly between the first and the last reading counts as that part of one. */
static void energy_divide(struct energy_of_phase *of, int phase, const struct run *run,
	const struct step_times *times, uint64_t from_ns, uint64_t to_ns)
{
	double steps = 0, tokens = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		uint64_t length_ns = step_time_total_ns(&times->steps[i]);
		uint64_t end_ns = step->begin_ns + length_ns;
		if (!length_ns || (int)step_phase_of(step) != phase ||
			step->outcome != RUN_EVALUATED)
			continue;
		double part = (double)number_minus(number_min(end_ns, to_ns),
				      number_max(step->begin_ns, from_ns)) /
			      (double)length_ns;
		steps += part;
		tokens += part * (double)step->tokens;
	}
	of->per_step = steps > 0 ? of->joules / steps : -1;
	of->per_token = tokens > 0 ? of->joules / tokens : -1;
}

static void energy_row_fill(struct energy_row *row, const struct run *run,
	const struct energy_stretches *stretches, const struct step_times *times)
{
	const struct run_energy *last = NULL, *begin = NULL;
	size_t first = 0;

	for (size_t i = 0; i < run->energy_count; i++) {
		const struct run_energy *now = &run->energies[i];
		uint64_t ns[STEP_PHASES] = {0};
		if (now->source != row->source)
			continue;
		row->readings++;
		if (last && now->ns > last->ns) {
			energy_time_between(stretches, &first, last->ns, now->ns, ns);
			energy_spread(
				row, ns, now->ns - last->ns, (double)(now->uj - last->uj) / 1e6);
		}
		begin = begin ? begin : now;
		last = now;
	}
	if (row->readings < 2)
		return;
	row->joules = run->is_narrowed ? -1 : (double)(last->uj - begin->uj) / 1e6;
	row->until_ns = last->ns;
	row->period_ns = (last->ns - begin->ns) / (row->readings - 1);
	for (int p = 0; p < STEP_PHASES; p++) {
		struct energy_of_phase *of = &row->phases[p];
		bool is_known = false;
		for (size_t i = 0; i < stretches->list.count && !is_known; i++)
			is_known = stretches->list.items[i].phase == (uint32_t)p &&
				   stretches->list.items[i].begin_ns >= begin->ns &&
				   stretches->list.items[i].end_ns <= last->ns;
		if (is_known)
			energy_divide(of, p, run, times, begin->ns, last->ns);
		else
			*of = (struct energy_of_phase){-1, -1, -1, -1, -1};
		row->is_known |= is_known;
	}
	row->is_known |= row->joules >= 0;
}

int energy_rows_measure(
	struct energy_rows *rows, const struct run *run, const struct step_times *times)
{
	SCOPED_BY(energy_stretches_fini) struct energy_stretches stretches = {0};

	if (run->energy_source_count && energy_stretches_fill(&stretches, run, times))
		return -ENOMEM;
	for (uint32_t source = 0; source < run->energy_source_count; source++) {
		struct energy_row row = {.source = source};
		energy_row_fill(&row, run, &stretches, times);
		if (row.is_known && array_push(&rows->list, row))
			return -ENOMEM;
	}
	return 0;
}

void energy_rows_fini(struct energy_rows *rows)
{
	array_fini(&rows->list);
}

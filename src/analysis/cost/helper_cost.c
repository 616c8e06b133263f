/* SPDX-License-Identifier: Apache-2.0 */
/* The newest of each thread's notes has all of it (helper_cost.h). */
#include "analysis/cost/helper_cost.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

/* Does note j tell of the same thread as note i? */
static bool is_same(const struct run_note *i, const struct run_note *j)
{
	return i->process == j->process && !strcmp(i->key, j->key) &&
	       !strncmp(i->value, j->value, strcspn(i->value, digits));
}

static double told_ns(const struct run *run)
{
	double sum_ns = 0;
	for (size_t i = 0; i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		bool is_last = !strcmp(note->key, "helper.cpu");
		for (size_t j = i + 1; j < run->note_count && is_last; j++)
			is_last = !is_same(note, &run->notes[j]);
		if (is_last)
			sum_ns += strtod(note->value + strcspn(note->value, digits), NULL);
	}
	return sum_ns;
}

struct helper_cost helper_cost_of(const struct run *run)
{
	double used_ns = fmax((double)run->machine.busy_ns + (double)run->machine.steal_ns,
		(double)run->program_cpu_ns + (double)run->consumer_cpu_ns);
	double ns = told_ns(run), most_ns = ns;

	if (run->cpus && used_ns > 0)
		most_ns = fmin(ns, used_ns / run->cpus);
	return (struct helper_cost){ns, most_ns};
}

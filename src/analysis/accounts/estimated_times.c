/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interval of estimated_times.h. Measured replays vary (by their differences from one to the
 * next, so that a slow drift is no noise). An estimated one is off by that itself, and by what the
 * measured one is off that it copies, together with all other copies; and by what a drift adds
 * between two measured ones. The mean of measured ones lies within the interval, too: it would be
 * the estimate if replays were not brought to their own lengths.
 */
#include "analysis/accounts/estimated_times.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/accounts/launches.h"
#include "analysis/statistics/statistics.h"
#include "analysis/statistics/unknown.h"
#include "base/hash.h"
#include "base/number.h"

struct estimated_call {
	uint64_t alike; /* hash of its kernels, in any order */
	uint32_t commands;
};

struct estimated_part {
	uint64_t row;
	uint32_t call;	   /* whose lengths are added up */
	bool is_estimated; /* that call */
	double call_ns;	   /* its sum so far */
	uint32_t measured, estimated;
	double first_ns, last_ns, squares; /* of measured ones, and of their differences */
	double measured_ns, estimated_ns;  /* sums */
	double copies, copies_squares;	   /* of the last one, and of those before */
};

static bool has_estimates(const struct run *run)
{
	for (size_t i = 0; i < run->command_count; i++)
		if (run_sample_is_estimated(run_command_sample(run, &run->commands[i])))
			return true;
	return false;
}

int estimated_times_init(struct estimated_times *t, const struct run *run)
{
	struct hashmap call_of = {0};
	int rc = 0;

	*t = (struct estimated_times){.run = NULL};
	if (!has_estimates(run))
		return 0;
	t->run = run;
	t->call_of = malloc((run->command_count + 1) * sizeof(*t->call_of));
	rc = t->call_of ? 0 : -ENOMEM;
	for (uint32_t i = 0; !rc && i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		uint64_t key = hash_add(hash_u64(c->launch_lane), c->launch_sample);
		uint64_t at = hashmap_get(&call_of, key);
		if (at == HASHMAP_NONE) {
			at = t->calls.count;
			rc = array_push(&t->calls, (struct estimated_call){0})
				     ?: hashmap_set(&call_of, key, at);
		}
		if (rc)
			break;
		t->calls.items[at].commands++;
		t->calls.items[at].alike += hash_u64(c->kernel);
		t->call_of[i] = (uint32_t)at;
	}
	hashmap_fini(&call_of);
	if (rc)
		estimated_times_fini(t);
	return rc;
}

void estimated_times_fini(struct estimated_times *t)
{
	free(t->call_of);
	array_fini(&t->calls);
	array_fini(&t->parts);
	hashmap_fini(&t->part_of);
	*t = (struct estimated_times){.run = NULL};
}

/* All commands of a call were added. */
static void part_close(struct estimated_part *p)
{
	if (p->call == RUN_NONE)
		return;
	if (p->is_estimated) {
		p->estimated++;
		p->estimated_ns += p->call_ns;
		p->copies++;
	} else {
		p->copies_squares += p->copies * p->copies;
		p->copies = 0;
		p->squares +=
			p->measured ? (p->call_ns - p->last_ns) * (p->call_ns - p->last_ns) : 0;
		p->first_ns = p->measured ? p->first_ns : p->call_ns;
		p->last_ns = p->call_ns;
		p->measured_ns += p->call_ns;
		p->measured++;
	}
	p->call = RUN_NONE;
	p->call_ns = 0;
}

int estimated_times_add(
	struct estimated_times *t, uint64_t row, uint32_t lane, uint32_t sample, uint64_t length_ns)
{
	const struct run_command *c = t->run ? launches_command(t->run, lane, sample) : NULL;

	if (!c || c->launch_lane == RUN_NONE)
		return 0;
	uint32_t number = t->call_of[c - t->run->commands];
	const struct estimated_call *call = &t->calls.items[number];
	bool is_estimated = run_sample_is_estimated(run_command_sample(t->run, c));
	uint64_t key = hash_add(hash_u64(row), call->alike);
	uint64_t at = hashmap_get(&t->part_of, key);

	if (at == HASHMAP_NONE) {
		at = t->parts.count;
		if (array_push(&t->parts, (struct estimated_part){.row = row, .call = RUN_NONE}) ||
			hashmap_set(&t->part_of, key, at))
			return -ENOMEM;
	}
	struct estimated_part *p = &t->parts.items[at];
	if (p->call != number)
		part_close(p);
	p->call = number;
	p->is_estimated = is_estimated;
	p->call_ns += (double)length_ns;
	return 0;
}

static double part_error_ns(struct estimated_part part)
{
	part_close(&part);
	if (!part.estimated)
		return 0;
	if (part.measured < 2)
		return INFINITY;
	double pairs = part.measured - 1, estimated = part.estimated;
	double copies = part.copies_squares + part.copies * part.copies;
	double sigma = sqrt(part.squares / 2 / pairs);
	double drift = fabs(part.last_ns - part.first_ns) / pairs / 2;
	double error = estimated * drift + statistics_t_bound(0.05, part.measured - 1) * sigma *
						   sqrt(copies + estimated);
	return fmax(error, fabs(part.estimated_ns - part.measured_ns * estimated / part.measured));
}

uint64_t estimated_times_error_ns(const struct estimated_times *t, uint64_t row)
{
	double squares = 0;

	for (size_t i = 0; i < t->parts.count; i++) {
		double error = t->parts.items[i].row == row ? part_error_ns(t->parts.items[i]) : 0;
		squares += error * error;
	}
	return isfinite(squares) ? number_of_double(sqrt(squares)) : ANALYSIS_UNKNOWN;
}

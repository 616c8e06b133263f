/* SPDX-License-Identifier: Apache-2.0 */
/* Every search is a bisection of a sorted list. */
#include "analysis/accounts/launches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"

static int compare_place(uint32_t lane_a, uint32_t sample_a, uint32_t lane_b, uint32_t sample_b)
{
	return ORDER(lane_a, lane_b) ?: ORDER(sample_a, sample_b);
}

static int by_launch(const void *a, const void *b, void *context)
{
	const struct run *run = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct run_command *x = &run->commands[i], *y = &run->commands[k];

	return ORDER(x->launch_lane, y->launch_lane) ?: ORDER(x->launch_sample, y->launch_sample)
		?: ORDER(i, k);
}

int launches_init(struct launches *l, const struct run *run)
{
	*l = (struct launches){.run = run};
	if (!run->command_count)
		return 0;
	l->commands = malloc(run->command_count * sizeof(*l->commands));
	if (!l->commands)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->command_count; i++)
		if (run->commands[i].launch_lane != RUN_NONE)
			l->commands[l->count++] = i;
	if (l->count > 1)
		qsort_r(l->commands, l->count, sizeof(*l->commands), by_launch, (void *)run);
	return 0;
}

void launches_fini(struct launches *l)
{
	free(l->commands);
	memset(l, 0, sizeof(*l));
}

const uint32_t *launches_of(
	const struct launches *l, uint32_t lane, uint32_t sample, uint32_t *count)
{
	const struct run_command *all = l->run->commands;
	size_t low = BISECT(i, 0, l->count,
		compare_place(all[l->commands[i]].launch_lane, all[l->commands[i]].launch_sample,
			lane, sample) < 0);

	*count = 0;
	for (size_t i = low; i < l->count; i++, ++*count) {
		const struct run_command *c = &l->run->commands[l->commands[i]];
		if (c->launch_lane != lane || c->launch_sample != sample)
			break;
	}
	return l->commands ? l->commands + low : NULL;
}

const struct run_command *launches_command(const struct run *run, uint32_t lane, uint32_t sample)
{
	size_t place = run_command_from(run, lane, sample);

	if (place == run->command_count)
		return NULL;
	const struct run_command *c = &run->commands[place];
	return c->lane == lane && c->sample == sample ? c : NULL;
}

bool launches_is_unnamed(const struct run *run, uint32_t brick)
{
	return !strcmp(run->categories[run->bricks[brick].category].name, "Device");
}

size_t launches_first_wait(const struct run *run, uint32_t lane, uint32_t sample)
{
	const struct run_wait *w = run->waits;

	return BISECT(
		i, 0, run->wait_count, compare_place(w[i].lane, w[i].sample, lane, sample) < 0);
}

uint32_t launches_step(
	const struct run *run, const struct step_index *index, uint32_t lane, uint32_t sample)
{
	const struct run_command *c = launches_command(run, lane, sample);

	return c ? step_index_of_command(index, run, c)
		 : step_index_at(index, run, lane, run->lanes[lane].samples[sample].begin_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up waits by kernel and queue, then joins kernels of one name on one queue. */
#include "analysis/accounts/wait_causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/launches.h"
#include "base/array.h"
#include "base/order.h"

void wait_causes_init(struct wait_causes *c, const struct run *run)
{
	*c = (struct wait_causes){.run = run};
}

void wait_causes_fini(struct wait_causes *c)
{
	hashmap_fini(&c->by_what);
	free(c->list);
	memset(c, 0, sizeof(*c));
}

/* The command that ended last among those that the wait was for; NULL: none is known. */
static const struct run_command *last_command(const struct run *run, uint32_t lane, uint32_t sample)
{
	const struct run_command *last = NULL;

	for (size_t i = launches_first_wait(run, lane, sample);
		i < run->wait_count && run->waits[i].lane == lane && run->waits[i].sample == sample;
		i++) {
		const struct run_command *command = &run->commands[run->waits[i].command];
		if (!last || run_command_sample(run, command)->end_ns >
				     run_command_sample(run, last)->end_ns)
			last = command;
	}
	return last;
}

/* The queue of the process whose work was the last to end during the wait; RUN_NONE: none's. */
static uint32_t last_queue(const struct run *run, uint32_t lane, const struct run_sample *wait)
{
	uint64_t last_ns = wait->begin_ns;
	uint32_t queue = RUN_NONE;

	for (uint32_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *l = &run->lanes[i];
		if (l->kind != BRICK_LANE_QUEUE || l->process != run->lanes[lane].process)
			continue;
		size_t k = run_sample_from(l, wait->end_ns);
		while (k && (l->samples[k - 1].depth || l->samples[k - 1].end_ns > wait->end_ns))
			k--;
		if (k && l->samples[k - 1].end_ns > last_ns) {
			last_ns = l->samples[k - 1].end_ns;
			queue = i;
		}
	}
	return queue;
}

/* The cause of that kernel (RUN_NONE: not known) and queue, made if there is none; NULL: no memory.
 */
static struct wait_cause *wait_causes_of(struct wait_causes *c, uint32_t kernel, uint32_t queue)
{
	uint64_t key = (uint64_t)kernel << 32 | queue, at = hashmap_get(&c->by_what, key);
	struct wait_cause *list;

	if (at != HASHMAP_NONE)
		return &c->list[at];
	list = array_grow(c->list, &c->capacity, c->count + 1, sizeof(*list));
	c->list = list ? list : c->list;
	if (!list || hashmap_set(&c->by_what, key, c->count)) {
		c->error = -ENOMEM;
		return NULL;
	}
	list[c->count] = (struct wait_cause){.lane = queue};
	if (kernel != RUN_NONE)
		list[c->count].name = c->run->kernels[kernel].name;
	return &list[c->count++];
}

void wait_causes_add(struct wait_causes *c, uint32_t lane, uint32_t sample, uint64_t time_ns)
{
	const struct run *run = c->run;
	const struct run_command *command = last_command(run, lane, sample);
	uint32_t queue =
		command ? command->lane : last_queue(run, lane, &run->lanes[lane].samples[sample]);
	bool is_kernel = command && command->kernel < run->kernel_count;
	struct wait_cause *cause = wait_causes_of(c, is_kernel ? command->kernel : RUN_NONE, queue);

	if (!cause)
		return;
	cause->count++;
	cause->time_ns += time_ns;
}

static int same_name(const struct wait_cause *a, const struct wait_cause *b)
{
	return a->name && b->name && a->lane == b->lane && !strcmp(a->name, b->name);
}

COMPARATOR(longest_first, struct wait_cause, ORDER(y->time_ns, x->time_ns))

int wait_causes_finish(struct wait_causes *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct wait_cause cause = c->list[i];
		size_t k = 0;
		while (k < kept && !same_name(&c->list[k], &cause))
			k++;
		if (k == kept) {
			c->list[kept++] = cause;
			continue;
		}
		c->list[k].count += cause.count;
		c->list[k].time_ns += cause.time_ns;
	}
	c->count = kept;
	if (c->count > 1)
		qsort(c->list, c->count, sizeof(*c->list), longest_first);
	hashmap_fini(&c->by_what);
	return c->error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a device could begin a command: when its launch had come, when the command before it on its
 * queue had ended, and when all that it waits for had. What it took longer than the last of these
 * is the launch's latency, which stays as it was. Measured times that contradict each other (clocks
 * of device and host agree only so well) are not followed.
 */
#include <stdlib.h>

#include "analysis/path/schedule_state.h"
#include "base/order.h"

COMPARATOR(by_place, struct schedule_call, ORDER(x->lane, y->lane) ?: ORDER(x->sample, y->sample))

static const struct schedule_call *call_of(
	const struct schedule_maker *m, const struct run_command *command)
{
	const struct schedule_call key = {
		.lane = command->launch_lane, .sample = command->launch_sample};

	if (command->launch_lane == RUN_NONE || !m->calls.count)
		return NULL;
	return bsearch(&key, m->calls.items, m->calls.count, sizeof(key), by_place);
}

/* A command in the window, by its number in run->commands; they were added in that order. */
static const struct schedule_command *command_at(const struct schedule_maker *m, uint32_t number)
{
	const struct schedule_command *c = m->commands.items;
	size_t n = BISECT(i, 0, m->commands.count, c[i].command < number);

	return n < m->commands.count && c[n].command == number ? &c[n] : NULL;
}

/* What a command can begin after, as far as it is known. */
struct ready {
	uint32_t before;   /* the activity that must have ended */
	uint64_t ready_ns; /* when it had */
};

static struct ready launch_of(const struct schedule_maker *m, uint32_t source,
	const struct run_command *command, uint64_t begin_ns)
{
	const struct schedule_activity *activities = m->schedule->activities.items;
	const struct schedule_call *call = call_of(m, command);

	if (!call)
		return (struct ready){RUN_NONE, 0};
	if (call->last != RUN_NONE && activities[call->last].end_ns <= begin_ns)
		return (struct ready){call->last, activities[call->last].end_ns};
	if (call->begin_ns > begin_ns)
		return (struct ready){RUN_NONE, 0};
	return (struct ready){call->before == RUN_NONE ? source : call->before, call->begin_ns};
}

/* Connect it, and move `ready_ns` on; the command begins at begin_ns. */
static void follow(struct schedule_maker *m, const struct ready *ready, uint64_t begin_ns,
	uint32_t target, uint64_t *ready_ns)
{
	if (ready->before == RUN_NONE || ready->ready_ns > begin_ns || ready->before == target)
		return;
	schedule_connect(m, ready->before, target);
	if (ready->ready_ns > *ready_ns)
		*ready_ns = ready->ready_ns;
}

static void link_command(
	struct schedule_maker *m, uint32_t source, const struct schedule_command *c)
{
	struct schedule *s = m->schedule;
	const struct run_command *command = &m->run->commands[c->command];
	uint64_t begin_ns = s->activities.items[c->first].begin_ns;
	uint32_t target = c->gap == RUN_NONE ? c->first : c->gap;
	uint64_t ready_ns = c->gap == RUN_NONE ? begin_ns : s->activities.items[c->gap].begin_ns;
	struct ready launch = launch_of(m, source, command, begin_ns);

	follow(m, &launch, begin_ns, target, &ready_ns);
	for (uint32_t i = 0; i < command->dependency_count; i++) {
		const struct schedule_command *other =
			command_at(m, m->run->dependencies[command->dependency_first + i]);
		if (!other || other->last == RUN_NONE)
			continue;
		const struct ready after = {other->last, s->activities.items[other->last].end_ns};
		follow(m, &after, begin_ns, target, &ready_ns);
	}
	if (launch.before == RUN_NONE)
		return;
	s->counts.launches++;
	if (c->gap == RUN_NONE)
		return;
	s->activities.items[c->gap].owner = (uint32_t)m->run->brick_count + SCHEDULE_OWNER_LAUNCH;
	s->activities.items[c->gap].duration_ns = begin_ns - ready_ns;
}

void schedule_sort_calls(struct schedule_maker *m)
{
	if (m->calls.count > 1)
		qsort(m->calls.items, m->calls.count, sizeof(*m->calls.items), by_place);
}

void schedule_link_commands(struct schedule_maker *m, uint32_t source)
{
	for (size_t i = 0; i < m->commands.count && !m->failed; i++)
		if (m->commands.items[i].first < m->schedule->activities.count)
			link_command(m, source, &m->commands.items[i]);
}

uint64_t schedule_join_commands(struct schedule_maker *m, const struct schedule_wait *wait)
{
	const struct schedule_activity *activities = m->schedule->activities.items;
	const struct run *run = m->run;
	uint32_t lane = activities[wait->activity].lane;
	uint32_t sample = activities[wait->activity].sample;
	uint64_t last_ns = 0;

	if (!run->wait_count || sample == RUN_NONE)
		return 0;
	for (size_t i = launches_first_wait(run, lane, sample);
		i < run->wait_count && run->waits[i].lane == lane && run->waits[i].sample == sample;
		i++) {
		const struct schedule_command *c = command_at(m, run->waits[i].command);
		if (!c || c->last == RUN_NONE || activities[c->last].end_ns > wait->leave_ns)
			continue;
		schedule_connect(m, c->last, wait->activity);
		if (activities[c->last].end_ns > last_ns)
			last_ns = activities[c->last].end_ns;
	}
	return last_ns;
}

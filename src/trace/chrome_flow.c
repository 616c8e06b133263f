/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrows of the Chrome export: from launches to commands, from commands to those that had to come
 * after them, and to who waited for them. Viewers let an arrow lead to where a slice begins; a wait
 * mostly begins before what it waits for, so its arrow leads to an instant at its end.
 */
#include "trace/chrome_state.h"

/* One end of a flow: it belongs to the slice around that time, or to the instant just written. */
static void write_flow(
	struct chrome *c, const char *kind, const char *name, size_t id, uint32_t lane, uint64_t ns)
{
	chrome_next(c);
	fprintf(c->out,
		"{\"ph\":\"%s\"%s,\"name\":\"%s\",\"cat\":\"brick\",\"id\":%zu,\"ts\":", kind,
		*kind == 'f' ? ",\"bp\":\"e\"" : "", name, id);
	chrome_time(c, ns);
	chrome_place(c, lane, ns);
	fputc('}', c->out);
}

static void write_waited(struct chrome *c, uint32_t lane, uint64_t ns)
{
	chrome_next(c);
	fputs("{\"ph\":\"i\",\"s\":\"t\",\"name\":\"Waited\",\"cat\":\"brick\",\"ts\":", c->out);
	chrome_time(c, ns);
	chrome_place(c, lane, ns);
	fputc('}', c->out);
}

static const struct run_sample *sample_at(const struct chrome *c, uint32_t lane, uint32_t sample)
{
	return &c->run->lanes[lane].samples[sample];
}

static uint64_t command_begin(const struct chrome *c, const struct run_command *command)
{
	return sample_at(c, command->lane, command->sample)->begin_ns;
}

static void launch_flow(struct chrome *c, const struct run_command *to, size_t id)
{
	if (to->launch_lane == RUN_NONE)
		return;
	write_flow(c, "s", "launch", id, to->launch_lane,
		sample_at(c, to->launch_lane, to->launch_sample)->begin_ns);
	write_flow(c, "f", "launch", id, to->lane, command_begin(c, to));
}

static void after_flow(
	struct chrome *c, const struct run_command *from, const struct run_command *to, size_t id)
{
	write_flow(c, "s", "after", id, from->lane, command_begin(c, from));
	write_flow(c, "f", "after", id, to->lane, command_begin(c, to));
}

static void wait_flow(struct chrome *c, const struct run_wait *wait, size_t id)
{
	const struct run_command *from = &c->run->commands[wait->command];
	uint64_t end_ns = sample_at(c, wait->lane, wait->sample)->end_ns;

	write_flow(c, "s", "wait", id, from->lane, command_begin(c, from));
	write_waited(c, wait->lane, end_ns);
	write_flow(c, "f", "wait", id, wait->lane, end_ns);
}

void chrome_flows(struct chrome *c)
{
	const struct run *run = c->run;
	size_t id = 1;

	for (size_t i = 0; i < run->command_count; i++)
		launch_flow(c, &run->commands[i], id++);
	for (size_t i = 0; i < run->command_count; i++)
		for (uint32_t k = 0; k < run->commands[i].dependency_count; k++) {
			uint32_t from = run->dependencies[run->commands[i].dependency_first + k];
			after_flow(c, &run->commands[from], &run->commands[i], id++);
		}
	for (size_t i = 0; i < run->wait_count; i++)
		wait_flow(c, &run->waits[i], id++);
}

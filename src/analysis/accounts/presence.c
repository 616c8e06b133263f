/* SPDX-License-Identifier: Apache-2.0 */
/* A function for each source: /proc of the machine, switches, counters of steps, the scheduler. */
#include "analysis/accounts/presence.h"

#include <string.h>

#include "base/disturbed.h"

static void of_machine(struct presence *p, const struct run *run)
{
	const struct machine_use *use = &run->machine;
	double all = (double)use->busy_ns + (double)use->steal_ns + (double)use->idle_ns;
	double own = (double)run->program_cpu_ns + (double)run->consumer_cpu_ns;
	double others = (double)use->busy_ns - own;

	if (all <= 0)
		return;
	p->busy = (double)use->busy_ns / all;
	p->steal = (double)use->steal_ns / all;
	p->neighbour = (double)use->neighbour_ns / all;
	p->interrupts = (double)use->interrupt_ns / all;
	if (use->interrupt_cpu_all_ns) {
		p->interrupted_cpu = use->interrupt_cpu;
		p->interrupts_there =
			(double)use->interrupt_cpu_ns / (double)use->interrupt_cpu_all_ns;
	}
	/* both come in ticks of 10 ms, so a small or negative rest means nothing */
	p->others = others > (double)use->neighbour_ns ? others / all : p->neighbour;
}

bool presence_is_disturbed(const struct run *run)
{
	struct presence p = {.others = -1, .steal = -1};

	of_machine(&p, run);
	return disturbed_by(p.others, p.steal);
}

/* CPU time by the counter "cpu-time"; unknown unless each step that ended has one. */
static void of_step_cpu(struct presence *p, const struct run *run)
{
	double wall = 0, cpu = 0;
	size_t steps = 0, counted = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->open)
			continue;
		wall += (double)(step->end_ns - step->begin_ns);
		steps++;
	}
	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *point = &run->points[i];
		if (point->kind != RUN_POINT_COUNTER || point->brick >= run->brick_count ||
			strcmp(run->bricks[point->brick].name, "cpu-time"))
			continue;
		cpu += point->value;
		counted++;
	}
	if (counted == steps && wall > 0)
		p->off = cpu < wall ? 1 - cpu / wall : 0;
}

static void of_threads(struct presence *p, const struct run *run)
{
	const struct off_cpu_account *o = &run->off_cpu;
	double all = (double)o->watched_ns;

	if (!o->watched_ns)
		return;
	double queued = (double)o->queued_ns / all;
	p->queued = queued < 1 ? queued : 1;
	p->idle = 1 - p->queued - (double)o->ran_ns / all;
	p->idle = p->idle > 0 ? p->idle : 0;
}

/* Measures steps to the end of a device's work for them, as their time is counted everywhere. */
static void of_steps(struct presence *p, const struct run *run, const struct step_index *index)
{
	double all = 0, known = 0, preempted = 0, blocked = 0;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		uint64_t end_ns = index->tails[i].end_ns;
		if (!index->finished[i])
			continue;
		struct run_off_times off =
			run_off_cpu_between(&run->lanes[step->lane], step->begin_ns, end_ns);
		all += (double)(end_ns - step->begin_ns);
		if (!run_off_cpu_is_known(run, step->begin_ns, end_ns))
			continue;
		known += (double)(end_ns - step->begin_ns);
		preempted += (double)off.preempted_ns;
		blocked += (double)off.blocked_ns;
	}
	if (all > 0)
		p->known = known / all;
	if (known <= 0)
		return;
	p->preempted = preempted / known;
	p->blocked = blocked / known;
	p->off = p->preempted + p->blocked;
}

void presence_of_run(
	struct presence *presence, const struct run *run, const struct step_index *index)
{
	*presence = (struct presence){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
	of_machine(presence, run);
	if (run->off_cpu.source != OFF_CPU_UNKNOWN)
		of_steps(presence, run, index);
	else
		of_step_cpu(presence, run);
	of_threads(presence, run);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that could not run, and threads that waited for one another. */
#include <stdio.h>
#include "analysis/path/schedule.h"
#include "analysis/explain/explain_rules.h"
#include "ui/text/paragraph.h"
#include "ui/text/units.h"

/* What all threads of the run lost to others on their CPUs. */
static uint64_t preempted_ns(const struct run *run)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		ns += run_off_cpu_between(&run->lanes[i], run->start_ns, run->end_ns).preempted_ns;
	return ns;
}

/*
 * Other programs did it if they used half as much CPU time as was lost or more: while a thread is
 * preempted, somebody runs in its place.
 */
static int others_did_it(const struct explain_facts *f)
{
	const struct machine_use *use = &f->run->machine;
	double all = (double)use->busy_ns + (double)use->steal_ns + (double)use->idle_ns;

	return f->presence.others * all >= 0.5 * (double)preempted_ns(f->run);
}

static size_t threads_of(const struct explain_facts *f, const struct explain_phase *phase)
{
	size_t n = 0;

	for (size_t i = 0; phase->path && i < phase->path->lane_count; i++)
		n += f->run->lanes[phase->path->lanes[i].lane].kind == BRICK_LANE_THREAD;
	return n;
}

/*
 * Of n threads on m CPUs n - m are off them at any time, if nobody else is there: they took the
 * CPUs from one another if that is half of what was lost or more.
 */
static int is_crowded(const struct explain_facts *f, const struct explain_phase *phase)
{
	double cpus = run_usable_cpus(f->run), threads = (double)threads_of(f, phase);

	return cpus > 0 && threads > cpus &&
	       (threads - cpus) / threads >= 0.5 * f->presence.preempted;
}

static int preempted(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	char part[UNITS_BYTES];
	const struct explain_phase *phase = &f->phases[p];

	out->cost_ns = explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED);
	explain_say(out->what, "threads lost their CPUs during %s of the critical path",
		units_percent(part, explain_share(out->cost_ns, phase->wall_ns)));
	explain_say(out->show, "brick path");
	return out->cost_ns && f->run->off_cpu.source != OFF_CPU_UNKNOWN;
}

int rule_preempted_by_others(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	char others[UNITS_BYTES], most[UNITS_BYTES], alone[96] = "";
	const struct machine_use *use = &f->run->machine;

	if (!preempted(f, p, out) || !others_did_it(f) || is_crowded(f, &f->phases[p]))
		return 0;
	if (use->neighbour[0])
		snprintf(alone, sizeof(alone), ", %.48s alone %s", use->neighbour,
			units_percent(most, f->presence.neighbour));
	explain_say(out->evidence,
		"the kernel's context switches; other programs used %s of all CPUs%s",
		units_percent(others, f->presence.others), alone);
	explain_say(out->advice,
		"stop the other programs, or keep them off these CPUs (taskset, nice, cpusets)");
	return 1;
}

int rule_oversubscribed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	char busy[UNITS_BYTES];
	size_t threads = threads_of(f, &f->phases[p]);
	uint32_t cpus = run_usable_cpus(f->run);
	int crowded = is_crowded(f, &f->phases[p]);

	if (!preempted(f, p, out) || (others_did_it(f) && !crowded))
		return 0;
	out->certainty = FINDING_LIKELY;
	if (crowded)
		explain_say(out->evidence,
			"%zu threads took part, and had %u CPU%s to run on; other programs used %s "
			"of all CPUs",
			threads, cpus, plural_s(cpus), units_percent(busy, f->presence.others));
	else
		explain_say(out->evidence,
			"%zu thread%s took part, of %u CPUs %s was in use, and no other program "
			"used enough to explain it: the program's own threads share CPUs",
			threads, plural_s(threads), f->run->cpus,
			units_percent(busy, f->presence.busy));
	explain_say(out->advice,
		"run no more threads than there are CPUs for it (-t N), and see which CPUs it may "
		"use (taskset -p, the cgroup's cpuset)");
	return 1;
}

int rule_blocked(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *most = NULL;
	char ns[UNITS_BYTES];

	if (f->run->off_cpu.source == OFF_CPU_UNKNOWN)
		return 0;
	out->cost_ns = explain_owner_ns(f, phase, SCHEDULE_OWNER_BLOCKED);
	for (size_t i = 0; i < phase->summary->row_count; i++) {
		const struct summary_row *row = &phase->summary->rows[i];
		if (row->blocked_ns != UINT64_MAX && (!most || row->blocked_ns > most->blocked_ns))
			most = row;
	}
	if (!out->cost_ns || !most || !most->blocked_ns)
		return 0;
	explain_say(out->what, "bricks slept instead of computing, most in %.47s", most->name);
	explain_say(out->evidence,
		"the kernel says that the thread blocked, %s on all threads in %.47s; no wait that "
		"Brick knows explains it",
		units_time(ns, most->blocked_ns), most->name);
	explain_say(out->advice,
		"look for page faults that read from disk, locks and sleeps there (perf trace -s, "
		"--mlock), and whether it was stopped (^Z, a debugger)");
	explain_say(out->show, "brick report --columns +BLOCKED");
	return 1;
}

/* The brick behind which threads waited longest. */
static const struct summary_row *waited_for(const struct summary *summary)
{
	const struct summary_row *most = NULL;

	for (size_t i = 0; i < summary->row_count; i++)
		if (!most || summary->rows[i].wait_ns > most->wait_ns)
			most = &summary->rows[i];
	return most;
}

/* How long threads of the phase were preempted between two moments, added up. */
static uint64_t team_preempted_ns(const struct explain_facts *f, const struct path_section *path,
	uint64_t begin, uint64_t end)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < path->lane_count; i++)
		ns += run_off_cpu_between(&f->run->lanes[path->lanes[i].lane], begin, end)
			      .preempted_ns;
	return ns < end - begin ? ns : end - begin;
}

/* Of what a sample waited: behind it, and somewhere inside of it. */
static uint64_t of_sample_ns(
	const struct explain_facts *f, const struct path_section *path, const struct run_sample *s)
{
	int is_wait = f->run->bricks[f->run->sites[s->site].brick].well_known == BRICK_BARRIER_WAIT;
	uint64_t begin = is_wait ? s->begin_ns : s->end_ns, end = s->end_ns + s->wait_ns;
	uint64_t ns = begin < end ? team_preempted_ns(f, path, begin, end) : 0;
	uint64_t inner_ns = s->inner_ns ? team_preempted_ns(f, path, s->begin_ns, s->end_ns) : 0;

	return ns + (inner_ns < s->inner_ns ? inner_ns : s->inner_ns);
}

/* Of a thread's waits in the phase: while it, or another of the team, was preempted. */
static uint64_t waited_for_preempted_ns(
	const struct explain_facts *f, enum step_phase p, uint32_t number)
{
	const struct run_lane *lane = &f->run->lanes[number];
	uint64_t ns = 0;

	for (size_t i = 0; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		uint32_t step = step_index_at(&f->index, f->run, number, s->begin_ns);
		run_lane_passed(lane, i);
		if (step != RUN_NONE && step_phase_of(&f->run->steps[step]) == p)
			ns += of_sample_ns(f, f->phases[p].path, s);
	}
	return ns;
}

/*
 * With work spread evenly all threads would wait as long as now, on average, and no longer: what
 * each waits on average could be gone. While one of them is preempted all wait for that, which is
 * another finding's.
 */
int rule_barrier_waits(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *row = explain_row(phase, "BarrierWait");
	const struct summary_row *most = waited_for(phase->summary);
	size_t threads = threads_of(f, phase);
	char all[UNITS_BYTES], behind[UNITS_BYTES];
	uint64_t off_ns = 0;

	if (!row || threads < 2 || row->self_ns / threads < phase->wall_ns / 20)
		return 0;
	for (size_t i = 0; i < phase->path->lane_count; i++)
		off_ns += waited_for_preempted_ns(f, p, phase->path->lanes[i].lane);
	out->cost_ns = row->self_ns > off_ns ? (row->self_ns - off_ns) / threads : 0;
	if (out->cost_ns < phase->wall_ns / 20)
		return 0;
	out->certainty = FINDING_LIKELY;
	explain_say(out->what, "threads wait for one another at barriers, most behind %.47s",
		most->name);
	explain_say(out->evidence,
		"%zu threads waited %s in all, %s of it behind %.47s; the cost leaves out when one "
		"of them was preempted",
		threads, units_time(all, row->self_ns), units_time(behind, most->wait_ns),
		most->name);
	explain_say(out->advice,
		"try fewer threads, threads on cores of one kind, and no two on one core (-t N, "
		"--cpu-mask)");
	explain_say(out->show, "brick report --by thread");
	return 1;
}

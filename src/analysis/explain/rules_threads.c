/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that could not run, and threads that waited for one another. */
#include "analysis/path/schedule.h"
#include "analysis/explain/finding.h"

/* Time for which threads of the run were preempted, added up. */
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
static bool others_did_it(const struct explain_facts *f)
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
static bool is_crowded(const struct explain_facts *f, const struct explain_phase *phase)
{
	double cpus = run_usable_cpus(f->run), threads = (double)threads_of(f, phase);

	return cpus > 0 && threads > cpus &&
	       (threads - cpus) / threads >= 0.5 * f->presence.preempted;
}

static bool preempted(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	out->cost_ns = explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED);
	return out->cost_ns && f->run->off_cpu.source != OFF_CPU_UNKNOWN;
}

bool rule_preempted_by_others(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return preempted(f, p, out) && others_did_it(f) && !is_crowded(f, &f->phases[p]);
}

bool rule_oversubscribed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	bool crowded = is_crowded(f, &f->phases[p]);

	out->certainty = FINDING_LIKELY;
	out->of.oversubscribed.threads = threads_of(f, &f->phases[p]);
	out->of.oversubscribed.cpus = run_usable_cpus(f->run);
	out->of.oversubscribed.is_crowded = crowded;
	return preempted(f, p, out) && (crowded || !others_did_it(f));
}

bool rule_blocked(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *most = NULL;

	if (f->run->off_cpu.source == OFF_CPU_UNKNOWN)
		return false;
	out->cost_ns = explain_owner_ns(f, phase, SCHEDULE_OWNER_BLOCKED);
	for (size_t i = 0; i < phase->summary->row_count; i++) {
		const struct summary_row *row = &phase->summary->rows[i];
		if (row->blocked_ns != UINT64_MAX && (!most || row->blocked_ns > most->blocked_ns))
			most = row;
	}
	out->of.blocked = most;
	return out->cost_ns && most && most->blocked_ns;
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

/* Time for which threads of the phase were preempted between two moments, added up. */
static uint64_t team_preempted_ns(const struct explain_facts *f, const struct path_section *path,
	uint64_t begin, uint64_t end)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < path->lane_count; i++)
		ns += run_off_cpu_between(&f->run->lanes[path->lanes[i].lane], begin, end)
			      .preempted_ns;
	return ns < end - begin ? ns : end - begin;
}

/* Preempted time in the waits of a sample: behind it, and inside of it. */
static uint64_t of_sample_ns(
	const struct explain_facts *f, const struct path_section *path, const struct run_sample *s)
{
	bool is_wait =
		f->run->bricks[f->run->sites[s->site].brick].well_known == BRICK_BARRIER_WAIT;
	uint64_t begin = is_wait ? s->begin_ns : s->end_ns, end = s->end_ns + s->wait_ns;
	uint64_t ns = begin < end ? team_preempted_ns(f, path, begin, end) : 0;
	uint64_t inner_ns = s->inner_ns ? team_preempted_ns(f, path, s->begin_ns, s->end_ns) : 0;

	return ns + (inner_ns < s->inner_ns ? inner_ns : s->inner_ns);
}

/* Time of a thread's waits in the phase during which one of the team was preempted. */
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
 * With work spread evenly no thread would wait: the cost is the average wait of a thread. Waits for
 * a preempted thread belong to another finding.
 */
bool rule_barrier_waits(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *row = explain_row(phase, "BarrierWait");
	size_t threads = threads_of(f, phase);
	uint64_t off_ns = 0;

	if (!row || threads < 2 || row->self_ns / threads < phase->wall_ns / 20)
		return false;
	for (size_t i = 0; i < phase->path->lane_count; i++)
		off_ns += waited_for_preempted_ns(f, p, phase->path->lanes[i].lane);
	out->cost_ns = row->self_ns > off_ns ? (row->self_ns - off_ns) / threads : 0;
	if (out->cost_ns < phase->wall_ns / 20)
		return false;
	out->certainty = FINDING_LIKELY;
	out->of.barrier_waits.threads = threads;
	out->of.barrier_waits.waited_ns = row->self_ns;
	out->of.barrier_waits.most = waited_for(phase->summary);
	return true;
}

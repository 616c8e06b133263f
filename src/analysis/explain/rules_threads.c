/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads without a CPU, threads that wait for one another, and threads that wait for a disk.
 */
#include "analysis/explain/finding.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/counter_accounts.h"
#include "analysis/statistics/unknown.h"
#include "analysis/path/schedule.h"
#include "base/number.h"
#include "brick/abi/step_counters.h"
#include "brick/brick.h"

/* Time for which threads of the run were preempted, added up. */
static uint64_t preempted_ns(const struct run *run)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		ns += run_off_cpu_between(&run->lanes[i], run->start_ns, run->end_ns).preempted_ns;
	return ns;
}

/*
 * True if other programs used at least half as much CPU time as was lost, on the CPUs that the
 * program may use. While a thread is preempted, another one runs in its place.
 */
static bool others_did_it(const struct explain_facts *f)
{
	const struct run *run = f->run;
	const struct machine_use *use = &run->machine;
	double all = (double)use->busy_ns + (double)use->steal_ns + (double)use->idle_ns;
	double part = run->cpus ? (double)run_usable_cpus(run) / run->cpus : 1;
	double others = f->presence.others * all;
	double room = part * all - (double)run->program_cpu_ns; /* left to others */

	return (others < room ? others : room) >= 0.5 * (double)preempted_ns(run);
}

/* A quota, too, preempts the threads of a program. */
static bool quota_did_it(const struct explain_facts *f)
{
	return f->run->machine.throttled_ns &&
	       2 * f->run->machine.throttled_ns >= preempted_ns(f->run);
}

/*
 * Finds, for a team of more threads than CPUs, the time beyond what `cpus` would take without
 * waiting.
 */
static bool crowd(
	const struct explain_facts *f, enum step_phase p, uint32_t cpus, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t ideal_ns = explain_ideal_ns(phase, cpus);

	out->of.crowd.threads = phase->team;
	out->of.crowd.cpus = run_usable_cpus(f->run);
	out->of.crowd.online = f->run->cpus;
	out->certainty = FINDING_LIKELY;
	out->cost_ns = phase->wall_ns > ideal_ns ? phase->wall_ns - ideal_ns : 0;
	return run_usable_cpus(f->run) && phase->team > run_usable_cpus(f->run) &&
	       finding_costs(out, phase->wall_ns, 20);
}

/* The program's mask leaves it fewer CPUs than it has threads, and the machine has more. */
bool rule_affinity(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t online = f->run->cpus;
	uint32_t could = phase->team < online ? (uint32_t)phase->team : online;

	return run_usable_cpus(f->run) < online && crowd(f, p, could, out);
}

bool rule_oversubscribed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return crowd(f, p, run_usable_cpus(f->run), out);
}

static bool lost_cpus(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	out->cost_ns =
		explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED) + phase->between.preempted_ns;
	return out->cost_ns && f->run->off_cpu.source != OFF_CPU_UNKNOWN;
}

bool rule_cpu_quota(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return lost_cpus(f, p, out) && quota_did_it(f);
}

bool rule_preempted_by_others(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return lost_cpus(f, p, out) && others_did_it(f) && !quota_did_it(f);
}

bool rule_preempted(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return lost_cpus(f, p, out) && !others_did_it(f) && !quota_did_it(f);
}

/* No thread notices the time that the virtual machine's host takes, so bricks last longer by it. */
bool rule_steal(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const double least = 0.05;

	out->certainty = FINDING_LIKELY;
	out->cost_ns = number_of_double(f->presence.steal * (double)f->phases[p].wall_ns);
	return f->presence.steal >= least;
}

/* The brick that was blocked longest; NULL: none was. */
static const struct summary_row *sleeper(const struct explain_phase *phase)
{
	const struct summary_row *most = NULL;

	for (size_t i = 0; i < phase->summary->row_count; i++) {
		const struct summary_row *row = &phase->summary->rows[i];
		if (row->blocked_ns != ANALYSIS_UNKNOWN && row->blocked_ns &&
			(!most || row->blocked_ns > most->blocked_ns))
			most = row;
	}
	return most;
}

bool rule_blocked(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	if (f->run->off_cpu.source == OFF_CPU_UNKNOWN)
		return false;
	out->cost_ns = explain_owner_ns(f, phase, SCHEDULE_OWNER_BLOCKED);
	out->of.blocked = sleeper(phase);
	return out->cost_ns && out->of.blocked;
}

/* The step of a counter's value, which stands in it or right after it; RUN_NONE: another counter.
 */
static uint32_t rules_threads_step_of(
	const struct explain_facts *f, const struct run_point *point, uint32_t counter)
{
	if (point->kind != RUN_POINT_COUNTER || point->brick != counter)
		return RUN_NONE;
	const struct run_step *step = counters_step_of(f->run, &f->index, point);
	return step ? (uint32_t)(step - f->run->steps)
		    : step_index_at(&f->index, f->run, point->lane, point->ns);
}

/* Sums a counter over the phase's steps. */
static uint64_t rules_threads_counted(
	const struct explain_facts *f, enum step_phase p, const char *name)
{
	uint32_t counter = run_brick_find(f->run, name);
	double sum = 0;

	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++) {
		uint32_t step = rules_threads_step_of(f, &f->run->points[i], counter);
		if (step != RUN_NONE && step_phase_of(&f->run->steps[step]) == p)
			sum += f->run->points[i].value;
	}
	return number_of_double(sum);
}

/*
 * An eighth of the model, or 8 faults, is no accident. Waiting for a slow disk is sleep; a quick
 * disk costs mostly time of the kernel, which makes room for the pages and maps them.
 */
bool rule_cold_pages(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { MANY_FAULTS = 8, PART_OF_MODEL = 8 };
	const struct explain_phase *phase = &f->phases[p];
	uint64_t bytes = rules_threads_counted(f, p, BRICK_DISK_NAME);
	bool much = bytes && bytes >= f->model_bytes / PART_OF_MODEL;

	out->certainty = FINDING_LIKELY;
	out->of.cold_pages.bytes = bytes;
	out->of.cold_pages.faults = f->run->machine.major_faults;
	/* beside a device threads sleep for other reasons, and its driver is read from disk, too */
	if (!much && (f->run->machine.major_faults < MANY_FAULTS || phase->queue))
		return false;
	if (!phase->queue)
		out->of.cold_pages.slept_ns = explain_owner_ns(f, phase, SCHEDULE_OWNER_BLOCKED);
	/* where switches were not recorded: what the scheduler counted */
	if (!phase->queue && !phase->summary->knows_off && f->presence.idle > 0)
		out->of.cold_pages.slept_ns =
			number_of_double(f->presence.idle * (double)phase->wall_ns);
	out->of.cold_pages.kernel_ns =
		much ? rules_threads_counted(f, p, BRICK_KERNEL_TIME_NAME) : 0;
	out->cost_ns = out->of.cold_pages.slept_ns + out->of.cold_pages.kernel_ns;
	if (out->cost_ns > phase->wall_ns)
		out->cost_ns = phase->wall_ns;
	return out->cost_ns != 0;
}

/* Steps of the phase that have a value of the counter. */
static uint64_t rules_threads_steps_with(
	const struct explain_facts *f, enum step_phase p, const char *name)
{
	uint32_t counter = run_brick_find(f->run, name), last = RUN_NONE;
	uint64_t steps = 0;

	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++) {
		const struct run_point *point = &f->run->points[i];
		uint32_t step = rules_threads_step_of(f, point, counter);
		steps += step != RUN_NONE && step != last &&
			 step_phase_of(&f->run->steps[step]) == p;
		last = step != RUN_NONE ? step : last;
	}
	return steps;
}

/*
 * Pages that a step touched are gone in the next one: the program or its allocator gives memory
 * back, and gets it anew. The first steps touch all pages once, which is no finding. The kernel's
 * time is that of all threads, which fault at the same time.
 */
bool rule_page_faults(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { FEW_STEPS = 4 };
	const struct explain_phase *phase = &f->phases[p];
	uint64_t steps = rules_threads_steps_with(f, p, BRICK_FAULTS_NAME);

	if (phase->steps < FEW_STEPS || 2 * steps < phase->steps)
		return false;
	out->of.page_faults.faults = rules_threads_counted(f, p, BRICK_FAULTS_NAME);
	out->of.page_faults.kernel_ns = rules_threads_counted(f, p, BRICK_KERNEL_TIME_NAME);
	out->of.page_faults.steps = steps;
	out->certainty = FINDING_LIKELY;
	out->cost_ns = number_min(
		out->of.page_faults.kernel_ns / (phase->team ? phase->team : 1), phase->wall_ns);
	return finding_costs(out, phase->wall_ns, 20);
}

/*
 * The same pages are read again and again, because the model does not fit into memory. That takes
 * time of the disk, of the kernel's own threads, and of ours within the kernel. A phase's part of
 * that kernel time is assumed to be its part of the run.
 */
bool rule_memory_limit(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t limit = f->run->machine.memory_limit_bytes;
	uint64_t run_ns = f->run->end_ns - f->run->start_ns;

	if (!limit || !f->model_bytes || limit >= f->model_bytes + f->model_bytes / 4 ||
		!rule_cold_pages(f, p, out))
		return false;
	out->cost_ns = out->of.cold_pages.slept_ns;
	out->cost_ns += explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED);
	if (run_ns)
		out->cost_ns += (uint64_t)((double)f->run->machine.system_ns *
					   (double)phase->wall_ns / (double)run_ns);
	out->cost_ns = out->cost_ns < phase->wall_ns ? out->cost_ns : phase->wall_ns;
	return true;
}

/* The wall time in which the thread was not preempted: preemption is a finding of its own. */
static uint64_t unpreempted_ns(const struct summary_row *row)
{
	return row ? row->wall_ns + row->wall_off.blocked_ns : 0;
}

/*
 * An engine without a pool of threads makes new ones for each step. A device's driver makes its own
 * threads, and so does a pool in its first step.
 */
bool rule_threads_anew(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	bool is_repeated = phase->steps > 1 || f->phases[STEP_DECODE].steps > 1;
	const struct summary_row *start = explain_row(phase, "ThreadStart");
	const struct summary_row *join = explain_row(phase, "ThreadJoin");

	for (size_t i = 0; i < f->run->point_count; i++) {
		const struct run_point *point = &f->run->points[i];
		uint32_t step = point->kind == RUN_POINT_THREAD
					? step_index_at(&f->index, f->run, point->lane, point->ns)
					: RUN_NONE;
		out->of.threads_anew.made +=
			step != RUN_NONE && step_phase_of(&f->run->steps[step]) == p;
	}
	out->of.threads_anew.start_ns =
		unpreempted_ns(start) + explain_owner_ns(f, phase, SCHEDULE_OWNER_START);
	out->of.threads_anew.join_ns = unpreempted_ns(join);
	/*
	 * A new thread has no CPU of its own yet and preempts another thread of the program. Where
	 * other programs or a quota may have preempted threads as well, none of that time is
	 * counted.
	 */
	if (!quota_did_it(f) && !others_did_it(f))
		out->of.threads_anew.preempted_ns =
			explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED);
	out->cost_ns = out->of.threads_anew.start_ns + out->of.threads_anew.join_ns +
		       out->of.threads_anew.preempted_ns;
	if (out->cost_ns > phase->wall_ns)
		out->cost_ns = phase->wall_ns;
	out->certainty = FINDING_LIKELY;
	return is_repeated && !phase->queue && 2 * out->of.threads_anew.made >= phase->steps &&
	       finding_costs(out, phase->wall_ns, 20);
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

/* The team's preempted time during the wait behind a sample and the waiting inside of it. */
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

/*
 * Waiting times of a team's threads, without time in which any of them was preempted, by the brick
 * behind which they waited: of all threads together, of the thread that waited least, and of the
 * thread being added.
 */
struct team_waits {
	uint64_t *all, *least, *now; /* [brick_count] */
	uint64_t all_ns, least_ns;   /* sums; least_ns is UINT64_MAX before the first thread */
	uint32_t slowest;	     /* the lane that waited least */
	size_t threads;
};

static int team_waits_init(struct team_waits *w, const struct run *run)
{
	*w = (struct team_waits){.least_ns = UINT64_MAX};
	w->all = calloc(3 * (run->brick_count + 1), sizeof(*w->all));
	if (!w->all)
		return -ENOMEM;
	w->least = w->all + run->brick_count + 1;
	w->now = w->least + run->brick_count + 1;
	return 0;
}

static void rules_threads_add_waits(
	struct team_waits *w, const struct explain_facts *f, enum step_phase p, uint32_t number)
{
	const struct run_lane *lane = &f->run->lanes[number];
	size_t bytes = f->run->brick_count * sizeof(*w->now);
	uint64_t sum_ns = 0;
	uint32_t behind = 0;

	memset(w->now, 0, bytes);
	for (size_t i = 0; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		uint32_t step = step_index_at(&f->index, f->run, number, s->begin_ns);
		uint32_t brick = f->run->sites[s->site].brick;
		bool is_wait = f->index.kinds[brick] == BRICK_KIND_WAIT;
		uint64_t ns = (is_wait ? s->end_ns - s->begin_ns : s->inner_ns) + s->wait_ns;
		run_lane_passed(lane, i);
		behind = is_wait ? behind : brick;
		if (!ns || step == RUN_NONE || step_phase_of(&f->run->steps[step]) != p)
			continue;
		uint64_t off_ns = of_sample_ns(f, f->phases[p].path, s);
		ns = ns > off_ns ? ns - off_ns : 0;
		w->now[behind] += ns;
		w->all[behind] += ns;
		sum_ns += ns;
	}
	w->all_ns += sum_ns;
	w->threads++;
	if (sum_ns >= w->least_ns)
		return;
	w->least_ns = sum_ns;
	w->slowest = number;
	memcpy(w->least, w->now, bytes);
}

/*
 * True if most of the additional waiting of the others is behind one brick. Then the slowest thread
 * has more of that brick's work (engines leave attention of one token to one thread), and it is no
 * slower than the others.
 */
static bool is_of_one_brick(const struct team_waits *w, const struct run *run, uint64_t more_ns)
{
	for (size_t i = 0; i < run->brick_count; i++)
		if ((w->all[i] - w->least[i]) / (w->threads - 1) > w->least[i] + more_ns / 2)
			return true;
	return false;
}

static bool is_in_team(
	const struct explain_facts *f, const struct explain_phase *phase, size_t lane)
{
	return phase->work_ns[lane] > phase->wall_ns / 100 &&
	       f->run->lanes[lane].kind == BRICK_LANE_THREAD;
}

/*
 * One thread hardly ever waits, and all others do: it is slower than they are, because an engine
 * hands out work on demand or in equal parts.
 */
bool rule_slow_thread(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum {
		FEW_WAITS = 4,	 /* it waits at most a quarter of what the others wait */
		EVALUATIONS = 8, /* with fewer nothing is said */
	};
	const struct explain_phase *phase = &f->phases[p];
	struct team_waits waits;

	if (phase->team < 2 || !phase->path || phase->evaluations < EVALUATIONS ||
		team_waits_init(&waits, f->run))
		return false;
	for (uint32_t i = 0; i < f->run->lane_count; i++)
		if (is_in_team(f, phase, i))
			rules_threads_add_waits(&waits, f, p, i);
	uint64_t others_ns =
		waits.threads > 1 ? (waits.all_ns - waits.least_ns) / (waits.threads - 1) : 0;
	bool is_slow = others_ns && waits.least_ns * FEW_WAITS <= others_ns &&
		       others_ns - waits.least_ns >= phase->wall_ns / 10 &&
		       !is_of_one_brick(&waits, f->run, others_ns - waits.least_ns);
	free(waits.all);
	if (!is_slow)
		return false;
	out->of.slow_thread.tid = f->run->lanes[waits.slowest].tid;
	out->of.slow_thread.waited_ns = waits.least_ns;
	out->of.slow_thread.others_ns = others_ns;
	out->certainty = FINDING_LIKELY;
	out->cost_ns = others_ns - waits.least_ns;
	return true;
}

/*
 * A waiting thread may still be useful. It costs time only if the others would end sooner without
 * it, each with a larger part of the work and no waiting.
 */
bool rule_barrier_waits(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *row = explain_row(phase, "BarrierWait");

	if (!row || phase->team < 2)
		return false;
	uint64_t fewer_ns = explain_ideal_ns(phase, (uint32_t)phase->team - 1);
	out->cost_ns = phase->wall_ns > fewer_ns ? phase->wall_ns - fewer_ns : 0;
	out->certainty = FINDING_LIKELY;
	out->of.barrier_waits.threads = phase->team;
	out->of.barrier_waits.waited_ns = row->self_ns;
	out->of.barrier_waits.most = waited_for(phase->summary);
	return finding_costs(out, phase->wall_ns, 20);
}

/*
 * A phase that fewer threads ran than another one, though there are CPUs for all. With that team,
 * the bricks that it shares in the other phase would take less.
 */
bool rule_fewer_threads(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	size_t most = phase->team;

	for (int other = 0; other < STEP_WARM_UP; other++)
		if (f->phases[other].summary && f->phases[other].team > most &&
			f->phases[other].team_ns) {
			most = f->phases[other].team;
			out->of.fewer_threads.phase = (enum step_phase)other;
		}
	if (most == phase->team || most > run_usable_cpus(f->run) || phase->queue)
		return false;
	out->of.fewer_threads.threads = phase->team;
	out->of.fewer_threads.others = most;
	out->certainty = FINDING_LIKELY;
	double shared_ns = 0;
	for (size_t i = 0; i < f->run->brick_count; i++) {
		const struct explain_brick *b = &phase->bricks[i];
		if (explain_is_shared(&f->phases[out->of.fewer_threads.phase].bricks[i]))
			shared_ns += (double)(b->driver_ns + b->worker_ns);
	}
	out->cost_ns = number_of_double(shared_ns * (1 / (double)phase->team - 1 / (double)most));
	return finding_costs(out, phase->wall_ns, 20);
}

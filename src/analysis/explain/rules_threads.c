/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads without a CPU, threads that wait for one another, and threads that wait for a disk.
 */
#include "analysis/explain/finding.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/counter_accounts.h"
#include "analysis/explain/rules_operators.h"
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

/* CPU time of other programs: *all on all CPUs, and at most *here of it on the program's CPUs. */
static void others_ns(const struct explain_facts *f, double *all, double *here)
{
	const struct run *run = f->run;
	const struct machine_use *use = &run->machine;
	double time = (double)use->busy_ns + (double)use->steal_ns + (double)use->idle_ns;
	double part = run->cpus ? (double)run_usable_cpus(run) / run->cpus : 1;

	*all = f->presence.others * time;
	*here = fmin(*all, part * time - (double)run->program_cpu_ns); /* which it left to them */
}

/*
 * True if other programs used at least half as much CPU time as was lost, on the CPUs that the
 * program may use. While a thread is preempted, another one runs in its place.
 */
static bool others_did_it(const struct explain_facts *f)
{
	double all, here;

	others_ns(f, &all, &here);
	return here >= 0.5 * (double)preempted_ns(f->run);
}

/*
 * The CPUs that a program would have without its mask: its own, and the others as far as other
 * programs leave them, rounded.
 */
static uint32_t cpus_without_mask(const struct explain_facts *f)
{
	const struct machine_use *use = &f->run->machine;
	double time = (double)use->busy_ns + (double)use->steal_ns + (double)use->idle_ns;
	uint32_t usable = run_usable_cpus(f->run), online = f->run->cpus;
	double all, here, elsewhere;

	others_ns(f, &all, &here);
	elsewhere = time > 0 ? fmax(0, all - fmax(0, here)) / time * online : 0;
	return usable + (uint32_t)fmax(0, floor((double)online - usable - elsewhere + 0.5));
}

/* A quota, too, preempts the threads of a program. */
static bool quota_did_it(const struct explain_facts *f)
{
	return f->run->machine.throttled_ns &&
	       2 * f->run->machine.throttled_ns >= preempted_ns(f->run);
}

/* The time of threads that run no step, in work and in waits: for so long they may have had a CPU.
 */
static uint64_t rules_threads_beside_ns(
	const struct explain_facts *f, const struct explain_phase *phase)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < f->run->lane_count; i++)
		if (!step_index_drives(&f->index, i))
			ns += phase->work_ns[i] + phase->wait_ns[i];
	return ns;
}

/*
 * Finds, for a team of more threads than CPUs, the time beyond what `cpus` would take without
 * waiting. Threads that hardly run take no CPU from the others.
 */
static bool crowd(
	const struct explain_facts *f, enum step_phase p, uint32_t cpus, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t ideal_ns = explain_ideal_ns(phase, cpus);

	out->of.crowd.threads = phase->team;
	out->of.crowd.cpus = run_usable_cpus(f->run);
	out->of.crowd.online = f->run->cpus;
	out->of.crowd.left = cpus;
	out->certainty = FINDING_LIKELY;
	out->cost_ns = number_minus(phase->wall_ns, ideal_ns);
	return run_usable_cpus(f->run) && phase->team > run_usable_cpus(f->run) &&
	       20 * rules_threads_beside_ns(f, phase) >= phase->wall_ns && finding_costs(out, 20);
}

/*
 * The program's mask leaves it fewer CPUs than it has threads, and the machine has more. Without
 * the mask it would have those that other programs leave.
 */
bool rule_affinity(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t online = f->run->cpus;
	uint32_t left = cpus_without_mask(f);

	return run_usable_cpus(f->run) < online &&
	       crowd(f, p, phase->team < left ? (uint32_t)phase->team : left, out);
}

bool rule_oversubscribed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return crowd(f, p, run_usable_cpus(f->run), out) || operators_crowd(f, p, out);
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

/* The number of times that threads which run steps blocked in a phase's steps. */
static uint64_t times_blocked(const struct explain_facts *f, const struct explain_phase *phase)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < phase->steps; i++) {
		const struct run_step *s = &f->run->steps[phase->list[i]];
		const struct run_lane *lane = &f->run->lanes[s->lane];
		for (size_t k = run_off_cpu_from(lane, s->begin_ns); k < lane->off_cpu_count; k++) {
			if (lane->off_cpu[k].begin_ns >= s->end_ns)
				break;
			count += !lane->off_cpu[k].preempted;
		}
	}
	return count;
}

static uint64_t slept_ns(const struct summary_row *row)
{
	return row && row->blocked_ns != ANALYSIS_UNKNOWN ? row->blocked_ns : 0;
}

/* Sleep in these bricks has findings of its own, or is told with the ranks. */
static const char *const told_elsewhere[] = {
	"DataLoading", "Compilation", "Recompilation", "CollectiveWait", "GradientReduction"};

static bool rules_threads_has_finding(const char *brick)
{
	for (size_t i = 0; i < sizeof(told_elsewhere) / sizeof(*told_elsewhere); i++)
		if (!strcmp(brick, told_elsewhere[i]))
			return true;
	return false;
}

/*
 * The bricks that were blocked longest, the first and the second of them; NULL: none was. Returns
 * the time of all. Bricks whose sleep has findings of its own are left out.
 */
static uint64_t find_sleepers(
	const struct explain_phase *phase, const struct summary_row *most[static 2])
{
	uint64_t all_ns = 0;

	most[0] = most[1] = NULL;
	for (size_t i = 0; i < phase->summary->row_count; i++) {
		const struct summary_row *row = &phase->summary->rows[i];
		if (rules_threads_has_finding(row->name))
			continue;
		all_ns += slept_ns(row);
		if (slept_ns(row) > slept_ns(most[0])) {
			most[1] = most[0];
			most[0] = row;
		} else if (slept_ns(row) > slept_ns(most[1])) {
			most[1] = row;
		}
	}
	return all_ns;
}

/* Sleep on the critical path, without that of bricks that have findings of their own. */
static uint64_t rules_threads_blocked_ns(const struct explain_facts *f, enum step_phase p)
{
	uint64_t told_ns = 0;

	for (size_t i = 0; i < sizeof(told_elsewhere) / sizeof(*told_elsewhere); i++) {
		const struct summary_row *row = explain_row(&f->phases[p], told_elsewhere[i]);
		told_ns += row ? row->wall_off.blocked_ns : 0;
	}
	return number_minus(explain_owner_ns(f, &f->phases[p], SCHEDULE_OWNER_BLOCKED), told_ns);
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

/* Are all faults of the phase among the kernel's records? */
static bool rules_threads_knows_faults(const struct explain_facts *f, enum step_phase p)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct fault_account *known = &f->run->fault_account;

	return known->is_known && known->sees_kernel && !known->lost && phase->steps &&
	       known->until_ns >= f->run->steps[phase->list[phase->steps - 1]].end_ns;
}

/* Returns the sum over all threads; a thread that recorded nothing is not known to sleep. */
static uint64_t rules_threads_slept_in_faults_ns(const struct explain_facts *f, enum step_phase p)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < f->run->fault_count; i++) {
		const struct run_fault *fault = &f->run->faults[i];
		uint32_t step = fault->lane == RUN_NONE ? RUN_NONE : fault_step(f->run, fault);
		if (step != RUN_NONE && step_phase_of(&f->run->steps[step]) == p)
			ns += run_off_cpu_between(
				&f->run->lanes[fault->lane], fault->begin_ns, fault->end_ns)
				      .blocked_ns;
	}
	return ns;
}

/*
 * An eighth of the model is no accident, and where threads slept no more often than twice for each
 * fault of the run, they slept for these, but no longer than in faults of the phase, where the
 * kernel's records have them all. Waiting for a slow disk is sleep; a quick disk costs
 * mostly time of the kernel, which makes room for the pages and maps them.
 */
bool rule_cold_pages(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { PART_OF_MODEL = 8, TORCH_BYTES = 64 << 20, FEW = 8 };
	const struct explain_phase *phase = &f->phases[p];
	uint64_t slept = phase->queue ? 0 : times_blocked(f, phase);
	uint64_t bytes = rules_threads_counted(f, p, BRICK_DISK_NAME);
	/* PyTorch's weights are not known to be weights, and its own libraries come from disk, too
	 */
	bool is_torch = f->operators[p].is_known;
	bool much = bytes && bytes >= (is_torch ? TORCH_BYTES : f->model_bytes / PART_OF_MODEL);

	out->certainty = FINDING_LIKELY;
	out->of.cold_pages.bytes = bytes;
	out->of.cold_pages.faults = f->run->machine.major_faults;
	out->of.cold_pages.is_few = !much && f->run->machine.major_faults <= FEW;
	/* beside a device threads sleep for other reasons, and its driver is read from disk, too */
	if (!much && (is_torch || !f->run->machine.major_faults || phase->queue ||
			     slept > 2 * f->run->machine.major_faults))
		return false;
	if (!phase->queue)
		out->of.cold_pages.slept_ns = rules_threads_blocked_ns(f, p);
	if (!much && rules_threads_knows_faults(f, p))
		out->of.cold_pages.slept_ns = number_min(
			out->of.cold_pages.slept_ns, rules_threads_slept_in_faults_ns(f, p));
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

/* Steps of the phase, from a step of the run on, that have a value of the counter. */
static uint64_t rules_threads_steps_with(
	const struct explain_facts *f, enum step_phase p, uint32_t from, const char *name)
{
	uint32_t counter = run_brick_find(f->run, name), last = RUN_NONE;
	uint64_t steps = 0;

	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++) {
		const struct run_point *point = &f->run->points[i];
		uint32_t step = rules_threads_step_of(f, point, counter);
		steps += step != RUN_NONE && step != last && step >= from &&
			 step_phase_of(&f->run->steps[step]) == p;
		last = step != RUN_NONE ? step : last;
	}
	return steps;
}

static uint64_t rules_threads_slept_ns(const struct explain_facts *f, uint32_t step)
{
	const struct run_step *s = &f->run->steps[step];

	return run_off_cpu_between(&f->run->lanes[s->lane], s->begin_ns, s->end_ns).blocked_ns;
}

/*
 * Sleep of threads in steps that run them and read from disk, beyond what later steps sleep, where
 * that ends: what a program touches for the first time, as the code of a library, comes from its
 * file.
 */
static uint64_t rules_threads_first_touched_ns(
	const struct explain_facts *f, const struct explain_phase *phase, enum step_phase p)
{
	enum { FEW = 4 }; /* one in so many of the later steps still reads */
	uint32_t counter = run_brick_find(f->run, BRICK_DISK_NAME), last = RUN_NONE;
	uint64_t ns = 0, later = phase->steps - phase->steps / 2, later_ns = 0;

	if (phase->steps < 2 || FEW * rules_threads_steps_with(f, p, phase->list[phase->steps / 2],
					      BRICK_DISK_NAME) >=
					later)
		return 0;
	for (uint64_t i = phase->steps / 2; i < phase->steps; i++)
		later_ns += rules_threads_slept_ns(f, phase->list[i]);
	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++) {
		uint32_t step = rules_threads_step_of(f, &f->run->points[i], counter);
		if (step == RUN_NONE || step == last || step_phase_of(&f->run->steps[step]) != p)
			continue;
		ns += number_minus(rules_threads_slept_ns(f, step), later_ns / later);
		last = step;
	}
	return ns;
}

/* The time for which threads that run steps may have waited for a CPU at the ends of their sleeps.
 */
static uint64_t rules_threads_late_ns(
	const struct explain_facts *f, const struct explain_phase *phase)
{
	uint64_t ns = 0;

	for (uint64_t i = 0; i < phase->steps && f->usual_wait_ns; i++) {
		const struct run_step *s = &f->run->steps[phase->list[i]];
		const struct run_lane *lane = &f->run->lanes[s->lane];
		for (size_t k = run_off_cpu_from(lane, s->begin_ns); k < lane->off_cpu_count; k++) {
			const struct run_off_cpu *off = &lane->off_cpu[k];
			if (off->begin_ns >= s->end_ns)
				break;
			if (!off->preempted)
				ns += number_min(off->end_ns - off->begin_ns, f->usual_wait_ns);
		}
	}
	return ns;
}

bool rule_blocked(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { FEW = 4 }; /* times: beside other programs, a thread may wait for a lock of theirs */
	const struct explain_phase *phase = &f->phases[p];

	if (f->run->off_cpu.source == OFF_CPU_UNKNOWN ||
		(presence_is_disturbed(f->run) && times_blocked(f, phase) < FEW))
		return false;
	out->cost_ns = number_minus(
		rules_threads_blocked_ns(f, p), rules_threads_first_touched_ns(f, phase, p));
	if (explain_waits_unseen(f, p))
		out->cost_ns = number_minus(out->cost_ns, f->operators[p].slept_in_operators_ns);
	out->cost_ns = number_minus(out->cost_ns, rules_threads_late_ns(f, phase));
	const struct summary_row *most[2];
	uint64_t all_ns = find_sleepers(phase, most);
	out->of.blocked.most = most[0];
	out->of.blocked.all_ns = all_ns;
	out->of.blocked.times = times_blocked(f, phase);
	out->of.blocked.next = slept_ns(most[1]) > all_ns / 10 ? most[1] : NULL;
	out->of.blocked.is_everywhere = 2 * slept_ns(most[0]) < all_ns;
	return out->cost_ns && out->of.blocked.most;
}

/*
 * Pages that a step touched are gone in the next one: the program or its allocator gives memory
 * back, and gets it anew. The first steps touch all pages once, which is no finding. The kernel's
 * time is that of all threads, which fault at the same time. The kernel may have worked for other
 * calls as well: a small page takes 3 us at most, a huge one ten times that at least.
 */
bool rule_page_faults(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { FEW_STEPS = 8, SMALL_NS = 3000, HUGE_NS = 30000 }; /* of a fault */
	const struct explain_phase *phase = &f->phases[p];
	uint64_t steps = rules_threads_steps_with(f, p, 0, BRICK_FAULTS_NAME);

	if (phase->steps < FEW_STEPS || 2 * steps < phase->steps ||
		4 * rules_threads_steps_with(
			    f, p, phase->list[phase->steps / 2], BRICK_FAULTS_NAME) <
			phase->steps)
		return false;
	out->of.page_faults.faults = rules_threads_counted(f, p, BRICK_FAULTS_NAME);
	out->of.page_faults.kernel_ns = rules_threads_counted(f, p, BRICK_KERNEL_TIME_NAME);
	out->of.page_faults.steps = steps;
	out->of.page_faults.brick = RUN_NONE;
	out->certainty = FINDING_LIKELY;
	uint64_t threads = explain_note_number(f->run, "torch.threads"); /* that run no brick */
	threads = threads > phase->team ? threads : phase->team;
	uint64_t all_ns = out->of.page_faults.kernel_ns;
	bool is_huge = all_ns >= HUGE_NS * out->of.page_faults.faults;
	if (!is_huge)
		all_ns = number_min(all_ns, SMALL_NS * out->of.page_faults.faults);
	out->cost_ns = number_min(all_ns / (threads ? threads : 1), phase->wall_ns);
	struct excess since;
	if (expectation_excess(&since, f, p, EXPECTATION_HISTORY) &&
		since.brick_ns > out->cost_ns / 2 && since.brick_ns < 2 * out->cost_ns)
		out->of.page_faults.brick = since.brick;
	return finding_costs(out, 20);
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
	       finding_costs(out, 20);
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
	/* [brick_count] executions and their time on the CPU, of all and of the slowest thread */
	struct explain_site *work, *slow, *doing;
	uint64_t all_ns, least_ns; /* sums; least_ns is UINT64_MAX before the first thread */
	uint64_t longest_ns;	   /* the longest wait of each thread, added up */
	uint32_t slowest;	   /* the lane that waited least */
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
	w->work = calloc(3 * (run->brick_count + 1), sizeof(*w->work));
	w->slow = w->work + run->brick_count + 1;
	w->doing = w->slow + run->brick_count + 1;
	return w->work ? 0 : -ENOMEM;
}

static void team_waits_fini(struct team_waits *w)
{
	free(w->all);
	free(w->work);
}

static void rules_threads_add_work(struct team_waits *w, uint32_t brick, uint64_t ns)
{
	w->work[brick].count++;
	w->work[brick].ns += ns;
	w->doing[brick].count++;
	w->doing[brick].ns += ns;
}

static void rules_threads_add_waits(
	struct team_waits *w, const struct explain_facts *f, enum step_phase p, uint32_t number)
{
	const struct run_lane *lane = &f->run->lanes[number];
	size_t bytes = f->run->brick_count * sizeof(*w->now);
	uint64_t sum_ns = 0, longest_ns = 0;
	uint32_t behind = 0;

	memset(w->now, 0, bytes);
	memset(w->doing, 0, f->run->brick_count * sizeof(*w->doing));
	for (size_t i = 0; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		uint32_t step = step_index_at(&f->index, f->run, number, s->begin_ns);
		uint32_t brick = f->run->sites[s->site].brick;
		bool is_wait = f->index.kinds[brick] == BRICK_KIND_WAIT;
		uint64_t ns = (is_wait ? s->end_ns - s->begin_ns : s->inner_ns) + s->wait_ns;
		run_lane_passed(lane, i);
		behind = is_wait ? behind : brick;
		if (step == RUN_NONE || step_phase_of(&f->run->steps[step]) != p)
			continue;
		if (f->index.kinds[brick] == BRICK_KIND_WORK)
			rules_threads_add_work(
				w, brick, number_minus(s->end_ns - s->begin_ns, s->inner_ns));
		if (!ns)
			continue;
		uint64_t off_ns = of_sample_ns(f, f->phases[p].path, s);
		ns = ns > off_ns ? ns - off_ns : 0;
		w->now[behind] += ns;
		w->all[behind] += ns;
		sum_ns += ns;
		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	w->all_ns += sum_ns;
	w->longest_ns += longest_ns;
	w->threads++;
	if (sum_ns >= w->least_ns)
		return;
	w->least_ns = sum_ns;
	w->slowest = number;
	memcpy(w->least, w->now, bytes);
	memcpy(w->slow, w->doing, f->run->brick_count * sizeof(*w->slow));
}

/*
 * The time that the slowest thread took for its executions beyond what the others take for as many.
 * A thread that only has more executions is no slower.
 */
static uint64_t slower_ns(const struct team_waits *w, const struct explain_facts *f)
{
	const double least =
		1.15; /* the first to touch what another thread wrote takes longer, too */
	double own_ns = 0, due_ns = 0;

	for (size_t i = 0; i < f->run->brick_count; i++) {
		const struct explain_site *slow = &w->slow[i], *all = &w->work[i];
		if (!slow->count || all->count == slow->count)
			continue;
		own_ns += (double)slow->ns;
		due_ns += (double)slow->count * (double)(all->ns - slow->ns) /
			  (double)(all->count - slow->count);
	}
	return own_ns > least * due_ns ? number_of_double(own_ns - due_ns) : 0;
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

/* Adds up the waits of a phase's team. False: it has a single thread, or they are not known. */
static bool rules_threads_wait(
	struct team_waits *waits, const struct explain_facts *f, enum step_phase p)
{
	const struct explain_phase *phase = &f->phases[p];

	if (phase->team < 2 || !phase->path)
		return false;
	bool is_made = !team_waits_init(waits, f->run);
	for (uint32_t i = 0; i < f->run->lane_count && is_made; i++)
		if (is_in_team(f, phase, i))
			rules_threads_add_waits(waits, f, p, i);
	if (is_made && waits->threads > 1)
		return true;
	team_waits_fini(waits);
	return false;
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

	if (phase->evaluations < EVALUATIONS || !rules_threads_wait(&waits, f, p))
		return false;
	uint64_t each_ns = (waits.all_ns - waits.least_ns) / (waits.threads - 1);
	bool is_slow = each_ns && waits.least_ns * FEW_WAITS <= each_ns &&
		       each_ns - waits.least_ns >= phase->wall_ns / 10 &&
		       4 * slower_ns(&waits, f) >= 3 * (each_ns - waits.least_ns) &&
		       !is_of_one_brick(&waits, f->run, each_ns - waits.least_ns);
	team_waits_fini(&waits);
	if (!is_slow)
		return false;
	out->of.slow_thread.tid = f->run->lanes[waits.slowest].tid;
	out->of.slow_thread.threads = waits.threads;
	out->of.slow_thread.waited_ns = waits.least_ns;
	out->of.slow_thread.others_ns = each_ns;
	out->certainty = FINDING_LIKELY;
	out->cost_ns = each_ns - waits.least_ns;
	return true;
}

/*
 * A waiting thread may still be useful. It costs time only if the others would end sooner without
 * it, each with a larger part of the work and no waiting. Only work on the CPU and waits count, so
 * that no time is in the cost for which a thread had no CPU or slept; the longest wait of each
 * thread does not count: in a pool's first step that is for threads to begin, which fewer threads
 * would not spare.
 */
bool rule_barrier_waits(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	struct team_waits waits;

	if (!explain_row(phase, brick_name(BRICK_BARRIER_WAIT)) || !phase->summary->knows_off ||
		!rules_threads_wait(&waits, f, p))
		return false;
	uint64_t threads = waits.threads;
	/* while a thread sleeps on the critical path, all others wait for it */
	uint64_t asleep_ns = (threads - 1) * explain_owner_ns(f, phase, SCHEDULE_OWNER_BLOCKED);
	uint64_t waited_ns = number_minus(waits.all_ns, waits.longest_ns + asleep_ns);
	uint64_t fewer_ns = explain_ideal_ns(phase, (uint32_t)threads - 1);
	uint64_t work_ns = phase->summary->rests.unattributed_ns;
	team_waits_fini(&waits);
	for (uint32_t i = 0; i < f->run->lane_count; i++)
		work_ns += is_in_team(f, phase, i) ? phase->work_ns[i] : 0;
	out->cost_ns = number_minus((work_ns + waited_ns) / threads, fewer_ns);
	out->certainty = FINDING_LIKELY;
	out->of.barrier_waits.threads = threads;
	out->of.barrier_waits.work_ns = work_ns;
	out->of.barrier_waits.waited_ns = waited_ns;
	out->of.barrier_waits.fewer_ns = fewer_ns;
	out->of.barrier_waits.most = waited_for(phase->summary);
	return finding_costs(out, 20);
}

/*
 * By so much a rank worked longer than the others do on average, for all of these together. A
 * rank's work has no time here for which the rank did not run, as far as the others did run then.
 * The others wait for that rank at least as long.
 */
static uint64_t rules_threads_more_work(const struct rank_job *ranks, const struct rank_row *late)
{
	double others = ranks->count - 1, more = 0;

	for (uint32_t i = 0; i < ranks->count; i++) {
		const struct rank_row *row = &ranks->rows[i];
		double worked = (double)row->work_ns - (double)row->preempted_ns;
		more += row == late ? worked : -worked / others;
	}
	return more > 0 ? number_of_double(more * others) : 0;
}

/*
 * The rank that the others wait for longest. Ranks that do the same are late by turns, so the waits
 * for the next one are taken for chance; and a rank that did not run lost its CPU.
 */
bool rule_late_rank(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { FEW = 8 }; /* collectives */
	const struct rank_row *late = NULL, *next = NULL;

	for (int other = 0; other < STEP_PHASES; other++) /* the run's waits are of one phase */
		if (f->phases[other].wall_ns > f->phases[p].wall_ns)
			return false;
	for (uint32_t i = 0; i < f->ranks.count; i++) {
		const struct rank_row *row = &f->ranks.rows[i];
		if (!late || row->caused_ns > late->caused_ns) {
			next = late;
			late = row;
		} else if (!next || row->caused_ns > next->caused_ns) {
			next = row;
		}
	}
	if (!next || f->ranks.collectives < FEW || (f->ranks.is_judged && !late->is_late))
		return false;
	out->of.late_rank = late;
	out->cost_ns = number_minus(
		late->caused_ns, next->caused_ns + (f->ranks.count - 1) * late->preempted_ns);
	/* a rank with more work also loses its CPU longer, and chance is out of the question */
	uint64_t more_ns = late->is_late ? rules_threads_more_work(&f->ranks, late) : 0;
	more_ns = number_min(more_ns, late->caused_ns);
	out->cost_ns = out->cost_ns > more_ns ? out->cost_ns : more_ns;
	return finding_costs(out, 20);
}

/*
 * A phase that fewer threads ran than another one, though there are CPUs for all. With that team,
 * the bricks that it shares in the other phase would take less.
 */
bool rule_fewer_threads(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	size_t most = phase->team;

	for (int other = 0; other < STEP_PHASES; other++)
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
	return finding_costs(out, 20);
}

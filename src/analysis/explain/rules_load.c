/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a model, the first touch of its pages, and where memory and threads are. Loading and
 * places have a cost of 0: loading is outside of all phases, and how long the same work would take
 * in another place is not measured.
 */
#include "analysis/explain/finding.h"

#include "analysis/accounts/load_times.h"
#include "analysis/accounts/workload.h"
#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "base/order.h"

/* Time in which a fault's thread had no CPU: it waited for a disk, or for others. */
static uint64_t rules_load_off_ns(const struct run *run, const struct run_fault *fault)
{
	struct run_off_times off =
		run_off_cpu_between(&run->lanes[fault->lane], fault->begin_ns, fault->end_ns);

	return off.blocked_ns + off.preempted_ns;
}

/*
 * Faults of threads that run steps, most of which the first quarter of the phase's steps had: what
 * comes back in each step is of rule_page_faults(). Sleep is of rule_cold_pages() and others. The
 * recorder stops when it has seen many faults: a quarter is that of the steps until then. The first
 * step of training makes gradients and the optimizer's state, for which no warm-up is quicker.
 */
bool rule_first_touch(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	enum { LEAST_NS = 10000000 };
	const struct explain_phase *phase = &f->phases[p];
	const struct run *run = f->run;
	uint64_t early_ns = 0, all_ns = 0, last_early_ns;
	size_t known = BISECT(i, 0, phase->steps,
		run->steps[phase->list[i]].begin_ns < run->fault_account.until_ns);

	if (!known)
		return false;
	last_early_ns = run->steps[phase->list[known / 4]].begin_ns;
	uint32_t makes_state = p == STEP_OTHER && phase->trains ? phase->list[0] : RUN_NONE;
	for (size_t i = 0; i < run->fault_count; i++) {
		const struct run_fault *fault = &run->faults[i];
		uint32_t step = fault->lane == RUN_NONE ? RUN_NONE
							: step_index_at(&f->index, run, fault->lane,
								  fault->begin_ns);
		if (step == RUN_NONE || step == makes_state ||
			step_phase_of(&run->steps[step]) != p)
			continue;
		uint64_t ns = fault->end_ns - fault->begin_ns,
			 off_ns = rules_load_off_ns(run, fault);
		all_ns += number_minus(ns, off_ns);
		early_ns +=
			run->steps[step].begin_ns <= last_early_ns ? number_minus(ns, off_ns) : 0;
		out->of.first_touch.faults++;
		out->of.first_touch.off_ns += off_ns;
	}
	out->of.first_touch.brick = RUN_NONE;
	for (size_t i = f->faults.list.count; i-- > 0;) /* most time first */
		if (f->faults.list.items[i].place == (uint32_t)p &&
			f->faults.list.items[i].driver_ns)
			out->of.first_touch.brick = f->faults.list.items[i].brick;
	out->cost_ns = number_min(all_ns, phase->wall_ns);
	return all_ns >= LEAST_NS && early_ns >= all_ns / 4 * 3 && finding_costs(out, 20);
}

/* The first step that is no warm-up; NULL: there is none. */
static const struct run_step *rules_load_first(const struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++)
		if (run->steps[i].phase != BRICK_PHASE_WARM_UP)
			return &run->steps[i];
	return NULL;
}

/*
 * The phase of the first step that is no warm-up, if what came before took long: 2 s, and a
 * twentieth of the run.
 */
static bool rules_load_is_long(const struct explain_facts *f, enum step_phase p,
	struct finding *out, struct load_times *times)
{
	enum { LEAST_S = 2, PART_OF_RUN = 20 };
	const struct run_step *first = rules_load_first(f->run);
	struct workload workload;

	if (!first || step_phase_of(first) != p)
		return false;
	workload_of_run(&workload, f->run);
	out->of.loading.start_up_ns = workload.start_up_ns;
	return workload.start_up_ns != ANALYSIS_UNKNOWN &&
	       workload.start_up_ns >= LEAST_S * 1000000000ull &&
	       workload.start_up_ns >= (f->run->end_ns - f->run->start_ns) / PART_OF_RUN &&
	       !load_times_of_run(times, f->run) && times->is_known;
}

bool rule_load_reads(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	struct load_times times;

	if (!rules_load_is_long(f, p, out, &times))
		return false;
	out->of.loading.ns = times.ns[LOAD_OPEN] + times.ns[LOAD_READ];
	out->of.loading.bytes = times.counts[LOAD_OPEN].bytes + times.counts[LOAD_READ].bytes;
	out->of.loading.faults = times.counts[LOAD_READ].minor + times.counts[LOAD_READ].major;
	return out->of.loading.ns >= out->of.loading.start_up_ns / 2;
}

/*
 * Mapping and locking fill pages, too; elsewhere the faults themselves were recorded. Threads fault
 * beside each other: the time of one of them is a part of what passed.
 */
bool rule_load_faults(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	struct load_times times;
	struct fault_row faults;

	if (!rules_load_is_long(f, p, out, &times) ||
		fault_row_of_loading(&faults, f->run,
			f->run->lanes[rules_load_first(f->run)->lane].process, "Model"))
		return false;
	uint64_t read_ns = times.ns[LOAD_OPEN] + times.ns[LOAD_READ];
	out->of.loading.lock_ns = times.ns[LOAD_LOCK];
	out->of.loading.ns = number_min(
		times.ns[LOAD_MAP] + times.ns[LOAD_LOCK] + faults.ns, out->of.loading.start_up_ns);
	out->of.loading.bytes = times.disk_bytes;
	out->of.loading.faults = faults.minor + faults.major;
	for (int phase = LOAD_MAP; phase <= LOAD_LOCK; phase++) {
		const struct load_counts *counts = &times.counts[phase];
		if (phase == LOAD_READ)
			continue;
		out->of.loading.bytes += counts->bytes;
		out->of.loading.faults += counts->minor + counts->major;
	}
	return read_ns < out->of.loading.start_up_ns / 2 &&
	       out->of.loading.ns >= out->of.loading.start_up_ns / 2;
}

/* Places are of the whole run: the phase that took longest tells of them. */
static bool rules_load_tells_places(const struct explain_facts *f, enum step_phase p)
{
	for (int other = 0; other < STEP_WARM_UP; other++)
		if (f->phases[other].wall_ns > f->phases[p].wall_ns)
			return false;
	return f->is_placed && p != STEP_WARM_UP && !f->phases[p].queue;
}

#define RULES_LOAD_FAR 0.3  /* of all accesses, beyond those that no place of threads would save */
#define RULES_LOAD_MOST 0.8 /* of the threads' time */
#define RULES_LOAD_SLOW 0.1

static bool rules_load_is_far(const struct explain_facts *f, enum step_phase p)
{
	return rules_load_tells_places(f, p) && f->placed.node_count && f->placed.knows_memory &&
	       f->placed.far - f->placed.least_far >= RULES_LOAD_FAR;
}

bool rule_far_memory(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_load_is_far(f, p) &&
	       f->placed.nodes[f->placed.main_threads].time >= RULES_LOAD_MOST;
}

bool rule_threads_over_nodes(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_load_is_far(f, p) &&
	       f->placed.nodes[f->placed.main_threads].time < RULES_LOAD_MOST;
}

bool rule_slow_cores(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	return rules_load_tells_places(f, p) && f->placed.kind_count &&
	       1 - f->placed.kinds[0].time >= RULES_LOAD_SLOW;
}

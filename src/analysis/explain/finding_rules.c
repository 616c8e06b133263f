/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, each a function of its name (finding.h), by what they look at. */
#include "analysis/explain/finding.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/accounts/percentile.h"
#include "analysis/accounts/unknown.h"
#include "analysis/path/schedule.h"
#include "brick/abi/step_counters.h"

/* Threads that could not run, and threads that waited for one another. */

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

/* Devices: work beside them, copies to and from them, their idle time. */

static bool is_category(const struct summary_row *row, uint32_t category)
{
	return row->category && !strcmp(row->category, brick_category_name(category));
}

/* True for a brick that computes without a device. */
static bool computes_on_cpu(const struct summary_row *row)
{
	return !row->on_device && row->device_ns == ANALYSIS_UNKNOWN && row->category &&
	       !is_category(row, BRICK_CATEGORY_ENGINE) && !is_category(row, BRICK_CATEGORY_WAIT) &&
	       !is_category(row, BRICK_CATEGORY_STEP) && strcmp(row->category, "Profiler") &&
	       strcmp(row->name, brick_name(BRICK_SAMPLING));
}

/* Time of the bricks that compute on the CPU, the largest of them, and their executions. */
static uint64_t on_cpu_ns(
	const struct explain_phase *phase, const struct summary_row **most, uint64_t *count)
{
	uint64_t ns = 0;

	*most = NULL;
	*count = 0;
	for (size_t i = 0; i < phase->summary->row_count; i++) {
		const struct summary_row *row = &phase->summary->rows[i];
		if (!computes_on_cpu(row))
			continue;
		ns += row->wall_ns;
		*count += row->count;
		if (!*most || row->wall_ns > (*most)->wall_ns)
			*most = row;
	}
	return ns;
}

bool rule_ran_on_cpu(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	out->cost_ns = on_cpu_ns(phase, &out->of.ran_on_cpu.most, &out->of.ran_on_cpu.executions);
	return phase->queue && out->cost_ns;
}

static bool is_transfer(uint32_t kind)
{
	return kind == BRICK_KERNEL_H2D || kind == BRICK_KERNEL_D2H || kind == BRICK_KERNEL_D2D;
}

static void count_transfers(
	const struct explain_facts *f, enum step_phase p, uint64_t *count, uint64_t *bytes)
{
	const struct run *run = f->run;

	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		uint32_t step = step_index_of_command(&f->index, run, c);
		if (step == RUN_NONE || step_phase_of(&run->steps[step]) != p ||
			c->kernel == RUN_NONE || !is_transfer(run->kernels[c->kernel].kind))
			continue;
		++*count;
		*bytes += c->bytes;
	}
}

bool rule_copies(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t between_ns = explain_on_cpu_ns(phase, "SplitCopy");
	uint64_t in_ns = explain_on_cpu_ns(phase, brick_name(BRICK_INPUT_COPY));
	uint64_t out_ns = explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));

	out->cost_ns = between_ns + in_ns + out_ns;
	out->of.copies.between_ns = between_ns;
	out->of.copies.in_ns = in_ns;
	out->of.copies.out_ns = out_ns;
	if (!phase->queue || !out->cost_ns)
		return false;
	count_transfers(f, p, &out->of.copies.transfers, &out->of.copies.bytes);
	return true;
}

/* Time of the host that other findings account for: the device is idle because of them. */
static uint64_t otherwise_busy_ns(const struct explain_facts *f, const struct explain_phase *phase)
{
	const struct summary_row *most;
	uint64_t count;

	return explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED) +
	       on_cpu_ns(phase, &most, &count) + explain_on_cpu_ns(phase, "SplitCopy") +
	       explain_on_cpu_ns(phase, brick_name(BRICK_INPUT_COPY)) +
	       explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));
}

/* The device was idle while a step ran, because the host did not launch fast enough. */
bool rule_launch_bound(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct queue_time *q = phase->queue;

	if (!q || !q->commands || !phase->steps)
		return false;
	uint64_t other_ns = otherwise_busy_ns(f, phase);
	uint64_t idle_ns = q->idle_ns > other_ns ? q->idle_ns - other_ns : 0;
	if (idle_ns < q->wall_ns / 4)
		return false;
	out->cost_ns = idle_ns;
	out->certainty = FINDING_LIKELY;
	out->of.launch_bound.idle_ns = idle_ns;
	out->of.launch_bound.record_ns = explain_on_cpu_ns(phase, "RecordCommands");
	return true;
}

/* Differences between one token and the next, and tokens evaluated for nothing. */

enum {
	GROWTH_STEPS = 32, /* steps from which on it can be seen */
	GROWTH_PARTS = 8,
	SLOW = 2, /* times the median */
};

/* Prompts that came again, as Brick's counter has them: steps that evaluate mostly such tokens. */
struct repeated {
	uint64_t tokens, steps, time_ns;
};

static void add_point(struct repeated *sum, const struct explain_facts *f,
	const struct explain_phase *phase, const struct run_point *point)
{
	uint32_t step = step_index_at(&f->index, f->run, point->lane, point->ns);
	uint64_t tokens = (uint64_t)point->value;

	if (step == RUN_NONE || &f->phases[step_phase_of(&f->run->steps[step])] != phase ||
		2 * tokens < f->run->steps[step].tokens ||
		!step_index_is_evaluated(&f->index, f->run, step))
		return;
	sum->tokens += tokens;
	sum->time_ns += explain_step_ns(phase, step);
	sum->steps++;
}

bool rule_prompt_repeated(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t counter = run_brick_find(f->run, BRICK_REPEATED_NAME);
	struct repeated sum = {0};

	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++)
		if (f->run->points[i].kind == RUN_POINT_COUNTER &&
			f->run->points[i].brick == counter && f->run->points[i].value > 0)
			add_point(&sum, f, phase, &f->run->points[i]);
	if (!sum.steps)
		return false;
	out->cost_ns = sum.time_ns;
	out->certainty = FINDING_LIKELY;
	out->of.prompt_repeated.tokens = sum.tokens;
	out->of.prompt_repeated.steps = sum.steps;
	return true;
}

bool rule_sampling(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *row = explain_row(phase, brick_name(BRICK_SAMPLING));

	out->cost_ns = explain_on_cpu_ns(phase, brick_name(BRICK_SAMPLING));
	out->of.sampling.calls = row ? row->count : 0;
	return row && row->count && out->cost_ns >= phase->wall_ns / 10;
}

/* Median of one category's time over part `k` of the steps. */
static uint64_t part_median_ns(
	const struct explain_facts *f, const struct explain_phase *phase, uint32_t category, int k)
{
	uint64_t first = phase->steps * (uint64_t)k / GROWTH_PARTS;
	size_t n = 0;

	for (uint64_t i = first; i < phase->steps * ((uint64_t)k + 1) / GROWTH_PARTS; i++)
		f->scratch[n++] = breakdown_step(f->breakdown, phase->list[i])[category];
	percentile_sort(f->scratch, n);
	return n ? f->scratch[(n - 1) / 2] : 0;
}

/* Each part's median above the one before: chance does that once in 8! times. */
static bool grows(const uint64_t medians[GROWTH_PARTS])
{
	for (int k = 1; k < GROWTH_PARTS; k++)
		if (medians[k] <= medians[k - 1])
			return false;
	return 10 * medians[GROWTH_PARTS - 1] >= 13 * medians[0];
}

bool rule_context_growth(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t attention =
		run_category_find(f->run, brick_category_name(BRICK_CATEGORY_ATTENTION));
	uint64_t medians[GROWTH_PARTS];

	if (p != STEP_DECODE || phase->steps < GROWTH_STEPS || attention == RUN_NONE)
		return false;
	for (int k = 0; k < GROWTH_PARTS; k++)
		medians[k] = part_median_ns(f, phase, attention, k);
	if (!grows(medians))
		return false;
	for (uint64_t i = 0; i < phase->steps; i++) {
		uint64_t ns = breakdown_step(f->breakdown, phase->list[i])[attention];
		out->cost_ns += ns > medians[0] ? ns - medians[0] : 0;
	}
	out->of.context_growth.first_ns = medians[0];
	out->of.context_growth.last_ns = medians[GROWTH_PARTS - 1];
	return true;
}

/* The category that a step has most more of than the others have on average. */
static uint32_t most_different(const struct explain_facts *f, const struct explain_phase *phase,
	uint32_t step, uint64_t *more_ns)
{
	const struct breakdown *b = f->breakdown;
	uint32_t most = 0;

	*more_ns = 0;
	for (uint32_t c = 0; c < b->category_count; c++) {
		double mean = 0, ns = (double)breakdown_step(b, step)[c];
		for (uint64_t i = 0; i < phase->steps; i++)
			mean += (double)breakdown_step(b, phase->list[i])[c];
		mean = (mean - ns) / (double)(phase->steps - 1);
		if (ns - mean > (double)*more_ns) {
			*more_ns = (uint64_t)(ns - mean);
			most = c;
		}
	}
	return most;
}

static struct run_off_times off_in(const struct run *run, uint32_t step)
{
	const struct run_step *s = &run->steps[step];

	return run_off_cpu_between(&run->lanes[s->lane], s->begin_ns, s->end_ns);
}

/* Name of what a step spent its additional time on, and how much of that it was. */
static const char *difference(const struct explain_facts *f, const struct explain_phase *phase,
	uint32_t step, uint64_t *more_ns)
{
	struct run_off_times off = off_in(f->run, step);
	uint32_t category = most_different(f, phase, step, more_ns);

	if (off.preempted_ns > *more_ns / 2)
		return *more_ns = off.preempted_ns, "preempted";
	if (off.blocked_ns > *more_ns / 2)
		return *more_ns = off.blocked_ns, "blocked";
	return category < f->run->category_count ? f->run->categories[category].name : "waits";
}

/* Preempted time of the step is a finding of its own. */
bool rule_first_step(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t first_ns, median_ns, more_ns;

	if (phase->steps < 4)
		return false;
	first_ns = explain_step_ns(phase, phase->list[0]);
	median_ns = explain_median_ns(f, phase, 1, phase->steps);
	if (first_ns < SLOW * median_ns)
		return false;
	out->cost_ns = first_ns - median_ns;
	more_ns = off_in(f->run, phase->list[0]).preempted_ns;
	if (out->cost_ns <= more_ns)
		return false;
	out->cost_ns -= more_ns;
	out->of.first_step.step = phase->list[0];
	out->of.first_step.took_ns = first_ns;
	out->of.first_step.median_ns = median_ns;
	out->of.first_step.more = difference(f, phase, phase->list[0], &out->of.first_step.more_ns);
	return true;
}

/* Slow steps but the first; their preempted and blocked time are findings of their own. */
bool rule_slow_steps(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t median_ns = explain_median_ns(f, phase, 0, phase->steps), count = 0, worst_ns = 0;
	uint32_t worst = 0;

	for (uint64_t i = 1; p == STEP_DECODE && i < phase->steps; i++) {
		uint64_t ns = explain_step_ns(phase, phase->list[i]);
		struct run_off_times off = off_in(f->run, phase->list[i]);
		uint64_t off_ns = off.preempted_ns + off.blocked_ns;
		if (ns < SLOW * median_ns)
			continue;
		out->cost_ns += ns - median_ns > off_ns ? ns - median_ns - off_ns : 0;
		count++;
		if (ns > worst_ns) {
			worst_ns = ns;
			worst = phase->list[i];
		}
	}
	if (!out->cost_ns)
		return false;
	out->of.slow_steps.step = worst;
	out->of.slow_steps.count = count;
	out->of.slow_steps.took_ns = worst_ns;
	out->of.slow_steps.median_ns = median_ns;
	out->of.slow_steps.more = difference(f, phase, worst, &out->of.slow_steps.more_ns);
	return true;
}

/* The engine's work around bricks, and bricks under the ceilings of the machine. */

bool rule_graph_rebuilt(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t build_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_BUILD));
	uint64_t alloc_ns = explain_on_cpu_ns(phase, brick_name(BRICK_GRAPH_ALLOC));
	uint64_t plan_ns = explain_on_cpu_ns(phase, "GraphPlan");

	out->cost_ns = build_ns + alloc_ns + plan_ns;
	out->of.graph_rebuilt.build_ns = build_ns;
	out->of.graph_rebuilt.alloc_ns = alloc_ns;
	out->of.graph_rebuilt.plan_ns = plan_ns;
	return phase->steps >= 4 && out->cost_ns >= phase->wall_ns / 20;
}

/* The row of the phase under a roof with most of what `value` says; NULL: none has any. */
static const struct roofline_row *most_of(const struct explain_facts *f, enum step_phase p,
	double (*value)(const struct roofline_row *))
{
	const struct roofline_row *most = NULL;
	double least = 0;

	for (size_t i = 0; f->ceilings && i < f->roofline->row_count; i++) {
		const struct roofline_row *row = &f->roofline->rows[i];
		if ((int)row->phase != (int)p || row->on_device || row->distance < 0 ||
			value(row) <= least)
			continue;
		most = row;
		least = value(row);
	}
	return most;
}

/* What a row would save at its roof. */
static double to_be_saved(const struct roofline_row *row)
{
	bool far = row->distance >= 0.5 && row->share >= 0.1 &&
		   (row->bound == ROOFLINE_MEMORY || row->bound == ROOFLINE_COMPUTE);

	return far ? (double)row->wall_ns * row->distance : 0;
}

bool rule_below_roof(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct roofline_row *row = most_of(f, p, to_be_saved);

	if (!row)
		return false;
	out->cost_ns = (uint64_t)to_be_saved(row);
	out->certainty = FINDING_LIKELY;
	out->of.roof = row;
	return true;
}

/* Bound by memory and close to what memory can do. */
static double at_the_roof(const struct roofline_row *row)
{
	return row->bound == ROOFLINE_MEMORY && row->distance <= 0.35 && row->share >= 0.25
		       ? (double)row->wall_ns
		       : 0;
}

bool rule_at_bandwidth(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	out->of.roof = most_of(f, p, at_the_roof);
	return out->of.roof != NULL;
}

bool rule_unattributed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	out->cost_ns = phase->summary->unattributed_ns;
	return out->cost_ns >= phase->wall_ns / 10;
}

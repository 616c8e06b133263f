/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk feeds the summaries of all phases, the breakdown and the roofline. This file adds up the
 * time on the CPU of each brick, site and lane. From these it derives the team, the products with
 * weights, and the time between steps.
 */
#include "analysis/explain/facts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/explain/product_due.h"
#include "analysis/statistics/percentile.h"
#include "analysis/steps/training_times.h"
#include "analysis/statistics/unknown.h"
#include "analysis/accounts/workload.h"
#include "base/array.h"
#include "base/members.h"
#include "base/number.h"

static int list_steps(struct explain_facts *f)
{
	const struct run *run = f->run;

	f->scratch = calloc(run->step_count + 1, sizeof(*f->scratch));
	if (!f->scratch)
		return -ENOMEM;
	for (int p = 0; p < STEP_PHASES; p++) {
		f->phases[p].list = calloc(run->step_count + 1, sizeof(uint32_t));
		if (!f->phases[p].list)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < run->step_count; i++) {
		struct explain_phase *phase = &f->phases[step_phase_of(&run->steps[i])];
		if (step_index_is_evaluated(&f->index, run, i))
			phase->list[phase->steps++] = i;
	}
	return 0;
}

/* True if a frame lies in a graph that prepares the cache. */
static bool facts_is_of_cache(
	const struct explain_facts *f, const struct walk_frame *frame, unsigned depth)
{
	for (unsigned i = 1; i < depth && f->cache_brick != RUN_NONE; i++)
		if (frame[-(int)i].brick == f->cache_brick)
			return true;
	return false;
}

/* Looks at the time in no brick before a frame that lies in a step alone, or at a step's end. */
static void facts_see_gap(struct explain_facts *f, struct explain_phase *phase,
	const struct walk_frame *frame, unsigned depth)
{
	const struct walk_frame *step = frame->is_step ? frame : depth ? &frame[-1] : NULL;

	if (!step || !step->is_step)
		return;
	uint64_t from_ns = f->gap_from_ns > step->begin_ns ? f->gap_from_ns : step->begin_ns;
	uint64_t gap_ns = number_minus(frame->is_step ? frame->end_ns : frame->begin_ns, from_ns);
	if (gap_ns > phase->longest_gap_ns)
		phase->longest_gap_ns = gap_ns;
	f->gap_from_ns = frame->end_ns + frame->wait_ns;
}

/* Adds a frame's time on the CPU in an evaluated step, or for it. */
static void facts_add_frame(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct explain_facts *f = context;

	if (frame->step == RUN_NONE || frame->scope == WALK_UNFINISHED ||
		!step_index_is_evaluated(&f->index, f->run, frame->step))
		return;
	struct explain_phase *phase = &f->phases[step_phase_of(&f->run->steps[frame->step])];
	uint32_t kind = f->index.kinds[frame->brick];
	uint32_t lane = f->frame_lane;
	uint64_t off_ns = frame->off.preempted_ns + frame->off.blocked_ns;
	uint64_t ns = frame->self_ns > off_ns ? frame->self_ns - off_ns : 0;

	facts_see_gap(f, phase, frame, depth);
	bool drives = frame->scope != WALK_ALONGSIDE;
	uint64_t wait_ns =
		frame->inner_ns + frame->wait_ns + (kind == BRICK_KIND_WAIT ? frame->self_ns : 0);
	phase->wait_ns[lane] += wait_ns;
	if (drives && wait_ns > phase->longest_wait_ns)
		phase->longest_wait_ns = wait_ns;
	if (kind != BRICK_KIND_WORK)
		return;
	phase->work_ns[lane] += ns;
	*(drives ? &phase->bricks[frame->brick].driver_ns
		 : &phase->bricks[frame->brick].worker_ns) += ns;
	if (!drives) {
		phase->beside_ns[lane] += ns;
		return;
	}
	if (f->cache_brick != RUN_NONE && facts_is_of_cache(f, frame, depth)) {
		bool is_graph = f->run->bricks[frame->brick].well_known == BRICK_GRAPH_COMPUTE;
		phase->bricks[frame->brick].cache_ns += ns;
		phase->cache_graphs += is_graph;
		if (is_graph)
			phase->cache_ns += frame->length_ns - frame->all_off.preempted_ns -
					   frame->all_off.blocked_ns;
	}
	struct explain_brick *brick = &phase->bricks[frame->brick];
	brick->count++;
	brick->longest_ns = ns > brick->longest_ns ? ns : brick->longest_ns;
	phase->sites[frame->sample->site].count++;
	phase->sites[frame->sample->site].ns += ns;
}

static int begin_lane(void *context, uint32_t lane)
{
	struct explain_facts *f = context;

	f->frame_lane = lane;
	f->gap_from_ns = 0;
	return f->run->lanes[lane].kind == BRICK_LANE_THREAD;
}

static const struct walk_ops frames = {.begin_lane = begin_lane, .end = facts_add_frame};

static int allocate_sums(struct explain_facts *f)
{
	for (int p = 0; p < STEP_PHASES; p++) {
		struct explain_phase *phase = &f->phases[p];
		phase->bricks = calloc(f->run->brick_count + 1, sizeof(*phase->bricks));
		phase->sites = calloc(f->run->site_count + 1, sizeof(*phase->sites));
		phase->work_ns = calloc(f->run->lane_count + 1, sizeof(*phase->work_ns));
		phase->beside_ns = calloc(f->run->lane_count + 1, sizeof(*phase->beside_ns));
		phase->wait_ns = calloc(f->run->lane_count + 1, sizeof(*phase->wait_ns));
		if (!phase->bricks || !phase->sites || !phase->work_ns || !phase->beside_ns ||
			!phase->wait_ns)
			return -ENOMEM;
	}
	return 0;
}

static int facts_walk_all(struct explain_facts *f)
{
	struct walk walk;
	int rc;

	f->cache_brick = run_brick_find(f->run, EXPLAIN_CACHE_PREPARE);
	walk_init(&walk, f->run, &f->index);
	/* nobody waits for a warm-up */
	for (int p = 0; p < STEP_PHASES; p++)
		if (f->phases[p].steps && p != STEP_WARM_UP &&
			(rc = summary_create_in(&f->phases[p].summary, &walk, SUMMARY_BY_BRICK, p)))
			return rc;
	rc = breakdown_create_in(&f->breakdown, &walk);
	if (!rc)
		rc = roofline_create_in(&f->roofline, &walk, f->ceilings);
	if (!rc)
		rc = repeats_create_in(&f->repeats, &walk);
	walk_join(&walk, &frames, f);
	return rc ? rc : walk_run(&walk);
}

/*
 * The team: the threads that run steps, and each thread that does at least a hundredth of their
 * work beside them. Also the bricks that they shared. Steps may go from thread to thread: these
 * take turns, and are no team.
 */
static void find_team(const struct explain_facts *f, struct explain_phase *phase)
{
	uint64_t all_ns = 0;

	for (size_t i = 0; i < f->run->lane_count; i++)
		all_ns += phase->work_ns[i];
	for (size_t i = 0; i < f->run->lane_count; i++)
		phase->team += phase->beside_ns[i] > all_ns / 100;
	phase->team++;
	for (size_t i = 0; i < f->run->brick_count; i++) {
		const struct explain_brick *b = &phase->bricks[i];
		if (explain_is_shared(b))
			phase->team_ns += b->driver_ns + b->worker_ns;
		else
			phase->serial_ns += b->driver_ns;
	}
	phase->serial_ns += phase->summary->rests.unattributed_ns;
}

bool explain_is_weight_product(const struct run *run, const struct run_site *site)
{
	int known = run->bricks[site->brick].well_known;

	return site->operation && !strcmp(site->operation, "MUL_MAT") && site->elements &&
	       site->flops && site->bytes && !(site->flags & BRICK_SITE_PART) &&
	       known != BRICK_ATTENTION_SCORE && known != BRICK_ATTENTION_OUTPUT;
}

/*
 * The part of a product's time that is left if its bytes become fewer, in the type i8: it is as
 * near to its roof as now. That roof is the bandwidth for data that are as much smaller, which may
 * fit a nearer cache, or the peak of i8 arithmetic. Negative: it has no roof.
 */
static double left_by_roof(const struct roofline_row *row, double bytes_ratio)
{
	const struct ceilings_figure *figure;

	if (!row || row->distance < 0 || !row->peak || !(row->bandwidth_per_ns > 0))
		return -1;
	const struct ceilings_compute *i8 = ceilings_peak(row->can, "i8", row->roof_threads);
	double peak =
		i8 ? fmax(row->peak_per_ns, ceilings_peak_at(row->can, i8)) : row->peak_per_ns;
	double of_memory = row->bytes_per_ns / row->bandwidth_per_ns;
	double of_peak = row->flops_per_ns / row->peak_per_ns;
	double nearer = ceilings_bandwidth_at(row->can, row->roof_threads,
		(uint64_t)((double)row->reuse_bytes * bytes_ratio), &figure);
	*(row->bound == ROOFLINE_MEMORY ? &of_memory : &of_peak) = 1 - row->distance;
	double bandwidth = fmax(row->bandwidth_per_ns, figure ? nearer : 0);
	double left = fmax(of_memory * bytes_ratio * row->bandwidth_per_ns / bandwidth,
			      of_peak * row->peak_per_ns / peak) /
		      fmax(of_memory, of_peak);
	return fmin(left, 1);
}

/*
 * A product of K x N weights with `batch` columns does 2 K N batch FLOPs and makes N batch
 * elements. It moves the weights, K batch activations and N batch results.
 */
bool explain_weights_of(struct explain_weights *out, const struct run_site *site, double batch)
{
	double columns = batch > 1 ? batch : 1;

	out->rows = (double)site->elements / columns;
	out->width = (double)site->flops / (2 * (double)site->elements);
	out->bytes = (double)site->bytes - 4 * columns * (out->width + out->rows);
	out->bits = 8 * out->bytes / (out->width * out->rows);
	return out->bytes > 0 && out->bits >= 1 && out->bits <= 40;
}

static void facts_add_product(const struct explain_facts *f, struct explain_phase *phase,
	const struct run_site *site, const struct explain_site *sum, const struct roofline_row *row)
{
	enum { WIDE = 15, SINGLE = 30 };
	const double q8_bits = 8.5;
	struct explain_products *out = &phase->products;
	struct explain_weights weights;

	out->ns += sum->ns;
	out->bytes += site->bytes * sum->count;
	if (!explain_weights_of(&weights, site, phase->batch))
		return;
	double times = (double)sum->count / (double)phase->evaluations;
	double bits = weights.bits;
	out->weights += (uint64_t)(weights.width * weights.rows * times);
	out->weight_bytes += (uint64_t)(weights.bytes * times);
	*(bits < WIDE		? &out->narrow_ns
		: bits < SINGLE ? &out->half_ns
				: &out->single_ns) += sum->ns;
	if (bits < WIDE)
		return;
	const double read =
		0.75; /* without a roof: a part of a product reads nothing from memory */
	double fewer = weights.bytes * (1 - q8_bits / bits);
	double left = left_by_roof(row, 1 - fewer / (double)site->bytes);
	/* the part of its time that is not in excess of what it should take: reading is in that */
	double due = product_due_part(f->roofline, row, NULL);
	out->wide_bits += bits * (double)sum->ns;
	out->roof_ns += left >= 0 ? sum->ns : 0;
	out->saved_ns +=
		due * (double)sum->ns * (left >= 0 ? 1 - left : read * (1 - q8_bits / bits));
}

static void find_products(const struct explain_facts *f, struct explain_phase *phase, int p)
{
	uint32_t adapter = run_brick_find(f->run, EXPLAIN_ADAPTER); /* has a type of its own */

	for (size_t i = 0; i < f->run->site_count && phase->evaluations; i++)
		if (phase->sites[i].count && f->run->sites[i].brick != adapter &&
			explain_is_weight_product(f->run, &f->run->sites[i]))
			facts_add_product(f, phase, &f->run->sites[i], &phase->sites[i],
				f->ceilings ? roofline_find(f->roofline, f->run->sites[i].brick,
						      (enum roofline_phase)p, false)
					    : NULL);
	uint64_t wide_ns = phase->products.half_ns + phase->products.single_ns;
	if (wide_ns)
		phase->products.wide_bits /= (double)wide_ns;
}

/*
 * A lane's time off the CPU in no brick. What bricks sleep behind a step, as a loader of data does,
 * is theirs.
 */
static struct run_off_times facts_off_in_gap(
	const struct run_lane *lane, uint64_t from_ns, uint64_t end_ns)
{
	struct run_off_times off = run_off_cpu_between(lane, from_ns, end_ns);

	for (size_t i = run_sample_from(lane, from_ns); off.blocked_ns + off.preempted_ns; i++) {
		if (i >= lane->sample_count || lane->samples[i].begin_ns >= end_ns)
			break;
		const struct run_sample *s = &lane->samples[i];
		if (s->begin_ns < from_ns || s->end_ns > end_ns)
			continue;
		struct run_off_times in = run_off_cpu_between(lane, s->begin_ns, s->end_ns);
		off.blocked_ns = number_minus(off.blocked_ns, in.blocked_ns);
		off.preempted_ns = number_minus(off.preempted_ns, in.preempted_ns);
		from_ns = s->end_ns; /* others lie in it */
	}
	return off;
}

bool explain_is_unseen(const struct explain_facts *f, uint64_t begin_ns, uint64_t end_ns)
{
	return f->run->off_cpu.source != OFF_CPU_UNKNOWN &&
	       !run_off_cpu_is_known(f->run, begin_ns, end_ns);
}

/* The time off the CPU of the thread that evaluates next, which may have waited for another one. */
static struct run_off_times facts_off_between(
	const struct explain_facts *f, const struct step_between *between)
{
	const struct run_step *s = &f->run->steps[between->step];
	struct run_off_times off =
		facts_off_in_gap(&f->run->lanes[s->lane], between->from_ns, s->begin_ns);

	off.blocked_ns = number_min(off.blocked_ns, between->ns);
	off.preempted_ns = number_min(off.preempted_ns, between->ns - off.blocked_ns);
	return off;
}

static uint64_t facts_works_between(const struct explain_facts *f,
	const struct step_between *between, const struct run_off_times *off)
{
	bool is_unseen =
		explain_is_unseen(f, between->from_ns, f->run->steps[between->step].begin_ns);

	return is_unseen ? 0 : between->ns - off->blocked_ns - off->preempted_ns;
}

static void facts_add_between(void *context, const struct step_between *between)
{
	struct explain_facts *f = context;
	const struct run_step *s = &f->run->steps[between->step];
	struct explain_phase *phase = &f->phases[step_phase_of(s)];
	uint64_t ns = between->ns;
	struct run_off_times off = facts_off_between(f, between);

	phase->between.count++;
	phase->between.sleeps_ns += off.blocked_ns;
	phase->between.preempted_ns += off.preempted_ns;
	phase->between.works_ns += facts_works_between(f, between, &off);
	if (ns > phase->between.longest_ns)
		phase->between.longest_ns = ns;
}

/*
 * A program that calls PyTorch's operators between steps runs Python between them, as its model
 * does. Of each stretch, the part that is usual there calls the next operator, or enters or leaves
 * a model, and is no other work.
 */
static void facts_take_calls(void *context, const struct step_between *between)
{
	struct explain_facts *f = context;
	const struct run_step *s = &f->run->steps[between->step];
	const struct run_lane *lane = &f->run->lanes[s->lane];
	struct explain_between *to = &f->phases[step_phase_of(s)].between;
	uint64_t usual_ns = f->operators[step_phase_of(s)].call_ns, from_ns = between->from_ns;
	struct run_off_times all_off = facts_off_between(f, between);
	uint64_t works_ns = facts_works_between(f, between, &all_off);

	for (size_t i = run_sample_from(lane, from_ns); usual_ns && from_ns < s->begin_ns; i++) {
		bool is_last = i >= lane->sample_count || lane->samples[i].begin_ns >= s->begin_ns;
		uint64_t end_ns = is_last ? s->begin_ns : lane->samples[i].begin_ns;
		if (!is_last && lane->samples[i].begin_ns < from_ns)
			continue;
		struct run_off_times off = run_off_cpu_between(lane, from_ns, end_ns);
		uint64_t ns = number_minus(end_ns - from_ns, off.blocked_ns + off.preempted_ns);
		ns = number_min(number_min(ns, usual_ns), works_ns);
		works_ns -= ns;
		to->works_ns -= ns;
		to->calls_ns += ns;
		from_ns = is_last ? s->begin_ns : lane->samples[i].end_ns;
	}
	struct explain_works *works = all_off.preempted_ns ? &to->cold : &to->warm;
	works->count++;
	works->ns += works_ns;
	if (f->run->steps[between->before].phase == BRICK_PHASE_PREFILL) {
		to->once.count++;
		to->once.ns += works_ns;
	}
}

static void facts_find_cold(struct explain_between *between)
{
	enum {
		PARTS = 4
	}; /* of all times: fewer do not say how long the program works as a rule */
	const struct explain_works *warm = &between->warm, *cold = &between->cold;

	if (warm->count && PARTS * warm->count >= warm->count + cold->count)
		between->cold_ns = number_minus(cold->ns,
			number_of_double(
				(double)warm->ns / (double)warm->count * (double)cold->count));
}

/* True if the lane's steps in a phase are those of one context, which no other lane has. */
static bool has_own_context(const struct explain_facts *f, int phase, uint32_t lane)
{
	const struct run *run = f->run;
	uint32_t model = RUN_NONE;
	bool any = false;

	for (uint32_t i = f->index.lane_first[lane]; i < f->index.lane_first[lane + 1]; i++) {
		uint32_t step = f->index.by_lane[i];
		const struct run_step *s = &run->steps[step];
		if ((int)step_phase_of(s) != phase || !f->index.finished[step])
			continue;
		if (s->model == RUN_NONE || (any && s->model != model))
			return false;
		model = s->model;
		any = true;
	}
	for (uint32_t i = 0; i < run->step_count && any; i++)
		if (run->steps[i].lane != lane && run->steps[i].model == model &&
			run->lanes[run->steps[i].lane].process == run->lanes[lane].process &&
			(int)step_phase_of(&run->steps[i]) == phase)
			return false;
	return any;
}

/*
 * The last step of the lane's process, on another lane, that began before and has ended; RUN_NONE:
 * none of the last few did.
 */
static uint32_t others_step_before(const struct explain_facts *f, uint32_t lane, uint64_t ns)
{
	enum { FEW = 16 };
	const struct step_index *index = &f->index;
	uint32_t process = f->run->lanes[lane].process;
	uint32_t first = index->process_first[process], from = first;
	uint32_t end = index->process_first[process + 1];

	while (from <
		end) { /* `from` becomes the place of the first step that begins at ns or later */
		uint32_t middle = from + (end - from) / 2;
		if (f->run->steps[index->by_process[middle]].begin_ns < ns)
			from = middle + 1;
		else
			end = middle;
	}
	for (uint32_t i = from; i > first && from - i < FEW; i--) {
		uint32_t step = index->by_process[i - 1];
		if (f->run->steps[step].lane != lane && index->tails[step].end_ns <= ns)
			return step;
	}
	return RUN_NONE;
}

/* True if contexts of two steps read the same weights, as far as names tell. */
static bool facts_is_same_model(
	const struct run *run, const struct run_step *a, const struct run_step *b)
{
	const char *x = run_model_name(run, run->lanes[a->lane].process, a->model);
	const char *y = run_model_name(run, run->lanes[b->lane].process, b->model);

	return x && y && !strcmp(x, y);
}

/*
 * Adds the sleeps of a lane before steps that begin soon after a step of another thread. Steps with
 * a lock never run at the same time; without, those of busy threads do, and those of idle ones do
 * not follow each other. A thread that was preempted in between may miss some.
 */
static void facts_add_turns(struct explain_facts *f, int p, uint32_t lane)
{
	enum { FEW = 8, SOON = 2 /* times the step's own length */ };
	const struct run *run = f->run;
	struct explain_phase *phase = &f->phases[p];
	uint32_t process = run->lanes[lane].process, holder = RUN_NONE;
	uint64_t turns = 0, ns = 0, from_ns = 0, steps = 0;

	/* the lane's last step may be of another phase, and what it slept before that is not for
	 * this step */
	for (uint32_t i = f->index.lane_first[lane]; i < f->index.lane_first[lane + 1]; i++) {
		uint32_t step = f->index.by_lane[i];
		const struct run_step *s = &run->steps[step];
		uint64_t begin_ns = from_ns;
		if (!f->index.finished[step])
			continue;
		from_ns = f->index.tails[step].end_ns;
		if ((int)step_phase_of(s) != p || !step_index_is_evaluated(&f->index, run, step))
			continue;
		steps++;
		uint32_t other = begin_ns ? others_step_before(f, lane, s->begin_ns) : RUN_NONE;
		if (other != RUN_NONE && !facts_is_same_model(run, s, &run->steps[other]))
			continue;
		uint64_t end_ns = other == RUN_NONE ? 0 : f->index.tails[other].end_ns;
		if (end_ns <= begin_ns || s->begin_ns - end_ns > SOON * (s->end_ns - s->begin_ns) ||
			step_index_overlap(&f->index, run, process, s->begin_ns - 1, s->begin_ns))
			continue;
		struct run_off_times off =
			run_off_cpu_between(&run->lanes[lane], begin_ns, s->begin_ns);
		uint64_t beside_ns =
			step_index_overlap(&f->index, run, process, begin_ns, s->begin_ns);
		turns++;
		ns += number_min(off.blocked_ns, beside_ns);
		holder = run->steps[other].lane;
	}
	if (steps < FEW || 3 * turns < 2 * (steps - 1))
		return;
	phase->between.turns += turns;
	phase->between.turns_ns += ns;
	phase->between.turn_threads++;
	phase->between.turn_holder = holder;
}

/* Only where each of several threads has a context of its own: steps may go from thread to thread.
 */
static void facts_find_turns(struct explain_facts *f)
{
	for (int p = 0; p < STEP_WARM_UP; p++) {
		uint32_t lanes = 0;
		for (uint32_t i = 0; i < f->run->lane_count && f->phases[p].summary; i++)
			lanes += has_own_context(f, p, i);
		for (uint32_t i = 0; i < f->run->lane_count && lanes > 1; i++)
			if (has_own_context(f, p, i))
				facts_add_turns(f, p, i);
	}
}

/* All summaries have the times of all steps. */
static void facts_find_between(
	struct explain_facts *f, void (*found)(void *context, const struct step_between *between))
{
	for (int p = 0; p < STEP_PHASES; p++)
		if (f->phases[p].summary) {
			step_times_between(
				f->phases[p].summary->steps.steps, f->run, &f->index, found, f);
			return;
		}
}

static void facts_finish_phase(const struct explain_facts *f, struct explain_phase *phase, int p)
{
	const struct summary *s = phase->summary;

	if (!s)
		return;
	const struct summary_row *computes = explain_row(phase, brick_name(BRICK_GRAPH_COMPUTE));
	for (uint64_t i = 0; i < phase->steps && !phase->trains; i++)
		phase->trains = training_is_step(f->run, &f->run->steps[phase->list[i]]);
	for (uint64_t i = 0; i < phase->steps; i++) {
		const struct step_time *time = &s->steps.steps[phase->list[i]];
		const struct run_step *step = &f->run->steps[phase->list[i]];
		if (explain_is_unseen(f, step->begin_ns, step->begin_ns + step_time_total_ns(time)))
			phase->unseen_gaps_ns += time->unattributed_ns;
	}
	phase->tokens = s->steps.phases[p].tokens;
	phase->wall_ns = s->wall_ns;
	phase->elapsed_ns = s->wall_ns + phase->between.sleeps_ns + phase->between.works_ns +
			    phase->between.preempted_ns + phase->between.turns_ns;
	phase->held_ns = number_minus(phase->elapsed_ns,
		explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED) + phase->between.preempted_ns);
	phase->evaluations = computes && computes->count ? computes->count : phase->steps;
	/* drafts that did not hold are no tokens of the phase, and were evaluated */
	phase->batch =
		explain_share(phase->tokens + s->steps.phases[p].refuted, phase->evaluations);
	for (size_t i = 0; i < s->queues.count; i++) {
		const struct queue_time *q = &s->queues.queues[i];
		const char *backend = f->run->lanes[q->lane].backend;
		/* spans of the host's own are no device's */
		if ((!backend || strcmp(backend, BRICK_HOST_BACKEND) != 0) &&
			(!phase->queue || q->busy_ns > phase->queue->busy_ns))
			phase->queue = q;
	}
	if (phase->queue && !phase->queue->busy_ns)
		phase->queue = NULL;
	find_team(f, phase);
	find_products(f, phase, p);
}

/* A run without a path, or with times that contradict each other, has none: that is no error. */
static int find_path(struct explain_facts *f)
{
	int rc = path_create(&f->path, f->run, &f->index, RUN_NONE);

	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		f->path = NULL;
	for (size_t i = 0; f->path && i < f->path->section_count; i++)
		if (f->path->sections[i].phase < STEP_PHASES)
			f->phases[f->path->sections[i].phase].path = &f->path->sections[i];
	return 0;
}

static int facts_find_usual_wait(struct explain_facts *f)
{
	ARRAY(uint64_t) waits = {0};
	int rc = 0;

	for (size_t i = 0; i < f->run->lane_count && presence_is_disturbed(f->run); i++)
		for (size_t k = 0; k < f->run->lanes[i].off_cpu_count && !rc; k++) {
			const struct run_off_cpu *off = &f->run->lanes[i].off_cpu[k];
			if (off->preempted)
				rc = array_push(&waits, off->end_ns - off->begin_ns);
		}
	if (waits.count && !rc) {
		percentile_sort(waits.items, waits.count);
		f->usual_wait_ns = waits.items[(waits.count - 1) / 2];
	}
	array_fini(&waits);
	return rc;
}

/* All tokens but those of warm-ups, and no more than the engine has room for. */
static void facts_find_context(struct explain_facts *f)
{
	struct workload workload;

	workload_of_run(&workload, f->run);
	for (uint32_t i = 0; i < f->run->step_count; i++)
		if (step_phase_of(&f->run->steps[i]) != STEP_WARM_UP &&
			step_index_is_evaluated(&f->index, f->run, i))
			f->context += f->run->steps[i].tokens;
	if (workload.context && workload.context < f->context)
		f->context = workload.context;
}

static int facts_find_gpus(struct explain_facts *f)
{
	const struct gpu_times *times[STEP_PHASES];
	uint64_t tokens[STEP_PHASES], steps[STEP_PHASES];

	for (int p = 0; p < STEP_PHASES; p++) {
		times[p] = f->phases[p].summary ? &f->phases[p].summary->gpus : NULL;
		tokens[p] = f->phases[p].tokens;
		steps[p] = f->phases[p].steps;
	}
	return explain_gpus_find(f->gpus, f->run, &f->index, times, tokens, steps);
}

int explain_facts_init(
	struct explain_facts *f, const struct run *run, const struct ceilings *ceilings)
{
	uint64_t between_ns[STEP_PHASES];

	memset(f, 0, sizeof(*f));
	f->run = run;
	f->ceilings = ceilings;
	int rc = step_index_init(&f->index, run);
	if (!rc)
		rc = list_steps(f);
	if (!rc)
		rc = allocate_sums(f);
	if (!rc)
		rc = facts_walk_all(f);
	if (!rc)
		rc = find_path(f);
	if (!rc)
		rc = facts_find_usual_wait(f);
	if (!rc && run->stack_count)
		rc = functions_measure(&f->functions, run);
	if (rc) {
		explain_facts_fini(f);
		return rc;
	}
	presence_of_run(&f->presence, run, &f->index);
	facts_find_context(f);
	facts_find_between(f, facts_add_between);
	facts_find_turns(f);
	for (int p = 0; p < STEP_PHASES; p++) {
		between_ns[p] = f->phases[p].between.sleeps_ns;
		facts_finish_phase(f, &f->phases[p], p);
		if (f->phases[p].products.weight_bytes > f->model_bytes)
			f->model_bytes = f->phases[p].products.weight_bytes;
	}
	rc = facts_find_gpus(f);
	if (!rc)
		rc = explain_operators_find(f->operators, run, &f->index, between_ns);
	if (!rc)
		facts_find_between(f, facts_take_calls);
	for (int p = 0; p < STEP_PHASES; p++)
		facts_find_cold(&f->phases[p].between);
	if (!rc)
		rc = rank_job_of_run(&f->ranks, run);
	if (!rc)
		rc = fault_rows_measure(&f->faults, run);
	f->is_placed = placed_of_run(&f->placed, run);
	if (rc)
		explain_facts_fini(f);
	return rc;
}

void explain_facts_fini(struct explain_facts *f)
{
	functions_fini(&f->functions);
	rank_job_fini(&f->ranks);
	fault_rows_fini(&f->faults);
	path_destroy(f->path);
	roofline_destroy(f->roofline);
	repeats_destroy(f->repeats);
	breakdown_destroy(f->breakdown);
	for (int p = 0; p < STEP_PHASES; p++) {
		summary_destroy(f->phases[p].summary);
		members_free(&f->phases[p], list, bricks, sites, work_ns, beside_ns, wait_ns);
	}
	free(f->scratch);
	step_index_fini(&f->index);
	memset(f, 0, sizeof(*f));
}

const struct summary_row *explain_row(const struct explain_phase *phase, const char *name)
{
	for (size_t i = 0; i < phase->summary->row_count; i++)
		if (!strcmp(phase->summary->rows[i].name, name))
			return &phase->summary->rows[i];
	return NULL;
}

uint64_t explain_on_cpu_ns(const struct explain_phase *phase, const char *name)
{
	const struct summary_row *row = explain_row(phase, name);

	return row ? row->wall_ns : 0;
}

uint64_t explain_brick_ns(
	const struct explain_facts *f, const struct explain_phase *phase, int well_known)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < f->run->brick_count; i++)
		if (f->run->bricks[i].well_known == well_known)
			ns += phase->bricks[i].driver_ns;
	return ns;
}

uint64_t explain_ideal_ns(const struct explain_phase *phase, uint32_t cpus)
{
	return phase->serial_ns + phase->team_ns / (cpus ? cpus : 1);
}

/*
 * The time of one evaluation without logits and sampling, which some of a prompt's evaluations
 * lack.
 */
static double evaluation_ns(const struct explain_facts *f, const struct explain_phase *phase)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < f->run->brick_count; i++)
		if (f->run->bricks[i].well_known != BRICK_LM_HEAD &&
			f->run->bricks[i].well_known != BRICK_SAMPLING)
			ns += phase->bricks[i].driver_ns;
	return phase->evaluations ? (double)ns / (double)phase->evaluations : 0;
}

/* Phases with the smallest and the largest batch. */
static void find_batches(const struct explain_facts *f, const struct explain_phase **small,
	const struct explain_phase **large)
{
	*small = *large = NULL;
	for (int p = 0; p < STEP_PHASES; p++) {
		const struct explain_phase *phase = &f->phases[p];
		if (!phase->summary || phase->batch < 1)
			continue;
		if (!*small || phase->batch < (*small)->batch)
			*small = phase;
		if (!*large || phase->batch > (*large)->batch)
			*large = phase;
	}
}

/*
 * The time of a token in a large batch, as a part of a single token's time, as measured: 0.35 to
 * 0.41 with weights of 16 bits, 0.1 to 0.3 with others. Those of four bits read half as much for
 * one token as those of eight and compute as much, so they are at the upper end (0.31).
 */
static double token_share(const struct explain_phase *phase)
{
	enum { FEW_BITS = 6 };
	const struct explain_products *m = &phase->products;
	bool half = m->half_ns > m->narrow_ns && m->half_ns > m->single_ns;
	bool few = m->weights && 8 * m->weight_bytes < FEW_BITS * m->weights;

	return half ? 0.37 : few ? 0.3 : 0.22;
}

/*
 * Fits a line through evaluations of two sizes. Small ones take longer than the line says, as
 * kernels for many tokens do not pay there. So a token of a large batch takes at most its share of
 * a single token's time, and a single token takes at most what that share says.
 */
static bool fit_batches(struct explain_batching *out, const struct explain_facts *f,
	const struct explain_phase *small, const struct explain_phase *large)
{
	double a = evaluation_ns(f, small), b = evaluation_ns(f, large);
	double share = token_share(large), one;

	out->token_ns = (b - a) / (large->batch - small->batch);
	if (small->batch < 2) {
		one = a;
		if (out->token_ns > share * one)
			out->token_ns = share * one;
	} else {
		one = a - out->token_ns * (small->batch - 1);
		if (out->token_ns <= 0 || one > b / large->batch / share) {
			out->token_ns = b / large->batch;
			one = out->token_ns / share;
		}
	}
	out->fixed_ns = one - out->token_ns;
	out->is_measured = true;
	return out->token_ns > 0 && out->fixed_ns > 0;
}

bool explain_batching(
	struct explain_batching *out, const struct explain_facts *f, enum step_phase p)
{
	const struct explain_phase *phase = &f->phases[p], *small, *large;

	*out = (struct explain_batching){0};
	if (!phase->summary || phase->batch < 1)
		return false;
	out->evaluation_ns = evaluation_ns(f, phase);
	find_batches(f, &small, &large);
	if (small && large->batch >= 2 * small->batch)
		return fit_batches(out, f, small, large);
	double share = token_share(phase);
	double one = out->evaluation_ns / (1 - share + share * phase->batch);
	out->fixed_ns = one * (1 - share);
	out->token_ns = one * share;
	return true;
}

/* The file of a function; functions of unknown files are in one. */
static const char *facts_object(const struct run_function *function)
{
	return function->object ? function->object : "";
}

bool explain_function_of(struct explain_function *out, const struct explain_facts *f,
	uint32_t brick, bool is_foreign)
{
	enum { FEW = 8 };
	const struct functions *all = &f->functions;
	const struct run_function *usual = NULL;

	*out = (struct explain_function){0};
	for (int pass = 0; pass <= is_foreign; pass++) {
		out->stacks = out->all = 0;
		out->function = NULL;
		for (size_t i = 0; i < all->count; i++) {
			const struct function_row *row = &all->rows[i];
			const struct run_function *function = &f->run->functions[row->function];
			uint64_t stacks = 0;
			for (uint32_t k = 0; k < row->place_count; k++) {
				const struct function_place *place = &all->places[row->place + k];
				bool is_any =
					brick == EXPLAIN_ANY_BRICK && place->brick != RUN_NONE;
				stacks += is_any || place->brick == brick ? place->stacks : 0;
			}
			out->all += stacks;
			if (stacks <= out->stacks ||
				(usual && !strcmp(facts_object(function), facts_object(usual))))
				continue;
			out->stacks = stacks;
			out->function = function;
		}
		usual = out->function;
	}
	return out->function && out->all >= FEW;
}

uint64_t explain_owner_ns(
	const struct explain_facts *f, const struct explain_phase *phase, uint32_t owner)
{
	const struct path_section *path = phase->path;

	for (size_t i = 0; path && i < path->row_count; i++)
		if (path->rows[i].owner == f->run->brick_count + owner)
			return path->rows[i].on_path_ns;
	return 0;
}

bool explain_is_of_graph(const struct explain_facts *f, uint32_t brick)
{
	int known = f->run->bricks[brick].well_known;

	return known == BRICK_GRAPH_BUILD || known == BRICK_GRAPH_ALLOC ||
	       !strcmp(f->run->bricks[brick].name, "GraphPlan");
}

uint64_t explain_in_step_ns(const struct explain_facts *f, uint32_t step,
	bool (*counts)(const struct explain_facts *f, uint32_t brick))
{
	const struct run_step *s = &f->run->steps[step];
	const struct run_lane *lane = &f->run->lanes[s->lane];
	uint64_t ns = 0, counted_to = 0; /* what lies in a counted sample counts once */

	for (size_t i = run_sample_from(lane, s->begin_ns); i < lane->sample_count; i++) {
		const struct run_sample *sample = &lane->samples[i];
		if (sample->begin_ns >= s->end_ns)
			break;
		if (sample->begin_ns < counted_to || !counts(f, f->run->sites[sample->site].brick))
			continue;
		counted_to = sample->end_ns;
		struct run_off_times off =
			run_off_cpu_between(lane, sample->begin_ns, sample->end_ns);
		ns += sample->end_ns - sample->begin_ns - off.preempted_ns - off.blocked_ns;
	}
	return ns;
}

bool explain_waits_unseen(const struct explain_facts *f, enum step_phase p)
{
	return f->operators[p].is_known && explain_note_number(f->run, "torch.threads") > 1 &&
	       presence_is_disturbed(f->run);
}

uint64_t explain_step_ns(const struct explain_phase *phase, uint32_t step)
{
	return step_time_total_ns(&phase->summary->steps.steps[step]);
}

uint64_t explain_median_ns(const struct explain_facts *f, const struct explain_phase *phase,
	uint64_t first, uint64_t end)
{
	size_t n = end > first ? end - first : 0;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		f->scratch[i] = explain_step_ns(phase, phase->list[first + i]);
	percentile_sort(f->scratch, n);
	return f->scratch[(n - 1) / 2];
}

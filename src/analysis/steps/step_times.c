/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up times of steps in a walk (src/analysis/walk/walk.h), so that they count as the rows of
 * reports do; then finds percentiles and the time to the first token.
 */
#include "analysis/steps/step_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "analysis/steps/training_times.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/registry.h"

void step_times_fini(struct step_times *times)
{
	free(times->steps);
	times->steps = NULL;
}

static const struct {
	const char *name;
	int32_t brick;
} step_times_phases[STEP_PHASES] = {
	[STEP_PREFILL] = {"prefill", BRICK_PREFILL},
	[STEP_DECODE] = {"decode", BRICK_DECODE},
	[STEP_MIXED] = {"mixed", BRICK_MIXED},
	[STEP_WARM_UP] = {"warm-up", BRICK_WARM_UP},
	[STEP_OTHER] = {"other", BRICK_OTHER_STEP},
};

const enum step_phase step_phase_order[STEP_PHASES] = {
	STEP_DECODE, STEP_MIXED, STEP_PREFILL, STEP_OTHER, STEP_WARM_UP};

const char *step_phase_name(int phase)
{
	return phase >= 0 && phase < STEP_PHASES ? step_times_phases[phase].name : NULL;
}

int step_phase_by_name(const char *name)
{
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (!strcmp(step_times_phases[phase].name, name))
			return phase;
	return -1;
}

int step_phase_of_brick(int32_t well_known)
{
	for (int phase = 0; phase < STEP_PHASES; phase++)
		if (step_times_phases[phase].brick == well_known)
			return phase;
	return -1;
}

static void later(uint64_t *ns, uint64_t end_ns)
{
	if (end_ns > *ns)
		*ns = end_ns;
}

static void step_times_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct step_times *times = context;
	const struct walk_times *counted = &frame->counted;
	if (frame->step == RUN_NONE)
		return;
	struct step_time *step = &times->steps[frame->step];
	if (frame->scope == WALK_AFTER || frame->scope == WALK_ALONGSIDE)
		if (times->run->bricks[frame->brick].well_known == BRICK_SAMPLING &&
			frame->end_ns > step->sampled_end_ns)
			step->sampled_end_ns = frame->end_ns;
	if (frame->scope == WALK_AFTER || frame->is_step) {
		/* only a wait after a step means that its results were not there before */
		if (frame->is_step || times->index->kinds[frame->brick] == BRICK_KIND_WAIT)
			later(&step->done_ns, frame->end_ns);
		if (frame->wait_ns)
			later(&step->done_ns, frame->end_ns + frame->wait_ns);
	}
	if (frame->scope == WALK_AFTER) {
		uint64_t ns = counted->self_ns + counted->inner_ns + counted->wait_ns;
		step->after_ns += ns;
		times->wall_ns += ns;
	}
	if (frame->scope != WALK_IN_STEP)
		return;
	if (times->index->kinds[frame->brick] == BRICK_KIND_STEP)
		step->unattributed_ns += walk_shares(times->index, frame).own_ns;
	if (frame->is_step) {
		step->span_ns = frame->length_ns;
		uint64_t gap_ns = times->index->tails[frame->step].gap_ns;
		step->unattributed_ns += gap_ns;
		step->after_ns += frame->wait_ns + gap_ns;
		times->wall_ns += frame->length_ns + frame->wait_ns + gap_ns;
	}
}

static uint64_t percentile_or_unknown(const uint64_t *sorted, size_t n, unsigned percent)
{
	return n ? percentile_sorted(sorted, n, percent) : ANALYSIS_UNKNOWN;
}

static uint64_t step_times_executions(const struct run_lane *lane, const struct run *run, int phase)
{
	uint64_t count = 0;

	for (uint32_t b = 0; lane->stats && b < run->brick_count; b++)
		if (step_phase_of_brick(run->bricks[b].well_known) == phase)
			count += lane->stats[b].count;
	return count;
}

/*
 * Steps of a process (RUN_NONE: of all) by statistics of its threads; 0 if no record was dropped,
 * as then the file has all steps.
 */
static uint64_t steps_counted(const struct run *run, uint32_t process, int phase)
{
	uint64_t count = 0, dropped = 0;

	for (uint32_t l = 0; l < run->lane_count; l++) {
		const struct run_lane *lane = &run->lanes[l];
		if (process != RUN_NONE && lane->process != process)
			continue;
		count += step_times_executions(lane, run, phase);
		dropped += lane->ledger.dropped + run->processes[lane->process].ledger.dropped;
	}
	return dropped ? count : 0;
}

/* Adds a step to union_ns. Steps come by begin; *last_ns: the end of the union so far. */
static void step_times_unite(
	struct step_phase_times *phase, uint64_t begin_ns, uint64_t end_ns, uint64_t *last_ns)
{
	if (end_ns <= *last_ns)
		return;
	phase->union_ns += end_ns - (begin_ns > *last_ns ? begin_ns : *last_ns);
	*last_ns = end_ns;
}

static bool step_times_is_between(const struct run *run, uint32_t before, uint32_t step)
{
	const struct run_step *s = &run->steps[step], *b = &run->steps[before];

	if (run->mark_count && run_was_off(run, b->end_ns, s->begin_ns))
		return false;
	if (b->phase == BRICK_PHASE_WARM_UP || (run->all_steps && s->number != b->number + 1))
		return false;
	return (s->phase != BRICK_PHASE_PREFILL && s->phase != BRICK_PHASE_OTHER) ||
	       (training_is_step(run, b) && training_is_step(run, s));
}

static void step_times_find_between(const struct step_time *steps, const struct run *run,
	const struct step_index *index, uint32_t process,
	void (*found)(void *context, const struct step_between *between), void *context)
{
	struct step_between gap = {.before = RUN_NONE};

	for (uint32_t i = index->process_first[process]; i < index->process_first[process + 1];
		i++) {
		gap.step = index->by_process[i];
		uint64_t begin_ns = run->steps[gap.step].begin_ns;
		uint64_t ns = begin_ns > gap.from_ns ? begin_ns - gap.from_ns : 0;
		uint64_t after_ns = gap.before == RUN_NONE ? 0 : steps[gap.before].after_ns;
		gap.ns = ns > after_ns ? ns - after_ns : 0;
		if (gap.before != RUN_NONE && gap.ns &&
			step_times_is_between(run, gap.before, gap.step))
			found(context, &gap);
		if (index->tails[gap.step].end_ns >= gap.from_ns) {
			gap.from_ns = index->tails[gap.step].end_ns;
			gap.before = gap.step;
		}
	}
}

void step_times_between(const struct step_time *steps, const struct run *run,
	const struct step_index *index,
	void (*found)(void *context, const struct step_between *between), void *context)
{
	for (uint32_t p = 0; p < run->process_count; p++)
		step_times_find_between(steps, run, index, p, found, context);
}

static void step_times_add_between(void *context, const struct step_between *between)
{
	struct step_times *times = context;

	times->phases[times->run->steps[between->step].phase].wall_ns += between->ns;
}

static void step_times_finish_phase(
	struct step_times *times, const struct run *run, int phase_number, uint64_t *values)
{
	struct step_phase_times *phase = &times->phases[phase_number];
	uint64_t last_ns = 0;
	size_t n = 0;
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (!times->index->finished[i] || (int)step->phase != phase_number)
			continue;
		values[n] = step_time_total_ns(&times->steps[i]);
		const struct step_time *time = &times->steps[i];
		phase->refused += step->outcome == RUN_REFUSED;
		phase->aborted += step->outcome == RUN_ABORTED;
		phase->tokens += step->tokens;
		phase->output_tokens += step->phase == BRICK_PHASE_DECODE  ? step->tokens
					: step->phase == BRICK_PHASE_MIXED ? step->output_tokens
									   : 0;
		phase->draft_tokens += step->drafts;
		phase->checked += step->checked;
		phase->refuted += step->is_draft ? 0 : step->drafts;
		phase->draft_steps += step->is_draft;
		phase->draft_ns += step->is_draft ? step_time_total_ns(time) : 0;
		phase->total_ns += step_time_total_ns(time);
		phase->after_ns += time->after_ns;
		phase->unattributed_ns += time->unattributed_ns;
		if (step->outcome != RUN_EVALUATED) {
			phase->unevaluated_ns += values[n];
			continue;
		}
		step_times_unite(phase, step->begin_ns, step->begin_ns + values[n], &last_ns);
		n++;
	}
	percentile_sort(values, n);
	uint64_t counted = steps_counted(run, RUN_NONE, phase_number);
	phase->count = n;
	uint64_t there = n + phase->refused + phase->aborted;
	phase->dropped = counted > there ? counted - there : 0;
	phase->wall_ns = run->is_scattered ? ANALYSIS_UNKNOWN : phase->union_ns;
	phase->min_ns = n ? values[0] : ANALYSIS_UNKNOWN;
	phase->max_ns = n ? values[n - 1] : ANALYSIS_UNKNOWN;
	phase->p50_ns = percentile_or_unknown(values, n, 50);
	phase->p95_ns = percentile_or_unknown(values, n, 95);
	phase->p99_ns = percentile_or_unknown(values, n, 99);
}

bool step_times_has_steps(const struct run *run, const struct run_lane *lane)
{
	for (uint32_t b = 0; lane->stats && b < run->brick_count; b++)
		if (step_phase_of_brick(run->bricks[b].well_known) >= 0 && lane->stats[b].count)
			return true;
	return false;
}

static void add_counted(struct step_phase_times *phase, const struct run_stat *stat)
{
	phase->count += stat->count;
	phase->tokens += stat->elements;
	phase->total_ns += stat->total_ns + stat->nested_ns;
	phase->unattributed_ns += stat->self_ns;
	if (stat->min_ns < phase->min_ns)
		phase->min_ns = stat->min_ns;
	if (phase->max_ns == ANALYSIS_UNKNOWN || stat->max_ns > phase->max_ns)
		phase->max_ns = stat->max_ns;
}

/* Counts the steps of a lane by statistics; returns its time in bricks outside of steps. */
static uint64_t count_lane(struct step_times *times, const struct run_lane *lane)
{
	const struct run *run = times->run;
	uint64_t own_ns = 0, steps_ns = 0;

	for (uint32_t b = 0; b < run->brick_count; b++) {
		const struct run_stat *stat = &lane->stats[b];
		int phase = step_phase_of_brick(run->bricks[b].well_known);
		own_ns += stat->self_ns;
		if (phase < 0 || !stat->count)
			continue;
		add_counted(&times->phases[phase], stat);
		steps_ns += stat->total_ns;
	}
	return own_ns > steps_ns ? own_ns - steps_ns : 0;
}

/* A percentile by the run's histogram, plus the mean time after a step: as samples would have it.
 */
static uint64_t counted_percentile(const struct step_times *times, int number, unsigned percent)
{
	const struct step_phase_times *phase = &times->phases[number];
	uint32_t brick = run_brick_find(times->run, brick_name(step_times_phases[number].brick));

	if (brick == RUN_NONE || !times->run->histograms || !times->run->histograms[brick])
		return ANALYSIS_UNKNOWN;
	uint64_t ns =
		percentile_of_ticks(times->run->histograms[brick], &times->run->clock, percent);
	ns = percentile_bounded(ns, phase->min_ns, phase->max_ns);
	return ns == ANALYSIS_UNKNOWN ? ns : ns + phase->after_ns / phase->count;
}

/*
 * Finishes a run with statistics of threads only. Time outside of steps counts after decoding,
 * where sampling is. With steps on several threads nobody knows which ran at the same time.
 */
static void finish_counted(struct step_times *times)
{
	const struct run *run = times->run;
	uint64_t outside_ns = 0;
	size_t lanes = 0;

	for (int i = 0; i < STEP_PHASES; i++)
		times->phases[i] = (struct step_phase_times){.min_ns = ANALYSIS_UNKNOWN,
			.max_ns = ANALYSIS_UNKNOWN,
			.wall_ns = ANALYSIS_UNKNOWN};
	for (size_t l = 0; l < run->lane_count; l++) {
		if (!step_times_has_steps(run, &run->lanes[l]))
			continue;
		outside_ns += count_lane(times, &run->lanes[l]);
		lanes++;
	}
	int last = STEP_DECODE;
	for (int i = 0; i < STEP_PHASES && !times->phases[last].count; i++)
		last = times->phases[i].count ? i : last;
	for (int i = 0; i < STEP_PHASES; i++) {
		struct step_phase_times *phase = &times->phases[i];
		phase->output_tokens = i == STEP_DECODE ? phase->tokens : 0;
		phase->after_ns = i == last && phase->count ? outside_ns : 0;
		phase->total_ns += phase->after_ns;
		phase->union_ns = lanes == 1 ? phase->total_ns : 0;
		phase->p50_ns = counted_percentile(times, i, 50);
		phase->p95_ns = counted_percentile(times, i, 95);
		phase->p99_ns = counted_percentile(times, i, 99);
		times->wall_ns += phase->total_ns;
	}
}

/* True if records of a prefill, or of a sampling after a decode, may have been dropped. */
static bool may_lack_token(const struct step_times *times, uint32_t process, bool after_decode)
{
	const struct step_index *index = times->index;
	uint64_t prefills = 0, counted = steps_counted(times->run, process, STEP_PREFILL);

	for (uint32_t k = index->process_first[process]; k < index->process_first[process + 1]; k++)
		prefills += times->run->steps[index->by_process[k]].phase == BRICK_PHASE_PREFILL;
	return counted && (after_decode || counted > prefills);
}

/*
 * The prompt before the first decode, for runs without sampling. The batches of a prompt have equal
 * lengths, but the last may be shorter. Prompts that a benchmark repeats have equal lengths, too:
 * then nobody can tell batches from prompts (`unsure`).
 */
struct prompt {
	uint64_t begin_ns; /* of its first batch */
	uint64_t done_ns;  /* of its last batch so far; 0: no batch yet */
	uint64_t tokens;   /* of its last batch so far */
	bool ended;	   /* the last batch was shorter */
	bool unsure;	   /* equal batches may be prompts of their own */
};

static void add_batch(
	struct prompt *prompt, const struct run_step *step, const struct step_time *time)
{
	uint64_t tokens = step->tokens + step->drafts;
	bool goes_on = prompt->done_ns && !prompt->ended && tokens <= prompt->tokens;

	if (!goes_on)
		*prompt = (struct prompt){.begin_ns = step->begin_ns};
	prompt->ended = goes_on && tokens < prompt->tokens;
	prompt->unsure = goes_on && tokens && tokens == prompt->tokens;
	prompt->tokens = tokens;
	prompt->done_ns = time->done_ns;
}

/* The time to the first token of one process; ANALYSIS_UNKNOWN: not known. */
static uint64_t first_token_ns(const struct step_times *times, uint32_t process)
{
	const struct step_index *index = times->index;
	uint64_t begin_ns = ANALYSIS_UNKNOWN;
	struct prompt prompt = {0};
	bool decode_seen = false;
	for (uint32_t k = index->process_first[process]; k < index->process_first[process + 1];
		k++) {
		const struct run_step *step = &times->run->steps[index->by_process[k]];
		const struct step_time *time = &times->steps[index->by_process[k]];
		if (step->phase == BRICK_PHASE_WARM_UP || step->phase == BRICK_PHASE_OTHER ||
			step->outcome ||
			(begin_ns == ANALYSIS_UNKNOWN && !(step->phase == BRICK_PHASE_PREFILL ||
								 step->phase == BRICK_PHASE_MIXED)))
			continue;
		if (begin_ns == ANALYSIS_UNKNOWN)
			begin_ns = step->begin_ns;
		bool decodes = step->phase != BRICK_PHASE_PREFILL;
		if (time->sampled_end_ns > begin_ns)
			return may_lack_token(times, process, decodes || decode_seen)
				       ? ANALYSIS_UNKNOWN
				       : time->sampled_end_ns - begin_ns;
		decode_seen |= decodes;
		if (!decode_seen)
			add_batch(&prompt, step, time);
	}
	return decode_seen && prompt.done_ns && !prompt.unsure &&
			       !may_lack_token(times, process, true)
		       ? prompt.done_ns - prompt.begin_ns
		       : ANALYSIS_UNKNOWN;
}

static int step_times_finish(void *context)
{
	struct step_times *times = context;
	const struct run *run = times->run;
	SCOPED uint64_t *values = calloc(run->step_count + 1, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (int phase = 0; phase < STEP_PHASES && !run->has_statistics_only; phase++)
		step_times_finish_phase(times, run, phase, values);
	if (run->has_statistics_only)
		finish_counted(times);
	else if (!run->is_scattered)
		step_times_between(times->steps, run, times->index, step_times_add_between, times);
	for (size_t i = 0; i < run->step_count; i++)
		later(&times->steps[i].done_ns, times->index->tails[i].device_ns);
	for (uint32_t p = 0; p < run->process_count && times->ttft_ns == ANALYSIS_UNKNOWN; p++)
		times->ttft_ns = first_token_ns(times, p);
	for (struct step_times *same = times->same; same; same = same->same) {
		memcpy(same->steps, times->steps, run->step_count * sizeof(*times->steps));
		memcpy(same->phases, times->phases, sizeof(times->phases));
		same->wall_ns = times->wall_ns;
		same->ttft_ns = times->ttft_ns;
	}
	return 0;
}

static const struct walk_ops step_times_ops = {
	.end = step_times_on_end, .finish = step_times_finish};

int step_times_init(struct step_times *times, struct walk *walk)
{
	memset(times, 0, sizeof(*times));
	times->run = walk->run;
	times->index = walk->index;
	times->ttft_ns = ANALYSIS_UNKNOWN;
	times->steps = calloc(walk->run->step_count + 1, sizeof(*times->steps));
	if (!times->steps)
		return -ENOMEM;
	if (walk->times) {
		times->same = walk->times->same;
		walk->times->same = times;
		return 0;
	}
	walk->times = times;
	walk_join(walk, &step_times_ops, times);
	return 0;
}

int step_times_measure(
	struct step_times *times, const struct run *run, const struct step_index *index)
{
	struct walk walk;
	walk_init(&walk, run, index);
	int rc = step_times_init(times, &walk);
	if (rc == 0)
		rc = walk_run(&walk);
	if (rc < 0)
		step_times_fini(times);
	return rc;
}

bool step_phase_ended(const struct run *run, const struct step_index *index, enum step_phase phase)
{
	for (size_t i = 0; i < run->step_count; i++)
		if (index->finished[i] && step_phase_of(&run->steps[i]) == phase)
			return true;
	return false;
}

int step_length_compare(const void *a, const void *b)
{
	const struct step_length *x = a, *y = b;
	return ORDER(y->ns, x->ns) ?: ORDER(x->step, y->step);
}

/* The shortest first, of equals the earlier. */
COMPARATOR(compare_shortest, struct step_length, ORDER(x->ns, y->ns) ?: ORDER(x->step, y->step))

uint32_t step_times_median(const struct step_times *times, const struct run *run,
	const struct step_index *index, enum step_phase phase)
{
	SCOPED struct step_length *ranked = calloc(run->step_count + 1, sizeof(*ranked));
	if (!ranked)
		return RUN_NONE;
	size_t n = 0;
	for (uint32_t i = 0; i < run->step_count; i++)
		if (step_index_is_evaluated(index, run, i) && run->steps[i].phase == phase)
			ranked[n++] = (struct step_length){step_time_total_ns(&times->steps[i]), i};
	qsort(ranked, n, sizeof(*ranked), compare_shortest);
	return n ? ranked[(n - 1) / 2].step : RUN_NONE;
}

int step_times_first_token(const struct run *run, uint64_t *ttft_ns)
{
	struct step_index index;
	struct step_times times;
	int known = 0;

	if (step_index_init(&index, run) < 0)
		return 0;
	if (index.count > 1 && step_times_measure(&times, run, &index) == 0) {
		known = times.ttft_ns != ANALYSIS_UNKNOWN;
		if (known)
			*ttft_ns = times.ttft_ns;
		step_times_fini(&times);
	}
	step_index_fini(&index);
	return known;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about steps: the time between them, their batches, and changes from token to token. */
#include "analysis/explain/finding.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/explain/rules_operators.h"
#include "analysis/statistics/percentile.h"
#include "base/number.h"
#include "brick/abi/step_counters.h"
#include "brick/brick.h"

enum {
	GROWTH_STEPS = 256, /* fewer steps do not show growth */
	GROWTH_PARTS = 8,   /* of the steps, whose medians are compared: see grows() */
	FEW_TOKENS = 8,	    /* a decode phase of fewer steps has no slow first step */
};

/* Time of the program between two steps. */

bool rule_host_pauses(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	out->cost_ns = f->phases[p].between.sleeps_ns;
	return finding_costs(out, 20);
}

/* What a request does once, of many tokens, is no work of each step. */
bool rule_host_works(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_between *between = &f->phases[p].between;
	bool is_rare = FEW_TOKENS * between->once.count <= between->count;

	out->cost_ns = number_minus(
		between->works_ns, between->cold_ns + (is_rare ? between->once.ns : 0));
	bool is_certain = finding_costs(out, 20);
	out->cost_ns = between->works_ns;
	return is_certain;
}

/* Threads that evaluate with contexts of their own, but only in turns: one lock serves them all. */
bool rule_turns(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	out->cost_ns = f->phases[p].between.turns_ns;
	return f->phases[p].between.turn_threads > 1 && finding_costs(out, 20);
}

/*
 * Sums over steps of which at least half the tokens had been evaluated before, as Brick's counter
 * says.
 */
struct repeated {
	uint64_t tokens, steps, time_ns;
};

bool rule_prompt_repeated(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t counter = run_brick_find(f->run, BRICK_REPEATED_NAME);
	struct repeated sum = {0};

	for (size_t i = 0; i < f->run->point_count && counter != RUN_NONE; i++)
		if (f->run->points[i].kind == RUN_POINT_COUNTER &&
			f->run->points[i].brick == counter && f->run->points[i].value > 0) {
			const struct run_point *point = &f->run->points[i];
			uint32_t step = step_index_at(&f->index, f->run, point->lane, point->ns);
			uint64_t tokens = number_of_double(point->value);
			if (step != RUN_NONE &&
				&f->phases[step_phase_of(&f->run->steps[step])] == phase &&
				2 * tokens >= f->run->steps[step].tokens &&
				step_index_is_evaluated(&f->index, f->run, step)) {
				sum.tokens += tokens;
				sum.time_ns += explain_step_ns(phase, step);
				sum.steps++;
			}
		}
	if (f->operators[p].repeated)
		return operators_repeat(f, p, out);
	if (!sum.steps)
		return false;
	out->cost_ns = sum.time_ns;
	out->certainty = FINDING_LIKELY;
	out->of.prompt_repeated.tokens = sum.tokens;
	out->of.prompt_repeated.steps = sum.steps;
	return true;
}

/* A training step chooses no token: what looks so is a metric's. */
bool rule_sampling(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *row = explain_row(phase, brick_name(BRICK_SAMPLING));

	out->cost_ns = explain_on_cpu_ns(phase, brick_name(BRICK_SAMPLING));
	out->of.sampling.calls = row ? row->count : 0;
	return row && row->count && !phase->trains && finding_costs(out, 10);
}

/* Batches. */

/* Prompts in batches with other sequences: these wait for the prompt. */
bool rule_mixed(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	if (p != STEP_MIXED)
		return false;
	const struct step_phase_times *times = &phase->summary->steps.phases[p];
	uint64_t alone_ns =
		explain_median_ns(f, &f->phases[STEP_DECODE], 0, f->phases[STEP_DECODE].steps);
	struct explain_batching model;
	out->of.mixed.output_tokens = times->output_tokens;
	out->of.mixed.prompt_tokens = times->tokens - times->output_tokens;
	out->of.mixed.steps = phase->steps;
	out->certainty = FINDING_LIKELY;
	/* single tokens whose logits nobody wants go on with no prompt */
	if (out->of.mixed.prompt_tokens < 2 * phase->steps)
		return false;
	/* what is a rule for CPUs tells nothing of a GPU: there only batches of two sizes do */
	if (!alone_ns && explain_batching(&model, f, p) &&
		(model.is_measured || !f->gpus[p].commands))
		alone_ns = number_of_double(model.fixed_ns + model.token_ns *
								     (double)times->output_tokens /
								     (double)phase->steps);
	alone_ns *= phase->steps;
	out->cost_ns = alone_ns && phase->wall_ns > alone_ns ? phase->wall_ns - alone_ns : 0;
	return out->cost_ns != 0;
}

/*
 * Drafts that cost more than they save. The time of an evaluation beyond that of a single token is
 * shared by its drafts, beside the time of the model that drafts. A draft that holds saves the
 * evaluation of a token.
 */
bool rule_drafts(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct step_phase_times *times = &phase->summary->steps.phases[p];
	struct explain_batching model;

	if (!times->refuted || !explain_batching(&model, f, p))
		return false;
	double head_ns =
		(double)explain_brick_ns(f, phase, BRICK_LM_HEAD) / (double)phase->evaluations;
	double evaluation_ns = model.evaluation_ns + head_ns;
	double one_ns = model.fixed_ns + model.token_ns + head_ns / phase->batch;
	if (f->usual && f->usual->runs[p] && phase->tokens)
		one_ns = fmin(one_ns, f->usual->whole[p].median_ns -
					      (double)explain_brick_ns(f, phase, BRICK_SAMPLING) /
						      (double)phase->tokens);
	one_ns = fmax(0, one_ns);
	double each_ns = fmax(0, evaluation_ns - one_ns) * (double)phase->evaluations /
			 (double)times->checked;
	out->of.drafts.checked = times->checked;
	out->of.drafts.held = times->checked - times->refuted;
	out->of.drafts.draft_ns = times->draft_ns;
	out->of.drafts.refuted_ns = number_of_double((double)times->refuted * each_ns);
	out->of.drafts.saved_ns =
		number_of_double((double)out->of.drafts.held * fmax(0, one_ns - each_ns));
	uint64_t lost_ns = out->of.drafts.draft_ns + out->of.drafts.refuted_ns;
	out->cost_ns = lost_ns > out->of.drafts.saved_ns ? lost_ns - out->of.drafts.saved_ns : 0;
	if (out->cost_ns > phase->wall_ns)
		out->cost_ns = phase->wall_ns;
	out->certainty = FINDING_LIKELY;
	return out->cost_ns != 0;
}

/* Rows of logits of an evaluation in this phase, in units of a row in decoding. */
static double logit_rows(const struct explain_facts *f, const struct explain_phase *phase)
{
	double row = 0, rows = 0;

	for (size_t i = 0; i < f->run->site_count; i++) {
		const struct run_site *site = &f->run->sites[i];
		if (f->run->bricks[site->brick].well_known != BRICK_LM_HEAD || !site->elements ||
			site->flags & BRICK_SITE_PART)
			continue;
		/* the smallest is taken for one token's */
		if (row <= 0 || (double)site->elements < row)
			row = (double)site->elements;
		rows += (double)site->elements * (double)phase->sites[i].count;
	}
	return row > 0 && phase->evaluations ? rows / row / (double)phase->evaluations : 0;
}

bool rule_all_logits(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	double rows = logit_rows(f, phase);

	if (p != STEP_PREFILL || rows < 2 || rows < phase->batch / 2)
		return false;
	out->of.all_logits.rows = rows;
	out->of.all_logits.copy_ns = explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));
	out->cost_ns = number_of_double(
		(double)(explain_brick_ns(f, phase, BRICK_LM_HEAD) + out->of.all_logits.copy_ns) *
		(1 - 1 / rows));
	return true;
}

enum { LARGE_BATCH = 512, SMALL_BATCH = 64 };

/* Compares the recorded evaluations with evaluations of 512 tokens. */
static bool batches_are_small(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	struct explain_batching model;

	if (p != STEP_PREFILL || phase->batch > SMALL_BATCH ||
		(double)phase->tokens < 2 * phase->batch || !explain_batching(&model, f, p))
		return false;
	double fewer = (double)phase->tokens / LARGE_BATCH;
	fewer = fewer > 1 ? fewer : 1;
	double is_ns = model.evaluation_ns * (double)phase->evaluations;
	double would_ns = model.fixed_ns * fewer + model.token_ns * (double)phase->tokens;
	out->cost_ns = is_ns > would_ns ? number_of_double(is_ns - would_ns) : 0;
	out->certainty = FINDING_LIKELY;
	out->of.batches.batch = phase->batch;
	out->of.batches.model = model;
	out->of.batches.took_ns = number_of_double(is_ns);
	out->of.batches.would_ns = number_of_double(would_ns);
	return finding_costs(out, 20);
}

bool rule_small_ubatch(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	return phase->evaluations >= 2 * phase->steps && batches_are_small(f, p, out);
}

/* Counts steps behind which nothing was sampled: the next step continues the prompt. */
static uint64_t unfinished_prompts(const struct explain_facts *f, const struct explain_phase *phase)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < phase->steps; i++)
		count += !phase->summary->steps.steps[phase->list[i]].sampled_end_ns;
	(void)f;
	return count;
}

bool rule_small_batches(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	return phase->steps >= 4 && 4 * unfinished_prompts(f, phase) >= 3 * phase->steps &&
	       phase->evaluations < 2 * phase->steps && batches_are_small(f, p, out);
}

enum { SEQUENCES_MAX = 64 };

/* Counts evaluations of a single token of some sequence, and the sequences. */
static uint64_t count_switches(
	const struct explain_facts *f, enum step_phase p, uint32_t counter, size_t *sequences)
{
	double seen[SEQUENCES_MAX];
	uint64_t switches = 0;

	*sequences = 0;
	for (size_t i = 0; i < f->run->point_count; i++) {
		const struct run_point *point = &f->run->points[i];
		if (point->kind != RUN_POINT_COUNTER || point->brick != counter)
			continue;
		uint32_t step = step_index_at(&f->index, f->run, point->lane, point->ns);
		if (step == RUN_NONE || step_phase_of(&f->run->steps[step]) != p)
			continue;
		size_t k = 0;
		while (k < *sequences && seen[k] != point->value)
			k++;
		if (k == *sequences && k < SEQUENCES_MAX)
			seen[(*sequences)++] = point->value;
		switches++;
	}
	return switches;
}

bool rule_sequences_apart(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint32_t counter = run_brick_find(f->run, BRICK_SEQUENCE_NAME);
	struct explain_batching model;
	size_t sequences = 0;

	if (p != STEP_DECODE || counter == RUN_NONE ||
		2 * count_switches(f, p, counter, &sequences) < phase->steps || sequences < 2 ||
		!explain_batching(&model, f, p))
		return false;
	out->of.batches.sequences = (double)sequences;
	out->of.batches.batch = phase->batch;
	out->of.batches.model = model;
	out->certainty = FINDING_LIKELY;
	/* each sequence has its own cache and logits, which are read anyway; 2/3 was the middle of
	 * the measured values */
	const double of_a_prompt = 2.0 / 3;
	out->cost_ns = number_of_double(
		of_a_prompt * model.fixed_ns * (double)phase->steps * (1 - 1 / (double)sequences));
	return true;
}

/* The context. */

/* Attention without its products with weights. */
static uint64_t attention_ns(const struct explain_facts *f, const struct explain_phase *phase)
{
	return explain_brick_ns(f, phase, BRICK_FLASH_ATTENTION) +
	       explain_brick_ns(f, phase, BRICK_ATTENTION_SCORE) +
	       explain_brick_ns(f, phase, BRICK_ATTENTION_SOFTMAX) +
	       explain_brick_ns(f, phase, BRICK_ATTENTION_OUTPUT);
}

/*
 * Bytes of a value in the cache. The node that writes it tells: values come in f32, and rows have
 * an index of 8 bytes. 0: nothing tells.
 */
static double cache_value_bytes(const struct explain_facts *f, const struct explain_phase *phase)
{
	const double value_in = 4, index = 8;
	uint64_t most = 0;
	double bytes = 0;

	for (size_t i = 0; i < f->run->site_count; i++) {
		const struct run_site *site = &f->run->sites[i];
		bool writes = site->operation && !strcmp(site->operation, "SET_ROWS") &&
			      site->label && strstr(site->label, "cache_k");
		if (!writes || !site->elements || phase->sites[i].ns <= most)
			continue;
		double rows = phase->batch > 1 ? phase->batch : 1;
		most = phase->sites[i].ns;
		bytes = ((double)site->bytes - index * rows) / (double)site->elements - value_in;
	}
	return bytes;
}

/*
 * The extra time of attention over another type than f16, as a part of its time, for one token and
 * for many: measured with the engine of examples/demo on two CPUs, with AVX2 and with AVX-512, and
 * the middle of both.
 */
static double slower_by_type(double bytes, bool many)
{
	static const struct {
		double from, to, one, many;
	} types[] = {{0.9, 1.5, 0.47, 0.78}, {0.66, 0.9, 0.68, 0.92}, {0.4, 0.66, 0.53, 0.88}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (bytes >= types[i].from && bytes < types[i].to)
			return many ? types[i].many : types[i].one;
	return 0;
}

/* A cache of f32 is cast to f16 as a whole, for each evaluation. */
static uint64_t casts_ns(const struct explain_facts *f, const struct explain_phase *phase)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < f->run->site_count; i++) {
		const struct run_site *site = &f->run->sites[i];
		if (f->run->bricks[site->brick].well_known == BRICK_KV_CACHE_WRITE &&
			site->operation && strcmp(site->operation, "SET_ROWS"))
			ns += phase->sites[i].ns;
	}
	return ns;
}

bool rule_kv_type(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	double bytes = cache_value_bytes(f, phase),
	       slower = slower_by_type(bytes, phase->batch > 8);
	bool is_wide = bytes > 3;

	out->of.attention.attention_ns = attention_ns(f, phase);
	out->of.attention.bytes = bytes;
	out->certainty = FINDING_LIKELY;
	out->cost_ns = number_of_double((double)out->of.attention.attention_ns * slower) +
		       (is_wide ? casts_ns(f, phase) : 0);
	return !phase->queue && finding_costs(out, 10);
}

/* True if an engine computed the brick; a program that states its work itself has no operations. */
static bool is_of_engine(
	const struct explain_facts *f, const struct explain_phase *phase, int well_known)
{
	for (size_t i = 0; i < f->run->site_count; i++)
		if (phase->sites[i].count && f->run->sites[i].operation &&
			f->run->bricks[f->run->sites[i].brick].well_known == well_known)
			return true;
	return false;
}

/*
 * Scores, softmax and sums of many tokens, by an engine that has flash attention. For one token
 * they are quick.
 */
bool rule_no_flash_attention(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const double slower =
		0.47; /* of the time; 0.43 to 0.53 was measured for prompts of 1000 to 3000 */
	const struct explain_phase *phase = &f->phases[p];

	out->of.attention.attention_ns = attention_ns(f, phase);
	out->cost_ns = number_of_double(slower * (double)out->of.attention.attention_ns);
	out->certainty = FINDING_LIKELY;
	return p == STEP_PREFILL && !phase->queue && phase->batch > 8 &&
	       is_of_engine(f, phase, BRICK_ATTENTION_SOFTMAX) &&
	       !explain_brick_ns(f, phase, BRICK_FLASH_ATTENTION) && finding_costs(out, 10);
}

/* Nobody would cut a shorter context: there, attention is what the model is made of. */
enum { LONG_CONTEXT = 1000 };

bool rule_long_context(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	out->of.attention.attention_ns = out->cost_ns = attention_ns(f, phase);
	return p == STEP_DECODE && !phase->queue && f->context >= LONG_CONTEXT &&
	       5 * out->cost_ns >= 2 * phase->wall_ns;
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

/* True if each part's median is above the one before: chance does that once in 8! times. */
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

	if (p != STEP_DECODE || phase->steps < GROWTH_STEPS || f->context < LONG_CONTEXT ||
		attention == RUN_NONE)
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
	return finding_costs(out, 10);
}

/* The category's time in a step beyond its average over the phase's other steps; may be negative.
 */
static double more_than_others_ns(const struct explain_facts *f, const struct explain_phase *phase,
	uint32_t step, uint32_t category)
{
	double mean = 0, ns = (double)breakdown_step(f->breakdown, step)[category];

	for (uint64_t i = 0; i < phase->steps; i++)
		mean += (double)breakdown_step(f->breakdown, phase->list[i])[category];
	return ns - (mean - ns) / (double)(phase->steps - 1);
}

/*
 * The category whose time exceeds its average over the phase's other steps most, and by how much.
 */
static uint32_t most_different(const struct explain_facts *f, const struct explain_phase *phase,
	uint32_t step, uint64_t *more_ns)
{
	uint32_t most = 0;

	*more_ns = 0;
	for (uint32_t c = 0; c < f->breakdown->category_count; c++) {
		double more = more_than_others_ns(f, phase, step, c);
		if (more > (double)*more_ns) {
			*more_ns = (uint64_t)more;
			most = c;
		}
	}
	return most;
}

/*
 * The time in a step in which its own thread was blocked, or any thread of its process was
 * preempted, as the others wait for that one.
 */
static struct run_off_times off_in(const struct run *run, uint32_t step)
{
	const struct run_step *s = &run->steps[step];
	struct run_off_times off =
		run_off_cpu_between(&run->lanes[s->lane], s->begin_ns, s->end_ns);

	for (size_t i = 0; i < run->lane_count; i++)
		if (i != s->lane && run->lanes[i].process == run->lanes[s->lane].process &&
			run->lanes[i].off_cpu_count)
			off.preempted_ns +=
				run_off_cpu_between(&run->lanes[i], s->begin_ns, s->end_ns)
					.preempted_ns;
	return off;
}

/* Brick's own work, in which it looks up the nodes of a new graph: that is nobody's fault. */
static bool is_of_profiler(const struct explain_facts *f, uint32_t brick)
{
	return f->index.kinds[brick] == BRICK_KIND_OVERHEAD;
}

static bool is_of_new_graph(const struct explain_facts *f, uint32_t brick)
{
	return is_of_profiler(f, brick) || explain_is_of_graph(f, brick);
}

/* The brick that most of a step's additional time went to, and the amount. */
static const char *rules_steps_difference(const struct explain_facts *f,
	const struct explain_phase *phase, uint32_t step, uint64_t *more_ns)
{
	struct run_off_times off = off_in(f->run, step);
	uint32_t category = most_different(f, phase, step, more_ns);

	if (off.preempted_ns > *more_ns / 2)
		return *more_ns = off.preempted_ns, "preempted";
	if (off.blocked_ns > *more_ns / 2)
		return *more_ns = off.blocked_ns, "blocked";
	return breakdown_category_name(f->breakdown, category);
}

/*
 * The cost has neither times off the CPU, which are findings of their own, nor what a new graph
 * takes, as the first token's is always new, nor waits for a pool's threads to begin.
 */
bool rule_first_step(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t first_ns, median_ns, more_ns;
	uint32_t waits = run_category_find(f->run, brick_category_name(BRICK_CATEGORY_WAIT));

	/* the first step of training makes gradients and the optimizer's state */
	if (p == STEP_OTHER && phase->trains)
		return false;
	/* caches still hold the prompt: of a few tokens that is much, and no news */
	if (phase->steps < (p == STEP_DECODE && !phase->queue ? FEW_TOKENS : 4))
		return false;
	first_ns = explain_step_ns(phase, phase->list[0]);
	median_ns = explain_median_ns(f, phase, 1, phase->steps);
	if (first_ns < SLOW_STEP * median_ns)
		return false;
	out->cost_ns = first_ns - median_ns;
	struct run_off_times off = off_in(f->run, phase->list[0]);
	more_ns = off.preempted_ns + off.blocked_ns +
		  explain_in_step_ns(f, phase->list[0], is_of_new_graph);
	if (waits != RUN_NONE)
		more_ns += number_of_double(more_than_others_ns(f, phase, phase->list[0], waits));
	/* a program compiles once, and that is a phase of its own */
	more_ns += f->operators[p].compiling.ns;
	if (out->cost_ns <= more_ns)
		return false;
	out->cost_ns -= more_ns;
	out->of.first_step.step = phase->list[0];
	out->of.first_step.took_ns = first_ns;
	out->of.first_step.median_ns = median_ns;
	out->of.first_step.more =
		rules_steps_difference(f, phase, phase->list[0], &out->of.first_step.more_ns);
	return finding_costs(out, 20);
}

/* The median of a step's neighbours, which have nearly the same context. */
static uint64_t nearby_ns(
	const struct explain_facts *f, const struct explain_phase *phase, uint64_t i)
{
	enum { REACH = 8 };
	uint64_t first = i > REACH ? i - REACH : 0;
	uint64_t end = i + REACH + 1 < phase->steps ? i + REACH + 1 : phase->steps;

	return explain_median_ns(f, phase, first, end);
}

/* Slow steps but the first one. Their preempted and blocked times are findings of their own. */
bool rule_slow_steps(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t median_ns = explain_median_ns(f, phase, 0, phase->steps), count = 0, worst_ns = 0;
	uint32_t worst = 0;

	/* other programs may have had the CPU, and nobody saw it */
	if (f->run->off_cpu.source == OFF_CPU_UNKNOWN && presence_is_disturbed(f->run))
		return false;
	for (uint64_t i = 1; p == STEP_DECODE && i < phase->steps; i++) {
		uint32_t step = phase->list[i];
		uint64_t ns = explain_step_ns(phase, step);
		if (ns < SLOW_STEP * median_ns)
			continue;
		uint64_t usual_ns = nearby_ns(f, phase, i);
		struct run_off_times off = off_in(f->run, step);
		uint64_t off_ns = off.preempted_ns + off.blocked_ns +
				  explain_in_step_ns(f, step, is_of_profiler);
		/* a step that was off its CPU for long also lost its caches to the other threads */
		if (ns < SLOW_STEP * usual_ns || 2 * off_ns > ns - usual_ns ||
			explain_is_unseen(
				f, f->run->steps[step].begin_ns, f->run->steps[step].end_ns))
			continue;
		out->cost_ns += ns - usual_ns - off_ns;
		count++;
		if (ns > worst_ns) {
			worst_ns = ns;
			worst = step;
		}
	}
	if (!out->cost_ns)
		return false;
	out->of.slow_steps.step = worst;
	out->of.slow_steps.count = count;
	out->of.slow_steps.took_ns = worst_ns;
	out->of.slow_steps.median_ns = median_ns;
	out->of.slow_steps.more =
		rules_steps_difference(f, phase, worst, &out->of.slow_steps.more_ns);
	return finding_costs(out, 20);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cycle is a gap between tokens of a request: drafting, the step that checks the drafts, giving
 * cells back, and all else that the host does. First drafts are counted and cycles timed. Then the
 * times of like steps become curves over the number of tokens, which give a time for each length of
 * drafts.
 */
#include "analysis/requests/speculation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/statistics/unknown.h"
#include "base/array.h"
#include "base/members.h"
#include "base/order.h"

enum { MIN_TIMES = 3 }; /* the fewest times that have a median */

/* The time of a step, or of the host's work in a cycle. */
struct timing {
	uint32_t of;	 /* the model that checks: index in maker.list */
	uint32_t tokens; /* of the step; of the host: drafts of the cycle */
	double ns;
};

typedef ARRAY(struct timing) timing_list;

/* What is reported of a model that checks drafts, and sums that only serve to model its times. */
struct sums {
	struct speculation made;
	const char *weights; /* note about its weights; NULL: not known */
	uint64_t lone, batches, batch_tokens, batch_ns; /* sums of struct drafting */
	/*
	 * By length of the draft: [0] drafts of that length, [n] of these, those that held up to n.
	 */
	uint64_t (*held)[SPECULATION_POSITIONS + 1]; /* NULL: none were checked */
};

struct maker {
	const struct requests *q;
	const struct run *run;
	ARRAY(struct sums) list;
	timing_list verify, draft, rest;
	int error;
};

/* The drafting in a cycle. */
struct drafting {
	uint64_t ns, lone, batches, batch_tokens, batch_ns;
};

static void speculation_keep(
	struct maker *m, timing_list *to, uint32_t of, uint32_t tokens, double ns)
{
	if (array_push(to, (struct timing){of, tokens, ns}))
		m->error = -ENOMEM;
}

/* The process's note about its weights right before it gave the model its number. */
static const char *weights_of(const struct run *run, uint32_t process, uint32_t model)
{
	const char *last = NULL;
	char key[32];

	snprintf(key, sizeof(key), "model.%" PRIu32, model);
	for (size_t i = 0; i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		if (note->process != process)
			continue;
		if (!strcmp(note->key, "llama.model"))
			last = note->value;
		else if (!strcmp(note->key, key))
			return last;
	}
	return NULL;
}

static uint32_t sums_of(struct maker *m, const struct request *r)
{
	uint32_t i = 0;

	while (i < m->list.count && (m->list.items[i].made.process != r->process ||
					    m->list.items[i].made.model != r->model))
		i++;
	if (i < m->list.count)
		return i;
	const struct sums none = {
		.made = {.process = r->process, .model = r->model, .best = RUN_NONE},
		.weights = weights_of(m->run, r->process, r->model)};
	if (array_push(&m->list, none))
		m->error = -ENOMEM;
	return i;
}

/* Results were wanted of the token before the drafts, too: it was chosen, or ended a prompt. */
static uint32_t speculation_drafts_of(const struct request_part *part)
{
	uint32_t outputs = part->tokens - part->prompt;

	if (part->tokens < 2 || !outputs)
		return 0;
	return part->prompt && !part->had_token ? outputs : outputs - 1;
}

static void count_part(struct maker *m, struct sums *sums, const struct request_part *part)
{
	struct speculation *s = &sums->made;
	uint32_t drafts = speculation_drafts_of(part);
	uint32_t held = drafts - (part->refuted < drafts ? part->refuted : drafts);
	uint32_t length = drafts < SPECULATION_POSITIONS ? drafts : SPECULATION_POSITIONS;

	if (!drafts || part->is_again)
		return;
	s->again += part->is_undone;
	if (!sums->held)
		sums->held = calloc(SPECULATION_POSITIONS + 1, sizeof(*sums->held));
	if (!sums->held) {
		m->error = -ENOMEM;
		return;
	}
	s->verifications++;
	s->proposed += drafts;
	s->accepted += held;
	s->position_count = length > s->position_count ? length : s->position_count;
	sums->held[length][0]++;
	for (uint32_t i = 1; i <= length; i++) {
		s->of[i].proposed++;
		s->of[i].accepted += i <= held;
		sums->held[length][i] += i <= held;
	}
}

static struct drafting drafting_in(struct maker *m, uint32_t of, const struct request_gap *gap)
{
	const struct run *run = m->run;
	uint32_t process = run->lanes[run->steps[gap->step].lane].process;
	size_t i = BISECT(k, 0, run->step_count, run->steps[k].begin_ns < gap->begin_ns);
	struct drafting d = {0};

	for (; i < run->step_count && run->steps[i].begin_ns < gap->end_ns; i++) {
		const struct run_step *s = &run->steps[i];
		if (!s->is_draft || s->open || run->lanes[s->lane].process != process)
			continue;
		d.ns += s->end_ns - s->begin_ns;
		d.lone += s->drafts == 1;
		d.batches += s->drafts > 1;
		d.batch_tokens += s->drafts > 1 ? s->drafts : 0;
		d.batch_ns += s->drafts > 1 ? s->end_ns - s->begin_ns : 0;
		speculation_keep(
			m, &m->draft, of, (uint32_t)s->drafts, (double)run_step_running_ns(run, s));
	}
	return d;
}

static bool is_alone_in(const struct maker *m, uint32_t step)
{
	return m->q->step_first[step + 1] - m->q->step_first[step] == 1;
}

/* Nobody else's tokens are in its step or were evaluated before it. */
static bool speculation_is_alone(
	const struct maker *m, const struct request_gap *gap, const struct request_part *part)
{
	return is_alone_in(m, gap->step) && !part->prompt && !gap->parts_ns[GAP_PART_PREFILL] &&
	       !gap->parts_ns[GAP_PART_OTHERS];
}

/* Between the steps, but for preemption. */
static uint64_t speculation_host_ns(const struct request_gap *gap)
{
	const uint64_t *parts = gap->parts_ns;

	return parts[GAP_PART_STATE] + parts[GAP_PART_CACHE] + parts[GAP_PART_SAMPLING] +
	       parts[GAP_PART_IDLE] + parts[GAP_PART_HOST];
}

/* checked: the part that has the drafts, and part, if nothing is evaluated again. */
static void time_cycle(struct maker *m, uint32_t of, const struct request_gap *gap,
	const struct request_part *part, const struct request_part *checked)
{
	struct drafting d = drafting_in(m, of, gap);
	struct sums *sums = &m->list.items[of];
	struct speculation *s = &sums->made;
	const struct run_step *step = &m->run->steps[gap->step];
	const struct run_step *check = &m->run->steps[checked->step];
	uint32_t drafts = speculation_drafts_of(checked);

	if (!speculation_is_alone(m, gap, part) || !is_alone_in(m, checked->step)) {
		s->shared += drafts > 0;
		return;
	}
	speculation_keep(
		m, &m->verify, of, part->tokens, (double)run_step_running_ns(m->run, step));
	speculation_keep(m, &m->rest, of, drafts, (double)speculation_host_ns(gap));
	if (!drafts && !d.ns) {
		s->plain_tokens += gap->tokens;
		s->plain_ns += gap_ns(gap);
		return;
	}
	s->cycles++;
	s->drafts += drafts;
	s->tokens += gap->tokens;
	s->cycle_ns += gap_ns(gap);
	s->draft_ns += d.ns;
	s->verify_ns += check->end_ns - check->begin_ns;
	s->rollback_ns += gap->parts_ns[GAP_PART_CACHE] + gap->parts_ns[GAP_PART_STATE];
	if (step != check)
		s->rollback_ns += step->end_ns - step->begin_ns;
	s->draft_steps += d.lone + d.batches;
	members_add(sums, &d, lone, batches, batch_tokens, batch_ns);
}

/* Parts and gaps are in the order of their steps; a part that gave the first token has no gap. */
static void read_request(struct maker *m, const struct request *r)
{
	const struct request_part *parts = &m->q->parts[r->part_first];
	const struct request_gap *gap = &m->q->gaps[r->gap_first], *end = gap + r->gap_count;
	uint32_t of;

	if (!r->part_count)
		return;
	of = sums_of(m, r);
	for (uint32_t i = 0; !m->error && i < r->part_count; i++) {
		count_part(m, &m->list.items[of], &parts[i]);
		if (gap < end && gap->step == parts[i].step)
			time_cycle(m, of, gap++, &parts[i], &parts[i - parts[i].is_again]);
	}
}

/* The time of steps with so many tokens. */
struct point {
	uint32_t tokens;
	double ns;
};

typedef ARRAY(struct point) point_list; /* by tokens */

COMPARATOR(speculation_by_tokens, struct timing, ORDER(x->tokens, y->tokens) ?: ORDER(x->ns, y->ns))

/* Contexts with the same weights count together, those of other processes, too. */
static bool speculation_is_same(const struct maker *m, uint32_t a, uint32_t b)
{
	const char *x = m->list.items[a].weights, *y = m->list.items[b].weights;

	return a == b || (x && y && !strcmp(x, y));
}

/* Medians; what was seen less than MIN_TIMES times is no point. `scratch`: of as many items. */
static void speculation_draw(struct maker *m, point_list *curve, const timing_list *from,
	uint32_t of, struct timing *scratch)
{
	size_t n = 0;

	curve->count = 0;
	for (size_t i = 0; i < from->count; i++)
		if (speculation_is_same(m, from->items[i].of, of))
			scratch[n++] = from->items[i];
	if (n)
		qsort(scratch, n, sizeof(*scratch), speculation_by_tokens);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && scratch[end].tokens == scratch[i].tokens;)
			end++;
		const struct point p = {scratch[i].tokens, scratch[i + (end - i - 1) / 2].ns};
		if (end - i >= MIN_TIMES && array_push(curve, p))
			m->error = -ENOMEM;
	}
}

/* The value on the line between two points; negative: outside of the points. */
static double curve_at(const point_list *c, double tokens)
{
	size_t next = BISECT(i, 0, c->count, c->items[i].tokens < tokens);

	if (next < c->count && c->items[next].tokens <= tokens)
		return c->items[next].ns;
	if (!next || next == c->count)
		return -1;
	const struct point *a = &c->items[next - 1], *b = &c->items[next];
	return a->ns + (b->ns - a->ns) * (tokens - a->tokens) / (b->tokens - a->tokens);
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

struct curves {
	point_list verify, draft, rest;
};

/*
 * The time of single drafts grows with the draft; so do batches, in which the draft model sees the
 * checked tokens. For batches without a like the mean is taken.
 */
static double draft_ns(const struct sums *s, const struct curves *c, uint32_t drafts)
{
	double usual = ratio(s->made.drafts, s->made.cycles);
	double tokens = ratio(s->batch_tokens, s->batches);
	double lone = s->lone ? curve_at(&c->draft, 1) : 0;
	double batch = s->batches ? curve_at(&c->draft, 1 + (tokens - 1) * drafts / usual) : 0;

	if (batch < 0)
		batch = ratio(s->batch_ns, s->batches);
	return lone < 0 ? -1
			: lone * ratio(s->lone, s->made.drafts) * drafts +
				  batch * ratio(s->batches, s->made.cycles);
}

/* A cycle with so many drafts: negative if it is not known. */
static double cycle_ns(const struct sums *s, const struct curves *c, uint32_t drafts)
{
	double verify = curve_at(&c->verify, drafts + 1), rest = curve_at(&c->rest, drafts);
	double draft = drafts ? draft_ns(s, c, drafts) : 0;

	return verify < 0 || rest < 0 || draft < 0 ? -1 : verify + rest + draft;
}

/*
 * All cycles with their drafts cut to `most`: those with more become ones with that many. Shorter
 * ones whose time is not known are left out.
 */
static double speculation_token_ns(const struct sums *s, const struct curves *c, uint32_t most)
{
	double ns = 0, tokens = 0, longest = cycle_ns(s, c, most);

	if (!most || longest < 0)
		return longest;
	for (uint32_t i = 1; i <= s->made.position_count; i++) {
		double each = i < most ? cycle_ns(s, c, i) : longest;
		if (each < 0)
			continue;
		ns += each * (double)s->held[i][0];
		for (uint32_t k = 0; k <= i && k <= most; k++)
			tokens += (double)s->held[i][k];
	}
	return ns / tokens;
}

static void model(struct maker *m, uint32_t of, const struct curves *c)
{
	struct sums *s = &m->list.items[of];
	struct speculation *made = &s->made;
	uint32_t known = 0;

	for (uint32_t i = 0; i <= made->position_count; i++) {
		struct speculation_position *p = &made->of[i];
		double ns = curve_at(&c->verify, i + 1);
		p->verify_ns = ns >= 0 ? (uint64_t)ns : ANALYSIS_UNKNOWN;
		/* the cost of going back depends on the place: that is not modelled */
		bool can = made->cycles && !made->again && (!i || p->proposed >= MIN_TIMES);
		p->modelled_token_ns = can ? speculation_token_ns(s, c, i) : -1;
		if (p->modelled_token_ns < 0)
			continue;
		known++;
		if (made->best == RUN_NONE ||
			p->modelled_token_ns < made->of[made->best].modelled_token_ns)
			made->best = i;
	}
	if (known < 2)
		made->best = RUN_NONE;
}

/* The time without drafts, from wherever the same model did without: *s is a copy of its own. */
static void speculation_compare(const struct maker *m, uint32_t of, struct speculation *s)
{
	uint64_t tokens = 0, ns = 0;

	for (uint32_t i = 0; i < m->list.count; i++)
		if (speculation_is_same(m, i, of)) {
			tokens += m->list.items[i].made.plain_tokens;
			ns += m->list.items[i].made.plain_ns;
		}
	s->plain_tokens = tokens;
	s->plain_ns = ns;
	s->break_even = -1;
	if (tokens && ns && s->drafts) {
		double cycles = ratio(s->cycle_ns, s->cycles) / ratio(ns, tokens);
		s->break_even = (cycles - 1) / ratio(s->drafts, s->cycles);
		s->break_even = s->break_even < 0 ? 0 : s->break_even;
	}
	if (!s->rollback_ns)
		s->rollback_ns = ANALYSIS_UNKNOWN;
}

/* Only models whose drafts were checked stay. */
static void speculation_finish(struct maker *m, struct speculations *made, struct timing *scratch)
{
	struct curves curves = {0};

	made->list = calloc(m->list.count + 1, sizeof(*made->list));
	if (!made->list)
		m->error = -ENOMEM;
	for (uint32_t i = 0; i < m->list.count && !m->error; i++) {
		if (!m->list.items[i].made.verifications)
			continue;
		speculation_draw(m, &curves.verify, &m->verify, i, scratch);
		speculation_draw(m, &curves.draft, &m->draft, i, scratch);
		speculation_draw(m, &curves.rest, &m->rest, i, scratch);
		model(m, i, &curves);
		struct speculation *s = &made->list[made->count++];
		*s = m->list.items[i].made;
		speculation_compare(m, i, s);
	}
	array_fini(&curves.verify);
	array_fini(&curves.draft);
	array_fini(&curves.rest);
}

int speculations_create(struct speculations **out, const struct requests *q)
{
	struct maker m = {.q = q, .run = q->run};
	struct speculations *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < q->count && !m.error; i++)
		read_request(&m, &q->list[i]);
	struct timing *scratch = calloc(m.verify.count + m.draft.count + 1, sizeof(*scratch));
	if (!scratch)
		m.error = -ENOMEM;
	if (!m.error)
		speculation_finish(&m, made, scratch);
	free(scratch);
	for (size_t i = 0; i < m.list.count; i++)
		free(m.list.items[i].held);
	array_fini(&m.list);
	array_fini(&m.verify);
	array_fini(&m.draft);
	array_fini(&m.rest);
	if (m.error)
		speculations_destroy(made);
	else
		*out = made;
	return m.error;
}

void speculations_destroy(struct speculations *speculations)
{
	if (!speculations)
		return;
	free(speculations->list);
	free(speculations);
}

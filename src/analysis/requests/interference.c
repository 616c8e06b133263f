/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that only decode are sorted by model, output tokens and context, so that the steps like a
 * mixed step are neighbours. A line through the times that prompts added to mixed steps tells the
 * time of a prompt's token. Plans apply that line to the prompts of mixed steps, cut into chunks.
 */
#include "analysis/requests/interference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analysis/statistics/percentile.h"
#include "base/order.h"

enum {
	MIN_LIKE = 5,	    /* the fewest like steps for an expectation */
	MAX_LIKE = 201,	    /* the most; the nearest by context are taken */
	MIN_SLOPE = 8,	    /* the fewest mixed steps for a line */
	CONTEXT_SLACK = 4,  /* contexts of like steps differ by a quarter at most ... */
	MIN_SLACK = 128,    /* ... or by so many tokens */
	SMALLEST_CHUNK = 8, /* tokens */
};

struct composition {
	uint32_t process, model, outputs, step;
	uint64_t context; /* sum of the output tokens' positions */
	uint64_t prompt;  /* tokens of prompts */
	double ns;	  /* without preemption, where that is known */
};

COMPARATOR(by_likeness, struct composition,
	ORDER(x->process, y->process) ?: ORDER(x->model, y->model) ?: ORDER(x->outputs, y->outputs) ?:
		ORDER(x->context, y->context))

static struct composition composition_of(const struct requests *q, uint32_t step)
{
	const struct run_step *s = &q->run->steps[step];
	struct composition c = {.process = q->run->lanes[s->lane].process,
		.model = s->model,
		.step = step,
		.ns = (double)run_step_running_ns(q->run, s)};

	for (uint32_t i = q->step_first[step]; i < q->step_first[step + 1]; i++) {
		const struct request_part *p = &q->parts[q->of_step[i]];
		c.prompt += p->prompt;
		c.outputs += p->tokens - p->prompt;
		if (p->tokens != p->prompt && p->position > 0)
			c.context += (uint32_t)p->position;
	}
	return c;
}

static bool interference_is_usable(const struct requests *q, uint32_t step)
{
	const struct run_step *s = &q->run->steps[step];

	return !s->open && s->outcome == RUN_EVALUATED &&
	       q->step_first[step] != q->step_first[step + 1];
}

struct model {
	const struct requests *q;
	struct interference *made;
	struct composition *alone; /* steps that decode alone */
	size_t alone_count;
	double *scratch;
};

static bool is_like(const struct composition *a, const struct composition *b)
{
	uint64_t slack = b->context / CONTEXT_SLACK;
	uint64_t apart =
		a->context > b->context ? a->context - b->context : b->context - a->context;

	return a->process == b->process && a->model == b->model && a->outputs == b->outputs &&
	       apart <= (slack > MIN_SLACK ? slack : MIN_SLACK);
}

/* The median of n sorted values, and between which of them it lies in 95 of 100 cases. */
static struct expectation interference_median_of(const double *values, size_t n)
{
	double spread = 0.98 * sqrt((double)n), middle = (double)n / 2;
	double low = floor(middle - spread), high = ceil(middle + spread);
	struct expectation e = {.like = (uint32_t)n};

	e.ns = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
	e.low_ns = values[low < 0 ? 0 : (size_t)low];
	e.high_ns = values[high > (double)(n - 1) ? n - 1 : (size_t)high];
	return e;
}

static struct expectation interference_expect(struct model *m, const struct composition *c)
{
	size_t at = BISECT(i, 0, m->alone_count, by_likeness(&m->alone[i], c) < 0), low = at,
	       high = at, n = 0;

	while (high - low < MAX_LIKE) {
		bool can_low = low && is_like(&m->alone[low - 1], c);
		bool can_high = high < m->alone_count && is_like(&m->alone[high], c);
		if (!can_low && !can_high)
			break;
		low -= can_low;
		high += can_high;
	}
	for (size_t i = low; i < high; i++)
		m->scratch[n++] = m->alone[i].ns;
	if (n < MIN_LIKE)
		return (struct expectation){0};
	qsort(m->scratch, n, sizeof(*m->scratch), order_doubles);
	return interference_median_of(m->scratch, n);
}

/* Least squares of the time that prompts added, over their tokens. */
struct line {
	double n, x, y, xx, xy;
};

static void interference_draw(struct interference *made, const struct line *l)
{
	double spread = l->n * l->xx - l->x * l->x;

	if (l->n < MIN_SLOPE || spread < l->n * l->n) /* all of about one length */
		return;
	made->slope_ns = (l->n * l->xy - l->x * l->y) / spread;
	made->fixed_ns = (l->y - made->slope_ns * l->x) / l->n;
	made->has_slope = made->slope_ns > 0;
	if (made->fixed_ns < 0)
		made->fixed_ns = 0;
}

static void look_at_mixed(struct model *m, uint32_t step, struct line *line)
{
	const struct composition c = composition_of(m->q, step);
	struct interference *made = m->made;
	struct expectation e = interference_expect(m, &c);

	made->mixed_steps++;
	made->longest_prompt = c.prompt > made->longest_prompt ? c.prompt : made->longest_prompt;
	made->of_step[step] = e;
	if (!e.like)
		return;
	made->known_steps++;
	made->measured_ns += (uint64_t)c.ns;
	made->prompt_tokens += c.prompt;
	made->expected_ns += e.ns;
	made->low_ns += e.low_ns;
	made->high_ns += e.high_ns;
	double x = (double)c.prompt;
	double y = c.ns - e.ns;
	line->n++;
	line->x += x;
	line->y += y;
	line->xx += x * x;
	line->xy += x * y;
}

static double chunked_gap(const struct model *m, const struct request_gap *gap, uint32_t chunk)
{
	const struct interference *made = m->made;
	const struct composition c = composition_of(m->q, gap->step);
	const struct expectation *e = &made->of_step[gap->step];

	if (!e->like || c.prompt <= chunk)
		return (double)gap_ns(gap);
	double would = e->ns + made->fixed_ns + made->slope_ns * chunk;
	return would < c.ns ? (double)gap_ns(gap) - c.ns + would : (double)gap_ns(gap);
}

/*
 * Models chunks: a prompt's tokens come in several steps, each of which decodes others' tokens,
 * too.
 */
static void interference_plan(struct model *m, struct chunk_plan *p, double decode_ns)
{
	const struct requests *q = m->q;
	size_t n = 0;

	for (size_t i = 0; i < q->gap_count; i++)
		m->scratch[n++] = chunked_gap(m, &q->gaps[i], p->tokens);
	if (!n)
		return;
	qsort(m->scratch, n, sizeof(*m->scratch), order_doubles);
	double chunks = ceil((double)m->made->longest_prompt / p->tokens);
	p->p99_ns = m->scratch[(n * 99 + 99) / 100 - 1];
	p->ttft_added_ns = (chunks - 1) * (decode_ns + m->made->fixed_ns);
	p->is_known = true;
}

static int measure_gaps(struct interference *made, const struct requests *q)
{
	uint64_t *gaps = calloc(q->gap_count + 1, sizeof(*gaps));

	if (!gaps)
		return -ENOMEM;
	for (size_t i = 0; i < q->gap_count; i++)
		gaps[i] = gap_ns(&q->gaps[i]);
	percentile_sort(gaps, q->gap_count);
	made->p99_ns = percentile_sorted(gaps, q->gap_count, 99);
	free(gaps);
	return 0;
}

static int interference_fill(struct model *m)
{
	size_t steps = m->q->run->step_count, most = steps + m->q->gap_count + 1;
	struct line line = {0};

	m->made->of_step = calloc(steps + 1, sizeof(*m->made->of_step));
	m->alone = calloc(steps + 1, sizeof(*m->alone));
	m->scratch = calloc(most, sizeof(*m->scratch));
	if (!m->made->of_step || !m->alone || !m->scratch)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps; i++)
		if (interference_is_usable(m->q, i) &&
			m->q->run->steps[i].phase == BRICK_PHASE_DECODE) {
			struct composition *c = &m->alone[m->alone_count];
			*c = composition_of(m->q, i);
			m->alone_count += !c->prompt; /* it may have a prompt's last token */
		}
	if (m->alone_count)
		qsort(m->alone, m->alone_count, sizeof(*m->alone), by_likeness);
	for (uint32_t i = 0; i < steps; i++)
		if (interference_is_usable(m->q, i) &&
			m->q->run->steps[i].phase == BRICK_PHASE_MIXED)
			look_at_mixed(m, i, &line);
	interference_draw(m->made, &line);
	struct interference *made = m->made;
	double decode_ns = made->known_steps ? made->expected_ns / (double)made->known_steps : 0;
	uint64_t chunk = made->longest_prompt / 2;
	for (; made->has_slope && made->plan_count < CHUNK_PLANS && chunk >= SMALLEST_CHUNK;
		chunk /= 2) {
		struct chunk_plan *p = &made->plans[made->plan_count++];
		p->tokens = (uint32_t)chunk;
		interference_plan(m, p, decode_ns);
	}
	return measure_gaps(m->made, m->q);
}

int interference_create(struct interference **out, const struct requests *q)
{
	struct interference *made = calloc(1, sizeof(*made));
	struct model m = {.q = q, .made = made};
	int error = made ? interference_fill(&m) : -ENOMEM;

	free(m.alone);
	free(m.scratch);
	if (error)
		interference_destroy(made);
	else
		*out = made;
	return error;
}

void interference_destroy(struct interference *made)
{
	if (made)
		free(made->of_step);
	free(made);
}

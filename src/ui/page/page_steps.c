/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps over time for the page: each phase apart, because a prefill takes as long as many decodes.
 * A phase with more steps than a screen has columns is cut into spans of as many successive steps
 * each; the slowest of each span is kept apart from its sum. Called by page.c.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/order.h"
#include "brick/registry.h"
#include "ui/text/json_out.h"
#include "ui/text/memory.h"
#include "ui/page/page.h"

enum { SPANS_MAX = 1200, SLOW_MAX = 50 };

/* A step is slow when it takes more than this many times what the median of its phase takes. */
static const double slow_factor = 1.5;

struct span {
	uint64_t first, count; /* number of its first step, counted from 1 */
	uint64_t tokens, begin_ns, total_ns, unattributed_ns, max_ns, max_number;
	uint64_t *categories;
};

/* What the page has of each span: a column of numbers. */
static const struct column {
	const char *name;
	size_t at;
} columns[] = {
	{"first", offsetof(struct span, first)},
	{"count", offsetof(struct span, count)},
	{"tokens", offsetof(struct span, tokens)},
	{"begin_ns", offsetof(struct span, begin_ns)},
	{"total_ns", offsetof(struct span, total_ns)},
	{"unattributed_ns", offsetof(struct span, unattributed_ns)},
	{"max_ns", offsetof(struct span, max_ns)},
	{"max_number", offsetof(struct span, max_number)},
};

struct slow {
	uint32_t step, number;
	double factor;
};

/* Steps of one phase. */
struct phase {
	const struct page *page;
	enum step_phase phase;
	uint32_t per_span, span_count;
	struct span *spans;
	double median_ns; /* of a step; of a prefill's token */
	struct slow *slow;
	uint32_t slow_count;
};

/* What steps of a phase are compared by: prompts differ in length. */
static double cost_of(const struct page *page, uint32_t step)
{
	double ns = (double)step_time_total_ns(&page->times->steps[step]);
	const struct run_step *s = &page->run->steps[step];
	uint64_t tokens = s->tokens + s->drafts;
	return s->phase == BRICK_PHASE_DECODE || !tokens ? ns : ns / (double)tokens;
}

static double median_cost(const struct page *page, enum step_phase phase)
{
	SCOPED double *costs = xcalloc(page->run->step_count + 1, sizeof(*costs));
	size_t n = 0;
	for (uint32_t i = 0; i < page->run->step_count; i++)
		if (page_step_is_of(page, i, phase))
			costs[n++] = cost_of(page, i);
	qsort(costs, n, sizeof(*costs), order_doubles);
	return n ? costs[(n - 1) / 2] : 0;
}

static void add_step(struct phase *p, struct span *span, uint32_t step, uint32_t number)
{
	const struct page *page = p->page;
	const struct breakdown *b = page->breakdown;
	const struct run_step *s = &page->run->steps[step];
	uint64_t total_ns = step_time_total_ns(&page->times->steps[step]);
	if (!span->count++) {
		span->first = number;
		span->begin_ns =
			s->begin_ns > page->run->start_ns ? s->begin_ns - page->run->start_ns : 0;
		span->categories = xcalloc(b->category_count, sizeof(*span->categories));
	}
	span->tokens += s->tokens;
	span->total_ns += total_ns;
	span->unattributed_ns += page->times->steps[step].unattributed_ns;
	for (uint32_t c = 0; c < b->category_count; c++)
		span->categories[c] += breakdown_step(b, step)[c];
	if (total_ns >= span->max_ns) {
		span->max_ns = total_ns;
		span->max_number = number;
	}
	if (p->median_ns > 0 && cost_of(page, step) > slow_factor * p->median_ns)
		p->slow[p->slow_count++] =
			(struct slow){step, number, cost_of(page, step) / p->median_ns};
}

static void fill(struct phase *p)
{
	const struct page *page = p->page;
	uint64_t count = page->times->phases[p->phase].count;
	uint32_t *numbers = page_numbers(page), seen = 0;
	p->per_span = (uint32_t)((count + SPANS_MAX - 1) / SPANS_MAX);
	p->per_span += !p->per_span;
	p->span_count = (uint32_t)((count + p->per_span - 1) / p->per_span);
	p->spans = xcalloc(p->span_count + 1, sizeof(*p->spans));
	p->slow = xcalloc(count + 1, sizeof(*p->slow));
	p->median_ns = median_cost(page, p->phase);
	for (uint32_t i = 0; i < page->run->step_count; i++)
		if (page_step_is_of(page, i, p->phase))
			add_step(p, &p->spans[seen++ / p->per_span], i, numbers[i]);
	free(numbers);
}

COMPARATOR(compare_slow, struct slow, ORDER(y->factor, x->factor) ?: ORDER(x->step, y->step))

static json_t *slow_json(struct phase *p)
{
	json_t *array = json_array();
	qsort(p->slow, p->slow_count, sizeof(*p->slow), compare_slow);
	for (uint32_t i = 0; i < p->slow_count && i < SLOW_MAX; i++) {
		const struct page *page = p->page;
		const struct run_step *step = &page->run->steps[p->slow[i].step];
		json_t *object = json_object();
		json_put(object, "number", json_number(p->slow[i].number));
		json_put(object, "tokens", json_number(step->tokens));
		json_put(object, "begin_ns",
			json_number(step->begin_ns > page->run->start_ns
					    ? step->begin_ns - page->run->start_ns
					    : 0));
		json_put(object, "total_ns",
			json_number(step_time_total_ns(&page->times->steps[p->slow[i].step])));
		json_put(object, "factor", json_rate(p->slow[i].factor));
		json_add(array, object);
	}
	return array;
}

static json_t *column_json(const struct phase *p, const struct column *column)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < p->span_count; i++) {
		const char *span = (const char *)&p->spans[i];
		json_add(array, json_number(*(const uint64_t *)(span + column->at)));
	}
	return array;
}

static json_t *categories_json(const struct phase *p)
{
	const struct breakdown *b = p->page->breakdown;
	const struct run *run = p->page->run;
	json_t *array = json_array();
	for (uint32_t c = 0; c < b->category_count; c++) {
		json_t *object = json_object(), *values = json_array();
		uint64_t sum = 0;
		for (uint32_t i = 0; i < p->span_count; i++) {
			sum += p->spans[i].categories[c];
			json_add(values, json_number(p->spans[i].categories[c]));
		}
		json_put(object, "name",
			json_text(c < run->category_count
					  ? run->categories[c].name
					  : brick_category_name(BRICK_CATEGORY_WAIT)));
		json_put(object, "ns", values);
		if (sum)
			json_add(array, object);
		else
			json_decref(object);
	}
	return array;
}

static json_t *phase_json(const struct page *page, enum step_phase phase)
{
	struct phase p = {.page = page, .phase = phase};
	json_t *object = json_object();
	fill(&p);
	json_put(object, "steps_per_span", json_number(p.per_span));
	json_put(object, "median_ns", json_rate(p.median_ns));
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		json_put(object, columns[i].name, column_json(&p, &columns[i]));
	json_put(object, "categories", categories_json(&p));
	json_put(object, "slow_count", json_number(p.slow_count));
	json_put(object, "slow", slow_json(&p));
	for (uint32_t i = 0; i < p.span_count; i++)
		free(p.spans[i].categories);
	free(p.spans);
	free(p.slow);
	return object;
}

json_t *page_steps(const struct page *page)
{
	json_t *object = json_object();
	json_put(object, "slow_factor", json_rate(slow_factor));
	json_put(object, "prefill", phase_json(page, STEP_PREFILL));
	json_put(object, "decode", phase_json(page, STEP_DECODE));
	json_put(object, "mixed", phase_json(page, STEP_MIXED));
	json_put(object, "warm_up", phase_json(page, STEP_WARM_UP));
	return object;
}

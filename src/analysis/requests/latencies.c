/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds are those that the OpenTelemetry conventions for generative AI advise, so that values
 * of several sources can be added, and some below and above them: tokens of small models take less
 * than 10 ms, and prompts on CPUs more than 10 s. Steps have bounds 4.7 % apart.
 */
#include "analysis/requests/latencies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/statistics/unknown.h"
#include "base/array.h"
#include "base/order.h"

#define MS(x) ((uint64_t)((x)*1000000.0 + 0.5))

static const uint64_t first_token_bounds[] = {MS(1), MS(5), MS(10), MS(20), MS(40), MS(60), MS(80),
	MS(100), MS(250), MS(500), MS(750), MS(1000), MS(2500), MS(5000), MS(7500), MS(10000),
	MS(20000), MS(40000), MS(80000), MS(160000)};
static const uint64_t token_bounds[] = {MS(0.5), MS(1), MS(2.5), MS(5), MS(10), MS(25), MS(50),
	MS(75), MS(100), MS(150), MS(200), MS(300), MS(400), MS(500), MS(750), MS(1000), MS(2500)};
static const uint64_t request_bounds[] = {MS(10), MS(20), MS(40), MS(80), MS(160), MS(320), MS(640),
	MS(1280), MS(2560), MS(5120), MS(10240), MS(20480), MS(40960), MS(81920), MS(163840),
	MS(327680), MS(655360)};
enum { STEP_BOUNDS = 15 * 27 + 1 };

#define BOUNDS(list)                                                               \
	{                                                                          \
		.bounds_ns = (list), .bound_count = sizeof(list) / sizeof(*(list)) \
	}

/* 15 for a power of two, 2^13 ns (8 us) to 2^40 ns (18 min). */
static uint64_t *make_step_bounds(void)
{
	uint64_t *bounds = calloc(STEP_BOUNDS, sizeof(*bounds));

	for (unsigned i = 0; bounds && i < STEP_BOUNDS; i++)
		bounds[i] = (uint64_t)exp2(13 + i / 15.0);
	return bounds;
}

/* NULL: not enough memory. */
static struct latency_series *latencies_series_of(
	struct latency_family *f, const char *model, int phase)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->series[i].phase == phase && text_is_same(f->series[i].model, model))
			return &f->series[i];
	struct latency_series *grown =
		array_grow(f->series, &f->capacity, f->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	f->series = grown;
	struct latency_series *s = &f->series[f->count++];
	*s = (struct latency_series){.model = model,
		.phase = phase,
		.counts = calloc(f->bound_count + 1, sizeof(*s->counts)),
		.examples = calloc(f->bound_count + 1, sizeof(*s->examples))};
	return s->counts && s->examples ? s : NULL;
}

static int observe(struct latency_family *f, const char *model, int phase,
	const struct latency_example *example)
{
	struct latency_series *s = latencies_series_of(f, model, phase);
	uint64_t ns = example->value_ns;

	if (!s)
		return -ENOMEM;
	size_t at = BISECT(i, 0, f->bound_count, f->bounds_ns[i] < ns);
	s->count++;
	s->sum_ns += ns;
	s->counts[at]++;
	s->examples[at] = *example;
	return 0;
}

/* The step of the request's part that gave the first token, or of its last part. */
static uint32_t latencies_step_of(const struct requests *q, const struct request *r, bool is_first)
{
	const struct request_part *parts = &q->parts[r->part_first];

	for (uint32_t i = 0; is_first && i < r->part_count; i++)
		if (parts[i].tokens > parts[i].prompt || parts[i].results)
			return parts[i].step;
	return parts[r->part_count - 1].step;
}

/* The last model that was asked for: a name is found in notes. */
struct named {
	uint32_t process, model;
	const char *name;
};

static const char *latencies_name_of(
	struct named *last, const struct run *run, uint32_t process, uint32_t model)
{
	if (last->process != process || last->model != model)
		*last = (struct named){process, model,
			model == RUN_NONE ? NULL : run_model_name(run, process, model)};
	return last->name;
}

static int latencies_add_request(
	struct latencies *l, const struct requests *q, uint32_t i, struct named *last, bool is_over)
{
	const struct request *r = &q->list[i];
	const char *model = latencies_name_of(last, q->run, r->process, r->model);
	uint64_t token_ns = request_token_ns(q, r), queue_ns = request_queue_ns(r);
	uint64_t ttft_ns = request_ttft_ns(r);
	/* when the last token so far was sampled may not have been read yet */
	bool has_ended = is_over || r->end != REQUEST_OPEN;
	const struct {
		enum latency what;
		bool is_known, is_first;
		uint64_t value_ns, ns;
	} values[] = {
		{LATENCY_QUEUE, queue_ns != ANALYSIS_UNKNOWN, true, queue_ns, r->begin_ns},
		{LATENCY_FIRST_TOKEN, ttft_ns != ANALYSIS_UNKNOWN && (has_ended || r->gap_count),
			true, ttft_ns, r->first_ns},
		{LATENCY_TOKEN, has_ended && token_ns != ANALYSIS_UNKNOWN, false, token_ns,
			r->end_ns},
		{LATENCY_REQUEST, has_ended && r->first_ns, false, r->end_ns - r->begin_ns,
			r->end_ns},
	};
	int rc = 0;

	for (size_t k = 0; rc == 0 && r->part_count && k < sizeof(values) / sizeof(*values); k++)
		if (values[k].is_known)
			rc = observe(&l->of[values[k].what], model, -1,
				&(struct latency_example){values[k].value_ns, values[k].ns,
					latencies_step_of(q, r, values[k].is_first), i});
	return rc;
}

/* False for the last step of a thread: time after it may still be counted in it. */
static bool latencies_is_settled(
	const struct run *run, const struct step_index *index, uint32_t step)
{
	uint32_t end = index->lane_first[run->steps[step].lane + 1];

	return index->by_lane[end - 1] != step;
}

static int latencies_add_steps(struct latencies *l, const struct run *run,
	const struct step_index *index, const struct step_times *times, bool is_over)
{
	struct named last = {RUN_NONE, RUN_NONE, NULL};
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < run->step_count; i++) {
		const struct run_step *s = &run->steps[i];
		uint64_t ns = step_time_total_ns(&times->steps[i]);
		const char *model =
			latencies_name_of(&last, run, run->lanes[s->lane].process, s->model);
		if (step_index_is_evaluated(index, run, i) &&
			(is_over || latencies_is_settled(run, index, i)))
			rc = observe(&l->of[LATENCY_STEP], model, step_phase_of(s),
				&(struct latency_example){ns, s->begin_ns + ns, i, RUN_NONE});
	}
	return rc;
}

COMPARATOR(by_labels, struct latency_series,
	ORDER(x->phase, y->phase) ?: strcmp(x->model ? x->model : "", y->model ? y->model : ""))

int latencies_create(struct latencies **out, const struct run *run, const struct requests *requests,
	const struct step_index *index, const struct step_times *times, bool is_over)
{
	struct latencies *l = calloc(1, sizeof(*l));
	struct named last = {RUN_NONE, RUN_NONE, NULL};
	int rc = 0;

	if (!l)
		return -ENOMEM;
	l->step_bounds = make_step_bounds();
	const struct latency_family families[LATENCIES] = {
		[LATENCY_FIRST_TOKEN] = BOUNDS(first_token_bounds),
		[LATENCY_TOKEN] = BOUNDS(token_bounds),
		[LATENCY_REQUEST] = BOUNDS(request_bounds),
		[LATENCY_QUEUE] = BOUNDS(first_token_bounds),
		[LATENCY_STEP] = {.bounds_ns = l->step_bounds, .bound_count = STEP_BOUNDS},
	};
	memcpy(l->of, families, sizeof(families));
	if (!l->step_bounds)
		rc = -ENOMEM;
	for (uint32_t i = 0; requests && rc == 0 && i < requests->count; i++)
		rc = latencies_add_request(l, requests, i, &last, is_over);
	if (rc == 0)
		rc = latencies_add_steps(l, run, index, times, is_over);
	for (int k = 0; rc == 0 && k < LATENCIES; k++)
		if (l->of[k].count)
			qsort(l->of[k].series, l->of[k].count, sizeof(*l->of[k].series), by_labels);
	if (rc < 0)
		latencies_destroy(l);
	else
		*out = l;
	return rc;
}

void latencies_destroy(struct latencies *l)
{
	if (!l)
		return;
	for (int k = 0; k < LATENCIES; k++) {
		for (size_t i = 0; i < l->of[k].count; i++) {
			free(l->of[k].series[i].counts);
			free(l->of[k].series[i].examples);
		}
		free(l->of[k].series);
	}
	free(l->step_bounds);
	free(l);
}

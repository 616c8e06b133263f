/* SPDX-License-Identifier: Apache-2.0 */
/* Spans are gathered, and handed on when there are enough or the next one is of another process. */
#include "ui/text/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/statistics/unknown.h"
#include "analysis/requests/gaps.h"
#include "analysis/steps/step_times.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/path_name.h"
#include "brick/version.h"
#include "ui/text/json_out.h"
#include "ui/text/provenance.h"
#include "ui/text/requests_view.h"
#include "analysis/walk/step_index.h"
#include "ui/text/text.h"

enum { BATCH_SPANS = 512, KIND_INTERNAL = 1, KIND_SERVER = 2 };

/*
 * Numbers of a trace's spans: the request itself, its queueing, then each part with its contents.
 */
enum { SPAN_REQUEST = 1, SPAN_QUEUE = 2, SPAN_FIRST_PART = 3 };

static int find_ordinals(struct otlp *o)
{
	struct hashmap counts = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < o->requests->count; i++) {
		const struct request *r = &o->requests->list[i];
		uint64_t key = hash_add(
			hash_add((uint64_t)r->process << 32 | r->model, 1), (uint32_t)r->sequence);
		uint64_t before = hashmap_get(&counts, key);
		o->ordinals[i] = before == HASHMAP_NONE ? 0 : (uint32_t)before;
		rc = hashmap_set(&counts, key, o->ordinals[i] + 1);
	}
	hashmap_fini(&counts);
	return rc;
}

int otlp_init(struct otlp *o, const struct run *run, const struct requests *requests,
	const struct step_index *index)
{
	size_t count = requests ? requests->count : 0;

	*o = (struct otlp){.run = run,
		.requests = requests,
		.numbers = step_number_list(run, index),
		.ordinals = calloc(count + 1, sizeof(*o->ordinals)),
		.provider = provenance_provider(run)};
	if (!o->numbers || !o->ordinals)
		return -ENOMEM;
	return requests ? find_ordinals(o) : 0;
}

void otlp_fini(struct otlp *o)
{
	free(o->numbers);
	free(o->ordinals);
	free(o->provider);
}

static uint64_t otlp_hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = hash_add(hash, (unsigned char)*text);
	return hash;
}

static uint64_t not_0(uint64_t hash)
{
	return hash ? hash : 1;
}

/* Half of a trace's number. */
static uint64_t otlp_half(const struct otlp *o, uint32_t request, uint64_t seed)
{
	const struct request *r = &o->requests->list[request];
	uint64_t hash = otlp_hash_text(hash_add(seed, o->run->start_unix_ns), o->run->host);

	hash = hash_add(hash_add(hash, o->run->processes[r->process].pid), r->model);
	return not_0(hash_add(hash_add(hash, (uint32_t)r->sequence), o->ordinals[request]));
}

uint64_t otlp_trace(const struct otlp *o, uint32_t request, char text[OTLP_TRACE_TEXT])
{
	uint64_t first = otlp_half(o, request, 1);

	snprintf(text, OTLP_TRACE_TEXT, "%016llx%016llx", (unsigned long long)first,
		(unsigned long long)otlp_half(o, request, 2));
	return first;
}

json_t *otlp_u64(uint64_t value)
{
	json_t *text = json_sprintf("%llu", (unsigned long long)value);

	text_fail(text ? 0 : -ENOMEM);
	return text;
}

static void otlp_put_attribute(json_t *list, const char *key, const char *type, json_t *value)
{
	json_t *attribute = json_object(), *typed = json_object();

	json_put(typed, type, value);
	json_put(attribute, "key", json_text(key));
	json_put(attribute, "value", typed);
	json_add(list, attribute);
}

void otlp_put_text(json_t *attributes, const char *key, const char *value)
{
	if (value)
		otlp_put_attribute(attributes, key, "stringValue", json_text(value));
}

void otlp_put_number(json_t *attributes, const char *key, uint64_t value)
{
	if (value != ANALYSIS_UNKNOWN)
		otlp_put_attribute(attributes, key, "intValue", otlp_u64(value));
}

/* A recording that was cut off early may know no process. */
static json_t *resource_of(const struct otlp *o, uint32_t process)
{
	static const struct run_process nobody;
	const struct run_process *p =
		process < o->run->process_count ? &o->run->processes[process] : &nobody;
	const char *executable = path_name(p->executable);
	json_t *resource = json_object(), *attributes = json_array();

	otlp_put_text(attributes, "service.name",
		executable    ? executable
		: o->provider ? o->provider
			      : "unknown_service");
	otlp_put_text(attributes, "host.name", p->host ? p->host : o->run->host);
	if (p->pid)
		otlp_put_number(attributes, "process.pid", p->pid);
	otlp_put_text(attributes, "process.executable.name", executable);
	otlp_put_text(attributes, "brick.recording", o->run->path);
	json_put(resource, "attributes", attributes);
	return resource;
}

static json_t *otlp_list_of(json_t *item)
{
	json_t *list = json_array();

	json_add(list, item);
	return list;
}

json_t *otlp_wrap(const struct otlp *o, uint32_t process, const char *what, json_t *list)
{
	bool is_spans = !strcmp(what, "spans");
	json_t *scope = json_object(), *scoped = json_object(), *of_resource = json_object(),
	       *all = json_object();

	json_put(scope, "name", json_text("brick"));
	json_put(scope, "version", json_text(brick_version()));
	json_put(scoped, "scope", scope);
	json_put(scoped, what, list);
	json_put(of_resource, "resource", resource_of(o, process));
	json_put(of_resource, is_spans ? "scopeSpans" : "scopeMetrics", otlp_list_of(scoped));
	json_put(all, is_spans ? "resourceSpans" : "resourceMetrics", otlp_list_of(of_resource));
	return all;
}

struct maker {
	const struct otlp *o;
	json_t *spans; /* of one process at a time */
	uint32_t process;
	otlp_take_fn take;
	void *context;
	uint64_t *self_ns; /* [brick_count] */
	/* of the request */
	char trace[OTLP_TRACE_TEXT];
	uint64_t trace_half;
	uint64_t next_span;
	uint32_t bricks, left_out;
};

static int hand_on(struct maker *m)
{
	uint32_t count = (uint32_t)json_array_size(m->spans);

	if (!count)
		return text_error();
	json_auto_t *request = otlp_wrap(m->o, m->process, "spans", m->spans);
	m->spans = json_array();
	return text_error() || !m->spans ? -ENOMEM : m->take(m->context, request, count);
}

static json_t *span_id(uint64_t trace_half, uint64_t number)
{
	json_t *id =
		json_sprintf("%016llx", (unsigned long long)not_0(hash_add(trace_half, number)));

	text_fail(id ? 0 : -ENOMEM);
	return id;
}

json_t *otlp_request_span(const struct otlp *o, uint32_t request)
{
	return span_id(otlp_half(o, request, 1), SPAN_REQUEST);
}

static json_t *unix_time(const struct maker *m, uint64_t ns)
{
	return otlp_u64(m->o->run->start_unix_ns + (ns - m->o->run->start_ns));
}

/*
 * Adds a span and takes ownership of its attributes. The result is borrowed from the list. parent:
 * 0 means none.
 */
static json_t *otlp_add_span(struct maker *m, uint64_t number, uint64_t parent, const char *name,
	int kind, uint64_t begin_ns, uint64_t end_ns, json_t *attributes)
{
	json_t *span = json_object();

	json_put(span, "traceId", json_text(m->trace));
	json_put(span, "spanId", span_id(m->trace_half, number));
	if (parent)
		json_put(span, "parentSpanId", span_id(m->trace_half, parent));
	json_put(span, "name", json_text(name));
	json_put(span, "kind", json_number((uint64_t)kind));
	json_put(span, "startTimeUnixNano", unix_time(m, begin_ns));
	json_put(span, "endTimeUnixNano", unix_time(m, end_ns));
	json_put(span, "attributes", attributes);
	json_add(m->spans, span);
	return span;
}

/* Executions within the step, each below its holder. */
static void add_bricks(struct maker *m, const struct run_step *step, uint64_t step_span)
{
	const struct run *run = m->o->run;
	const struct run_lane *lane = &run->lanes[step->lane];
	uint64_t holders[UINT8_MAX + 1] = {0}; /* by depth; 0: it is no span */
	uint8_t outermost = lane->samples[step->sample].depth;

	holders[outermost] = step_span;
	for (size_t i = step->sample + 1; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		const struct run_site *site = &run->sites[s->site];
		if (s->begin_ns >= step->end_ns || s->depth <= outermost)
			break;
		run_lane_passed(lane, i);
		holders[s->depth] = 0;
		if (m->bricks == OTLP_BRICKS || !holders[s->depth - 1]) {
			m->left_out++;
			continue;
		}
		m->bricks++;
		json_t *attributes = json_array();
		otlp_put_text(attributes, "brick.category",
			run->categories[run->bricks[site->brick].category].name);
		if (site->layer >= 0)
			otlp_put_number(attributes, "brick.layer", (uint64_t)site->layer);
		otlp_put_text(attributes, "brick.tensor", site->label);
		holders[s->depth] = m->next_span++;
		otlp_add_span(m, holders[s->depth], holders[s->depth - 1],
			run->bricks[site->brick].name, KIND_INTERNAL, s->begin_ns, s->end_ns,
			attributes);
	}
}

/* brick.self_ns.NAME: of each brick, on the thread that ran the step. */
static void put_self_times(struct maker *m, json_t *attributes, uint32_t step)
{
	const struct run *run = m->o->run;

	memset(m->self_ns, 0, run->brick_count * sizeof(*m->self_ns));
	gap_self_times(run, step, m->self_ns);
	for (uint32_t b = 0; b < run->brick_count; b++) {
		if (brick_is_step((uint32_t)run->bricks[b].well_known) || !m->self_ns[b] ||
			m->self_ns[b] > INT64_MAX)
			continue;
		SCOPED char *key = text_format("brick.self_ns.%s", run->bricks[b].name);
		otlp_put_number(attributes, key, m->self_ns[b]);
	}
}

/* gap: that it ends, if it was a long one, else NULL. */
static void otlp_add_part(
	struct maker *m, const struct request_part *part, const struct request_gap *gap)
{
	const struct run *run = m->o->run;
	const struct requests *q = m->o->requests;
	const struct run_step *step = &run->steps[part->step];
	json_t *attributes = json_array();
	uint64_t span = m->next_span++;

	otlp_put_number(attributes, "brick.step", m->o->numbers[part->step]);
	otlp_put_number(attributes, "brick.tokens", part->tokens);
	otlp_put_number(attributes, "brick.prompt_tokens", part->prompt);
	otlp_put_number(attributes, "brick.step.tokens", step->tokens);
	otlp_put_number(attributes, "brick.step.requests",
		q->step_first[part->step + 1] - q->step_first[part->step]);
	if (gap) {
		otlp_put_text(attributes, "brick.gap.cause", requests_cause(gap->cause));
		otlp_put_number(attributes, "brick.gap.ns", gap_ns(gap));
		otlp_put_number(attributes, "brick.gap.excess_ns", gap->excess_ns);
		if (gap->other != RUN_NONE)
			otlp_put_number(attributes, "brick.gap.request", (uint64_t)gap->other + 1);
	}
	put_self_times(m, attributes, part->step);
	otlp_add_span(m, span, SPAN_REQUEST, step_phase_name((int)step_phase_of(step)),
		KIND_INTERNAL, step->begin_ns, step->end_ns, attributes);
	if (part->prompt || gap)
		add_bricks(m, step, span);
}

static void otlp_add_request(struct maker *m, uint32_t number)
{
	const struct otlp *o = m->o;
	const struct request *r = &o->requests->list[number];
	const char *model = run_model_name(o->run, r->process, r->model);
	json_t *attributes = json_array();
	uint64_t queue_ns = request_queue_ns(r);
	uint64_t begin_ns = queue_ns == ANALYSIS_UNKNOWN ? r->begin_ns : r->arrived_ns;
	SCOPED char *name =
		text_format("text_completion%s%s", model ? " " : "", model ? model : "");

	otlp_put_text(attributes, "gen_ai.operation.name", "text_completion");
	otlp_put_text(attributes, "gen_ai.provider.name", o->provider);
	otlp_put_text(attributes, "gen_ai.request.model", model);
	otlp_put_number(attributes, "gen_ai.usage.input_tokens", r->prompt_tokens + r->reused);
	otlp_put_number(attributes, "gen_ai.usage.output_tokens", r->output_tokens);
	if (r->reused)
		otlp_put_number(attributes, "gen_ai.usage.cache_read.input_tokens", r->reused);
	if (r->again) {
		otlp_put_number(attributes, "brick.evaluated_again_tokens", r->again);
		otlp_put_text(attributes, "brick.evaluated_again_reason", requests_reason(r->lost));
	}
	otlp_put_number(attributes, "brick.request", (uint64_t)number + 1);
	if (r->has_number)
		otlp_put_number(attributes, "brick.request.number", r->number);
	otlp_put_number(attributes, "brick.model", r->model);
	otlp_put_number(attributes, "brick.sequence", (uint64_t)r->sequence);
	otlp_put_text(attributes, "brick.request.end", requests_end(r->end));
	otlp_put_number(attributes, "brick.time_to_first_token_ns", request_ttft_ns(r));
	otlp_put_number(
		attributes, "brick.time_per_output_token_ns", request_token_ns(o->requests, r));
	if (m->left_out)
		otlp_put_number(attributes, "brick.bricks_left_out", m->left_out);
	json_t *span = otlp_add_span(
		m, SPAN_REQUEST, 0, name, KIND_SERVER, begin_ns, r->end_ns, attributes);
	if (queue_ns != ANALYSIS_UNKNOWN)
		otlp_add_span(m, SPAN_QUEUE, SPAN_REQUEST, "queue", KIND_INTERNAL, r->arrived_ns,
			r->begin_ns, json_array());
	if (request_ttft_ns(r) == ANALYSIS_UNKNOWN)
		return;
	json_t *event = json_object();
	json_put(event, "timeUnixNano", unix_time(m, r->first_ns));
	json_put(event, "name", json_text("first token"));
	json_put(span, "events", otlp_list_of(event));
}

/* The steps come first: then it is known how many bricks were left out. */
static int add_trace(struct maker *m, uint32_t number)
{
	const struct requests *q = m->o->requests;
	const struct request *r = &q->list[number];
	uint32_t gap = 0;
	int rc = 0;

	if (json_array_size(m->spans) && r->process != m->process)
		rc = hand_on(m);
	m->process = r->process;
	m->trace_half = otlp_trace(m->o, number, m->trace);
	m->next_span = SPAN_FIRST_PART;
	m->bricks = m->left_out = 0;
	for (uint32_t i = 0; rc == 0 && i < r->part_count; i++) {
		const struct request_part *part = &q->parts[r->part_first + i];
		while (gap < r->gap_count && q->gaps[r->gap_first + gap].step < part->step)
			gap++;
		const struct request_gap *g =
			gap < r->gap_count ? &q->gaps[r->gap_first + gap] : NULL;
		otlp_add_part(m, part, g && g->step == part->step && g->cause ? g : NULL);
		if (json_array_size(m->spans) >= BATCH_SPANS)
			rc = hand_on(m);
	}
	if (rc == 0)
		otlp_add_request(m, number);
	return rc;
}

int otlp_spans(const struct otlp *o, const uint8_t *is_wanted, otlp_take_fn take, void *context)
{
	SCOPED uint64_t *self_ns = calloc(o->run->brick_count + 1, sizeof(*self_ns));
	struct maker m = {.o = o,
		.spans = json_array(),
		.take = take,
		.context = context,
		.self_ns = self_ns};
	int rc = m.spans && self_ns ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && o->requests && i < o->requests->count; i++)
		if (!is_wanted || is_wanted[i])
			rc = add_trace(&m, i);
	if (rc == 0)
		rc = hand_on(&m);
	json_decref(m.spans);
	return rc;
}

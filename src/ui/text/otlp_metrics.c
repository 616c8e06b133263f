/* SPDX-License-Identifier: Apache-2.0 */
/* One resource: that of the run's first process. Requests of all are in the histograms. */
#include "ui/text/otlp_metrics.h"

#include "ui/text/json_out.h"
#include "ui/text/text.h"

enum { CUMULATIVE = 2 };

struct maker {
	const struct otlp *o;
	uint64_t now_unix_ns;
};

static double otlp_metrics_seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

static void put_times(const struct maker *m, json_t *point)
{
	json_put(point, "startTimeUnixNano", otlp_u64(m->o->run->start_unix_ns));
	json_put(point, "timeUnixNano", otlp_u64(m->now_unix_ns));
}

static json_t *exemplar(const struct maker *m, const struct latency_example *e)
{
	const struct run *run = m->o->run;
	json_t *o = json_object(), *filtered = json_array();

	json_put(o, "timeUnixNano", otlp_u64(run->start_unix_ns + (e->ns - run->start_ns)));
	json_put(o, "asDouble", json_rate(otlp_metrics_seconds(e->value_ns)));
	if (e->request != RUN_NONE) {
		char trace[OTLP_TRACE_TEXT];
		otlp_trace(m->o, e->request, trace);
		json_put(o, "traceId", json_text(trace));
		json_put(o, "spanId", otlp_request_span(m->o, e->request));
	}
	otlp_put_number(filtered, "brick.step", m->o->numbers[e->step]);
	json_put(o, "filteredAttributes", filtered);
	return o;
}

/* Takes the attributes. */
static json_t *histogram_point(const struct maker *m, const struct latency_family *f,
	const struct latency_series *s, json_t *attributes)
{
	json_t *point = json_object(), *counts = json_array(), *bounds = json_array(),
	       *exemplars = json_array();

	for (unsigned i = 0; i <= f->bound_count; i++) {
		json_add(counts, otlp_u64(s->counts[i]));
		if (i < f->bound_count)
			json_add(bounds, json_rate(otlp_metrics_seconds(f->bounds_ns[i])));
		if (s->counts[i])
			json_add(exemplars, exemplar(m, &s->examples[i]));
	}
	put_times(m, point);
	json_put(point, "attributes", attributes);
	json_put(point, "count", otlp_u64(s->count));
	json_put(point, "sum", json_rate(otlp_metrics_seconds(s->sum_ns)));
	json_put(point, "bucketCounts", counts);
	json_put(point, "explicitBounds", bounds);
	json_put(point, "exemplars", exemplars);
	return point;
}

static json_t *otlp_metrics_attributes_of(const struct maker *m, const struct latency_series *s)
{
	json_t *list = json_array();

	if (s->phase < 0) {
		otlp_put_text(list, "gen_ai.operation.name", "text_completion");
		otlp_put_text(list, "gen_ai.provider.name", m->o->provider);
	} else {
		otlp_put_text(list, "brick.phase", step_phase_name(s->phase));
	}
	otlp_put_text(list, "gen_ai.request.model", s->model);
	return list;
}

static json_t *metric(const char *name, const char *unit, const char *kind, json_t *data)
{
	json_t *o = json_object();

	json_put(data, "aggregationTemporality", json_number(CUMULATIVE));
	json_put(o, "name", json_text(name));
	json_put(o, "unit", json_text(unit));
	json_put(o, kind, data);
	return o;
}

static json_t *tokens(const struct maker *m, const struct step_times *times)
{
	json_t *data = json_object(), *points = json_array();

	for (int phase = 0; phase < STEP_PHASES; phase++) {
		json_t *point = json_object(), *attributes = json_array();
		otlp_put_text(attributes, "brick.phase", step_phase_name(phase));
		put_times(m, point);
		json_put(point, "attributes", attributes);
		json_put(point, "asInt", otlp_u64(times->phases[phase].tokens));
		json_add(points, point);
	}
	json_put(data, "dataPoints", points);
	json_put(data, "isMonotonic", json_true());
	return metric("brick.tokens", "{token}", "sum", data);
}

json_t *otlp_metrics(const struct otlp *o, const struct latencies *latencies,
	const struct step_times *times, uint64_t now_unix_ns)
{
	static const char *const names[LATENCIES] = {
		[LATENCY_FIRST_TOKEN] = "gen_ai.server.time_to_first_token",
		[LATENCY_TOKEN] = "gen_ai.server.time_per_output_token",
		[LATENCY_REQUEST] = "gen_ai.server.request.duration",
		[LATENCY_QUEUE] = "brick.request.queue.duration",
		[LATENCY_STEP] = "brick.step.duration",
	};
	const struct maker m = {o, now_unix_ns};
	json_t *metrics = json_array();

	json_add(metrics, tokens(&m, times));
	for (int k = 0; k < LATENCIES; k++) {
		const struct latency_family *f = &latencies->of[k];
		json_t *data = json_object(), *points = json_array();
		for (size_t i = 0; i < f->count; i++)
			json_add(points, histogram_point(&m, f, &f->series[i],
						 otlp_metrics_attributes_of(&m, &f->series[i])));
		json_put(data, "dataPoints", points);
		if (f->count)
			json_add(metrics, metric(names[k], "s", "histogram", data));
		else
			json_decref(data);
	}
	json_t *all = otlp_wrap(o, 0, "metrics", metrics);
	if (!text_error())
		return all;
	json_decref(all);
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/text/remote_view.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/unknown.h"
#include "base/scope.h"
#include "ui/text/csv_out.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"

enum { REMOTE_LABEL = 13 };

char *remote_sentence(const struct remote_calls *calls)
{
	char whole[UNITS_BYTES], compute[UNITS_BYTES], wire[UNITS_BYTES], waited[UNITS_BYTES];
	char *text = text_format("%zu graph%s in %s: servers computed %s, the wire took %s; "
				 "clients waited %s of it",
		calls->count, plural_s(calls->count), units_time(whole, calls->whole_ns),
		units_time(compute, calls->compute_ns), units_time(wire, calls->wire_ns),
		units_time(waited, calls->waited_ns));

	if (calls->sent_alone || calls->received_alone)
		text_append(&text, "; ",
			"of %llu more sent and %llu computed the other end is not known",
			(unsigned long long)calls->sent_alone,
			(unsigned long long)calls->received_alone);
	return text;
}

json_t *remote_calls_to_json(const struct remote_calls *calls)
{
	json_t *object = json_object();

	json_put_numbers(object, calls, count, sent_alone, received_alone, whole_ns, compute_ns,
		wire_ns, waited_ns);
	return object;
}

/* How far a recording's clock is ahead of the first one's, at the clock's first graph. */
static double remote_ahead(const struct remote_view *view, uint32_t i)
{
	const struct rank_clock *clock = &view->sources[i].clock;

	return clock->is_aligned
		       ? (double)(int64_t)(clock->origin_ns - view->sources[0].clock.origin_ns) -
				 clock->offset_ns
		       : NAN;
}

void remote_text(const struct remote_view *view, FILE *out)
{
	SCOPED char *sentence = remote_sentence(view->calls);
	char ahead[UNITS_BYTES], bound[UNITS_BYTES];
	struct terminal terminal;

	terminal_init(&terminal, out);
	paragraph(&terminal, 0, "", "%u recordings of clients and servers", view->count);
	for (uint32_t i = 1; i < view->count; i++) {
		const struct rank_clock *clock = &view->sources[i].clock;
		double ns = remote_ahead(view, i);
		bool is_bound = isfinite(clock->bound_ns);
		const char *label = i == 1 ? "Clocks" : "";
		if (!clock->is_aligned)
			paragraph(&terminal, REMOTE_LABEL, label,
				"that of %s is not known: it has no graphs in common with the "
				"others, or their order fits several times",
				view->paths[i]);
		else if (!ns && !clock->drift && !clock->bound_ns)
			paragraph(&terminal, REMOTE_LABEL, label, "%s and %s have one",
				view->paths[i], view->paths[0]);
		else
			paragraph(&terminal, REMOTE_LABEL, label,
				"that of %s is %s %s that of %s, %s%s; drift %.1f ppm",
				view->paths[i], units_time(ahead, rank_job_ns(fabs(ns))),
				ns < 0 ? "behind" : "ahead of", view->paths[0],
				is_bound ? "at most off by " : "without a bound",
				is_bound ? units_time(bound, rank_job_ns(ceil(clock->bound_ns)))
					 : "",
				clock->drift * -1e6);
	}
	paragraph(&terminal, REMOTE_LABEL, "Remote", "%s", sentence ? sentence : "");
}

void remote_csv(const struct remote_view *view, FILE *out)
{
	fputs("client,server,begin_ns,whole_ns,compute_ns,wire_ns,waited_ns", out);
	csv_end(out);
	for (size_t i = 0; i < view->calls->count; i++) {
		const struct remote_call *call = &view->calls->list[i];
		bool has_end = call->end_ns != 0;
		csv_text(out, view->paths[call->from]);
		csv_text(out, view->paths[call->to]);
		csv_number(out, call->begin_ns - view->sources[call->from].run->start_ns);
		csv_number(out, has_end ? call->end_ns - call->begin_ns : ANALYSIS_UNKNOWN);
		csv_number(out, call->compute_ns);
		csv_number(out, has_end ? call->wire_ns : ANALYSIS_UNKNOWN);
		csv_number(out, has_end ? call->waited_ns : ANALYSIS_UNKNOWN);
		csv_end(out);
	}
}

json_t *remote_to_json(const struct remote_view *view)
{
	json_t *root = json_object(), *list = json_array();

	json_put(root, "schema", json_text("brick/remote/1"));
	for (uint32_t i = 0; i < view->count; i++) {
		const struct rank_clock *clock = &view->sources[i].clock;
		json_t *object = json_object();
		json_put(object, "recording", json_text(view->paths[i]));
		json_put(object, "clock_ahead_ns",
			clock->is_aligned ? json_integer(llround(remote_ahead(view, i)))
					  : json_null());
		json_put(object, "clock_drift",
			clock->is_aligned ? json_signed(1 / (1 + clock->drift) - 1) : json_null());
		json_put(object, "clock_bound_ns",
			clock->is_aligned ? json_rate(clock->bound_ns) : json_null());
		json_add(list, object);
	}
	json_put(root, "recordings", list);
	json_put(root, "remote", remote_calls_to_json(view->calls));
	return root;
}

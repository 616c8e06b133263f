/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture as JSON, schema brick/top/1: all fields of brick/report/1, of what is shown, and those
 * of the moment. Called by `brick top --headless --json`.
 */
#include <string.h>

#include "base/clock_ns.h"
#include "ui/text/json_out.h"
#include "ui/top/top_source.h"

static json_t *steps_json(const struct picture_steps *s)
{
	json_t *object = json_object();
	json_put_numbers(object, s, count, tokens, total_ns);
	json_put(object, "tokens_per_s", json_rate(picture_tokens_per_s(s)));
	return object;
}

/* Exact, from the statistics of the threads: since the start, or since a reset. */
static json_t *exact_json(const struct picture *p)
{
	json_t *object = json_object();
	json_put(object, "prefill", steps_json(&p->exact[STEP_PREFILL]));
	json_put(object, "decode", steps_json(&p->exact[STEP_DECODE]));
	json_put(object, "executions", json_number(p->executions));
	return object;
}

static json_t *now_json(const struct top *top)
{
	const struct history *h = &top->history;
	bool live = top->picture && top->picture->live;
	json_t *object = json_object();
	json_put(object, "decode_tokens_per_s",
		json_rate(live ? history_tokens_per_s(h, STEP_DECODE) : -1));
	json_put(object, "prefill_tokens_per_s",
		json_rate(live ? history_tokens_per_s(h, STEP_PREFILL) : -1));
	json_put(object, "samples_per_s", json_rate(live ? history_samples_per_s(h) : -1));
	return object;
}

void top_print_json(const struct top *top, const struct report_budget *budget)
{
	json_t *root = json_object();
	if (top->picture) {
		struct report report = top->picture->report;
		report.budget = budget;
		json_decref(root);
		root = report_to_json(&report);
	}
	json_put(root, "schema", json_text("brick/top/1"));
	json_put(root, "at_unix_ns", json_number(real_ns()));
	json_put(root, "state", json_text(top->about.state));
	json_put(root, "trouble", json_text(top->about.fault));
	json_put(root, "over", json_boolean(top->about.over));
	json_put(root, "samples_of",
		json_text(!top->picture	       ? NULL
			  : top->picture->live ? "window"
					       : "recording"));
	json_put(root, "now", now_json(top));
	json_put(root, "exact", top->picture ? exact_json(top->picture) : json_null());
	json_dumpf(root, stdout, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(root);
}

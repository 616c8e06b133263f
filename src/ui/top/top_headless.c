/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one picture as a screen or as JSON (schema brick/top/2), then the next. */
#include "ui/top/top_headless.h"

#include <signal.h>
#include <stdlib.h>

#include "base/clock_ns.h"
#include "base/number.h"
#include "ui/text/json_out.h"
#include "ui/text/report_json.h"
#include "ui/text/text.h"

static volatile sig_atomic_t headless_stop;

static void on_stop(int number)
{
	headless_stop = 1;
}

static double now_s(void)
{
	return (double)monotonic_ns() * 1e-9;
}

/* A signal ends it early. */
static void sleep_s(double s)
{
	const struct timespec t = timespec_of_ns(s > 0 ? number_of_double(s * 1e9) : 0);
	if (s > 0 && !headless_stop)
		nanosleep(&t, NULL);
}

static json_t *headless_steps_json(const struct picture_steps *s)
{
	json_t *object = json_object();
	json_put(object, "count", json_number(s->count));
	json_put(object, "tokens", json_number(s->tokens));
	json_put(object, "spans_ns", json_number(s->total_ns));
	json_put(object, "tokens_per_s", json_rate(picture_tokens_per_s(s)));
	return object;
}

/* Exact, from the statistics of the threads: since the start, or since a reset. */
static json_t *exact_json(const struct picture *p)
{
	json_t *object = json_object();
	json_put(object, "prefill", headless_steps_json(&p->exact[STEP_PREFILL]));
	json_put(object, "decode", headless_steps_json(&p->exact[STEP_DECODE]));
	json_put(object, "other", headless_steps_json(&p->exact[STEP_OTHER]));
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

/* The picture as one line: all fields of brick/report/2, and the present rates. */
static void headless_print_json(const struct top *top, const struct report_budget *budget)
{
	json_t *root = json_object();
	if (top->picture) {
		struct report report = top->picture->report;
		report.budget = budget;
		json_decref(root);
		root = report_to_json(&report);
	}
	json_put(root, "schema", json_text("brick/top/2"));
	json_put(root, "at_unix_ns", json_number(real_ns()));
	json_put(root, "state", json_text(top->about.state));
	json_put(root, "trouble", json_text(top->about.fault));
	json_put(root, "over", json_boolean(top->about.over));
	json_put(root, "samples_of",
		json_text(!top->picture				   ? NULL
			  : !top->picture->live			   ? "recording"
			  : top->picture->run->has_statistics_only ? "statistics"
								   : "window"));
	json_put(root, "now", now_json(top));
	json_put(root, "exact", top->picture ? exact_json(top->picture) : json_null());
	json_dumpf(root, stdout, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(root);
}

static void print_screen(struct top *top)
{
	SCOPED_BY(canvas_fini) struct canvas canvas;
	canvas_init(&canvas, top->width, top->height, top->utf8);
	top_draw(top, &canvas);
	canvas_write(&canvas, stdout);
}

static int headless_print(struct top_source *s, struct top *top, struct report_budget *budget)
{
	if (budget && top->picture)
		text_fail(report_budget_judge(budget, top->picture->run));
	if (s->options->json)
		headless_print_json(top, top->picture ? budget : NULL);
	else
		print_screen(top);
	fflush(stdout);
	return text_error();
}

/*
 * A dump of a live process needs two pictures, because rates are differences between them. So the
 * duration begins with the first picture.
 */
static int dump(struct top_source *s, struct top *top, struct report_budget *budget)
{
	const struct top_options *o = s->options;
	double wait_s = o->duration_s > 0 ? o->duration_s : o->interval_s, end_s = 0;
	int rc = top_source_look(s, top);
	while (!rc && !headless_stop && s->live && !s->final && (!end_s || now_s() < end_s)) {
		double left_s = end_s - now_s();
		if (top->picture && !end_s)
			end_s = now_s() + wait_s;
		else
			sleep_s(!end_s ? 0.05 : left_s < o->interval_s ? left_s : o->interval_s);
		rc = top_source_look(s, top);
	}
	return rc < 0 ? rc : headless_print(s, top, budget);
}

static int headless_follow(struct top_source *s, struct top *top, struct report_budget *budget)
{
	const struct top_options *o = s->options;
	double start_s = now_s(), next_s = start_s;
	int rc;
	do {
		rc = top_source_look(s, top);
		if (rc == 0)
			rc = headless_print(s, top, budget);
		if (rc < 0 || top->about.over || ferror(stdout))
			break;
		next_s += o->interval_s;
		if (o->duration_s > 0 && next_s > start_s + o->duration_s)
			break;
		sleep_s(next_s - now_s());
	} while (!headless_stop);
	return rc;
}

int top_headless(struct top_source *s, struct top *top, struct report_budget *budget)
{
	const struct top_options *o = s->options;
	/* A signal does not cut what is being written. A second one ends the process. */
	struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART | SA_RESETHAND};
	sigemptyset(&action.sa_mask);
	if (s->live) { /* a program is to be ended cleanly; loading a file just ends */
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		sigaction(SIGHUP, &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	top->width = o->dump_width ? o->dump_width : 80;
	top->height = o->dump_height ? o->dump_height : 24;
	return o->dump_width ? dump(s, top, budget) : headless_follow(s, top, budget);
}

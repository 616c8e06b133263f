/* SPDX-License-Identifier: Apache-2.0 */
/* `brick top` without a terminal: a screen, or a line of JSON, per picture. Called by top.c. */
#include <signal.h>
#include <stdlib.h>

#include "base/clock_ns.h"
#include "ui/text/exit_code.h"
#include "ui/top/top_source.h"

static volatile sig_atomic_t stop;

static void on_stop(int number)
{
	stop = 1;
}

static double now_s(void)
{
	return (double)monotonic_ns() * 1e-9;
}

/* A signal ends it early. */
static void sleep_s(double s)
{
	const struct timespec t = timespec_of_ns(s > 0 ? (uint64_t)(s * 1e9) : 0);
	if (s > 0 && !stop)
		nanosleep(&t, NULL);
}

static void print_screen(struct top *top)
{
	SCOPED_BY(canvas_fini) struct canvas canvas;
	canvas_init(&canvas, top->width, top->height, top->utf8);
	top_draw(top, &canvas);
	canvas_write(&canvas, stdout);
}

static void print(struct top_source *s, struct top *top, struct report_budget *budget)
{
	if (budget && top->picture)
		report_budget_judge(budget, top->picture->run);
	if (s->options->json)
		top_print_json(top, top->picture ? budget : NULL);
	else
		print_screen(top);
	fflush(stdout);
}

/*
 * A dump of what is live needs a second picture, without which there is no "now"; so the time that
 * was asked for begins with the first.
 */
static void dump(struct top_source *s, struct top *top, struct report_budget *budget)
{
	const struct top_options *o = s->options;
	double wait_s = o->duration_s > 0 ? o->duration_s : o->interval_s, end_s = 0;
	top_source_look(s, top);
	while (!stop && s->live && !s->final && (!end_s || now_s() < end_s)) {
		double left_s = end_s - now_s();
		if (top->picture && !end_s)
			end_s = now_s() + wait_s;
		else
			sleep_s(!end_s ? 0.05 : left_s < o->interval_s ? left_s : o->interval_s);
		top_source_look(s, top);
	}
	print(s, top, budget);
}

static void follow(struct top_source *s, struct top *top, struct report_budget *budget)
{
	const struct top_options *o = s->options;
	double start_s = now_s(), next_s = start_s;
	do {
		top_source_look(s, top);
		print(s, top, budget);
		if (top->about.over || ferror(stdout))
			break;
		next_s += o->interval_s;
		if (o->duration_s > 0 && next_s > start_s + o->duration_s)
			break;
		sleep_s(next_s - now_s());
	} while (!stop);
}

int top_headless(struct top_source *s, struct top *top, struct report_budget *budget)
{
	const struct top_options *o = s->options;
	struct sigaction action = {.sa_handler = on_stop};
	sigemptyset(&action.sa_mask);
	if (s->live) { /* there is something to be ended in good order; loading a file just ends */
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		sigaction(SIGHUP, &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
	top->width = o->dump_width ? o->dump_width : 80;
	top->height = o->dump_height ? o->dump_height : 24;
	if (o->dump_width)
		dump(s, top, budget);
	else
		follow(s, top, budget);
	return CLI_DONE;
}

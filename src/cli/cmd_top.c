/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick top`: options, and the choice between the screen and headless forms. ui/top/top_source.c
 * makes the pictures, and the views beside it draw them.
 */
#include "ui/top/top_headless.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "brick/error.h"
#include "brick/graph_view.h"
#include "cli/command.h"
#include "cli/history_runs.h"
#include "cli/die.h"
#include "cli/graph_file.h"
#include "cli/input.h"
#include "ui/text/report.h"
#include "cli/selection_options.h"
#include "ui/text/text.h"
#include "ui/top/screen.h"

/* Setter of a number of seconds with a minimum. */
static void cmd_top_set_interval(const struct option_use *use, const char *text)
{
	*(double *)use->to =
		option_double(use, text, 0.05, 1e6, "a number of seconds from 0.05 on");
}

static void set_duration(const struct option_use *use, const char *text)
{
	*(double *)use->to =
		option_double(use, text, 0.01, 1e6, "a number of seconds from 0.01 on");
}

static void set_dump(const struct option_use *use, const char *text)
{
	struct top_options *o = use->to;
	char end;
	if (sscanf(text, "%dx%d%c", &o->dump_width, &o->dump_height, &end) != 2 ||
		o->dump_width < 20 || o->dump_height < 8 || o->dump_width > 1000 ||
		o->dump_height > 1000)
		die_usage("top", "--dump %s: must be columns x lines from 20x8 to 1000x1000", text);
}

static void words_view(struct option_words *words)
{
	for (int i = 0; i < TOP_VIEWS; i++)
		words_add(words, top_views[i]->name);
}

static void set_view(const struct option_use *use, const char *text)
{
	int view = top_view_find(text);
	*(int *)use->to = view >= 0 ? view : option_choice(use, text);
}

static void add_record_option(const struct option_use *use, const char *text)
{
	static char names[TOP_RECORD_OPTIONS][16];
	struct top_options *o = use->to;
	if (o->record_count + 2 > TOP_RECORD_OPTIONS)
		die_usage("top", "--%s: too many options for the recorder", use->option->name);
	snprintf(names[o->record_count], sizeof(names[0]), "--%s", use->option->name);
	o->record[o->record_count] = names[o->record_count];
	o->record[o->record_count + 1] = text;
	o->record_count += 2;
}

#define OF(member) offsetof(struct top_options, member)

static const struct cli_option cmd_top_option_table[] = {
	{"interval", "S", "refresh every S seconds (default: 1)", cmd_top_set_interval,
		.at = OF(interval_s), .letter = 'i'},
	{"view", "NAME",
		"begin with bricks (default), categories, layers, threads, queues, tree, path, "
		"losses, output or requests",
		set_view, .at = OF(view), .words = words_view},
	{"phase", "WHAT",
		"what ran in steps of this phase: prefill, decode, mixed, warm-up or other; or all "
		"together (default: decode as soon as there is any)",
		option_phase_or_all, .at = OF(phase), .words = words_phases_or_all},
	SELECTION_OPTIONS(OF(selection)),
	{"baseline", "FILE",
		"hold each brick against this recording, or run of the history (@last, @NAME): "
		"columns BASE and CHANGE, of the time of a token",
		option_text, .at = OF(baseline)},
	{"headless", NULL, "no terminal view: print one screen at each refresh", option_flag,
		.at = OF(headless)},
	{"json", NULL, "with --headless: one line of JSON each (schema brick/top/2)", option_flag,
		.at = OF(json)},
	{"duration", "S", "headless: end after S seconds (default: with the process)", set_duration,
		.at = OF(duration_s)},
	{"dump", "WxH", "print one screen of that size as plain text, and end", set_dump, .at = 0},
	{"expand", NULL, "open all nodes of the tree", option_flag, .at = OF(expand)},
	{"budget", "FILE",
		"check the last refresh against the limits; exit code 1 if one is exceeded",
		option_text, .at = OF(budget)},
	{"output", "FILE", "keep the recording of CMD", option_text, .at = OF(output),
		.letter = 'o'},
	{"mode", "MODE", "for CMD, as for 'brick record'", add_record_option, .at = 0,
		.words = words_record_mode},
	{"attach", "WHAT", "for CMD, as for 'brick record'", add_record_option, .at = 0,
		.words = words_attach},
	{"rules", "FILE", "for CMD, as for 'brick record'", add_record_option, .at = 0},
	{"ring", "N", "for CMD, as for 'brick record'", add_record_option, .at = 0},
	OPTION_HELP,
};

static void cmd_top_parse(struct top_options *o, int argc, char **argv)
{
	*o = (struct top_options){.load = input_load,
		.interval_s = 1,
		.phase = REPORT_PHASES_APART,
		.selection = SELECTION_INIT};
	options_parse(&command_top, o, argc, argv);
	if (o->json && !o->headless)
		die_usage("top", "--json: goes with --headless");
	if (o->json && o->dump_width)
		die_usage("top", "--json and --dump: one form at a time, please");
	bool is_command = optind > 0 && optind < argc && !strcmp(argv[optind - 1], "--");
	if (optind >= argc)
		die_usage("top", "top: what? A process, a recording, or -- and a command");
	if (is_command)
		o->command = argv + optind;
	else if (optind + 1 < argc)
		die_usage("top", "%s: one process or recording at a time; a command comes after --",
			argv[optind + 1]);
	else
		o->operand = argv[optind];
	if (!is_command && (o->output || o->record_count))
		die_usage("top", "%s: is for a command, after --",
			o->output ? "--output" : o->record[0]);
}

struct session {
	struct report_budget budget; /* path NULL: none */
	struct top_source source;
	struct top top;
};

static void cmd_top_open_source(struct top_source *source, const struct top_options *options)
{
	const char *what = options->operand, *why;
	int rc = top_source_open(source, options, &why);
	if (rc >= 0)
		return;
	if (options->command && rc == -ENOSYS)
		die(CLI_SYSTEM, "top: /proc is not there, through which it finds itself");
	if (options->command)
		die(CLI_SYSTEM, "top: %s", brick_strerror(rc));
	if (rc == -ENOENT)
		die(CLI_INPUT, "%s: there is no such process, and no such file", what);
	if (rc == -EACCES)
		die(CLI_SYSTEM,
			"%s: it is another user's process; only that user (or root) can "
			"look into it",
			what);
	if (rc == BRICK_ENOTRECORDED && why)
		die(CLI_INPUT, "%s: its session cannot be read: %s", what, why);
	die(CLI_SYSTEM, "%s: %s", what, brick_strerror(rc));
}

/* Ends the program on an error of top_source_look(), when nothing can be shown. */
static void cmd_top_check(const struct session *s, int rc)
{
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: %s", s->source.is_recorder ? "top" : s->source.path,
			s->source.fault);
	if (rc < 0)
		die(CLI_SYSTEM, "top: not enough memory");
}

/* Loads a recording to compare pictures with; its name is made safe to show. */
static void take_baseline(struct top *top, const char *operand)
{
	SCOPED char *kept = is_history_reference(operand) ? history_runs_recording(operand) : NULL;
	struct run *run = input_load_telling(kept ? kept : operand);

	if (!run->step_count)
		die(CLI_INPUT, "%s: holds no steps: there are no tokens to compare by", run->path);
	struct picture *picture = picture_create(run, top->phase, false, ANALYSIS_UNKNOWN);
	if (!picture)
		die(CLI_SYSTEM, "%s: not enough memory", operand);
	top_baseline_set(top, picture, text_safe(operand));
}

static unsigned cmd_top_look(void *context)
{
	struct session *s = context;
	int rc = s->top.held ? 0 : top_source_look(&s->source, &s->top);
	if (rc == -ENOMEM)
		text_fail(rc);
	else
		cmd_top_check(s, rc);
	unsigned ms = (unsigned)(s->top.interval_s * 1000);
	/* nobody should wait for the first picture */
	return !s->top.picture && !s->top.about.over && ms > 100 ? 100 : ms;
}

static void reset(void *context)
{
	struct session *s = context;
	top_source_reset(&s->source, &s->top);
}

static int cmd_top_judge(struct session *s)
{
	if (!s->budget.path || !s->top.picture)
		return CLI_DONE;
	input_budget_judge(&s->budget, s->top.picture->run);
	size_t failed = s->budget.failed;
	if (failed && !s->source.options->json)
		warn("top: %zu line%s of %s failed", failed, failed == 1 ? "" : "s",
			s->budget.path);
	return failed ? CLI_GATE : CLI_DONE;
}

static int cmd_top_put(void *out, const char *data, size_t bytes)
{
	fwrite(data, 1, bytes, out);
	return 0;
}

/* The tree of a graph that a program saved itself, on the screen or as text. */
static int cmd_top_graph(const struct top_options *options)
{
	struct brick_graph *graph = graph_file_load(options->operand);
	SCOPED char *title = text_safe(options->operand);
	struct brick_graph_view *view;
	int rc = brick_graph_view_create(&view, graph);

	if (rc == BRICK_ECYCLE)
		die(CLI_INPUT, "%s: its edges lead in a circle", options->operand);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: %s", options->operand, brick_strerror(rc));
	if (options->expand)
		brick_graph_view_open_all(view, 1);
	if (options->dump_width)
		brick_graph_view_write(view, (size_t)options->dump_width,
			(size_t)options->dump_height, cmd_top_put, stdout);
	else
		screen_run_graph(view, title);
	brick_graph_view_destroy(view);
	brick_graph_destroy(graph);
	return CLI_DONE;
}

static int run_top(int argc, char **argv)
{
	struct top_options options;
	struct session session = {0};
	const struct screen_calls calls = {cmd_top_look, reset, &session};
	cmd_top_parse(&options, argc, argv);
	bool headless = options.headless || options.dump_width;
	const char *obstacle = headless ? NULL : screen_obstacle();
	if (obstacle)
		die(CLI_SYSTEM, "top: %s", obstacle);
	if (options.operand && graph_file_is(options.operand)) {
		if (options.headless)
			die_usage("top", "%s is a graph: it goes without --headless",
				options.operand);
		return cmd_top_graph(&options);
	}
	if (options.budget) /* before anything is started */
		input_budget(&session.budget, options.budget);
	cmd_top_open_source(&session.source, &options);
	top_init(&session.top, text_is_utf8());
	session.top.view = options.view;
	/* readers of JSON expect all phases together, as from `brick report` */
	session.top.follows_phase = options.phase == REPORT_PHASES_APART && !options.json;
	session.top.phase =
		options.phase == REPORT_PHASES_APART ? SUMMARY_ALL_PHASES : options.phase;
	session.top.interval_s = options.interval_s;
	if (options.baseline)
		take_baseline(&session.top, options.baseline);
	if (options.expand)
		session.top.tree.open_depth = INT32_MAX;
	if (headless) {
		cmd_top_check(&session, top_headless(&session.source, &session.top,
						options.budget ? &session.budget : NULL));
	} else {
		/* faults of a file are told before the screen is ours */
		cmd_top_check(&session, top_source_look(&session.source, &session.top));
		screen_run(&session.top, &calls);
	}
	int gate = cmd_top_judge(&session);
	if (options.budget)
		report_budget_close(&session.budget);
	int ended = top_source_close(&session.source);
	top_fini(&session.top);
	return ended ? ended : gate;
}

const struct cli_command command_top = {
	.name = "top",
	.summary = "look at a program while it runs",
	.run = run_top,
	.flags = CLI_READS,
	.usage = "[OPTIONS] PID\n[OPTIONS] FILE\n[OPTIONS] -- CMD [ARGS...]",
	.about = "Look at a process while it runs (recorded by 'brick record', or with libbrick "
		 "inside; else it is entered as by 'brick record -p', and left in the end), at a "
		 "recording, or at the tree of a graph that a program saved as JSON; "
		 "or "
		 "run CMD, record it and look at it: view 0 has its output.",
	.notes = "Press ? for the keys.",
	.options = cmd_top_option_table,
};

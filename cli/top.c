/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick top`: options, and the choice between the screen and headless forms. Where pictures come
 * from is in top_source.c, what they look like in tui/.
 */
#include "tui/top_source.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "view/die.h"
#include "cli/options.h"
#include "view/text.h"
#include "tui/screen.h"

static const char help[] =
	"Usage: brick top [OPTIONS] PID\n"
	"       brick top [OPTIONS] FILE\n"
	"       brick top [OPTIONS] -- CMD [ARGS...]\n"
	"\n"
	"Look at a process while it runs (recorded by 'brick record', or with libbrick\n"
	"inside), at a recording, or run CMD, record it and look at it; its output is the\n"
	"view 0 then.\n"
	"\n"
	"  -i, --interval S  a new picture every S seconds (default: 1)\n"
	"      --view NAME   begin with bricks (default), categories, layers, threads, queues,\n"
	"                    tree, path, roofline, losses or output\n"
	"      --phase WHAT  only what ran in steps of this phase: prefill or decode\n"
	"      --headless    no terminal view: print a screen for each picture\n"
	"      --json        with --headless: a line of JSON for each (schema brick/top/1)\n"
	"      --duration S  headless: end after S seconds (default: with the process)\n"
	"      --dump WxH    print one screen of that size as plain text, and end\n"
	"      --expand      with all nodes of the tree open\n"
	"      --budget FILE hold the budget against the last picture: exit code 1 if it fails\n"
	"  -o, --output FILE keep the recording of CMD\n"
	"      --mode, --attach, --rules, --ring   as of 'brick record', for CMD\n"
	"  -h, --help        show this and exit\n"
	"\n"
	"Press ? for the keys.\n";

enum { OPTION_RECORD = 256 };

static double seconds(const char *option, const char *text, double least)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end || !(value >= least) || value > 1e6)
		die_usage("top", "%s %s: must be a number of seconds from %g on", option, text,
			least);
	return value;
}

static void parse_dump(struct top_options *o, const char *text)
{
	char end;
	if (sscanf(text, "%dx%d%c", &o->dump_width, &o->dump_height, &end) != 2 ||
		o->dump_width < 20 || o->dump_height < 8 || o->dump_width > 1000 ||
		o->dump_height > 1000)
		die_usage("top", "--dump %s: must be columns x lines from 20x8 to 1000x1000", text);
}

static int parse_view(const char *text)
{
	int view = top_view_find(text);
	if (view < 0)
		die_usage("top",
			"--view %s: must be bricks, categories, layers, threads, queues, tree, "
			"path, roofline, losses or output",
			text);
	return view;
}

static void add_record_option(struct top_options *o, const char *name, const char *value)
{
	if (o->record_count + 2 > TOP_RECORD_OPTIONS)
		die_usage("top", "--%s: too many options for the recorder", name);
	static char names[TOP_RECORD_OPTIONS][16];
	snprintf(names[o->record_count], sizeof(names[0]), "--%s", name);
	o->record[o->record_count] = names[o->record_count];
	o->record[o->record_count + 1] = value;
	o->record_count += 2;
}

static const struct option longs[] = {
	{"interval", required_argument, NULL, 'i'},
	{"view", required_argument, NULL, 'v'},
	{"phase", required_argument, NULL, 'p'},
	{"headless", no_argument, NULL, 'H'},
	{"json", no_argument, NULL, 'j'},
	{"duration", required_argument, NULL, 'd'},
	{"dump", required_argument, NULL, 'D'},
	{"expand", no_argument, NULL, 'e'},
	{"budget", required_argument, NULL, 'b'},
	{"output", required_argument, NULL, 'o'},
	{"mode", required_argument, NULL, OPTION_RECORD},
	{"attach", required_argument, NULL, OPTION_RECORD + 1},
	{"rules", required_argument, NULL, OPTION_RECORD + 2},
	{"ring", required_argument, NULL, OPTION_RECORD + 3},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void set_option(struct top_options *o, int c)
{
	static const char *const record_names[] = {"mode", "attach", "rules", "ring"};
	switch (c) {
	case 'i':
		o->interval_s = seconds("--interval", optarg, 0.05);
		break;
	case 'v':
		o->view = parse_view(optarg);
		break;
	case 'p':
		o->phase = options_phase("top", optarg);
		break;
	case 'H':
		o->headless = true;
		break;
	case 'j':
		o->json = true;
		break;
	case 'd':
		o->duration_s = seconds("--duration", optarg, 0.01);
		break;
	case 'D':
		parse_dump(o, optarg);
		break;
	case 'e':
		o->expand = true;
		break;
	case 'b':
		o->budget = optarg;
		break;
	case 'o':
		o->output = optarg;
		break;
	default:
		if (c >= OPTION_RECORD)
			add_record_option(o, record_names[c - OPTION_RECORD], optarg);
		break;
	}
}

static void take_operand(struct top_options *o, int argc, char **argv)
{
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

static void parse(struct top_options *o, int argc, char **argv)
{
	int c;
	*o = (struct top_options){.interval_s = 1, .phase = SUMMARY_ALL_PHASES};
	while ((c = options_next(argc, argv, "i:o:", longs, help)) != -1)
		set_option(o, c);
	if (o->json && !o->headless)
		die_usage("top", "--json: goes with --headless");
	if (o->json && o->dump_width)
		die_usage("top", "--json and --dump: one form at a time, please");
	take_operand(o, argc, argv);
}

struct session {
	struct report_budget budget; /* path NULL: none */
	struct top_source source;
	struct top top;
};

static unsigned look(void *context)
{
	struct session *s = context;
	if (!s->top.held)
		top_source_look(&s->source, &s->top);
	unsigned ms = (unsigned)(s->top.interval_s * 1000);
	/* nobody should wait for the first picture */
	return !s->top.picture && !s->top.about.over && ms > 100 ? 100 : ms;
}

static void reset(void *context)
{
	struct session *s = context;
	top_source_reset(&s->source, &s->top);
}

static int judge(struct session *s)
{
	if (!s->budget.path || !s->top.picture)
		return CLI_DONE;
	report_budget_judge(&s->budget, s->top.picture->run);
	size_t failed = s->budget.failed;
	if (failed && !s->source.options->json)
		warn("top: %zu line%s of %s failed", failed, failed == 1 ? "" : "s",
			s->budget.path);
	return failed ? CLI_GATE : CLI_DONE;
}

static int run_top(int argc, char **argv)
{
	struct top_options options;
	struct session session = {0};
	const struct screen_calls calls = {look, reset, &session};
	int code = CLI_DONE;
	parse(&options, argc, argv);
	bool headless = options.headless || options.dump_width;
	const char *obstacle = headless ? NULL : screen_obstacle();
	if (obstacle)
		die(CLI_SYSTEM, "top: %s", obstacle);
	if (options.budget) /* before anything is started */
		report_budget_open(&session.budget, options.budget);
	top_source_open(&session.source, &options);
	top_init(&session.top, text_is_utf8());
	session.top.view = options.view;
	session.top.phase = options.phase;
	session.top.interval_s = options.interval_s;
	if (options.expand)
		session.top.tree.open_depth = INT32_MAX;
	if (headless) {
		code = top_headless(
			&session.source, &session.top, options.budget ? &session.budget : NULL);
	} else {
		/* what is wrong with a file is said before the screen is ours */
		top_source_look(&session.source, &session.top);
		screen_run(&session.top, &calls);
	}
	int gate = judge(&session);
	if (options.budget)
		report_budget_close(&session.budget);
	int ended = top_source_close(&session.source);
	top_fini(&session.top);
	return ended ? ended : code ? code : gate;
}

const struct cli_command command_top = {
	.name = "top",
	.summary = "look at a program while it runs",
	.run = run_top,
};

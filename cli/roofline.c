/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick roofline`: options, the ceilings to put the recording under, and the choice of the form.
 * The forms are in roofline_text.c, roofline_json.c and roofline_svg.c.
 */
#include "view/roofline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/step_times.h"
#include "view/ceilings.h"
#include "cli/command.h"
#include "view/die.h"
#include "view/input.h"
#include "view/memory.h"
#include "cli/options.h"
#include "view/output.h"

static const char help[] =
	"Usage: brick roofline [OPTIONS] FILE\n"
	"\n"
	"Place the bricks of a recording under the ceilings of the machine that it was made on:\n"
	"what they computed and moved in their time, and how far that is from what the machine\n"
	"can do. FLOPs and bytes are computed from shapes and types, times are measured.\n"
	"\n"
	"  --phase P        prefill or decode only\n"
	"  --ceilings FILE  from 'brick ceilings --json', instead of those kept for the machine\n"
	"  --svg OUT        draw it into a file\n"
	"  --json           all of it as JSON (schema brick/roofline/1)\n"
	"  -h, --help       show this and exit\n"
	"\n"
	"Needs 'brick ceilings' to have been run once on that machine.\n";

struct options {
	const char *ceilings, *svg;
	int phase;
	bool json;
};

static int parse_phase(const char *text)
{
	return options_phase("roofline", text) == STEP_PREFILL ? ROOFLINE_PREFILL : ROOFLINE_DECODE;
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"ceilings", required_argument, NULL, 'c'},
		{"phase", required_argument, NULL, 'p'},
		{"svg", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	options->phase = ROOFLINE_ALL_PHASES;
	while ((c = options_next(argc, argv, "", longs, help)) != -1) {
		switch (c) {
		case 'c':
			options->ceilings = optarg;
			break;
		case 'p':
			options->phase = parse_phase(optarg);
			break;
		case 's':
			options->svg = optarg;
			break;
		case 'j':
			options->json = true;
			break;
		}
	}
}

static struct ceilings *find_ceilings(
	const struct options *options, const struct run *run, char **where)
{
	if (options->ceilings) {
		*where = xstrdup(options->ceilings);
		return ceilings_from_file(options->ceilings);
	}
	struct ceilings *c = ceilings_kept(run->host, run->cpu, where);
	if (!c)
		die(CLI_SYSTEM,
			"%s: no ceilings are kept for its machine (%s, %s): run 'brick ceilings' "
			"there once, or 'brick ceilings --json >FILE' and --ceilings FILE",
			run->path, run->host ? run->host : "unknown host",
			run->cpu ? run->cpu : "unknown CPU");
	return c;
}

static void print_forms(
	const struct roofline_view *view, const char *path, const struct options *options)
{
	if (options->svg) {
		struct output *output = output_open(options->svg, path);
		roofline_svg(view, output_stream(output));
		output_commit(output, 0);
	}
	if (options->json)
		roofline_json(view, stdout);
	else if (!options->svg || strcmp(options->svg, "-"))
		roofline_text(view, stdout);
}

static int run_roofline(int argc, char **argv)
{
	struct options options = {0};
	struct step_index index;
	struct roofline *roofline;
	char *where = NULL;

	parse(&options, argc, argv);
	struct run *run = input_load_telling(input_operand(argc, argv));
	struct ceilings *ceilings = find_ceilings(&options, run, &where);
	if (step_index_init(&index, run) < 0 ||
		roofline_create(&roofline, run, &index, ceilings) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	const struct roofline_view view = {
		roofline, where, roofline_doubt(ceilings, run), options.phase};
	print_forms(&view, run->path, &options);
	roofline_destroy(roofline);
	step_index_fini(&index);
	ceilings_destroy(ceilings);
	free(where);
	run_destroy(run);
	return CLI_DONE;
}

const struct cli_command command_roofline = {
	.name = "roofline",
	.summary = "place bricks under what this machine can do",
	.run = run_roofline,
	.flags = CLI_ANSWERS,
};

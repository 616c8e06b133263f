/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick roofline`: options, the ceilings to put the recording under, and the choice of the form.
 * Rates that a recording reached above kept ceilings are kept with them.
 */
#include "ui/text/roofline_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/machine/ceilings_file.h"
#include "brick/error.h"
#include "ui/text/ceilings_view.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "ui/text/json_out.h"
#include "cli/selection_options.h"

struct options {
	const char *ceilings;
	struct selection selection;
	bool json;
};

static const struct cli_option cmd_roofline_option_table[] = {
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"ceilings", "FILE", "from 'brick ceilings --json', instead of those kept for the machine",
		option_text, AT(ceilings)},
	{"json", NULL, "all of it as JSON (schema brick/roofline/2)", option_flag, AT(json)},
	OPTION_HELP,
};

static struct ceilings *find_ceilings(
	const struct options *options, const struct run *run, char **where)
{
	if (options->ceilings) {
		*where = xstrdup(options->ceilings);
		const char *path = options->ceilings;
		struct ceilings_error error;
		struct ceilings *ceilings = NULL;
		int rc = ceilings_read(&ceilings, path, &error);
		if (rc == -ENOMEM)
			die(CLI_SYSTEM, "%s: not enough memory to read it", path);
		if (rc == BRICK_EFORMAT || rc == BRICK_EVERSION)
			die(CLI_INPUT, "%s: at byte %zu: %s", path, error.offset, error.text);
		if (rc)
			die(CLI_INPUT, "%s: %s", path, error.text);
		return ceilings;
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

static int run_roofline(int argc, char **argv)
{
	struct options options = {.selection = SELECTION_INIT};
	struct roofline *roofline;
	SCOPED char *where = NULL;

	options_parse(&command_roofline, &options, argc, argv);
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	SCOPED_BY(step_index_fini) struct step_index index;
	SCOPED_TO(ceilings_destroy)
	struct ceilings *ceilings = find_ceilings(&options, run, &where);
	selection_narrow(&options.selection, run);
	if (step_index_init(&index, run) < 0 ||
		roofline_create(&roofline, run, &index, ceilings) < 0)
		die(CLI_SYSTEM, "%s: not enough memory", run->path);
	const struct roofline_view view = {roofline, where,
		options.selection.phase < 0 ? ROOFLINE_ALL_PHASES : options.selection.phase};
	if (options.json)
		json_print(roofline_to_json(&view), stdout);
	else
		roofline_text(&view, stdout);
	if (!options.ceilings)
		ceilings_learn(ceilings, where, roofline, 0);
	roofline_destroy(roofline);
	return CLI_DONE;
}

const struct cli_command command_roofline = {
	.name = "roofline",
	.summary = "place bricks under what this machine can do",
	.run = run_roofline,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Say for each brick what it computed and moved, and how far it was from the "
		 "ceilings of the recording's machine. FLOPs and bytes are computed from shapes "
		 "and types, times are measured.",
	.notes = "Needs 'brick ceilings' to have been run once on that machine.",
	.options = cmd_roofline_option_table,
};

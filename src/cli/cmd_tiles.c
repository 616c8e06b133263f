/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick tiles`: options, the choice of tiles, and of the form. ui/text/tiles_view.c writes the
 * forms.
 */
#include "ui/text/tiles_view.h"

#include <stdbool.h>
#include <stdlib.h>

#include "ui/text/ceilings_view.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/input.h"
#include "ui/text/json_out.h"
#include "cli/selection_options.h"
#include "cli/output.h"

struct options {
	int level; /* -1: all levels */
	struct selection selection;
	const char *svg;
	double peak_gflops;
	bool json, map;
};

static void words_level(struct option_words *words)
{
	for (uint32_t i = 0; i < BRICK_TILE_LEVELS; i++)
		words_add(words, tiles_level_name(i));
}

static void set_peak(const struct option_use *use, const char *text)
{
	*(double *)use->to = option_double(use, text, 1e-9, 1e9, "a number of GFLOP/s");
}

static const struct cli_option cmd_tiles_option_table[] = {
	{"level", "NAME", "only one level: macro, midi or micro", option_index, AT(level),
		.words = words_level},
	SELECTION_PHASE(offsetof(struct options, selection)),
	SELECTION_OPTIONS(offsetof(struct options, selection)),
	{"peak", "N",
		"GFLOP/s that one thread can reach at most, instead of what 'brick ceilings' "
		"measured on the recording's machine (f32)",
		set_peak, AT(peak_gflops)},
	{"map", NULL, "show the grids as heat maps, too", option_flag, AT(map)},
	{"svg", "OUT", "write the heat maps as a picture; - is stdout", option_text, AT(svg)},
	{"json", NULL, "all of it as JSON (schema brick/tiles/1)", option_flag, AT(json)},
	OPTION_HELP,
};

static void cmd_tiles_parse(struct options *options, int argc, char **argv)
{
	*options = (struct options){.level = -1, .selection = SELECTION_INIT};
	options_parse(&command_tiles, options, argc, argv);
	if (options->svg && (options->json || options->map))
		die_usage("tiles", "tiles: --svg goes with neither --json nor --map");
	if (options->json && options->map)
		die_usage("tiles", "tiles: --json has all tiles: it does not go with --map");
}

/* The measured peak of one thread of the recording's machine; 0: not measured. */
static double measured_peak(const struct run *run)
{
	SCOPED char *where = NULL;
	SCOPED_TO(ceilings_destroy)
	struct ceilings *ceilings = ceilings_kept(run->host, run->cpu, &where);
	const struct ceilings_compute *peak = ceilings ? ceilings_peak(ceilings, "f32", 1) : NULL;
	return peak ? peak->rate.best : 0;
}

static int run_tiles(int argc, char **argv)
{
	struct options options;
	struct tiles *tiles;

	cmd_tiles_parse(&options, argc, argv);
	SCOPED_TO(run_destroy) struct run *run = input_load_telling(input_operand(argc, argv));
	selection_narrow(&options.selection, run);
	if (tiles_create(&tiles, run, options.level) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its tiles", run->path);
	if (tiles->group_count && !options.peak_gflops)
		options.peak_gflops = measured_peak(run);
	const struct tiles_view view = {run, tiles, options.peak_gflops, options.map};
	if (!tiles->group_count)
		die(CLI_INPUT, "%s: %s", run->path,
			run->tile_count ? "has no such tiles"
					: "has no tiles; 'brick record --tiles' records those of "
					  "programs that mark them");
	if (options.json)
		json_print(tiles_to_json(&view), stdout);
	else if (options.svg) {
		struct output *output = output_open(options.svg, view.run->path);
		tiles_svg(&view, output_stream(output));
		output_commit(output, 0);
	} else
		tiles_text(&view, stdout);
	tiles_destroy(tiles);
	return CLI_DONE;
}

const struct cli_command command_tiles = {
	.name = "tiles",
	.summary = "say what the tiles of the work took, and where in the grid",
	.run = run_tiles,
	.flags = CLI_ANSWERS | CLI_READS,
	.usage = "[OPTIONS] [FILE]",
	.about = "Show how long tiles took, the pieces into which a program cuts its work, by "
		 "level and brick, and where in the grid the time went. Programs that report tiles "
		 "to libbrick record them, with 'brick record --tiles' or brick_tiles_set().",
	.options = cmd_tiles_option_table,
};

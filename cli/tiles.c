/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick tiles`: options, the choice of tiles, and of the form. The forms are in tiles_text.c,
 * tiles_json.c and tiles_svg.c.
 */
#include "view/tiles.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "view/ceilings.h"
#include "cli/command.h"
#include "view/die.h"
#include "view/input.h"
#include "view/json.h"
#include "cli/options.h"
#include "view/output.h"

static const char help[] =
	"Usage: brick tiles [OPTIONS] FILE\n"
	"\n"
	"Say what the tiles took that a program cuts its work into, by level and brick, and where\n"
	"in the grid the time went. Tiles are recorded by programs that tell libbrick of them, "
	"with\n"
	"`brick record --tiles` or brick_tiles_set().\n"
	"\n"
	"  --level NAME  of one level only: macro, midi or micro\n"
	"  --brick NAME  of one brick only\n"
	"  --layer N     of one layer only; -1 is outside of layers\n"
	"  --phase WHAT  only what ran in steps of this phase: prefill or decode\n"
	"  --peak N      GFLOP/s that one thread can reach at most, instead of what was\n"
	"                measured on the recording's machine by 'brick ceilings' (f32)\n"
	"  --map         show the grids as heat maps, too\n"
	"  --svg OUT     write the heat maps as a picture; - is stdout\n"
	"  --json        all of it as JSON (schema brick/tiles/1)\n"
	"  -h, --help    show this and exit\n";

struct options {
	struct tiles_filter filter;
	const char *brick, *svg;
	double peak_gflops;
	bool json, map;
};

static int level_of(const char *name)
{
	for (int i = 0; i < BRICK_TILE_LEVELS; i++)
		if (!strcmp(name, tiles_level_name((uint32_t)i)))
			return i;
	die_usage("tiles", "tiles: --level %s: must be macro, midi or micro", name);
}

static double peak_of(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0) || value > 1e9)
		die_usage("tiles", "tiles: --peak %s: must be a number of GFLOP/s", text);
	return value;
}

static int layer_of(const char *text)
{
	if (!strcmp(text, "-1"))
		return -1;
	if (*text == '-')
		die_usage("tiles", "--layer %s: must be a number from -1 (of no layer) to %d", text,
			INT16_MAX);
	return (int)options_number("tiles", "--layer", text, 0, INT16_MAX);
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"level", required_argument, NULL, 'l'},
		{"brick", required_argument, NULL, 'b'},
		{"layer", required_argument, NULL, 'y'},
		{"phase", required_argument, NULL, 'H'},
		{"peak", required_argument, NULL, 'p'},
		{"map", no_argument, NULL, 'm'},
		{"svg", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	*options = (struct options){.filter = {-1, RUN_NONE, INT32_MIN, -1}};
	while ((c = options_next(argc, argv, "", longs, help)) != -1) {
		switch (c) {
		case 'l':
			options->filter.level = level_of(optarg);
			break;
		case 'b':
			options->brick = optarg;
			break;
		case 'y':
			options->filter.layer = layer_of(optarg);
			break;
		case 'H':
			options->filter.phase = options_phase("tiles", optarg);
			break;
		case 'p':
			options->peak_gflops = peak_of(optarg);
			break;
		case 'm':
			options->map = true;
			break;
		case 's':
			options->svg = optarg;
			break;
		case 'j':
			options->json = true;
			break;
		}
	}
	if (options->svg && (options->json || options->map))
		die_usage("tiles", "tiles: --svg goes with neither --json nor --map");
	if (options->json && options->map)
		die_usage("tiles", "tiles: --json has all tiles: it does not go with --map");
}

/* What one thread of the recording's machine was seen to reach; 0: that was not measured. */
static double measured_peak(const struct run *run)
{
	char *where = NULL;
	struct ceilings *ceilings = ceilings_kept(run->host, run->cpu, &where);
	const struct ceilings_compute *peak = ceilings ? ceilings_peak(ceilings, "f32", 1) : NULL;
	double gflops = peak ? peak->rate.best : 0;

	ceilings_destroy(ceilings);
	free(where);
	return gflops;
}

static void write_svg(const struct tiles_view *view, const char *path)
{
	struct output *output = output_open(path, view->run->path);

	tiles_svg(view, output_stream(output));
	output_commit(output, 0);
}

static int run_tiles(int argc, char **argv)
{
	struct options options;
	struct tiles *tiles;

	parse(&options, argc, argv);
	struct run *run = input_load_telling(input_operand(argc, argv));
	if (options.brick) {
		options.filter.brick = run_brick_find(run, options.brick);
		if (options.filter.brick == RUN_NONE)
			die(CLI_INPUT, "%s: has no brick %s", run->path, options.brick);
	}
	if (tiles_create(&tiles, run, &options.filter) < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its tiles", run->path);
	if (tiles->group_count && !options.peak_gflops)
		options.peak_gflops = measured_peak(run);
	const struct tiles_view view = {run, tiles, options.peak_gflops, options.map};
	if (!tiles->group_count)
		die(CLI_INPUT, "%s: %s", run->path,
			run->tile_count ? "has no such tiles"
					: "has no tiles: record a program that tells of them, "
					  "with --tiles");
	if (options.json)
		json_print(tiles_to_json(&view), stdout);
	else if (options.svg)
		write_svg(&view, options.svg);
	else
		tiles_text(&view, stdout);
	tiles_destroy(tiles);
	run_destroy(run);
	return CLI_DONE;
}

const struct cli_command command_tiles = {
	.name = "tiles",
	.summary = "say what the tiles of the work took, and where in the grid",
	.run = run_tiles,
	.flags = CLI_ANSWERS,
};

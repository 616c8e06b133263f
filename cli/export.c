/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brick export`: a recording in other people's formats, to stdout or to a file that is there only
 * when it is whole. The formats are trace/'s, but for the plain dump of export_json.c.
 */
#include "cli/export.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "view/die.h"
#include "view/input.h"
#include "cli/options.h"
#include "view/output.h"
#include "view/suggest.h"
#include "trace/chrome.h"
#include "trace/csv.h"

static const char help[] =
	"Usage: brick export --format FORMAT [-o OUT] FILE\n"
	"\n"
	"Convert a recording.\n"
	"\n"
	"  --format chrome   Chrome trace events, for chrome://tracing, Perfetto and Speedscope\n"
	"  --format csv      one line per sample\n"
	"  --format json     all that was recorded, for scripts (schema brick/export/1)\n"
	"  -o, --output OUT  write to this file (default: standard output)\n"
	"  -h, --help        show this and exit\n"
	"\n"
	"The recording itself is a Perfetto trace: https://ui.perfetto.dev opens it as it is.\n";

struct format {
	const char *name;
	int (*write)(const struct run *run, FILE *out);
};

static const struct format formats[] = {
	{"chrome", trace_chrome_write},
	{"csv", trace_csv_write},
	{"json", export_json},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

static const struct format *parse_format(const char *text)
{
	const char *names[FORMATS];
	for (size_t i = 0; i < FORMATS; i++) {
		names[i] = formats[i].name;
		if (!strcmp(text, names[i]))
			return &formats[i];
	}
	const char *near = suggest(text, names, FORMATS);
	if (near)
		die_usage("export", "--format %s: unknown; did you mean '%s'?", text, near);
	die_usage("export", "--format %s: must be chrome, csv or json", text);
}

static int run_export(int argc, char **argv)
{
	static const struct option longs[] = {
		{"format", required_argument, NULL, 'f'},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const struct format *format = NULL;
	const char *path = NULL;
	int c;
	while ((c = options_next(argc, argv, "o:", longs, help)) != -1) {
		if (c == 'f')
			format = parse_format(optarg);
		else
			path = optarg;
	}
	if (!format)
		die_usage("export", "--format: must be chrome, csv or json");
	struct run *run = input_load_telling(input_operand(argc, argv));
	struct output *output = output_open(path, run->path);
	output_commit(output, format->write(run, output_stream(output)));
	run_destroy(run);
	return CLI_DONE;
}

const struct cli_command command_export = {
	.name = "export",
	.summary = "convert a recording for other tools",
	.run = run_export,
	.flags = CLI_ANSWERS,
};

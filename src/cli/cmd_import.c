/* SPDX-License-Identifier: Apache-2.0 */
/* `brick import`: a recording made of another tool's file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "brick/error.h"
#include "cli/command.h"
#include "cli/die.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "import/import.h"
#include "import/import_capture.h"
#include "lib/writer/part_file.h"
#include "base/scope.h"

struct options {
	const char *output, *step, *capture;
	bool quiet;
};

static const struct cli_option cmd_import_option_table[] = {
	{"output", "OUT", "write the recording to this file (default: run.pftrace)", option_text,
		AT(output), .letter = 'o'},
	{"step", "PATTERN", "events of these names are the steps (rules' pattern: * ? #)",
		option_text, AT(step)},
	{"capture", "PATH",
		"name the kernels of graphs' replays by this trace of their capture, or all in "
		"this "
		"folder",
		option_text, AT(capture)},
	{"quiet", NULL, "no progress", option_flag, AT(quiet), .letter = 'q'},
	OPTION_HELP,
};

/* For the thread that shows the progress. */
static const struct imported *cmd_import_imported;

static uint64_t cmd_import_done(void)
{
	return cmd_import_imported->parts_done;
}

static void cmd_import_write_recording(
	struct imported *im, const char *from, const char *to, struct progress *progress)
{
	struct trace_writer_options options = {.path = to, .compress = 1};
	char why[512];
	int rc = imported_write(im, &options);
	progress_end(progress);
	if (rc == BRICK_ENOTRECORDED)
		die(CLI_INPUT, "%s: there is no event with a length in it", from);
	if (rc == -ENOMEM)
		die(CLI_SYSTEM, "%s: not enough memory", from);
	if (rc < 0 && part_file_explain(to, rc, why, sizeof(why)))
		die(CLI_SYSTEM, "%s: %s", to, why);
	if (rc < 0)
		die(CLI_SYSTEM, "%s: %s", to, brick_strerror(rc));
}

static bool cmd_import_is_same_file(const char *one, const char *other)
{
	struct stat a, b;
	return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int run_import(int argc, char **argv)
{
	struct options options = {.output = "run.pftrace"};
	options_parse(&command_import, &options, argc, argv);
	if (argc - optind != 1)
		die_usage("import", "needs one FILE");
	const char *path = argv[optind];
	SCOPED struct imported *im = xcalloc(1, sizeof(*im));
	struct import_error why;
	if (cmd_import_is_same_file(path, options.output))
		die_usage("import", "%s would be replaced by its recording", path);
	if (imported_init(im))
		die(CLI_SYSTEM, "not enough memory");
	im->steps = options.step;
	cmd_import_imported = im;
	struct progress *progress =
		options.quiet ? NULL : progress_start("import", cmd_import_done, IMPORT_PARTS);
	struct import_capture_counts captured = {0};
	const char *from = path;
	int rc = import_read(im, path, &why);
	if (rc >= 0 && options.capture) {
		from = options.capture;
		rc = import_capture(im, from, &captured, &why);
	}
	if (rc < 0) {
		progress_end(progress);
		die(rc == -ENOMEM ? CLI_SYSTEM : CLI_INPUT, "%s: %s", from, why.text);
	}
	cmd_import_write_recording(im, path, options.output, progress);
	fprintf(stderr, "brick: %s: %llu event%s of %s on %u thread%s and %u queue%s, in %s\n",
		path, (unsigned long long)im->slices, plural_s(im->slices), im->tool, im->threads,
		plural_s(im->threads), im->queues, plural_s(im->queues), options.output);
	if (options.capture)
		fprintf(stderr,
			"brick: %s: %llu of %llu replays of graphs are named by the %llu captures "
			"in "
			"%s\n",
			path, (unsigned long long)captured.named,
			(unsigned long long)captured.replays, (unsigned long long)captured.captures,
			options.capture);
	if (im->left_out + im->crowded)
		fprintf(stderr,
			"brick: %s: %llu events have no place in a recording and were left out\n",
			path, (unsigned long long)(im->left_out + im->crowded));
	if (im->unmatched)
		fprintf(stderr, "brick: %s: %llu ends have no begin\n", path,
			(unsigned long long)im->unmatched);
	if (im->unnamed)
		fprintf(stderr,
			"brick: %s: there are more than %d names; those beyond are one brick, "
			"OtherRanges\n",
			path, BRICK_MAX_BRICKS - 1);
	imported_fini(im);
	return CLI_DONE;
}

const struct cli_command command_import = {
	.name = "import",
	.summary = "make a recording of another tool's file",
	.run = run_import,
	.usage = "[OPTIONS] FILE",
	.about = "Make a recording of another tool's file: trace events as JSON (Chrome, PyTorch's "
		 "Kineto, ONNX Runtime's profiler, brick export), also packed by gzip; rocprofv3's "
		 "JSON and CSV; XLA's XSpace; or an export of Nsight Systems as SQLite.",
	.options = cmd_import_option_table,
};

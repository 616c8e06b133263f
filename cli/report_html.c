/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as a page: one file that needs no network, and that appears under its name only when it
 * is whole. Called by `brick report --html`.
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/die.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/report.h"

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return a && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

void report_html(const struct run *run, const char *path)
{
	if (is_same_file(run->path, path))
		die_usage("report", "--html %s: that is the recording itself", path);
	json_t *data = page_json(run, PAGE_FILE);
	struct output *output = output_open(path);
	page_write(data, output_stream(output));
	output_commit(output, 0);
}

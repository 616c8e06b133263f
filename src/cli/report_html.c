/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as a page: one file that needs no network, and that appears under its name only when it
 * is whole. Called by `brick report --html`.
 */
#include "cli/output.h"
#include "ui/page/page.h"
#include "ui/text/report_view.h"

void report_html(const struct run *run, const char *path)
{
	struct output *output = output_open(path, run->path);
	json_t *data = page_json_of_run(run, PAGE_FILE);
	page_write(data, output_stream(output));
	output_commit(output, 0);
}

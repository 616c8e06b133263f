/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as a page: one file that needs no network, and that appears under its name only when it
 * is whole.
 */
#include "base/scope.h"
#include "cli/die.h"
#include "cli/output.h"
#include "ui/page/page_json.h"
#include "ui/text/report_view.h"

void report_html(const struct run *run, const char *path)
{
	struct output *output = output_open(path, run->path);
	SCOPED_BY(page_fini) struct page page;
	json_auto_t *data = NULL;
	int rc = page_measure(&page, run);
	if (rc == 0)
		rc = page_json(&data, &page, PAGE_FILE);
	if (rc == 0)
		rc = page_write(data, output_stream(output));
	if (rc < 0)
		die(CLI_SYSTEM, "%s: not enough memory for its page", run->path);
	output_commit(output, 0);
}

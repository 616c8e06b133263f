/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a recording: they load or are refused. What loads keeps the promises of run.h, and
 * can be exported.
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/unit/trace_check.h"
#include "trace/exports.h"
#include "trace/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *null;
	struct run *run;
	struct load_error error;

	if (!null)
		null = fopen("/dev/null", "w");
	if (run_load_memory(&run, data, size, "fuzz", &error))
		return 0;
	const char *wrong = check_run(run);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		abort();
	}
	if (null) {
		trace_chrome_write(run, null);
		trace_csv_write(run, null);
	}
	run_destroy(run);
	return 0;
}

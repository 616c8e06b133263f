/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BRICK_TRACE_OUT=FILE records the whole life of a program that links (or preloads)
 * libbrick-report. FILE is there at the program's end: Chrome trace events, or a recording where
 * its name ends in .pftrace. We start and stop the session then. Under `brick record` the recorder
 * does that, and we do nothing. We print nothing in a program that did not ask us: if FILE cannot
 * be written, it is missing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/abi/session_view.h"
#include "brick/session.h"
#include "trace/exports.h"
#include "trace/load.h"

static char trace_out_wanted[4096], recording[sizeof(trace_out_wanted) + 8];
static bool is_recording;

static bool is_chrome(void)
{
	size_t length = strlen(trace_out_wanted), suffix = strlen(".pftrace");

	return length < suffix || strcmp(trace_out_wanted + length - suffix, ".pftrace");
}

__attribute__((constructor)) static void trace_out_begin(void)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	const char *path = secure_getenv("BRICK_TRACE_OUT");

	if (!path || !*path || strlen(path) >= sizeof(trace_out_wanted) ||
		getenv("BRICK_SESSION_DIR"))
		return;
	strcpy(trace_out_wanted, path);
	snprintf(recording, sizeof(recording), "%s%s", trace_out_wanted,
		is_chrome() ? ".pftrace" : "");
	options.output = recording;
	is_recording = brick_session_start(&options) >= 0;
	brick__session_hold(is_recording);
}

static void write_chrome(void)
{
	struct load_error why;
	struct run *run;

	if (run_load(&run, recording, &why) < 0)
		return;
	FILE *out = fopen(trace_out_wanted, "we");
	bool is_whole = out && !trace_chrome_write(run, out);
	if (out)
		is_whole &= !fclose(out);
	if (is_whole)
		unlink(recording);
	run_destroy(run);
}

/* The child of a fork has no session: it would end its parent's. */
__attribute__((destructor)) static void trace_out_end(void)
{
	if (!is_recording)
		return;
	brick__session_hold(false);
	if (brick_session_stop() >= 0 && is_chrome())
		write_chrome();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `brick record` share. Main thread. */
#pragma once

#include "cli/options.h"
#include "record/recorder.h"

struct record_arguments {
	struct recorder_options options;
	int quiet;
	int graph, tiles, digest, measures_distortion;
	int off; /* --mode none */
	int no_history;
	const char *db, *label; /* NULL: not said */
};

extern const struct cli_option record_option_table[];

/* Parse the command line, or end the program. */
void record_parse(struct record_arguments *arguments, const struct cli_command *command, int argc,
	char **argv);
void record_arguments_fini(struct record_arguments *arguments);

/* Say on stderr what came of a recording. */
void record_summary(const struct record_arguments *arguments, const struct recorder_result *result);

/* Keep its summary in the history, if there is one. */
void record_history(const struct record_arguments *arguments, const struct recorder_result *result);

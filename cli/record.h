/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `brick record` share. Main thread. */
#pragma once

#include "record/recorder.h"

struct record_arguments {
	struct recorder_options options;
	int quiet;
	int graph, tiles, digest;
	int off; /* --mode none */
};

/* Parse the command line, or exit. 0: help was asked for. */
int record_parse(struct record_arguments *arguments, int argc, char **argv);
void record_arguments_fini(struct record_arguments *arguments);

/* Say on stderr what came of a recording. */
void record_summary(const struct record_arguments *arguments, const struct recorder_result *result);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of answers: stdout, whose write errors end in an exit code, or a file that gets its
 * name only when it is complete. Main thread; one file at a time.
 */
#pragma once

#include <stdio.h>
#include "trace/run.h"
#include "ui/text/ranks_view.h"

/*
 * Open descriptors 0 to 2 where they are closed, so that no later file becomes one of them.
 * Programs that a command runs find a closed descriptor closed, as before.
 */
void output_init(void);

/*
 * Flush stdout. Returns code, or CLI_SYSTEM with a message if a write has failed, or if the answer
 * is incomplete for lack of memory (text_error()). A closed pipe is no error: its reader has seen
 * enough.
 */
int output_finish(int code);

struct output;

/*
 * Open an output for `path`: a temporary file beside it, which gets the name in output_commit(). A
 * path that is no regular file (a device, a pipe) is written directly; NULL or "-" is stdout.
 * input: the recording that the answer is made of, which must not be replaced. Ends the program on
 * errors.
 */
struct output *output_open(const char *path, const char *input);
FILE *output_stream(struct output *output);

/*
 * Give the file its name, and free output. rc: the writer's result, 0 or a negative code. Ends the
 * program if rc is negative, or if a write has failed.
 */
void output_commit(struct output *output, int rc);

/* Write the page of a report to a file, or end the program. */
void output_page(const struct run *run, const char *path);

/* The same of a job whose ranks have a recording each. */
void output_ranks_page(const struct ranks_view *view, const char *path);

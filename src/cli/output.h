/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of answers: stdout, whose write errors are found before the program says that all is
 * well, or a file that appears under its name only when it is whole. Main thread; one file at a
 * time.
 */
#pragma once

#include <stdio.h>
#include "trace/run.h"

/*
 * Make sure that descriptors 0 to 2 are taken, so that no file that is opened later becomes one of
 * them. A closed one stays closed for programs that are run.
 */
void output_init(void);

/*
 * Flush stdout. Returns code, or CLI_SYSTEM with a message when something could not be written, or
 * the answer is not whole for lack of memory (text_error()). A reader that went away is no error:
 * it had seen enough.
 */
int output_finish(int code);

struct output;

/*
 * Write to path: a file of its own beside it until output_commit(). A path that is no regular file
 * (a device, a pipe) is written directly; NULL or "-" is stdout. input: the recording that the
 * answer is made of, which is not replaced by it. Ends the program if it cannot.
 */
struct output *output_open(const char *path, const char *input);
FILE *output_stream(struct output *output);

/*
 * Give the file its name, free output. Ends the program if anything could not be written. rc: the
 * writer's result, 0 or a negative code.
 */
void output_commit(struct output *output, int rc);

/* Write the page of a report to a file, or end the program. */
void output_page(const struct run *run, const char *path);

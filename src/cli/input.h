/* SPDX-License-Identifier: Apache-2.0 */
/* The recording that a command was given. Main thread. */
#pragma once

#include "analysis/cost/losses.h"
#include "trace/run.h"
#include "ui/text/report_budget.h"

/*
 * Load it, or end the program with CLI_INPUT and a message that names file, offset and reason. Says
 * on stderr when it took a file that is still being written instead.
 */
struct run *input_load(const char *path);

/*
 * Several files will be loaded, one after the other. From the first call to the second, progress is
 * that of all together. Only regular files count.
 */
void input_batch_begin(char *const *paths, size_t count);
void input_batch_end(void);

/* As input_load(), for answers without a place for losses, which are printed on stderr. */
struct run *input_load_telling(const char *path);

/* Prints losses on stderr, after their cause, that the recording was never finished. */
void input_tell_losses(const struct run *run, const struct losses *losses);
void input_tell_unfinished(const struct run *run);

/* Read a budget, and judge a run by it; or end the program with a message. */
void input_budget(struct report_budget *budget, const char *path);
void input_budget_judge(struct report_budget *budget, const struct run *run);

/*
 * The one operand of a command; "-" is what comes in on stdin. With none, run.pftrace if that is in
 * the directory. Wrong usage otherwise.
 */
const char *input_operand(int argc, char **argv);

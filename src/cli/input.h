/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the recordings and budgets that a command was given. Main thread. */
#pragma once

#include "analysis/cost/losses.h"
#include "trace/run.h"
#include "ui/text/report_budget.h"

/*
 * Load a recording, or end the program with CLI_INPUT and a message of file, offset and reason. If
 * the recording is still being written, its .part file is loaded, with a message on stderr.
 */
struct run *input_load(const char *path);
/* As input_load(), but a file that cannot be read is NULL, with a warning. */
struct run *input_load_or_warn(const char *path);
struct run *input_load_totals(const char *path); /* run_load_totals() */

/*
 * Between these calls, progress is shown for all files together, which are loaded one after the
 * other. Only regular files count.
 */
void input_batch_begin(char *const *paths, size_t count);
void input_batch_end(void);

/* As input_load(); prints losses on stderr, for answers that have no place for them. */
struct run *input_load_telling(const char *path);

/* Prints on stderr what a recording lacks. */
void input_tell_all_losses(const struct run *run);

/* Calls input_tell_unfinished(), and prints losses on stderr. */
void input_tell_losses(const struct run *run, const struct losses *losses);

/* Prints on stderr that the recording was never finished, if that is so. */
void input_tell_unfinished(const struct run *run);

/* Read a budget from a file, or end the program with a message. */
void input_budget(struct report_budget *budget, const char *path);

/* Judge a run by a budget, or end the program with a message. */
void input_budget_judge(struct report_budget *budget, const struct run *run);

/*
 * The only operand of a command; "-" stands for stdin. Without an operand: "run.pftrace" if that
 * file is in the directory. Else the program ends with wrong usage. Call it after options_parse().
 */
const char *input_operand(int argc, char **argv);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a command runs and records itself, one after the other (bench, advise, bisect), and
 * the messages when one fails. Main thread.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include "analysis/history/history_run.h"

/* The signal that came, SIGINT or SIGTERM; 0: none. */
extern volatile sig_atomic_t program_interrupted;

/*
 * Call it before the first program. Makes a directory for the command's files, and in it the file
 * for the programs' output. Ends the program if there can be none.
 */
void program_runs_begin(const char *command, char **directory, char **output);

/* After the last one; frees both. The directory must be empty by then; NULL: none had begun. */
void program_runs_end(char *directory, char *output);

/* "a 'b c'": for people, and to distinguish commands; the caller frees. */
char *program_line(char *const *argv);

/* The command that records another one into a file; the caller frees the list alone. */
char **program_recorder(char *const *command, const char *recording);

/* Why a program failed, with the last lines of its output in a file; the caller frees. */
char *program_fault(const char *line, int exit_code, const char *output);

/*
 * The entry of a recording. False: it has no tokens, and *fault says so; the caller frees that.
 * is_kept: the recording will stay where it is.
 */
bool program_recorded(struct history_run *entry, const char *recording, bool is_kept,
	const char *output, char **fault);

/* Make a directory, and those above it; NULL: there is none to make. Ends the program. */
void program_directory(const char *directory);

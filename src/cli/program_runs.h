/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For commands that run and record programs themselves, one after the other (bench, advise,
 * bisect): their files, their command lines, and messages of failed runs. Main thread.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include "analysis/history/history_run.h"

/* SIGINT or SIGTERM, if that signal has come; else 0. */
extern volatile sig_atomic_t program_interrupted;

/*
 * Call it before the first program. Makes a directory for the command's files, sets *output to a
 * path in it for the programs' output, and calls launch_begin(). Ends the program on errors.
 */
void program_runs_begin(const char *command, char **directory, char **output);

/*
 * Call it after the last program. Removes the output file and the directory, which must have no
 * other file by then, and frees both paths. NULL: program_runs_begin() was not called.
 */
void program_runs_end(char *directory, char *output);

/* A command as text, "a 'b c'", to show and to compare; the caller frees. */
char *program_line(char *const *argv);

/* The command `brick record` of a command into a file; the caller frees the list, not its words. */
char **program_recorder(char *const *command, const char *recording);

/* The reason why a program failed, with the last lines of its output file; the caller frees. */
char *program_fault(const char *line, int exit_code, const char *output);

/*
 * Make the history's entry of a recording. False: it has no tokens, and *fault, which the caller
 * frees, says so. is_kept: the recording stays in its file.
 */
bool program_recorded(struct history_run *entry, const char *recording, bool is_kept,
	const char *output, char **fault);

/* Make a directory, and those above it; NULL: there is none to make. Ends the program. */
void program_directory(const char *directory);

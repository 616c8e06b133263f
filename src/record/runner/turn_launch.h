/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program in a fresh process, with its output in a file. A small helper process starts the
 * programs: the kernel reports a child's peak of memory as at least that of its parent, and a
 * command that compares runs grows large. One helper per process; one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct launch_result {
	uint64_t wall_ns;	     /* from before the start to after the end; 0: not run */
	uint64_t user_ns, system_ns; /* CPU time of the program and the children it waited for */
	uint64_t peak_bytes;	     /* the largest resident memory of one of these processes */
	int exit_code;		     /* 128 + signal; 127: not found, 126: not run */
};

/*
 * Start the helper, while the caller is small. `output` is the file for the programs' output. 0 or
 * -errno. The helper ends with launch_end(), or with the caller.
 */
int launch_begin(const char *output);

/* Legal without launch_begin(). */
void launch_end(void);

/*
 * Run argv to its end. stdin is empty; stdout and stderr go to the helper's file, which is
 * truncated first. The terminal's SIGINT reaches the program, too. 0, also if the program could not
 * be executed (exit_code 126 or 127); -errno: there could be no process or no file.
 */
int launch_run(char *const *argv, struct launch_result *result);

/*
 * Find the last match of an extended regular expression in a file whose first group is a positive
 * number. 1: *value is that number; 0: there is none; -EINVAL: the expression is invalid, or has no
 * group.
 */
int launch_value(const char *output, const char *expression, double *value);

/*
 * The last lines of a file as one line, with " | " between them; the caller frees. NULL: no memory.
 */
char *launch_tail(const char *output, size_t lines);

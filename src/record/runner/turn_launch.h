/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a program in a fresh process, with what it prints in a file. One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct launch_result {
	uint64_t wall_ns,
		cpu_ns; /* from before its start to after its end; of it and its children */
	int exit_code;	/* 128 + signal; 127: not found, 126: not run */
};

/*
 * Run argv to its end, with nothing to read and stdout and stderr in the file `output`, which is
 * replaced. SIGINT goes to it as to us. -errno when there could be no process or no file.
 */
int launch_run(char *const *argv, const char *output, struct launch_result *result);

/*
 * The number in the first group of the last match of an extended regular expression in a file: 1.
 * 0: there is none. -EINVAL: it is no expression with a group.
 */
int launch_value(const char *output, const char *expression, double *value);

/* The last lines of a file, without what no terminal should see; the caller frees. */
char *launch_tail(const char *output, size_t lines);

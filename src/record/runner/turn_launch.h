/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a program in a fresh process, with what it prints in a file. A helper starts them: the
 * kernel takes a process's peak of memory to be that of the one that started it, if that is more,
 * and who compares runs grows large. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct launch_result {
	uint64_t wall_ns;	     /* from before its start to after its end */
	uint64_t user_ns, system_ns; /* CPU time of it and of the children that it waited for */
	uint64_t peak_bytes;	     /* the most memory that one of these had resident */
	int exit_code;		     /* 128 + signal; 127: not found, 126: not run */
};

/*
 * Start the helper, while the caller is small; `output` takes what programs print. -errno. It ends
 * with launch_end(), or with the caller.
 */
int launch_begin(const char *output);
void launch_end(void);

/*
 * Run argv to its end, with nothing to read, and stdout and stderr in the helper's file, which is
 * replaced. SIGINT goes to it as to us. -errno when there could be no process or no file.
 */
int launch_run(char *const *argv, struct launch_result *result);

/*
 * The number in the first group of the last match of an extended regular expression in a file: 1.
 * 0: there is none. -EINVAL: it is no expression with a group.
 */
int launch_value(const char *output, const char *expression, double *value);

/* The last lines of a file, as one line with " | " between, without what no terminal should see;
 * the caller frees. */
char *launch_tail(const char *output, size_t lines);

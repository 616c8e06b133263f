/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a program consists of: its own, and the libraries that it is linked with, as the
 * dynamic linker would load them (which lists them without running the program); or those that a
 * process has mapped. Beside them, what its arguments, or the text of a script for a shell, name by
 * a path: programs, libraries, directories with ggml's libraries. One thread.
 */
#pragma once

#include "base/array.h"
#include "record/inject/target_program.h"

struct program_files {
	ARRAY(char *) paths; /* the program's own first */
	size_t own;	     /* how many of them the program itself is linked with, it included */
	ARRAY(char *) named; /* by arguments or a script; their files are in paths */
	char *script;	     /* NULL: it is none */
	char *interpreter;   /* of the script, which then is the program */
	enum inject_obstacle obstacle;
};

/*
 * A command as a shell would find it, and its arguments, which end with NULL. -errno: there is
 * none, or it may not be run. On success program_files_fini().
 */
int program_files_of_command(struct program_files *files, char *const *command);

/* A process. -errno: it cannot be looked at. Likewise. */
int program_files_of_process(struct program_files *files, long pid);

void program_files_fini(struct program_files *files);

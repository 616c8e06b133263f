/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a program consists of: its own, and the libraries that it is linked with, as the
 * dynamic linker would load them (which lists them without running the program); or those that a
 * process has mapped. One thread.
 */
#pragma once

#include "base/array.h"
#include "inject/program.h"

struct program_files {
	ARRAY(char *) paths; /* the program's own first */
	char *interpreter;   /* of a script, which then is the program; NULL: it is none */
	enum inject_obstacle obstacle;
};

/* A command as a shell would find it. -ENOENT: there is none. On success program_files_fini(). */
int program_files_of_command(struct program_files *files, const char *command);

/* A process. -errno: it cannot be looked at. Likewise. */
int program_files_of_process(struct program_files *files, long pid);

void program_files_fini(struct program_files *files);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a program consists of: its own, and the libraries that it is linked with, as the
 * dynamic linker would load them (which lists them without running the program); or those that a
 * process has mapped. Beside them, files that its arguments, or the text of a script for a shell,
 * name by a path: programs, libraries, directories with ggml's libraries. It also tells, by the
 * file alone, how ggml in one of these files would be attached to. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include "attach/rules/ggml_symbols.h"
#include "base/array.h"
#include "record/inject/inject.h"

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

enum program_ggml_way {
	PROGRAM_GGML_NONE,     /* there is no ggml in it */
	PROGRAM_GGML_LINKED,   /* preloading works */
	PROGRAM_GGML_PATCHED,  /* it calls itself without the dynamic linker, and will be patched */
	PROGRAM_GGML_STRIPPED, /* it is in there, but nothing says where its functions are */
	PROGRAM_GGML_UNKNOWN,  /* Brick was built without the library that looks */
};

struct program_ggml {
	enum program_ggml_way way;
	size_t functions;		 /* that are defined */
	char reached[GGML_SYMBOL_COUNT]; /* which of them can be hooked */
	bool has_whisper;		 /* whisper.cpp is in it */
	bool hides_device_nodes;	 /* its device's backend calls nothing for each node */
	char refused[512];		 /* names and why, of those that cannot; "" */

	/* of PROGRAM_GGML_STRIPPED: the missing symbols, and how to build so that they are there */
	char missing[320], advice[320];
};

/* -errno or BRICK_E*: it cannot be read. */
int program_ggml(struct program_ggml *found, const char *path);

/* Does the file hold this text, as its tables of symbols do, or as a name that it opens? */
bool program_file_has(const char *path, const char *text);

/* The sum over all files of a program. */
struct program_outlook {
	char reached[GGML_SYMBOL_COUNT];
	bool has_ggml, has_whisper, has_device, hides_device_nodes;
};

/* Adds a file; ggml: the result of program_ggml() for it. */
void program_outlook_add(
	struct program_outlook *outlook, const char *path, const struct program_ggml *ggml);

/* What that costs: said before it is spent, by `record` and `doctor` alike. */
#define PROGRAM_SPLITS_COST                                                                     \
	"expect 1.1 to 4 times the time on one thread, and 2 to 6 times on several, which are " \
	"started or woken for each node"

/*
 * True if nodes of this command will be timed by the evaluation callback, which splits its graphs.
 * Looks only at files that name ggml's functions, so it is quick.
 */
bool program_is_split(char *const *command, bool digests);

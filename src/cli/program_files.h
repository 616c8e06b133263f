/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a program consists of: its own, and the libraries that it is linked with, as the
 * dynamic linker would load them (which lists them without running the program); or those that a
 * process has mapped. Beside them, files that its arguments, or the text of a script for a shell,
 * name: programs, libraries, scripts, directories with ggml's libraries; and the native files of
 * packages that scripts import. It also tells, by the
 * file alone, how ggml in one of these files would be attached to. One thread.
 */
#pragma once

#include <glob.h>
#include <stddef.h>
#include <stdbool.h>
#include "attach/rules/ggml_symbols.h"
#include "base/array.h"
#include "record/inject/inject.h"

/* What an interpreter may get to read. */
struct program_text {
	char *path; /* NULL: it is an argument */
	char *text;
};

struct program_files {
	ARRAY(char *) paths; /* the program's own first */
	size_t own;	     /* how many of them the program itself is linked with, it included */
	ARRAY(char *) named; /* by a path in arguments or a script; their files are in paths */
	ARRAY(char *) packages;	      /* folders of packages that were looked into */
	size_t natives, native_bytes; /* of packages */
	ARRAY(char *) closed;	      /* likewise, programs that nothing can be preloaded into */
	size_t programs;	      /* that arguments or a script name, by a path or a name */
	size_t scripts, words;	      /* that were looked at, the words for one argument */
	ARRAY(struct program_text) texts; /* arguments and scripts */
	bool is_interpreted;		  /* one of the programs is Python, node or the like */
	char *script;			  /* NULL: it is none */
	char *interpreter;		  /* of the script, which then is the program */
	char *started;			  /* NULL: arguments name no program */
	bool wants_packages;
	bool is_process; /* it runs: all that it has opened is its own */
	enum inject_obstacle obstacle;
};

/*
 * A command as a shell would find it, and its arguments, which end with NULL. -errno: there is
 * none, or it may not be run. Packages are large, and looked into only if that is wanted. On
 * success program_files_fini().
 */
int program_files_of_command(
	struct program_files *files, char *const *command, bool wants_packages);

/* A process. -errno: it cannot be looked at. Likewise. */
int program_files_of_process(struct program_files *files, long pid);

/*
 * What the command is called: its first word, or, where that only starts another program (timeout,
 * nice), that program's.
 */
const char *program_files_title(const struct program_files *files, const char *command);

void program_files_fini(struct program_files *files);

/*
 * Files and folders of that name among the packages that a Python interpreter imports. As glob(3);
 * globfree() it in every case.
 */
int program_files_of_python(const char *interpreter, const char *name, glob_t *found);

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

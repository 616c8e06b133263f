/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a program consists of: its own file and its libraries, which the dynamic linker
 * lists without running the program; or the files that a process has mapped. Further files are
 * those that arguments or a shell script name (programs, libraries, scripts, directories with
 * ggml's libraries), and the native files of packages that scripts import. program_ggml() says how
 * ggml in such a file would be attached to. One thread.
 */
#pragma once

#include <glob.h>
#include <stddef.h>
#include <stdbool.h>
#include "attach/rules/ggml_symbols.h"
#include "base/array.h"
#include "record/inject/inject.h"

/* A text that an interpreter may run. */
struct program_text {
	char *path; /* of a script; NULL: the text is an argument */
	char *text;
};

struct program_files {
	ARRAY(char *) paths;	/* all files; the program's own is the first */
	size_t own;		/* the first so many paths are the program and its libraries */
	ARRAY(char *) named;	/* paths in arguments or scripts; their files are in `paths` */
	ARRAY(char *) packages; /* folders of packages that were searched */
	size_t natives;		/* native files of packages */
	size_t native_bytes;	/* ... and the sum of their sizes */
	ARRAY(char *) closed;	/* paths of programs that nothing can be preloaded into */
	size_t programs;	/* that arguments or a script name, by a path or a name */
	size_t scripts;		/* scripts that were read */
	size_t words;		/* words that were looked up for the present argument */
	ARRAY(struct program_text) texts; /* arguments and scripts */
	bool is_interpreted;		  /* one of the programs is Python, node or the like */
	char *script;			  /* the command's file; NULL: it is no script */
	char *interpreter;		  /* of the script: it is the program then */
	char *started;			  /* a program that arguments name; NULL: there is none */
	bool wants_packages;
	bool is_process; /* the program runs: all files that it has opened are its own */
	enum inject_obstacle obstacle;
};

/*
 * Find the files of a command, which ends with NULL, as a shell would find it. 0, and then
 * program_files_fini(); -errno: there is no such command, or it may not be run. wants_packages:
 * search packages, too, which are large.
 */
int program_files_of_command(
	struct program_files *files, char *const *command, bool wants_packages);

/* Find the files of a process. 0, and then program_files_fini(); -errno: it may not be read. */
int program_files_of_process(struct program_files *files, long pid);

/*
 * The name to show for the command: its first word, or, if that only starts another program
 * (timeout, nice), the other program's. Borrowed.
 */
const char *program_files_title(const struct program_files *files, const char *command);

void program_files_fini(struct program_files *files);

/*
 * Find files and folders by name in the folders from which a Python interpreter imports packages.
 * Returns as glob(3); call globfree() in every case.
 */
int program_files_of_python(const char *interpreter, const char *name, glob_t *found);

enum program_ggml_way {
	PROGRAM_GGML_NONE,     /* the file has no ggml; or it was not examined */
	PROGRAM_GGML_LINKED,   /* preloaded functions replace ggml's */
	PROGRAM_GGML_PATCHED,  /* ggml's calls bypass the dynamic linker: its code gets patched */
	PROGRAM_GGML_STRIPPED, /* the file has ggml, but no symbols of its functions */
	PROGRAM_GGML_UNKNOWN,  /* Brick was built without the library that finds ggml */
};

struct program_ggml {
	enum program_ggml_way way;
	size_t functions;		 /* ggml's, that the file defines */
	char reached[GGML_SYMBOL_COUNT]; /* by symbol: 1 if it can be hooked */
	bool has_whisper;		 /* the file has whisper.cpp */
	bool hides_device_nodes;	 /* its device backend calls no function for each node */
	char refused[512]; /* names of functions that cannot be hooked, with reasons; "": none */

	/* PROGRAM_GGML_STRIPPED: the missing symbols, and how to build the program with them */
	char missing[320], advice[320];
};

/* Examine a file. 0; -errno or BRICK_E*: it cannot be read. */
int program_ggml(struct program_ggml *found, const char *path);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts, from a command's files alone, which attachers will record it. `doctor` asks before a
 * run; `record` asks afterwards, to explain why nothing was attached. A program need not use a
 * library that it is linked with. So only one prediction is certain: hooks of ggml's functions that
 * the program itself contains or is linked with. All other attachers are possible (struct
 * foreseen), with a reason: a linked library, a name in a file, or a module in a script. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include "base/array.h"
#include "cli/program_files.h"
#include "record/inject/attachers.h"

/* ggml in all files of a program together. */
struct program_outlook {
	char reached[GGML_SYMBOL_COUNT]; /* by symbol: 1 if a file has it where it can be hooked */
	bool has_ggml, has_whisper, has_device;
	bool hides_device_nodes; /* see struct program_ggml */
	const char *opened; /* the first file that has ggml's functions; borrowed; NULL: none */
	bool is_certain;    /* the program has the functions itself, or is linked with them */
};

/* An attacher that may record the program. */
struct foreseen {
	const struct attacher *attacher;
	char *why;	  /* the reason, as "torch is named in the command" */
	char *version;	  /* the installed version of the engine; NULL: not known */
	bool without_gil; /* in a free-threaded Python */
};

struct foresight {
	/* [files->paths.count]; `way` is PROGRAM_GGML_NONE for files that were not examined */
	struct program_ggml *ggml;
	struct program_outlook outlook;
	bool has_libbrick;	    /* the program contains libbrick, and so records itself */
	const char *static_mpi;	    /* the program that has MPI inside; borrowed; NULL: none */
	ARRAY(struct foreseen) may; /* attachers that may record the program */
};

/* Why a program with MPI inside is not recorded, behind its name. */
#define FORESIGHT_STATIC_MPI \
	"has MPI inside, not as a shared library, so its messages cannot be recorded"

/* Ends the program without memory. The files must live until foresight_fini(). */
void foresight_of(struct foresight *f, const struct program_files *files);
void foresight_fini(struct foresight *f);

/* The cost of the evaluation callback: `record` and `doctor` show it in advance. */
#define FORESIGHT_SPLITS_COST                                                                   \
	"expect 1.1 to 4 times the time on one thread, and 2 to 7 times on several, which are " \
	"started or woken for each node"

/*
 * True if nodes of this command will be timed by the evaluation callback, which splits its graphs.
 * Looks only at files that name ggml's functions, so it is quick.
 */
bool foresight_is_split(char *const *command, bool digests);

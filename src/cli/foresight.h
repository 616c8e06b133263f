/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What will be attached to when a command runs, told from its files alone, and what may be: the
 * same answer for `doctor`, before it, and for `record`, which says why nothing was. What a program
 * is linked with, it need not use; so certain is only that ggml's functions, where the program
 * itself has them, get hooks. All else may be attached to, and something speaks for it: a library
 * that is linked, a name that a file holds, a module in a script. One thread.
 */
#pragma once

#include <stdbool.h>
#include "base/array.h"
#include "cli/program_files.h"
#include "record/inject/attachers.h"

/* The sum over all files of a program, of ggml. */
struct program_outlook {
	char reached[GGML_SYMBOL_COUNT];
	bool has_ggml, has_whisper, has_device, hides_device_nodes;
	const char *opened; /* the first file that has functions of it, borrowed; NULL: none */
	bool is_certain;    /* the program has them itself, or is linked with them */
};

/* What may be attached to, and what speaks for it: "torch is named in the command". */
struct foreseen {
	const struct attacher *attacher;
	char *why;
	char *version; /* that is installed; NULL: not known */
};

struct foresight {
	struct program_ggml *ggml; /* of each path of the files; way is NONE where it is unknown */
	struct program_outlook outlook;
	bool has_libbrick; /* the program records itself, whatever is attached to */
	ARRAY(struct foreseen) may;
};

/* foresight_fini() it before the files. */
void foresight_of(struct foresight *f, const struct program_files *files);
void foresight_fini(struct foresight *f);

/* What that costs: said before it is spent, by `record` and `doctor` alike. */
#define FORESIGHT_SPLITS_COST                                                                   \
	"expect 1.1 to 4 times the time on one thread, and 2 to 7 times on several, which are " \
	"started or woken for each node"

/*
 * True if nodes of this command will be timed by the evaluation callback, which splits its graphs.
 * Looks only at files that name ggml's functions, so it is quick.
 */
bool foresight_is_split(char *const *command, bool digests);

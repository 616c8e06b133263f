/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the symbol table (.symtab) of a program or library: in the file itself, or, if that was
 * stripped, in its separate debug file (distributions, `objcopy --add-gnu-debuglink`). It looks
 * where debuggers do, on this machine only. Files are untrusted. Any thread.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum { DEBUG_FILE_ID_BYTES = 64 };

struct debug_file {
	char path[PATH_MAX];		    /* of the file with the symbols */
	char build_id[DEBUG_FILE_ID_BYTES]; /* of the program, in hexadecimal; "": it has none */
};

/*
 * 1: found->path has the symbols. It is the file itself, or a debug file with the same build ID (if
 * there is no ID: with the checksum that the file states) and the same addresses of code. 0: no
 * symbols were found. -errno or BRICK_EFORMAT: the file cannot be read.
 */
int debug_file_find(struct debug_file *found, const char *path);

/* Does the name of any symbol in found->path contain the text? */
bool debug_file_mentions(const struct debug_file *found, const char *text);

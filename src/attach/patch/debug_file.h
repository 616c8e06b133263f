/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the table of symbols (.symtab) of a program or library: in it, or, if it was stripped, in
 * the debug file that distributions and `objcopy --add-gnu-debuglink` keep apart. It looks where
 * debuggers do, on this machine only. Files are untrusted. Any thread.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum { DEBUG_FILE_ID_BYTES = 64 };

struct debug_file {
	char path[PATH_MAX];		    /* that has the symbols */
	char build_id[DEBUG_FILE_ID_BYTES]; /* of the program, in hexadecimal; "": it has none */
};

/*
 * 1: found->path has the symbols. It is the file itself, or one with the same build ID, or, where
 * there is none, with the checksum that the file states; and its code has the same addresses.
 * 0: there are none. -errno, BRICK_EFORMAT: the file cannot be read.
 */
int debug_file_find(struct debug_file *found, const char *path);

/* Does any of its symbols' names hold the text? Of one that was found. */
bool debug_file_mentions(const struct debug_file *found, const char *text);

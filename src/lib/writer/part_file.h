/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recording: it grows as PATH.part and becomes PATH when it is whole. It is ours
 * alone: a new file, locked, known by device and inode. Before each write the descriptor is looked
 * at, because the program that embeds us may close any descriptor and get its number for a file of
 * its own. All that was written whole stays readable, whatever happens. One thread at a time.
 */
#pragma once

#include <stddef.h>

struct part_file;

/*
 * Make PATH.part, in place of one that a killed recorder left. -EISDIR, -EINVAL: PATH is a
 * directory, a device or a pipe, whose place a recording would take. -EBUSY: another process is
 * writing PATH.part. -EEXIST: what has that name is none of ours. -ENAMETOOLONG, -ENOMEM, -errno.
 */
int part_file_open(struct part_file **out, const char *path);

/*
 * Append whole packets: all of them, or nothing. -EFBIG: the limit on the size of files.
 * -ESTALE: the file is not what we left, or not to be found any more. -errno.
 */
int part_file_write(struct part_file *f, const void *data, size_t bytes);

/* The thread for that is scheduled as the caller is; else as who is the first to sync. */
void part_file_sync_prepare(struct part_file *f);

/* Have what was written put onto the disk. Does not wait for it; a write says what went wrong. */
void part_file_sync(struct part_file *f);

/* It is whole: onto the disk with it, and PATH as its name. After an error PATH.part stays. Frees
 * f. */
int part_file_finish(struct part_file *f);

/* Give it up, and leave what was written as PATH.part (nothing: no file); or remove it. Both free
 * f; NULL is legal. */
void part_file_leave(struct part_file *f);
void part_file_remove(struct part_file *f);

/* Why opening or writing PATH failed, and what to do about it; 0: the error's own text says it. */
int part_file_explain(const char *path, int error, char *text, size_t bytes);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recording: it grows as PATH.part and becomes PATH when it is whole. It is ours
 * alone: a new file, locked, known by device and inode. Before each write the descriptor is
 * checked, because the program that embeds us may close any descriptor and get its number for a
 * file of its own. Invariant: the file holds whole packets only, so that it stays readable whatever
 * happens. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct part_file;

/*
 * Makes PATH.part, and replaces one that a killed recorder left. -EISDIR, -EINVAL, -ELOOP: PATH is
 * a directory, a device or pipe, or a symbolic link, which a recording would replace. -EBUSY:
 * another process is writing PATH.part. -EEXIST: PATH.part is no file of ours. -ENAMETOOLONG,
 * -ENOMEM, -errno.
 */
int part_file_open(struct part_file **out, const char *path);

/*
 * Appends whole packets: all of `data`, or nothing. -EFBIG: the process's limit on the size of
 * files. -ESTALE: somebody changed, replaced or removed the file. -errno: also what an earlier sync
 * met.
 */
int part_file_write(struct part_file *f, const void *data, size_t bytes);

/*
 * Starts the thread that waits for the disk, scheduled as the caller is. Without this call the
 * first part_file_sync() starts it.
 */
void part_file_sync_prepare(struct part_file *f);

/* Has what was written put onto the disk, without waiting; a later write or finish returns its
 * error.
 */
void part_file_sync(struct part_file *f);

/* Puts the whole file onto the disk and names it PATH. After an error PATH.part stays. Frees f. */
int part_file_finish(struct part_file *f);

/*
 * Give the file up: leave keeps what was written as PATH.part, or no file if that is nothing;
 * remove removes it. Both free f; NULL is legal.
 */
void part_file_leave(struct part_file *f);
void part_file_remove(struct part_file *f);

/*
 * True if a file, or its PATH.part, may still grow: another process holds its lock, or there is no
 * file yet.
 */
bool part_file_grows(const char *path);

/*
 * Writes a sentence on why opening or writing PATH failed, and what to do about it; returns 1. 0:
 * there is nothing to say beyond the error's own text, and `text` is as it was.
 */
int part_file_explain(const char *path, int error, char *text, size_t bytes);

/* SPDX-License-Identifier: Apache-2.0 */
/* Small files as text: what the kernel says in /proc and /sys, and what a user gives. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the first bytes - 1 bytes of a file, adds a NUL, and returns how many there were. 0: it
 * cannot be read.
 */
size_t file_begin(const char *path, char *out, size_t bytes);

/*
 * Copies what follows "key:" in a line of its first 4 kB. If there is no such line, out stays as
 * it is.
 */
void file_field(const char *path, const char *key, char *out, size_t bytes);

/* Its first line without the end. 0: it cannot be read, or is empty. */
int file_line(const char *path, char *out, size_t bytes);

/* Reads the target of a symbolic link, cut to fit; "" if that cannot be read. */
void file_link(const char *path, char *out, size_t bytes);

/*
 * Reads a file of at most `most` bytes, and adds a NUL; the caller frees. -EFBIG: the file is
 * longer, -errno.
 */
int file_read(char **text, size_t *bytes, const char *path, size_t most);

/*
 * The last `most` bytes of a file, with blanks for NUL; the caller frees. NULL: it cannot be
 * read.
 */
char *file_end(const char *path, size_t most);

/*
 * Replaces the contents of a file by the text, on the disk: all of it or nothing. Only this user
 * may read it. -errno.
 */
int file_replace(const char *path, const char *text);

/*
 * True if the process's limit lets a file have so many bytes. Writing beyond it raises SIGXFSZ,
 * which ends the process.
 */
bool file_can_have(uint64_t bytes);

/* Writes all bytes at that offset. 0 or -errno. */
int file_write_at(int fd, const void *data, size_t bytes, uint64_t offset);

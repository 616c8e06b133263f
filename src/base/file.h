/* SPDX-License-Identifier: Apache-2.0 */
/* Small files as text: what the kernel says in /proc and /sys, and what a user gives. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a file begins with, bytes - 1 of it at most, and a NUL: how much. 0: it cannot be read. */
size_t file_begin(const char *path, char *out, size_t bytes);

/* What stands behind "key:" in a line of its first 4 kB; where there is none, out stays as it is.
 */
void file_field(const char *path, const char *key, char *out, size_t bytes);

/* Its first line without the end. 0: it cannot be read, or is empty. */
int file_line(const char *path, char *out, size_t bytes);

/* Where a symbolic link leads; "" where that cannot be read. What does not fit is cut off. */
void file_link(const char *path, char *out, size_t bytes);

/*
 * All of a file of at most `most` bytes, and a NUL behind it; the caller frees. -EFBIG: there is
 * more of it, -errno.
 */
int file_read(char **text, size_t *bytes, const char *path, size_t most);

/* What it ends with, at most so much, with blanks for NUL; the caller frees. NULL: it cannot be. */
char *file_end(const char *path, size_t most);

/*
 * Make the text all that a file holds, on the disk; whole or not at all, for this user only.
 * -errno.
 */
int file_replace(const char *path, const char *text);

/* May it have so many bytes? Writing beyond the process's limit raises SIGXFSZ, which ends it. */
int file_can_have(uint64_t bytes);

/* All of that from there on: 0, or -errno. */
int file_write_at(int fd, const void *data, size_t bytes, uint64_t offset);

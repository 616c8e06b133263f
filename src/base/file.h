/* SPDX-License-Identifier: Apache-2.0 */
/* Small files as text: those of /proc and /sys, and those that a user names. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads at most the first bytes - 1 bytes of a file, adds a NUL, and returns how many bytes it
 * read. 0: the file is empty, or cannot be read; `out` is "".
 */
size_t file_begin(const char *path, char *out, size_t bytes);

/*
 * Copies the text after "key:" in the first such line, as far as it stands in the line's first 4
 * kB. If there is no such line, out stays as it is.
 */
void file_field(const char *path, const char *key, char *out, size_t bytes);

/* Reads a file's first line, without its end. 1; 0: the file cannot be read, or is empty. */
int file_line(const char *path, char *out, size_t bytes);

/* Reads the target of a symbolic link, cut to fit; "" if that cannot be read. */
void file_link(const char *path, char *out, size_t bytes);

/*
 * Reads a file of at most `most` bytes, and adds a NUL; the caller frees *text. *bytes is the
 * length without the NUL. 0; -EFBIG: the file is longer; or -errno.
 */
int file_read(char **text, size_t *bytes, const char *path, size_t most);

/*
 * Reads the last `most` bytes of a file as text, with blanks for NULs; the caller frees. NULL: the
 * file cannot be read.
 */
char *file_end(const char *path, size_t most);

/*
 * Replaces a file atomically by one with this text, and syncs it to the disk. Only this user may
 * read the file. 0 or -errno.
 */
int file_replace(const char *path, const char *text);

/*
 * True if the process's limit lets a file have so many bytes. Writing beyond it raises SIGXFSZ,
 * which ends the process.
 */
bool file_can_have(uint64_t bytes);

/* Writes all bytes at an offset of the file. 0 or -errno. */
int file_write_at(int fd, const void *data, size_t bytes, uint64_t offset);

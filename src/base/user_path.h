/* SPDX-License-Identifier: Apache-2.0 */
/* A user's own folders, by the XDG Base Directory Specification. Any thread. */
#pragma once

enum user_place { USER_DATA, USER_CACHE, USER_CONFIG };

/*
 * The path of a file there: "~/.local/share/brick/<name>"; the caller frees. NULL: there is neither
 * $XDG_..._HOME nor $HOME (errno ENOENT), the folder is another user's (root's does not count), who
 * may have put links there (EPERM; ENOENT if that user has no such file), or no memory.
 */
char *user_path(enum user_place place, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Make the directories above a file, for this user only. Errors show when the file is made. */
void user_path_make(const char *path);

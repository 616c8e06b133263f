/* SPDX-License-Identifier: Apache-2.0 */
/* A user's own folders, by the XDG Base Directory Specification. Any thread. */
#pragma once

enum user_place { USER_DATA, USER_CACHE, USER_CONFIG };

/*
 * The path of a file in a folder of Brick, as "~/.local/share/brick/NAME"; the caller frees. NULL,
 * and errno: ENOENT: neither $XDG_..._HOME nor $HOME is set; EPERM: the folder is another user's
 * (but not root's), who may have put links there, or ENOENT if that user has no such file; or no
 * memory.
 */
char *user_path(enum user_place place, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Make the directories above a file, for this user only. Errors show when the file is made. */
void user_path_make(const char *path);

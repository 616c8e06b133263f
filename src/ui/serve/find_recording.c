/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recording a process is writing: the file NAME.part that it has open, or that a process has
 * open which started it (the recorder). Called by `brick serve PID`.
 */
#include "base/file.h"
#include "ui/serve/serve.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ui/text/memory.h"

enum { GENERATIONS = 8 };

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);
	return length >= n && !memcmp(text + length - n, end, n);
}

/* What one open file leads to, without the ".part"; NULL if it is none of ours. */
static char *recording_of(int directory, const char *name)
{
	static const char part[] = ".part";
	char target[PATH_MAX];
	ssize_t length = readlinkat(directory, name, target, sizeof(target) - 1);
	if (length <= 0 || target[0] != '/' || !ends_with(target, (size_t)length, part))
		return NULL;
	target[(size_t)length - (sizeof(part) - 1)] = '\0';
	return xstrdup(target);
}

static char *open_recording(unsigned long pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%lu/fd", pid);
	DIR *directory = opendir(path);
	char *found = NULL;
	for (struct dirent *entry; directory && !found && (entry = readdir(directory));)
		found = recording_of(dirfd(directory), entry->d_name);
	if (directory)
		closedir(directory);
	return found;
}

static unsigned long parent_of(unsigned long pid)
{
	char path[64], text[1024];
	unsigned long parent = 0;
	snprintf(path, sizeof(path), "/proc/%lu/stat", pid);
	if (!file_begin(path, text, sizeof(text)))
		return 0;
	/* The name of the program, in parentheses, may hold anything. */
	const char *rest = strrchr(text, ')');
	if (!rest || sscanf(rest, ") %*c %lu", &parent) != 1)
		return 0;
	return parent;
}

char *serve_find(unsigned long pid)
{
	char *found = NULL;
	for (int i = 0; i < GENERATIONS && pid > 1 && !found; i++) {
		found = open_recording(pid);
		pid = parent_of(pid);
	}
	return found;
}

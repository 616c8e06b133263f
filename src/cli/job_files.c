/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files only: nothing is opened. What is being written (.part) stands for its final name,
 * earlier files (.old) for nothing.
 */
#include "cli/job_files.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/order.h"
#include "base/scope.h"
#include "cli/die.h"

#define ENDING ".pftrace"
#define UNFINISHED ".part"

static bool job_files_is_directory(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool job_files_is_several(const char *operand)
{
	struct stat st;
	return stat(operand, &st) ? strpbrk(operand, "*?[") != NULL : S_ISDIR(st.st_mode);
}

/* True if there is a plain file: reading anything else may never end. less: of the path. */
static bool job_files_is_plain(const char *path, size_t less)
{
	struct stat st;
	SCOPED char *name = xasprintf("%.*s", (int)(strlen(path) - less), path);

	return !stat(name, &st) && S_ISREG(st.st_mode);
}

static bool job_files_ends_in(const char *name, const char *ending)
{
	size_t n = strlen(name), end = strlen(ending);
	return n > end && !strcmp(name + n - end, ending);
}

static void job_files_add(struct job_files *files, char *path)
{
	if (job_files_ends_in(path, ENDING UNFINISHED))
		path[strlen(path) - strlen(UNFINISHED)] = '\0';
	if (array_push(&files->paths, path))
		die(CLI_SYSTEM, "%s: %s", path, strerror(ENOMEM));
}

static void job_files_scan(struct job_files *files, const char *directory)
{
	DIR *all = opendir(directory);
	const struct dirent *entry;
	size_t before = files->paths.count, length = strlen(directory);

	if (!all)
		die(CLI_INPUT, "%s: %s", directory, strerror(errno));
	while ((entry = readdir(all))) {
		bool is_part = job_files_ends_in(entry->d_name, ENDING UNFINISHED);
		if (!is_part && !job_files_ends_in(entry->d_name, ENDING))
			continue;
		char *path = xasprintf("%s%s%s", directory, directory[length - 1] == '/' ? "" : "/",
			entry->d_name);
		/* a finished recording comes before one of its name that is being made */
		if (job_files_is_plain(path, 0) &&
			!(is_part && job_files_is_plain(path, strlen(UNFINISHED))))
			job_files_add(files, path);
		else {
			if (!job_files_is_plain(path, 0))
				warn("%s: is no plain file, so it is left out", path);
			free(path);
		}
	}
	closedir(all);
	if (files->paths.count == before)
		die(CLI_INPUT,
			"%s: no recording (*" ENDING ") is in this directory; brick import makes "
			"recordings of other tools' traces",
			directory);
}

static void job_files_match(struct job_files *files, const char *pattern)
{
	glob_t found;
	int rc = glob(pattern, 0, NULL, &found);

	if (rc == GLOB_NOMATCH)
		die(CLI_INPUT, "%s: no file matches this pattern", pattern);
	if (rc)
		die(CLI_SYSTEM, "%s: %s", pattern, strerror(rc == GLOB_NOSPACE ? ENOMEM : EIO));
	for (size_t i = 0; i < found.gl_pathc; i++)
		job_files_add(files, xstrdup(found.gl_pathv[i]));
	globfree(&found);
}

void job_files_take(struct job_files *files, char *const *operands, size_t count)
{
	*files = (struct job_files){0};
	for (size_t i = 0; i < count; i++)
		if (job_files_is_directory(operands[i]))
			job_files_scan(files, operands[i]);
		else if (job_files_is_several(operands[i]))
			job_files_match(files, operands[i]);
		else
			job_files_add(files, xstrdup(operands[i]));
	array_sort(&files->paths, order_texts);
	for (size_t i = 1; i < files->paths.count; i++)
		if (!strcmp(files->paths.items[i], files->paths.items[i - 1]))
			die_usage("report",
				"%s: is named twice; one recording of each rank, please",
				files->paths.items[i]);
}

void job_files_fini(struct job_files *files)
{
	for (size_t i = 0; i < files->paths.count; i++)
		free(files->paths.items[i]);
	array_fini(&files->paths);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a program consists of (program_files.h). */
#include "cli/program_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "view/memory.h"

extern char **environ;

enum { MAX_FILES = 1024 };

static void add(struct program_files *files, const char *path)
{
	for (size_t i = 0; i < files->paths.count; i++)
		if (!strcmp(files->paths.items[i], path))
			return;
	char *copy = xstrdup(path);
	if (files->paths.count == MAX_FILES || array_push(&files->paths, copy))
		free(copy);
}

/* The interpreter in a script's first line; 0: it is no script. */
static int read_interpreter(const char *path, char *interpreter, size_t bytes)
{
	FILE *file = fopen(path, "re");
	char line[PATH_MAX] = "";
	int is_script = file && fgets(line, sizeof line, file) && !strncmp(line, "#!", 2);

	if (file)
		fclose(file);
	if (!is_script)
		return 0;
	char *saved, *word = strtok_r(line + 2, " \t\n", &saved);
	char *argument = word ? strtok_r(NULL, " \t\n", &saved) : NULL;
	const char *slash = word ? strrchr(word, '/') : NULL;
	if (slash && !strcmp(slash, "/env") && argument)
		return inject_resolve(argument, interpreter, bytes);
	return word && inject_resolve(word, interpreter, bytes);
}

/* A line of the dynamic linker's list: name => path (address), or path (address). */
static void add_listed(struct program_files *files, char *line)
{
	char *arrow = strstr(line, "=> "), *path = arrow ? arrow + 3 : line + strspn(line, " \t");
	char *end = strstr(path, " (0x");

	if (!end || *path != '/')
		return;
	*end = '\0';
	add(files, path);
}

/* Ask the dynamic linker; it maps the program and its libraries, and runs nothing of them. */
static void add_libraries(struct program_files *files, const char *program)
{
	static const char *const linkers[] = {
		"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};
	const char *linker = access(linkers[0], X_OK) ? linkers[1] : linkers[0];
	char *argv[] = {(char *)(uintptr_t)linker, "--list", (char *)(uintptr_t)program, NULL};
	char line[PATH_MAX + 256];
	posix_spawn_file_actions_t actions;
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	int error = posix_spawn(&pid, linker, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	FILE *list = fdopen(ends[0], "r");
	while (!error && list && fgets(line, sizeof line, list))
		add_listed(files, line);
	if (list)
		fclose(list);
	else
		close(ends[0]);
	while (!error && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int program_files_of_command(struct program_files *files, const char *command)
{
	char program[PATH_MAX], interpreter[PATH_MAX];

	memset(files, 0, sizeof *files);
	if (!inject_resolve(command, program, sizeof program))
		return -ENOENT;
	if (read_interpreter(program, interpreter, sizeof interpreter)) {
		files->interpreter = xstrdup(interpreter);
		snprintf(program, sizeof program, "%s", interpreter);
	}
	files->obstacle = inject_examine(program);
	add(files, program);
	if (files->obstacle == INJECT_FINE || files->obstacle == INJECT_PRIVILEGED)
		add_libraries(files, program);
	return 0;
}

int program_files_of_process(struct program_files *files, long pid)
{
	char path[PATH_MAX + 64], line[PATH_MAX + 128], mapped[PATH_MAX];

	memset(files, 0, sizeof *files);
	snprintf(path, sizeof path, "/proc/%ld/maps", pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return -errno;
	snprintf(path, sizeof path, "/proc/%ld/exe", pid);
	ssize_t n = readlink(path, mapped, sizeof mapped - 1);
	files->obstacle = inject_examine(path);
	mapped[n > 0 ? n : 0] = '\0';
	add(files, n > 0 ? mapped : path);
	while (fgets(line, sizeof line, maps)) {
		char *name = strchr(line, '/');
		if (!name || !strstr(line, "r-xp"))
			continue;
		name[strcspn(name, "\n")] = '\0';
		snprintf(path, sizeof path, "/proc/%ld/root%s", pid, name);
		add(files, access(name, R_OK) ? path : name);
	}
	fclose(maps);
	return 0;
}

void program_files_fini(struct program_files *files)
{
	for (size_t i = 0; i < files->paths.count; i++)
		free(files->paths.items[i]);
	array_fini(&files->paths);
	free(files->interpreter);
	memset(files, 0, sizeof *files);
}

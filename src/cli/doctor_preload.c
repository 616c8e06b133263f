/* SPDX-License-Identifier: Apache-2.0 */
/* Tries whether a library can be preloaded, on a program that lists what it has loaded. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd_doctor.h"
#include "cli/die.h"

extern char **environ;

/* Environment with one variable replaced; entries are borrowed but for the last. */
static char **environment_with(const char *name, const char *value)
{
	size_t count = 0, used = 0, length = strlen(name);
	while (environ[count])
		count++;
	char **copy = xcalloc(count + 2, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], name, length) || environ[i][length] != '=')
			copy[used++] = environ[i];
	copy[used] = xasprintf("%s=%s", name, value);
	return copy;
}

static void free_environment(char **environment)
{
	size_t last = 0;
	while (environment[last + 1])
		last++;
	free(environment[last]);
	free(environment);
}

static int start(const char *library, int output, pid_t *pid)
{
	char *argv[] = {"cat", "/proc/self/maps", NULL};
	char **environment = environment_with("LD_PRELOAD", library);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	sigaddset(&none, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_adddup2(&actions, output, 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	int error = posix_spawnp(pid, "cat", &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	free_environment(environment);
	return error;
}

int doctor_try_preload(const char *library, char *why, size_t size)
{
	int ends[2], status = 0, seen = 0;
	pid_t pid;
	snprintf(why, size, "a test program could not be run");
	if (pipe(ends) != 0)
		return 0;
	int error = start(library, ends[1], &pid);
	close(ends[1]);
	FILE *list = error ? NULL : fdopen(ends[0], "r");
	char line[PATH_MAX + 200], complaint[512] = "";
	unsigned long from, to;
	while (list && fgets(line, sizeof(line), list)) {
		bool is_map = sscanf(line, "%lx-%lx ", &from, &to) == 2;
		seen |= is_map && strstr(line, library) != NULL;
		if (!is_map && !complaint[0])
			snprintf(complaint, sizeof(complaint), "%.*s", (int)strcspn(line, "\n"),
				line);
	}
	if (list)
		fclose(list);
	else
		close(ends[0]);
	if (error)
		return 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	snprintf(why, size, "%s", complaint[0] ? complaint : "the dynamic linker ignored it");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && seen;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a recorded process starts in its place or beside it. Where our libraries cannot be
 * preloaded (musl, 32-bit, a sandbox without their files), or the recorder cannot be reached
 * (another user, other mounts), a program starts without them: the dynamic linker would complain on
 * its stderr, or not start it at all. The recorder is told, and also of
 * programs that are started without the environment through which we get in. One with the address
 * sanitizer inside is told to bear our libraries. Where a start script sets LD_PRELOAD to a list of
 * its own (an allocator), ours are put in front of it.
 *
 * A child of vfork() calls this with its parent's memory, and one of fork() with other threads'
 * locks taken: nothing here allocates, locks or stays. The C library's own calls (system(),
 * popen()) do not come here, but those of the shell that they start do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "attach/common/filter_guard.h"
#include "base/scope.h"
#include "brick/export.h"
#include "lib/session/session_map.h"
#include "lib/sys/environment.h"
#include "lib/sys/executable.h"

typedef int (*execve_fn)(const char *path, char *const *argv, char *const *envp);
typedef int (*fexecve_fn)(int fd, char *const *argv, char *const *envp);
typedef int (*execveat_fn)(
	int directory, const char *path, char *const *argv, char *const *envp, int flags);
typedef int (*spawn_fn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const *argv, char *const *envp);

static struct {
	execve_fn execve, execvpe;
	fexecve_fn fexecve;
	execveat_fn execveat; /* NULL before glibc 2.34 */
	spawn_fn spawn, spawnp;
	long (*syscall)(long number, ...);
} exec_guard_real;

static void *exec_guard_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Another constructor may start programs before ours has run. */
static void find_real(void)
{
	if (exec_guard_real.spawnp)
		return;
	exec_guard_real.execve = (execve_fn)exec_guard_next("execve");
	exec_guard_real.execvpe = (execve_fn)exec_guard_next("execvpe");
	exec_guard_real.fexecve = (fexecve_fn)exec_guard_next("fexecve");
	exec_guard_real.execveat = (execveat_fn)exec_guard_next("execveat");
	*(void **)&exec_guard_real.syscall = exec_guard_next("syscall");
	exec_guard_real.spawn = (spawn_fn)exec_guard_next("posix_spawn");
	exec_guard_real.spawnp = (spawn_fn)exec_guard_next("posix_spawnp");
}

enum { PATH_BYTES = 1024 }; /* stacks may be small; programs with longer paths are let through */

/* A program to start, and the function that starts it. */
struct start {
	int (*go)(const struct start *s, char *const *envp);
	union {
		execve_fn exec;
		spawn_fn spawn;
		execveat_fn at;
	};
	bool is_searched;
	const char *file;
	char *const *argv;
	int directory, flags; /* of execveat(2) */
	pid_t *pid;	      /* and so on: of a spawn */
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

static int go_exec(const struct start *s, char *const *envp)
{
	return s->exec(s->file, s->argv, envp);
}

static int go_at(const struct start *s, char *const *envp)
{
	return s->at(s->directory, s->file, s->argv, envp, s->flags);
}

static int go_spawn(const struct start *s, char *const *envp)
{
	return s->spawn(s->pid, s->file, s->actions, s->attributes, s->argv, envp);
}

/* The path of a program of execveat(2) for other processes; NULL: it has none. */
static const char *path_at(const struct start *s, char *path, size_t bytes)
{
	const char *file = s->file;

	if (!file || *file == '/' || (*file && s->directory == AT_FDCWD))
		return file;
	int n = snprintf(path, bytes, "/proc/self/fd/%d%s%s", s->directory, *file ? "/" : "", file);
	return n > 0 && (size_t)n < bytes ? path : NULL;
}

/* The name to report. A file without a name is called as the program calls itself. */
static const char *exec_guard_name_of(const struct start *s)
{
	return s->file && *s->file ? s->file : s->argv && s->argv[0] ? s->argv[0] : "";
}

/* The value, if the string sets that variable. */
static const char *exec_guard_value_of(const char *string, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(string, name, length) && string[length] == '=' ? string + length + 1 : NULL;
}

static const char *exec_guard_find(char *const *envp, const char *name)
{
	const char *value = NULL;

	for (; *envp && !value; envp++)
		value = exec_guard_value_of(*envp, name);
	return value;
}

static size_t entry_length(const char *list)
{
	return strcspn(list, ": ");
}

/* Is the first entry of LD_PRELOAD's list one of ours? */
static bool exec_guard_is_ours(const char *list)
{
	static const char ours[] = "/libbrick-";
	const char *at = memmem(list, entry_length(list), ours, sizeof(ours) - 1);

	return at && !memchr(at + 1, '/', entry_length(at));
}

static const char *next_entry(const char *list)
{
	list += entry_length(list);
	return *list ? list + 1 : list;
}

/* -ELIBACC: one of our libraries in the list cannot be read. 0: all can. 1: the list has none. */
static int libraries_missing(const char *list)
{
	int found = 1;

	for (; *list && found >= 0; list = next_entry(list)) {
		static const char through[] = BRICK__THROUGH_LIB;
		char path[PATH_BYTES];
		size_t skipped =
			strncmp(list, through, sizeof(through) - 1) ? 0 : sizeof(through) - 1;
		size_t length = entry_length(list) - skipped;
		if (!exec_guard_is_ours(list) || length >= sizeof(path))
			continue;
		memcpy(path, list + skipped, length);
		path[length] = '\0';
		found = access(path, R_OK) ? -ELIBACC : 0;
	}
	return found;
}

/* The first file of that name in PATH that may be executed, as the C library looks for it. */
static const char *exec_guard_search(const char *name, char *path, size_t bytes)
{
	const char *list = getenv("PATH"); /* by who starts a program, who looks there, too */

	if (strchr(name, '/'))
		return name;
	for (const char *at = list ? list : "/bin:/usr/bin"; at;) {
		int length = (int)strcspn(at, ":");
		int n = snprintf(path, bytes, "%.*s%s%s", length, at, length ? "/" : "", name);
		struct stat st;
		if (n > 0 && (size_t)n < bytes && !access(path, X_OK) && !stat(path, &st) &&
			S_ISREG(st.st_mode))
			return path;
		at = at[length] ? at + length + 1 : NULL;
	}
	return NULL;
}

/* The dynamic linker preloads nothing into a program with more rights than its starter. */
static bool has_other_rights(const char *program)
{
	struct stat st;

	return !stat(program, &st) && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
					      (st.st_mode & S_ISGID && st.st_gid != getegid()));
}

/* The program's path, which may lie in `path`; NULL: it is not known. */
static const char *exec_guard_program(const struct start *s, char path[PATH_BYTES])
{
	return s->is_searched	? exec_guard_search(s->file, path, PATH_BYTES)
	       : s->go == go_at ? path_at(s, path, PATH_BYTES)
				: s->file;
}

enum { SANITIZED = 1, STATIC = 2 };

/*
 * Why the program cannot be recorded: -errno. 0: it can, or was not to be, or is static and gets no
 * environment (ldconfig): the recorder sees for itself whether ggml is inside (unreached.c).
 * SANITIZED: it can if told to; STATIC: it may have libbrick inside.
 */
static int obstacle(const struct start *s, char *const *envp)
{
	const char *directory = exec_guard_find(envp, "BRICK_SESSION_DIR"),
		   *list = exec_guard_find(envp, "LD_PRELOAD");
	const char *ours = brick__environment("BRICK_SESSION_DIR");
	char path[PATH_BYTES];

	if (ours && *ours && (!directory || !*directory))
		return brick__executable_examine(exec_guard_program(s, path)) ==
				       BRICK__EXECUTABLE_STATIC
			       ? 0
			       : -ENODATA;
	int error = directory && *directory && list ? libraries_missing(list) : 1;
	if (error > 0)
		return 0;
	if (error)
		return error;
	struct stat st;
	if (stat(directory, &st))
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	const char *program = exec_guard_program(s, path);
	if (program && has_other_rights(program))
		return -EACCES;
	switch (brick__executable_examine(program)) {
	case BRICK__EXECUTABLE_FOREIGN:
		return -ENOEXEC;
	case BRICK__EXECUTABLE_OTHER_LIBC:
		return -ELIBBAD;
	case BRICK__EXECUTABLE_SANITIZED:
		return SANITIZED;
	case BRICK__EXECUTABLE_STATIC:
		return STATIC;
	default:
		return 0;
	}
}

/* Of a list, our libraries alone, or all others. */
static void keep_entries(char *out, const char *list, bool ours)
{
	char *begin = out;

	for (; *list; list = next_entry(list)) {
		if (exec_guard_is_ours(list) != ours)
			continue;
		if (out > begin)
			*out++ = ':';
		memcpy(out, list, entry_length(list));
		out += entry_length(list);
	}
	*out = '\0';
}

static int go(const struct start *s, char *const *envp)
{
	return s->go(s, envp);
}

/*
 * Goes on with `changed` in place of the variable of that name, or added, and without `dropped`.
 */
static int go_with(const struct start *s, char *const *envp, char *changed, size_t name,
	const char *dropped, int (*on)(const struct start *s, char *const *envp))
{
	size_t count = 0, kept = 0;

	while (envp[count])
		count++;
	char *own[count + 2];
	if (changed[name + 1])
		own[kept++] = changed;
	for (size_t i = 0; i < count; i++)
		if (strncmp(envp[i], changed, name + 1) &&
			!(dropped && exec_guard_value_of(envp[i], dropped)))
			own[kept++] = envp[i];
	own[kept] = NULL;
	return on(s, own);
}

/* Starts it without our libraries, and without a recorder's address. */
static int go_alone(const struct start *s, char *const *envp)
{
	static const char name[] = "LD_PRELOAD";
	const char *list = exec_guard_find(envp, name);
	char preload[sizeof(name) + 1 + strlen(list)];

	strcpy(stpcpy(preload, name), "=");
	keep_entries(preload + sizeof(name), list, false);
	return go_with(s, envp, preload, sizeof(name) - 1, "BRICK_SESSION_DIR", go);
}

static int go_sanitized(const struct start *s, char *const *envp)
{
	static const char name[] = "ASAN_OPTIONS", ours[] = "ASAN_OPTIONS=" BRICK__SANITIZED_OPTION;
	const char *theirs = exec_guard_find(envp, name);
	char options[sizeof(ours) + 1 + strlen(theirs ? theirs : "")];

	strcpy(stpcpy(stpcpy(options, ours), theirs ? ":" : ""), theirs ? theirs : "");
	return go_with(s, envp, options, sizeof(name) - 1, NULL, go);
}

/* Whether a program that is to be recorded gets a list of libraries that has lost ours. */
static bool has_lost_ours(char *const *envp)
{
	const char *directory = exec_guard_find(envp, "BRICK_SESSION_DIR"),
		   *list = exec_guard_find(envp, "LD_PRELOAD");
	const char *ours = brick__environment("LD_PRELOAD");

	return directory && *directory && list && *list && ours && libraries_missing(list) > 0 &&
	       libraries_missing(ours) <= 0;
}

static int exec_guard_begin(const struct start *s, char *const *envp);

static int begin_with_ours(const struct start *s, char *const *envp)
{
	static const char name[] = "LD_PRELOAD";
	const char *ours = brick__environment(name), *theirs = exec_guard_find(envp, name);
	char list[sizeof(name) + 2 + strlen(ours) + strlen(theirs)];

	strcpy(stpcpy(list, name), "=");
	keep_entries(list + sizeof(name), ours, true);
	strcat(strcat(list, ":"), theirs);
	return go_with(s, envp, list, sizeof(name) - 1, NULL, exec_guard_begin);
}

static int exec_guard_begin(const struct start *s, char *const *envp)
{
	bool is_exec = s->go != go_spawn, is_lost;
	pid_t pid;
	int why;

	if (!envp || filter_guard_is_on())
		return s->go(s, envp);
	{
		KEEP_ERRNO();
		is_lost = has_lost_ours(envp);
	}
	if (is_lost)
		return begin_with_ours(s, envp);
	{
		KEEP_ERRNO();
		pid = is_exec ? getpid() : 0;
		why = obstacle(s, envp);
	}
	if (why == STATIC)
		brick__refusals_static(exec_guard_name_of(s));
	if (!why)
		return s->go(s, envp);
	if (why == SANITIZED || why == STATIC) /* nobody sees what a static one starts */
		return go_sanitized(s, envp);
	if (is_exec) /* nobody is here afterwards */
		brick__refusals_process(why, (uint32_t)pid, exec_guard_name_of(s));
	int result = why == -ENODATA ? s->go(s, envp) : go_alone(s, envp);
	if (is_exec)
		brick__refusals_process(why, (uint32_t)pid, NULL);
	else if (!result)
		brick__refusals_process(why, s->pid ? (uint32_t)*s->pid : 0, exec_guard_name_of(s));
	return result;
}

/* The C library's functions. */

BRICK_API int execve(const char *path, char *const argv[], char *const envp[])
{
	find_real();
	return exec_guard_begin(
		&(struct start){
			.go = go_exec, .exec = exec_guard_real.execve, .file = path, .argv = argv},
		envp);
}

BRICK_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

BRICK_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	find_real();
	return exec_guard_begin(&(struct start){.go = go_exec,
					.exec = exec_guard_real.execvpe,
					.is_searched = true,
					.file = file,
					.argv = argv},
		envp);
}

BRICK_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

static int exec_guard_begin_at(execveat_fn at, int directory, const char *path, char *const *argv,
	char *const *envp, int flags)
{
	return exec_guard_begin(&(struct start){.go = go_at,
					.at = at,
					.directory = directory,
					.file = path,
					.argv = argv,
					.flags = flags},
		envp);
}

static int fexecve_at(int fd, const char *path, char *const *argv, char *const *envp, int flags)
{
	return exec_guard_real.fexecve(fd, argv, envp);
}

BRICK_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	find_real();
	return exec_guard_begin_at(fexecve_at, fd, "", argv, envp, AT_EMPTY_PATH);
}

static int execveat_by_number(
	int directory, const char *path, char *const *argv, char *const *envp, int flags)
{
	return (int)exec_guard_real.syscall(SYS_execveat, directory, path, argv, envp, flags);
}

BRICK_API int execveat(
	int directory, const char *path, char *const argv[], char *const envp[], int flags)
{
	find_real();
	return exec_guard_begin_at(
		exec_guard_real.execveat ? exec_guard_real.execveat : execveat_by_number, directory,
		path, argv, envp, flags);
}

static int execve_by_number(const char *path, char *const *argv, char *const *envp)
{
	return (int)exec_guard_real.syscall(SYS_execve, path, argv, envp);
}

static long exec_guard_by_execve(
	long number, const char *path, char *const *argv, char *const *envp)
{
	find_real();
	return exec_guard_begin(
		&(struct start){
			.go = go_exec, .exec = execve_by_number, .file = path, .argv = argv},
		envp);
}

static long exec_guard_by_execveat(long number, int directory, const char *path, char *const *argv,
	char *const *envp, int flags)
{
	find_real();
	return exec_guard_begin_at(execveat_by_number, directory, path, argv, envp, flags);
}

static size_t count_arguments(va_list arguments)
{
	size_t count = 1;

	while (va_arg(arguments, char *))
		count++;
	return count;
}

/* Defines argv, of all arguments from `first` on, and leaves `rest` behind them. */
#define ARGUMENTS(first)                      \
	va_list rest;                         \
	va_start(rest, first);                \
	size_t count = count_arguments(rest); \
	va_end(rest);                         \
	char *argv[count + 1];                \
	argv[0] = (char *)first;              \
	va_start(rest, first);                \
	for (size_t i = 1; i <= count; i++)   \
	argv[i] = va_arg(rest, char *)

BRICK_API int execl(const char *path, const char *first, ...)
{
	ARGUMENTS(first);
	va_end(rest);
	return execve(path, argv, environ);
}

BRICK_API int execlp(const char *file, const char *first, ...)
{
	ARGUMENTS(first);
	va_end(rest);
	return execvpe(file, argv, environ);
}

BRICK_API int execle(const char *path, const char *first, ...)
{
	ARGUMENTS(first);
	char *const *envp = va_arg(rest, char *const *);
	va_end(rest);
	return execve(path, argv, envp);
}

BRICK_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	find_real();
	return exec_guard_begin(&(struct start){.go = go_spawn,
					.spawn = exec_guard_real.spawn,
					.file = path,
					.argv = argv,
					.pid = pid,
					.actions = actions,
					.attributes = attributes},
		envp);
}

BRICK_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	find_real();
	return exec_guard_begin(&(struct start){.go = go_spawn,
					.spawn = exec_guard_real.spawnp,
					.is_searched = true,
					.file = file,
					.argv = argv,
					.pid = pid,
					.actions = actions,
					.attributes = attributes},
		envp);
}

__attribute__((constructor)) static void exec_guard_find_first(void)
{
	find_real();
	filter_guard_starters((void *)exec_guard_by_execve, (void *)exec_guard_by_execveat);
}

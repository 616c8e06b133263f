/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files that a program consists of, without running it, and how ggml in a file of it
 * would be attached to.
 */
#include "cli/program_files.h"

#include <stdbool.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/patch/survey.h"
#include "base/file.h"
#include "base/path_name.h"
#include "cli/die.h"

enum {
	MAX_FILES = 1024,
	MAX_NAMED = 32,
	MAX_WORDS = 4096, /* that an argument leads to */
	MAX_SCRIPTS = 64,
	MAX_SCRIPT = 1 << 16,
	MAX_INTERPRETERS = 4,
	MAX_PACKAGES = 64,
	MAX_NATIVES = 128,
	MAX_NATIVE_BYTES = 1 << 30,
	MAX_DEPTH = 5, /* of a package's folders */
};

#define SEPARATORS " \t\n\"'`;|&()<>=,:$"

/* Add a path to `paths`. 0: it is there already, or there is no room. */
static int program_files_add(struct program_files *files, const char *path)
{
	for (size_t i = 0; i < files->paths.count; i++)
		if (!strcmp(files->paths.items[i], path))
			return 0;
	char *copy = xstrdup(path);
	if (files->paths.count < MAX_FILES && !array_push(&files->paths, copy))
		return 1;
	free(copy);
	return 0;
}

/* Read the interpreter from a script's first line. 0: the file is no script. */
static int read_interpreter(const char *path, char *interpreter, size_t bytes)
{
	FILE *file = fopen(path, "re");
	char line[PATH_MAX] = "";
	bool is_script = file && fgets(line, sizeof(line), file) && !strncmp(line, "#!", 2);

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

/* Asks the dynamic linker, which maps the program and its libraries but runs none of their code. */
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
	while (!error && list && fgets(line, sizeof(line), list)) {
		/* name => path (address), or path (address) */
		char *arrow = strstr(line, "=> "),
		     *path = arrow ? arrow + 3 : line + strspn(line, " \t");
		char *end = strstr(path, " (0x");
		if (end && *path == '/') {
			*end = '\0';
			program_files_add(files, path);
		}
	}
	if (list)
		fclose(list);
	else
		close(ends[0]);
	while (!error && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool is_elf(const char *path)
{
	char magic[4] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : read(fd, magic, sizeof(magic));

	if (fd >= 0)
		close(fd);
	return n == sizeof(magic) && !memcmp(magic, "\177ELF", sizeof(magic));
}

static void keep_named(struct program_files *files, const char *path)
{
	char *copy = xstrdup(path);

	if (array_push(&files->named, copy))
		free(copy);
}

/*
 * True for ggml's and llama.cpp's libraries. Of the CPU backend's variants, which can be hooked
 * alike, only the first counts.
 */
static bool program_files_is_wanted(const char *name, bool *has_variant)
{
	if (strncmp(name, "libggml-cpu-", 12))
		return !strncmp(name, "libggml", 7) || !strncmp(name, "libllama", 8);
	bool is_first = !*has_variant;
	*has_variant = true;
	return is_first;
}

static bool is_there(const struct program_files *files, const char *path)
{
	char real[PATH_MAX], other[PATH_MAX];

	if (!realpath(path, real))
		return true;
	for (size_t i = 0; i < files->paths.count; i++)
		if (realpath(files->paths.items[i], other) && !strcmp(real, other))
			return true;
	return false;
}

/* ggml's and llama.cpp's libraries in a folder whose names begin so. True if one is new. */
static bool add_libraries_in(struct program_files *files, const char *folder, const char *beginning)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort);
	bool has_variant = false, any = false;

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		SCOPED char *file = xasprintf("%s/%s", folder, name);
		if (!strncmp(name, beginning, strlen(beginning)) &&
			program_files_is_wanted(name, &has_variant) && is_elf(file) &&
			!is_there(files, file))
			any |= program_files_add(files, file);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return any;
}

/* Packages. Those of node are in node_modules of the importing file's folder or of one above. */

int program_files_of_python(const char *interpreter, const char *name, glob_t *found)
{
	static const char *const places[] = {"lib/python3*/site-packages",
		"lib/python3/dist-packages", "local/lib/python3*/dist-packages"};
	int flags = 0, none = GLOB_NOMATCH;

	*found = (glob_t){0};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		/* PREFIX/bin/python3 */
		SCOPED char *pattern = xasprintf("%.*s/../%s/%s",
			(int)(path_name(interpreter) - interpreter), interpreter, places[i], name);
		none = glob(pattern, flags, NULL, found) && none;
		flags = GLOB_APPEND;
	}
	return none;
}

static bool is_native(const char *name)
{
	const char *end = strstr(name, ".so");

	return (end && (!end[3] || end[3] == '.')) ||
	       (strlen(name) > 5 && !strcmp(name + strlen(name) - 5, ".node"));
}

static void add_natives(struct program_files *files, const char *folder, int depth)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort);
	bool has_variant = false;

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		SCOPED char *path = xasprintf("%s/%s", folder, name);
		struct stat st;
		bool is_left_out = *name == '.' || !strcmp(name, "node_modules") ||
				   (!strncmp(name, "libggml-cpu-", 12) &&
					   !program_files_is_wanted(name, &has_variant));
		if (!is_left_out && !lstat(path, &st) && S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
			add_natives(files, path, depth + 1);
		else if (!is_left_out && is_native(name) && !stat(path, &st) &&
			 S_ISREG(st.st_mode)) {
			if (files->natives < MAX_NATIVES &&
				(size_t)st.st_size <= MAX_NATIVE_BYTES - files->native_bytes &&
				is_elf(path) && program_files_add(files, path)) {
				files->natives++;
				files->native_bytes += (size_t)st.st_size;
			}
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static void add_node_package(struct program_files *files, const char *from, const char *word);

/* {"dependencies": {"NAME": "VERSION", ...}, "optionalDependencies": {...}} */
static void program_files_add_dependencies(struct program_files *files, const char *folder)
{
	SCOPED char *text = xcalloc(1, MAX_SCRIPT + 1),
		    *path = xasprintf("%s/package.json", folder);

	file_begin(path, text, MAX_SCRIPT);
	for (char *at = text; (at = strpbrk(at, "dD")); at++) {
		if (strncmp(at + 1, "ependencies\"", 12))
			continue;
		char *name = at + strcspn(at, "{"), *end = name + strcspn(name, "}");
		if (at >= text + 4 && !strncmp(at - 4, "\"dev", 4) /* are not installed */)
			continue;
		for (bool is_name = true;
			name < end && (name = memchr(name, '"', (size_t)(end - name)));
			is_name = !is_name) {
			char *close = memchr(name + 1, '"', (size_t)(end - name - 1));
			if (!close)
				break;
			SCOPED char *word = xasprintf("%.*s", (int)(close - name - 1), name + 1);
			if (is_name)
				add_node_package(files, folder, word);
			name = close + 1;
		}
	}
}

static void add_package(struct program_files *files, const char *folder)
{
	size_t before = files->natives;
	char real[PATH_MAX];

	if (!realpath(folder, real) || files->packages.count >= MAX_PACKAGES)
		return;
	for (size_t i = 0; i < files->packages.count; i++)
		if (!strcmp(files->packages.items[i], real))
			return;
	xpush(&files->packages, xstrdup(real));
	add_natives(files, real, 0);
	if (files->natives > before)
		keep_named(files, real);
	program_files_add_dependencies(files, real);
}

/* "name/file" is in the package "name", and "@scope/name/file" in "@scope/name". */
static void add_node_package(struct program_files *files, const char *from, const char *word)
{
	size_t length = strcspn(word, "/");
	char folder[PATH_MAX];

	if (*word == '@' && word[length])
		length += 1 + strcspn(word + length + 1, "/");
	if (!length || *word == '.' || !realpath(from, folder))
		return;
	for (char *slash; (slash = strrchr(folder, '/')); *slash = '\0') {
		SCOPED char *path = xasprintf("%s/node_modules/%.*s", folder, (int)length, word);
		if (!access(path, X_OK)) {
			add_package(files, path);
			return;
		}
	}
}

/* "import a.b" imports the package "a", from the script's folder or the interpreter's packages. */
static void add_python_package(struct program_files *files, const char *folder, const char *word)
{
	int length = (int)strcspn(word, ".");
	SCOPED char *beside = xasprintf("%s/%.*s", folder, length, word);
	struct stat st;

	if (!length)
		return;
	if (!stat(beside, &st) && S_ISDIR(st.st_mode))
		add_package(files, beside);
	for (size_t i = 0; i < files->paths.count; i++) {
		glob_t found;
		SCOPED char *name = xasprintf("%.*s", length, word);
		if (!path_is_called(files->paths.items[i], "python"))
			continue;
		if (!program_files_of_python(files->paths.items[i], name, &found))
			for (size_t k = 0; k < found.gl_pathc; k++)
				if (!stat(found.gl_pathv[k], &st) && S_ISDIR(st.st_mode))
					add_package(files, found.gl_pathv[k]);
		globfree(&found);
		return;
	}
}

static bool is_called_one_of(const char *path, const char *const *names, bool is_beginning)
{
	for (; path && *names; names++)
		if (is_beginning ? path_is_called(path, *names) : !strcmp(path_name(path), *names))
			return true;
	return false;
}

static bool is_shell(const char *path)
{
	static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "busybox", NULL};

	return is_called_one_of(path, shells, false);
}

/* True for a program that only starts another one, which its arguments name. */
static bool is_wrapper(const char *path)
{
	static const char *const names[] = {"timeout", "env", "nice", "ionice", "nohup", "setsid",
		"taskset", "chrt", "numactl", "stdbuf", "time", "setpriv", "sudo", "xargs",
		"unshare", "prlimit", "catchsegv", NULL};

	return is_called_one_of(path, names, false);
}

const char *program_files_title(const struct program_files *files, const char *command)
{
	return files->started && is_wrapper(files->paths.items[0]) ? files->started : command;
}

/* True for interpreters of languages in which attachers know modules. */
static bool is_interpreter(const char *path)
{
	static const char *const names[] = {"python", "pypy", "node", "bun", "deno", NULL};

	return is_called_one_of(path, names, true);
}

static void keep_text(struct program_files *files, const char *path, const char *text)
{
	xpush(&files->texts, (struct program_text){path ? xstrdup(path) : NULL, xstrdup(text)});
}

static void add_words(struct program_files *files, const char *text, bool has_commands);
static void add_script(struct program_files *files, const char *path);

/* Beside a script: "model", ".model", "pkg.model" of Python; "./model", "./model.js" of node. */
static void add_import(struct program_files *files, const char *script, const char *word)
{
	static const char *const ends[] = {"", ".js", ".py", "/__init__.py"};
	bool is_path = strchr(word, '/') != NULL;
	int directory = (int)(path_name(script) - script);

	for (size_t i = is_path ? 0 : 2; i < (is_path ? 2 : 4); i++) {
		SCOPED char *path = xasprintf("%.*s%s%s", directory, script,
			is_path ? word : word + strspn(word, "."), ends[i]);
		struct stat st;
		for (char *c = path + directory;
			!is_path && c + strlen(ends[i]) < path + strlen(path); c++)
			if (*c == '.')
				*c = '/';
		if (!stat(path, &st) && S_ISREG(st.st_mode))
			add_script(files, path);
	}
}

static void add_imported_package(struct program_files *files, const char *script, const char *word)
{
	SCOPED char *folder = xasprintf("%.*s.", (int)(path_name(script) - script), script);

	if (!files->wants_packages || strspn(word, ".") == strlen(word))
		return;
	add_node_package(files, folder, word);
	if (!strchr(word, '/'))
		add_python_package(files, folder, word);
}

static void add_imports(struct program_files *files, const char *path, const char *text)
{
	SCOPED char *copy = xstrdup(text);
	char *lines, *words;

	for (char *line = strtok_r(copy, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
		if (!strstr(line, "import") && !strstr(line, "require"))
			continue;
		for (char *word = strtok_r(line, SEPARATORS, &words);
			word && files->words < MAX_WORDS;
			word = strtok_r(NULL, SEPARATORS, &words), files->words++)
			if (*word != '/') {
				add_import(files, path, word);
				add_imported_package(files, path, word);
			}
	}
}

static void add_script(struct program_files *files, const char *path)
{
	SCOPED char *text = xcalloc(1, MAX_SCRIPT + 1);
	char interpreter[PATH_MAX] = "";
	SCOPED_TO(fclose) FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, MAX_SCRIPT, file) : 0;

	for (size_t i = 0; i < files->texts.count; i++)
		if (files->texts.items[i].path && !strcmp(files->texts.items[i].path, path))
			return;
	if (!n || memchr(text, 0, n) || files->scripts++ >= MAX_SCRIPTS)
		return;
	keep_text(files, path, text);
	read_interpreter(path, interpreter, sizeof(interpreter));
	files->is_interpreted |= is_interpreter(interpreter);
	if (is_shell(interpreter) || (!*interpreter && is_shell(files->paths.items[0])))
		add_words(files, text, true);
	else
		add_imports(files, path, text);
}

/*
 * True for a program that nothing can be preloaded into. Libraries and addons look static, because
 * they have no interpreter, but are not closed.
 */
static bool is_closed(const char *path)
{
	enum inject_obstacle obstacle = inject_examine(path);

	return obstacle != INJECT_FINE &&
	       (obstacle != INJECT_STATIC ||
		       (!access(path, X_OK) && !strstr(path_name(path), ".so") &&
			       !strstr(path_name(path), ".node")));
}

/* word: the path as the command has it; without a '/' it does not go into `named`. */
static void add_program(struct program_files *files, const char *path, const char *word)
{
	char real[PATH_MAX];

	for (size_t i = 0; i < files->closed.count; i++)
		if (!strcmp(files->closed.items[i], path))
			return;
	if (is_closed(path)) {
		xpush(&files->closed, xstrdup(path));
		return;
	}
	if (!program_files_add(files, path))
		return;
	files->programs++;
	if ((!files->started || is_wrapper(files->started)) && !strstr(path_name(path), ".so") &&
		!strstr(path_name(path), ".node")) {
		free(files->started);
		files->started = xstrdup(word);
	}
	if (strchr(word, '/'))
		keep_named(files, path);
	files->is_interpreted |= is_interpreter(path);
	/* node resolves links; what cannot be found from a link would not be opened by it */
	add_libraries(files, realpath(path, real) ? real : path);
}

static bool is_package(const char *folder)
{
	static const char *const signs[] = {"package.json", "__init__.py"};
	bool is_there = false;

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		SCOPED char *path = xasprintf("%s/%s", folder, signs[i]);
		is_there |= !access(path, R_OK);
	}
	return is_there;
}

/* may_be_command: without a slash, it may be one. */
static void program_files_add_named(
	struct program_files *files, const char *word, bool may_be_command)
{
	char path[PATH_MAX];
	struct stat st;

	if (*word == '-' || files->programs + files->closed.count >= MAX_NAMED)
		return;
	snprintf(path, sizeof(path), "%s", word);
	if (!strchr(word, '/') && !may_be_command)
		return;
	if (stat(path, &st) &&
		(!may_be_command || !inject_resolve(word, path, sizeof(path)) || stat(path, &st)))
		return;
	if (S_ISDIR(st.st_mode) && strchr(word, '/')) {
		if (add_libraries_in(files, path, "lib"))
			keep_named(files, path);
		if (files->wants_packages && is_package(path))
			add_package(files, path);
	}
	if (S_ISREG(st.st_mode) && is_elf(path))
		add_program(files, path, word);
	else if (S_ISREG(st.st_mode))
		add_script(files, path);
}

/* Words of a shell's text, or of an argument. */
static void add_words(struct program_files *files, const char *text, bool has_commands)
{
	SCOPED char *copy = xstrdup(text);
	char *saved;

	for (char *word = strtok_r(copy, SEPARATORS, &saved); word && files->words < MAX_WORDS;
		word = strtok_r(NULL, SEPARATORS, &saved), files->words++)
		program_files_add_named(files, word, has_commands);
}

/* A script's interpreter may be a script. *program becomes the file that runs in the end. */
static void add_interpreters(struct program_files *files, char *program)
{
	char interpreter[PATH_MAX];

	for (int i = 0; i < MAX_INTERPRETERS; i++) {
		if (!read_interpreter(program, interpreter, sizeof(interpreter)))
			return;
		free(files->interpreter);
		free(files->script);
		files->script = xstrdup(program);
		files->interpreter = xstrdup(interpreter);
		snprintf(program, PATH_MAX, "%s", interpreter);
	}
}

/* Returns the reason why the program cannot be run: -ENOENT, -EISDIR or -EACCES. */
static int why_not(const char *command)
{
	struct stat st;

	if (!strchr(command, '/') || stat(command, &st))
		return -ENOENT;
	return S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
}

/* ggml opens its backends while it runs, from where the program lies, or ggml itself. */
static void program_files_add_backends(struct program_files *files)
{
	const size_t count = files->paths.count;
	bool has_ggml = false;

	for (size_t i = 0; i < count; i++)
		has_ggml |= strstr(files->paths.items[i], "/libggml") != NULL;
	for (size_t i = 0; has_ggml && i < count; i++) {
		const char *path = files->paths.items[i], *slash = strrchr(path, '/');
		if (!slash || (i && strncmp(slash, "/libggml", 8)))
			continue;
		const size_t bytes = (size_t)(slash - path);
		bool is_listed = false;
		for (size_t k = 0; k < i && !is_listed; k++) {
			const char *other = files->paths.items[k], *end = strrchr(other, '/');
			is_listed = end == other + bytes && !strncmp(other, path, bytes) &&
				    (!k || !strncmp(end, "/libggml", 8));
		}
		SCOPED char *folder = xasprintf("%.*s", (int)bytes, path);
		if (!is_listed)
			add_libraries_in(files, folder, "libggml-");
	}
}

int program_files_of_command(struct program_files *files, char *const *command, bool wants_packages)
{
	char program[PATH_MAX];

	memset(files, 0, sizeof(*files));
	files->wants_packages = wants_packages;
	if (!inject_resolve(command[0], program, sizeof(program)))
		return why_not(command[0]);
	add_interpreters(files, program);
	files->obstacle = inject_examine(program);
	program_files_add(files, program);
	if (files->obstacle == INJECT_FINE || files->obstacle == INJECT_PRIVILEGED)
		add_libraries(files, program);
	files->own = files->paths.count;
	files->is_interpreted = is_interpreter(program) || is_interpreter(files->script);
	if (files->script)
		add_script(files, files->script);
	for (char *const *argument = command + 1; *argument; argument++) {
		keep_text(files, NULL, *argument);
		files->words = 0;
		add_words(files, *argument, is_shell(program) || !strpbrk(*argument, " \t\n"));
		if (files->is_interpreted && strpbrk(*argument, " (")) /* of -c or -e */
			add_imports(files, "./", *argument);
	}
	program_files_add_backends(files);
	return 0;
}

int program_files_of_process(struct program_files *files, long pid)
{
	char path[PATH_MAX + 64], line[PATH_MAX + 128], mapped[PATH_MAX];

	memset(files, 0, sizeof(*files));
	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
	file_link(path, mapped, sizeof(mapped));
	files->obstacle = inject_examine(path);
	program_files_add(files, *mapped ? mapped : path);
	while (fgets(line, sizeof(line), maps)) {
		char *name = strchr(line, '/');
		if (!name || !strstr(line, "r-xp"))
			continue;
		name[strcspn(name, "\n")] = '\0';
		snprintf(path, sizeof(path), "/proc/%ld/root%s", pid, name);
		program_files_add(files, access(name, R_OK) ? path : name);
	}
	fclose(maps);
	files->own = files->paths.count;
	files->is_process = true;
	return 0;
}

void program_files_fini(struct program_files *files)
{
	for (size_t i = 0; i < files->paths.count; i++)
		free(files->paths.items[i]);
	for (size_t i = 0; i < files->named.count; i++)
		free(files->named.items[i]);
	for (size_t i = 0; i < files->closed.count; i++)
		free(files->closed.items[i]);
	for (size_t i = 0; i < files->packages.count; i++)
		free(files->packages.items[i]);
	for (size_t i = 0; i < files->texts.count; i++) {
		free(files->texts.items[i].path);
		free(files->texts.items[i].text);
	}
	array_fini(&files->paths);
	array_fini(&files->named);
	array_fini(&files->closed);
	array_fini(&files->packages);
	array_fini(&files->texts);
	free(files->interpreter);
	free(files->script);
	free(files->started);
	memset(files, 0, sizeof(*files));
}

static bool has_bytes(const struct image *image, const char *text, size_t bytes)
{
	for (size_t i = 0; i < image->parts.count; i++)
		if (!image->parts.items[i].is_code &&
			memmem(image->parts.items[i].data, image->parts.items[i].bytes, text,
				bytes))
			return true;
	return false;
}

/*
 * The text of its assertions is in every build of ggml, and in what uses it: that has from the
 * dynamic linker what they call.
 */
static bool has_text(const struct image *image)
{
	static const char text[] = "GGML_ASSERT(", called[] = "\0ggml_abort";

	if (!has_bytes(image, text, sizeof(text) - 1))
		return false;
	return image_find(image, called + 1, NULL) || !has_bytes(image, called, sizeof(called));
}

/* The function that says which node a device is given is there, and nobody calls it by its name. */
static bool hides_device_nodes(const struct survey *s)
{
	const struct survey_entry *e = &s->entries[GGML_IS_EMPTY];

	if (e->way != SURVEY_LINKED || e->function->is_reached)
		return false;
	for (size_t i = 0; i < s->image.functions.count; i++)
		if (e->of.is_wanted_with(s->image.functions.items[i].name))
			return true;
	return false;
}

static void program_files_describe(struct program_ggml *found, const struct survey *s)
{
	size_t used = 0;

	found->hides_device_nodes = hides_device_nodes(s);

	found->way = s->patched + s->refused ? PROGRAM_GGML_PATCHED : PROGRAM_GGML_LINKED;
	found->functions = s->defined;
	for (size_t i = 0; i < s->count; i++) {
		const struct survey_entry *e = &s->entries[i];
		found->reached[i] = e->way == SURVEY_LINKED || e->way == SURVEY_PATCHED;
		if (e->way == SURVEY_REFUSED && used < sizeof(found->refused))
			used += (size_t)snprintf(found->refused + used,
				sizeof(found->refused) - used, "%s%s: %s", used ? "; " : "",
				e->of.name, e->plan.refused);
	}
}

static void explain(struct program_ggml *found, const struct image *image)
{
	const char *id = image->build_id;

	found->way = PROGRAM_GGML_STRIPPED;
	if (image->has_symbols) {
		snprintf(found->missing, sizeof(found->missing),
			"ggml is inside, but its table of symbols (.symtab) names none of the "
			"functions that Brick hooks");
		snprintf(found->advice, sizeof(found->advice),
			"link-time optimisation may have inlined them: build it without "
			"(-DGGML_LTO=OFF, no -flto), or with -DBUILD_SHARED_LIBS=ON");
		return;
	}
	snprintf(found->missing, sizeof(found->missing),
		"ggml is inside, but nothing says where its functions are: the file was stripped "
		"of its table of symbols (.symtab), and no debug file of it is there (%s%s)",
		*id ? "build ID " : "it has no build ID", id);
	snprintf(found->advice, sizeof(found->advice),
		"build it without -s, strip and CMAKE_INSTALL_STRIP, or with "
		"-DBUILD_SHARED_LIBS=ON%s%.2s%s%s%s",
		*id ? "; or install its debug file (/usr/lib/debug/.build-id/" : "", id,
		*id ? "/" : "", *id ? id + 2 : "", *id ? ".debug)" : "");
}

int program_ggml(struct program_ggml *found, const char *path)
{
	struct patch_name names[GGML_SYMBOL_COUNT];
	struct survey survey;

	memset(found, 0, sizeof(*found));
	ggml_symbols_names(names);
	int error = survey_open(&survey, path, names, GGML_SYMBOL_COUNT, 0);
	if (error == -ENOSYS) {
		found->way = PROGRAM_GGML_UNKNOWN;
		return 0;
	}
	if (error)
		return error;
	found->has_whisper = image_find(&survey.image, "whisper_init_state", NULL) != NULL;
	/* what is injected may define the second, but is no program's; llama_decode() may be a
	 * codec's */
	if (survey.has_sign || survey.entries[GGML_NODE_FORWARD].way != SURVEY_ABSENT ||
		(survey.entries[GGML_DECODE].way != SURVEY_ABSENT &&
			has_bytes(&survey.image, "ggml", 4)))
		program_files_describe(found, &survey);
	else if (has_text(&survey.image))
		explain(found, &survey.image);
	survey_close(&survey);
	return 0;
}

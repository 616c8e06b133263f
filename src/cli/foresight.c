/* SPDX-License-Identifier: Apache-2.0 */
/* Names that the table of attachers has, looked for in files, beside ggml's functions. */
#include "cli/foresight.h"

#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/path_name.h"
#include "base/scope.h"
#include "cli/die.h"
#include "record/inject/inject.h"

enum { MOST_BYTES = 1 << 28 }; /* of a file that are read */

struct bytes {
	void *data; /* NULL: there are none, or they cannot be read */
	size_t count;
};

static struct bytes bytes_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct bytes bytes = {0};
	struct stat st;

	if (fd < 0)
		return bytes;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		bytes.count = st.st_size < MOST_BYTES ? (size_t)st.st_size : MOST_BYTES;
		bytes.data = mmap(NULL, bytes.count, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes.data == MAP_FAILED)
			bytes.data = NULL;
	}
	close(fd);
	return bytes;
}

static void bytes_close(struct bytes *bytes)
{
	if (bytes->data)
		munmap(bytes->data, bytes->count);
}

/* As a file's tables of symbols do, or what it opens by name. */
static bool bytes_hold(const struct bytes *bytes, const char *text)
{
	return bytes->data && memmem(bytes->data, bytes->count, text, strlen(text));
}

static bool file_holds(const char *path, const char *text)
{
	SCOPED_BY(bytes_close) struct bytes bytes = bytes_open(path);

	return bytes_hold(&bytes, text);
}

static bool is_ours(const char *path)
{
	return path_is_called(path, "libbrick");
}

/* ggml. */

/* Backends of ggml's whose nodes are seen when they are launched. */
static bool is_device(const char *path)
{
	static const char *const names[] = {"libggml-vulkan", "libggml-cuda", "libggml-opencl"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (path_is_called(path, names[i]))
			return true;
	return false;
}

static void add_ggml(struct program_outlook *outlook, const struct program_files *files, size_t i,
	const struct program_ggml *ggml)
{
	const char *path = files->paths.items[i];

	outlook->has_ggml |= ggml->way != PROGRAM_GGML_NONE && ggml->way != PROGRAM_GGML_UNKNOWN;
	outlook->has_whisper |= ggml->has_whisper;
	outlook->has_device |= is_device(path);
	outlook->hides_device_nodes |= ggml->hides_device_nodes;
	for (size_t s = 0; s < GGML_SYMBOL_COUNT; s++)
		outlook->reached[s] |= ggml->reached[s];
	if (ggml->way != PROGRAM_GGML_LINKED && ggml->way != PROGRAM_GGML_PATCHED)
		return;
	outlook->is_certain |= i < files->own;
	if (!outlook->opened)
		outlook->opened = path;
}

bool foresight_is_split(char *const *command, bool digests)
{
	struct program_outlook outlook = {0};
	struct program_files files;
	struct program_ggml ggml;

	if (program_files_of_command(&files, command))
		return false;
	for (size_t i = 0; i < files.paths.count && files.obstacle == INJECT_FINE; i++)
		if (!is_ours(files.paths.items[i]) &&
			file_holds(files.paths.items[i], "ggml_graph_compute") &&
			!program_ggml(&ggml, files.paths.items[i]))
			add_ggml(&outlook, &files, i, &ggml);
	program_files_fini(&files);
	return ggml_way_of(outlook.reached, !outlook.has_device, digests) == GGML_WAY_CALLBACK;
}

/* Others. */

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* As a whole word, and no part of a path unless it begins as one. */
static bool line_says(const char *line, size_t bytes, const char *word)
{
	const char *end = line + bytes;
	size_t n = strlen(word);

	for (const char *at = line; (at = memmem(at, (size_t)(end - at), word, n)); at++) {
		char before = at > line ? at[-1] : ' ', after = at + n < end ? at[n] : ' ';
		if (!is_of_word(after) &&
			(*word == '/' || !(is_of_word(before) || strchr("/@.-", before))))
			return true;
	}
	return false;
}

/*
 * A library or a package's path anywhere; a module in a line that imports, or in an argument that
 * is a single word.
 */
static bool text_says(const struct program_text *t, const char *name, bool is_module)
{
	bool is_anywhere = !is_module || *name == '/' || (!t->path && !strpbrk(t->text, " \t\n"));

	for (const char *line = t->text; *line;) {
		size_t n = strcspn(line, "\n");
		if ((is_anywhere || memmem(line, n, "import", 6) ||
			    memmem(line, n, "require", 7)) &&
			line_says(line, n, name))
			return true;
		line += n + (line[n] == '\n');
	}
	return false;
}

static char *linked(const struct program_files *files, const char *library)
{
	for (size_t i = 0; i < files->paths.count; i++)
		if (path_is_called(files->paths.items[i], library))
			return xasprintf("%s %s",
				files->is_process ? "the process has loaded"
				: i < files->own  ? "the program is linked with"
						  : "what the command names is linked with",
				path_name(files->paths.items[i]));
	return NULL;
}

static char *said(const struct program_files *files, const char *name, bool is_module)
{
	for (size_t i = 0; i < files->texts.count && files->is_interpreted; i++)
		if (text_says(&files->texts.items[i], name, is_module))
			return xasprintf("%s is named in %s", name + (*name == '/'),
				files->texts.items[i].path ? files->texts.items[i].path
							   : "the command");
	return NULL;
}

/* What speaks for it, but for the contents of files; NULL: nothing. */
static char *reason_for(const struct program_files *files, const struct attacher *a)
{
	char *why = NULL;

	for (const char *const *name = a->libraries; name && *name && !why; name++)
		why = linked(files, *name);
	for (const char *const *name = a->libraries; name && *name && !why; name++)
		why = said(files, *name, false);
	for (const char *const *name = a->modules; name && *name && !why; name++)
		why = said(files, *name, true);
	return why;
}

static char *reason_in(const struct bytes *bytes, const char *path, const struct attacher *a)
{
	for (const char *const *name = a->libraries; name && *name; name++)
		if (bytes_hold(bytes, *name))
			return xasprintf("%s is named in %s", *name, path);
	return a->variable && bytes_hold(bytes, a->variable)
		       ? xasprintf("%s is named in %s", a->variable, path)
		       : NULL;
}

/* Each file is mapped once, for all that nothing speaks for so far. */
static void look_into(struct foresight *f, const char *path)
{
	SCOPED_BY(bytes_close) struct bytes bytes = bytes_open(path);

	for (size_t i = 0; i < f->may.count; i++) {
		struct foreseen *may = &f->may.items[i];
		if (!may->why)
			may->why = reason_in(&bytes, path, may->attacher);
	}
}

/* Of a module that the interpreter has: "1.13.1"; NULL: it has none, or several. */
static char *version_in(const char *interpreter, const char *file)
{
	static const char *const places[] = {"lib/python3*/site-packages",
		"lib/python3/dist-packages", "local/lib/python3*/dist-packages"};
	char *version = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !version; i++) {
		/* PREFIX/bin/python3 */
		SCOPED char *pattern = xasprintf("%.*s/../%s/%s",
			(int)(path_name(interpreter) - interpreter), interpreter, places[i], file);
		char text[4096] = "", *begin;
		glob_t found;
		if (!glob(pattern, 0, NULL, &found) && found.gl_pathc == 1)
			file_begin(found.gl_pathv[0], text, sizeof(text));
		globfree(&found);
		begin = strstr(text, "__version__ = ");
		begin = begin ? strpbrk(begin, "0123456789\n") : NULL;
		if (begin && *begin != '\n')
			version = xasprintf("%.*s", (int)strcspn(begin, "'\"\n"), begin);
	}
	return version;
}

/* The version that is installed, where an interpreter imports it. */
static void look_up_version(struct foreseen *may, const struct program_files *files)
{
	const struct attacher *a = may->attacher;

	for (size_t i = 0; a->version_file && i < files->paths.count && !may->version; i++)
		if (path_is_called(files->paths.items[i], "python"))
			may->version = version_in(files->paths.items[i], a->version_file);
	if (may->version) {
		size_t n = strlen(a->versions);
		may->is_refused = strncmp(may->version, a->versions, n) != 0 ||
				  isdigit((unsigned char)may->version[n]);
	}
}

static void foresee(struct foresight *f, const struct program_files *files)
{
	size_t kept = 0;

	for (const struct attacher *const *a = attachers; *a; a++)
		if (inject_is_ready(*a) && !(f->outlook.has_ggml && !strcmp((*a)->name, "ggml")))
			xpush(&f->may,
				(struct foreseen){.attacher = *a, .why = reason_for(files, *a)});
	for (size_t i = 0; i < files->paths.count; i++)
		if (!is_ours(files->paths.items[i]))
			look_into(f, files->paths.items[i]);
	for (size_t i = 0; i < f->may.count; i++)
		if (f->may.items[i].why)
			f->may.items[kept++] = f->may.items[i];
	f->may.count = kept;
	for (size_t i = 0; i < kept; i++)
		look_up_version(&f->may.items[i], files);
}

void foresight_of(struct foresight *f, const struct program_files *files)
{
	memset(f, 0, sizeof(*f));
	f->ggml = xcalloc(files->paths.count, sizeof(*f->ggml));
	for (size_t i = 0; i < files->paths.count; i++) {
		const char *path = files->paths.items[i];
		if (i < files->own && !files->is_process)
			f->has_libbrick |= path_is_called(path, "libbrick.so") ||
					   (i == 0 && file_holds(path, "BRICK_SESSION_DIR"));
		if (is_ours(path) || program_ggml(&f->ggml[i], path))
			continue;
		add_ggml(&f->outlook, files, i, &f->ggml[i]);
	}
	if (files->obstacle == INJECT_FINE)
		foresee(f, files);
}

void foresight_fini(struct foresight *f)
{
	for (size_t i = 0; i < f->may.count; i++) {
		free(f->may.items[i].why);
		free(f->may.items[i].version);
	}
	array_fini(&f->may);
	free(f->ggml);
}

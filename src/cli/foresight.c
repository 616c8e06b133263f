/* SPDX-License-Identifier: Apache-2.0 */
/* Searches files for ggml's functions, and for names that the table of attachers has. */
#include "cli/foresight.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/needles.h"
#include "base/path_name.h"
#include "base/scope.h"
#include "cli/die.h"
#include "record/inject/inject.h"

enum {
	MOST_BYTES = 1 << 28, /* of a file that are read */
	MOST_PARTS = 64,      /* of a program's code */
};

/* Indices of the texts that are searched in a file's bytes: ours, then the attachers' names. */
enum { OF_GRAPHS, OF_CONTEXTS, OF_BACKENDS, OF_ASSERTS, OF_US, OF_MPI, OF_ATTACHERS };

static const char *const own_texts[OF_ATTACHERS] = {[OF_GRAPHS] = "ggml_graph_compute",
	[OF_CONTEXTS] = "ggml_init",
	[OF_BACKENDS] = "ggml_backend",
	[OF_ASSERTS] = "GGML_ASSERT(",
	[OF_US] = "BRICK_SESSION_DIR",
	[OF_MPI] = "PMPI_Init"};

/* Find a file's code, to skip it: it contains no names, and is half of a large program. */
static size_t foresight_code_of(const Elf64_Ehdr *header, size_t bytes, Elf64_Phdr code[MOST_PARTS])
{
	const Elf64_Phdr *parts = (const void *)((const char *)header + header->e_phoff);
	bool has_constants = false;
	size_t count = 0;

	if (bytes < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
		header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phnum > MOST_PARTS ||
		header->e_phoff % 8 || header->e_phoff > bytes ||
		header->e_phnum * sizeof(*parts) > bytes - header->e_phoff)
		return 0;
	for (int i = 0; i < header->e_phnum; i++) {
		has_constants |= parts[i].p_type == PT_LOAD && parts[i].p_flags == PF_R;
		if (parts[i].p_type == PT_LOAD && parts[i].p_flags & PF_X &&
			parts[i].p_offset <= bytes &&
			parts[i].p_filesz <= bytes - parts[i].p_offset)
			code[count++] = parts[i];
	}
	return has_constants ? count : 0;
}

/* Returns a mask: bit i is set if the file contains texts[i], as a symbol or a name to open. */
static uint64_t file_holds(const char *path, const struct needles *set)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Phdr code[MOST_PARTS];
	uint64_t found = 0;
	struct stat st;

	if (fd < 0)
		return 0;
	bool is_file = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0;
	size_t bytes = !is_file ? 0 : st.st_size < MOST_BYTES ? (size_t)st.st_size : MOST_BYTES;
	char *data = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (data == MAP_FAILED)
		return 0;
	size_t count = foresight_code_of((const void *)data, bytes, code), at = 0;
	for (size_t i = 0; i < count; i++) { /* in the order of their addresses, thus of the file */
		if (code[i].p_offset > at)
			found |= needles_find(set, data + at, code[i].p_offset - at);
		if (code[i].p_offset + code[i].p_filesz > at)
			at = code[i].p_offset + code[i].p_filesz;
	}
	found |= needles_find(set, data + at, bytes - at);
	munmap(data, bytes);
	return found;
}

static bool foresight_is_ours(const char *path)
{
	return path_is_called(path, "libbrick");
}

/* ggml. */

/* True for backends of ggml whose nodes are recorded at their launch. */
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
	struct needles graphs;

	if (program_files_of_command(&files, command, false))
		return false;
	needles_init(&graphs, own_texts + OF_GRAPHS, 1);
	for (size_t i = 0; i < files.paths.count && files.obstacle == INJECT_FINE; i++)
		if (!foresight_is_ours(files.paths.items[i]) &&
			file_holds(files.paths.items[i], &graphs) &&
			!program_ggml(&ggml, files.paths.items[i]))
			add_ggml(&outlook, &files, i, &ggml);
	program_files_fini(&files);
	return ggml_way_of(outlook.reached, !outlook.has_device, digests) == GGML_WAY_CALLBACK;
}

/* Other attachers. */

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* True if the line has the word as a whole, and not inside of a path, unless it begins a path. */
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

/* The library among the first `count` files whose name begins so; NULL: there is none. */
static char *linked(const struct program_files *files, const char *library, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (path_is_called(files->paths.items[i], library))
			return xasprintf("%s %s",
				files->is_process ? "the process has loaded"
				: i < files->own  ? "the program is linked with"
						  : "what the command names is linked with",
				path_name(files->paths.items[i]));
	return NULL;
}

static char *foresight_said(const struct program_files *files, const char *name, bool is_module)
{
	for (size_t i = 0; i < files->texts.count && files->is_interpreted; i++)
		if (text_says(&files->texts.items[i], name, is_module))
			return xasprintf("%s is named in %s", name + (*name == '/'),
				files->texts.items[i].path ? files->texts.items[i].path
							   : "the command");
	return NULL;
}

/* The reason why the attacher may record the program, without reading files; NULL: none. */
static char *reason_for(const struct program_files *files, const struct attacher *a)
{
	char *why = NULL;

	for (const char *const *name = a->libraries; name && *name && !why; name++)
		why = linked(files, *name, files->own);
	for (const char *const *name = a->libraries; name && *name && !why; name++)
		why = foresight_said(files, *name, false);
	for (const char *const *name = a->modules; name && *name && !why; name++)
		why = foresight_said(files, *name, true);
	for (const char *const *name = a->libraries; name && *name && !why; name++)
		why = linked(files, *name, files->paths.count);
	return why;
}

/* The attacher's names of libraries and variables; returns how many. */
static size_t foresight_names_of(const struct attacher *a, const char **names, size_t room)
{
	size_t count = 0;

	for (const char *const *name = a->libraries; name && *name && count < room; name++)
		names[count++] = *name;
	if (a->variable && count < room)
		names[count++] = a->variable;
	return count;
}

/* Add the attachers without a reason so far whose names the file contains (the mask `held`). */
static void look_into(
	struct foresight *f, const struct needles *set, uint64_t held, const char *path)
{
	const char *names[NEEDLES_MOST];

	for (size_t i = 0; i < f->may.count; i++) {
		struct foreseen *may = &f->may.items[i];
		size_t count = foresight_names_of(may->attacher, names, NEEDLES_MOST);
		for (size_t k = 0; k < count && !may->why; k++)
			for (size_t n = OF_ATTACHERS; n < set->count && !may->why; n++)
				if (held >> n & 1 && !strcmp(names[k], set->texts[n]))
					may->why = xasprintf("%s is named in %s", names[k], path);
	}
}

/*
 * The version of an interpreter's module, as "1.13.1"; NULL: there is none, or there are several.
 * without_gil: its folder is lib/python3.14t/site-packages.
 */
static char *version_in(const char *interpreter, const char *file, bool *without_gil)
{
	char text[4096] = "";
	glob_t found;

	if (!program_files_of_python(interpreter, file, &found) && found.gl_pathc == 1) {
		file_begin(found.gl_pathv[0], text, sizeof(text));
		*without_gil = strstr(found.gl_pathv[0], "t/site-packages/");
	}
	globfree(&found);
	char *begin = strstr(text, "__version__ = ");
	begin = begin ? strpbrk(begin, "0123456789\n") : NULL;
	return begin && *begin != '\n' ? xasprintf("%.*s", (int)strcspn(begin, "'\"\n"), begin)
				       : NULL;
}

static void foresee(struct foresight *f, const struct program_files *files,
	const struct needles *set, const uint64_t *held)
{
	size_t kept = 0;

	for (const struct attacher *const *a = attachers; *a; a++)
		if (inject_is_ready(*a) && !(f->outlook.has_ggml && !strcmp((*a)->name, "ggml")))
			xpush(&f->may,
				(struct foreseen){.attacher = *a, .why = reason_for(files, *a)});
	for (size_t i = 0; i < files->paths.count; i++)
		if (!foresight_is_ours(files->paths.items[i]))
			look_into(f, set, held[i], files->paths.items[i]);
	for (size_t i = 0; i < f->may.count; i++)
		if (f->may.items[i].why)
			f->may.items[kept++] = f->may.items[i];
	f->may.count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct foreseen *may = &f->may.items[i];
		const struct attacher *a = may->attacher;
		for (size_t k = 0; a->version_file && k < files->paths.count && !may->version; k++)
			if (path_is_called(files->paths.items[k], "python"))
				may->version = version_in(
					files->paths.items[k], a->version_file, &may->without_gil);
	}
}

void foresight_of(struct foresight *f, const struct program_files *files)
{
	SCOPED uint64_t *held = xcalloc(files->paths.count, sizeof(*held));
	SCOPED struct needles *set = xcalloc(1, sizeof(*set));
	const uint64_t of_ggml =
		1u << OF_GRAPHS | 1u << OF_CONTEXTS | 1u << OF_BACKENDS | 1u << OF_ASSERTS;

	memset(f, 0, sizeof(*f));
	f->ggml = xcalloc(files->paths.count, sizeof(*f->ggml));
	const char *names[NEEDLES_MOST];
	size_t count = OF_ATTACHERS;
	memcpy(names, own_texts, sizeof(own_texts));
	for (const struct attacher *const *a = attachers; *a; a++)
		count += foresight_names_of(*a, names + count, NEEDLES_MOST - count);
	needles_init(set, names, count);
	for (size_t i = 0; i < files->paths.count; i++) {
		const char *path = files->paths.items[i];
		held[i] = file_holds(path, set);
		/* programs that are linked with a shared MPI name its MPI_Init */
		if (held[i] >> OF_MPI & 1 && !foresight_is_ours(path))
			f->static_mpi = path_name(path);
		if (i < files->own && !files->is_process)
			f->has_libbrick |= path_is_called(path, "libbrick.so") ||
					   (i == 0 && held[i] >> OF_US & 1);
		/* a table of symbols takes long to be read */
		if (foresight_is_ours(path) ||
			!(held[i] & of_ggml || path_is_called(path, "libggml")) ||
			program_ggml(&f->ggml[i], path))
			continue;
		add_ggml(&f->outlook, files, i, &f->ggml[i]);
	}
	if (files->obstacle == INJECT_FINE)
		foresee(f, files, set, held);
	for (size_t i = 0; i < f->may.count; i++)
		if (!strcmp(f->may.items[i].attacher->name, "mpi"))
			f->static_mpi = NULL;
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

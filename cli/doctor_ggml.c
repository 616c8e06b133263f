/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ggml's libraries on this machine: which of the symbols that Brick stands in front of they export
 * and reach through the dynamic linker, and so how they would be attached to. Called by `brick
 * doctor`.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "brick/error.h"
#include "cli/doctor.h"
#include "cli/elf_symbols.h"
#include "view/memory.h"

enum { DEPTH_MAX = 10, ENGINES_MAX = 64, FILES_MAX = 256 };

/* What each symbol gives; the first two must be there for times of single nodes. */
static const struct doctor_hook hooks_wanted[] = {
	{"ggml_cpu_extra_compute_forward", "begin of each node on each thread", 0, 0},
	{"ggml_barrier", "end of nodes, and waiting apart from work", 0, 0},
	{"ggml_compute_forward_rms_norm_mul_fused", "the fused norm", 0, 0},
	{"ggml_graph_compute", "graphs", 0, 0},
	{"ggml_backend_sched_alloc_graph", "allocation", 0, 0},
	{"ggml_backend_tensor_set", "input copies", 0, 0},
	{"ggml_backend_tensor_get_async", "output copies", 0, 0},
	{"llama_decode", "steps", 0, 0},
	{"_ZN13llama_context6decodeERK11llama_batch", "steps of callers that look symbols up", 0,
		0},
	{"llama_sampler_sample", "sampling", 0, 0},
	{"llama_sampler_apply", "sampling", 0, 0},
};

enum { NODE, BARRIER, WANTED = sizeof(hooks_wanted) / sizeof(hooks_wanted[0]) };
_Static_assert((int)WANTED <= (int)DOCTOR_HOOKS, "room for all hooks");

/* Whether a file's name is that of a library that may hold ggml. */
static bool is_candidate(const char *name)
{
	static const char *const patterns[] = {
		"libggml*.so*", "libllama*.so*", "libwhisper*.so*", "libstable-diffusion*.so*"};
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	return false;
}

static bool is_ggml(const char *name)
{
	return fnmatch("libggml*.so*", name, 0) == 0;
}

/* What is called by the program itself is reached through the linker of the program. */
static bool is_called_from_outside(size_t hook)
{
	return !strncmp(hooks_wanted[hook].symbol, "llama_", 6);
}

/* Count one object in; 0 when it has no symbols that could be looked at. */
static int look_at(struct doctor_engine *engine, const char *path)
{
	struct elf_symbols *symbols;
	int rc = elf_symbols_open(&symbols, path);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < WANTED; i++) {
		struct doctor_hook *hook = &engine->hooks[i];
		bool defines = elf_symbols_defines(symbols, hook->symbol);
		hook->defined |= defines;
		hook->reached |= elf_symbols_refers(symbols, hook->symbol) ||
				 (defines && is_called_from_outside(i));
	}
	elf_symbols_close(symbols);
	return 0;
}

static void judge(struct doctor_engine *engine)
{
	bool nodes = true, steps = false, any = false;
	for (size_t i = 0; i < WANTED; i++) {
		bool works = engine->hooks[i].defined && engine->hooks[i].reached;
		any |= works;
		if (i == NODE || i == BARRIER)
			nodes &= works;
		if (!strcmp(engine->hooks[i].gives, "steps"))
			steps |= works;
	}
	engine->status = nodes && steps ? DOCTOR_OK : any ? DOCTOR_LIMITED : DOCTOR_NO;
	engine->method =
		xstrdup(nodes && steps ? "each node on each thread, without splitting the graph"
			: nodes	       ? "each node on each thread; steps are not seen"
			: any	       ? "steps and phases only: these libraries have no hook for "
					 "single nodes (llama.cpp from b4435 on does)"
				       : "nothing: no symbol that could be stood in front of");
}

static struct doctor_engine *new_engine(struct doctor *doctor, const char *path)
{
	if (doctor->engine_count == ENGINES_MAX)
		return NULL;
	doctor->engines =
		xrealloc(doctor->engines, (doctor->engine_count + 1) * sizeof(*doctor->engines));
	struct doctor_engine *engine = &doctor->engines[doctor->engine_count++];
	memset(engine, 0, sizeof(*engine));
	memcpy(engine->hooks, hooks_wanted, sizeof(hooks_wanted));
	engine->hook_count = WANTED;
	engine->path = xstrdup(path);
	engine->files = xstrdup("");
	return engine;
}

static void add_file_name(struct doctor_engine *engine, const char *name)
{
	char *longer = xasprintf("%s%s%s", engine->files, *engine->files ? " " : "", name);
	free(engine->files);
	engine->files = longer;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in a directory, sorted; the caller frees each and the list. */
static size_t list_directory(const char *path, char **names, size_t max)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	size_t count = 0;
	while (directory && count < max && (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			names[count++] = xstrdup(entry->d_name);
	if (directory)
		closedir(directory);
	qsort(names, count, sizeof(*names), compare_names);
	return count;
}

static bool is_known(const struct doctor *doctor, const char *path)
{
	for (size_t i = 0; i < doctor->engine_count; i++)
		if (!strcmp(doctor->engines[i].path, path))
			return true;
	return false;
}

static void look_at_directory(
	struct doctor *doctor, const char *path, char *const *names, size_t count)
{
	char real[PATH_MAX];
	bool any = false;
	for (size_t i = 0; i < count; i++)
		any |= is_ggml(names[i]);
	if (!any || !realpath(path, real) || is_known(doctor, real))
		return;
	struct doctor_engine *engine = new_engine(doctor, real);
	for (size_t i = 0; engine && i < count; i++) {
		if (!is_candidate(names[i]))
			continue;
		char *file = xasprintf("%s/%s", real, names[i]);
		if (look_at(engine, file) == 0)
			add_file_name(engine, names[i]);
		free(file);
	}
	if (engine)
		judge(engine);
}

/* A directory, and those below it down to a depth; links are not followed. */
static void search(struct doctor *doctor, const char *path, int depth)
{
	char **names = xcalloc(FILES_MAX * 16, sizeof(*names));
	size_t count = list_directory(path, names, FILES_MAX * 16);
	look_at_directory(doctor, path, names, count);
	for (size_t i = 0; i < count; i++) {
		struct stat st;
		char *below = xasprintf("%s/%s", path, names[i]);
		if (depth > 0 && lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
			search(doctor, below, depth - 1);
		free(below);
		free(names[i]);
	}
	free(names);
}

static void add_named(struct doctor *doctor, const char *path)
{
	struct stat st;
	size_t before = doctor->engine_count;
	if (stat(path, &st) != 0) {
		doctor_add(
			doctor, "ggml", "engine", DOCTOR_NO, NULL, "%s: %s", path, strerror(errno));
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		search(doctor, path, DEPTH_MAX);
		if (doctor->engine_count == before && !is_known(doctor, path))
			doctor_add(doctor, "ggml", "engine", DOCTOR_NO, NULL,
				"%s: no libggml*.so in it", path);
		return;
	}
	struct doctor_engine *engine = new_engine(doctor, path);
	int rc = engine ? look_at(engine, path) : 0;
	if (!engine)
		return;
	judge(engine);
	if (rc < 0) {
		free(engine->method);
		engine->method = xasprintf("nothing: %s",
			rc == BRICK_ENOTRECORDED
				? "it exports no symbols; what is inside of it is out of reach"
			: rc < -4000 ? brick_strerror(rc)
				     : strerror(-rc));
		engine->status = DOCTOR_NO;
	}
}

static void search_list(struct doctor *doctor, const char *list)
{
	char *copy = xstrdup(list ? list : ""), *rest = copy, *path;
	while ((path = strsep(&rest, ":")))
		if (*path)
			search(doctor, path, 0);
	free(copy);
}

void doctor_ggml(struct doctor *doctor, const char *const *paths)
{
	static const char *const usual[] = {"/usr/lib", "/usr/local/lib", "/usr/lib64",
		"/usr/local/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/usr/lib/x86_64-linux-gnu/ggml", "/usr/lib/aarch64-linux-gnu/ggml"};
	for (size_t i = 0; paths[i]; i++)
		add_named(doctor, paths[i]);
	if (!paths[0]) {
		search_list(doctor, getenv("LD_LIBRARY_PATH"));
		search(doctor, "node_modules/@node-llama-cpp", DEPTH_MAX);
		search(doctor, "build/demo/engine/node_modules/@node-llama-cpp", DEPTH_MAX);
		for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
			search(doctor, usual[i], 0);
	}
	size_t well = 0;
	for (size_t i = 0; i < doctor->engine_count; i++)
		well += doctor->engines[i].status == DOCTOR_OK;
	if (doctor->engine_count)
		doctor_add(doctor, "ggml", "libraries",
			well == doctor->engine_count ? DOCTOR_OK : DOCTOR_LIMITED, NULL,
			"%zu set%s found, %zu of which can be recorded node by node",
			doctor->engine_count, doctor->engine_count == 1 ? "" : "s", well);
	else if (!paths[0])
		doctor_add(doctor, "ggml", "libraries", DOCTOR_ABSENT,
			"point to an engine's libraries with --engine DIR",
			"none found in LD_LIBRARY_PATH, the usual directories and ./node_modules");
}

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

#include "base/order.h"
#include "brick/error.h"
#include "cli/cmd_doctor.h"
#include "cli/program_ggml.h"
#include "attach/patch/image.h"
#include "attach/rules/ggml_symbols.h"
#include "cli/die.h"

enum { DEPTH_MAX = 10, ENGINES_MAX = 64, FILES_MAX = 256 };

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

/* What would be patched, as its calls do not go through the dynamic linker. */
static void add_patched(struct doctor_engine *engine, const char *path)
{
	struct program_ggml ggml;
	if (program_ggml(&ggml, path) || ggml.way != PROGRAM_GGML_PATCHED)
		return;
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++) {
		engine->hooks[i].defined |= ggml.reached[i];
		engine->hooks[i].reached |= ggml.reached[i];
	}
}

/* Count one object in; 0 when it has no symbols that could be looked at. */
static int look_at(struct doctor_engine *engine, const char *path)
{
	struct image image;
	int rc = image_open(&image, path);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < GGML_SYMBOL_COUNT && image.has_dynamic; i++) {
		const struct ggml_symbol *symbol = &ggml_symbols[i];
		struct doctor_hook *hook = &engine->hooks[i];
		bool exports = image_exports(&image, symbol->name);
		hook->defined |= exports;
		/* The program itself calls it through the dynamic linker. */
		hook->reached |= image_reaches(&image, symbol->name) ||
				 (exports && symbol->library == GGML_IN_PROGRAM);
	}
	rc = image.has_dynamic ? 0 : BRICK_ENOTRECORDED;
	image_close(&image);
	if (rc == 0)
		add_patched(engine, path);
	return rc;
}

/* What could be used of the hooks for one thing. */
struct offer {
	bool any, all; /* that works; that must */
};

static struct offer offer_of(const struct doctor_engine *engine, enum ggml_use use)
{
	struct offer offer = {false, true};
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++) {
		bool works = engine->hooks[i].defined && engine->hooks[i].reached;
		if (ggml_symbols[i].use != use)
			continue;
		offer.any |= works;
		offer.all &= works || ggml_symbols[i].need != GGML_MUST;
	}
	return offer;
}

static void judge(struct doctor_engine *engine)
{
	const struct doctor_hook *node = &engine->hooks[GGML_NODE_FORWARD];
	bool nodes = node->defined && node->reached;
	bool waits = offer_of(engine, GGML_FOR_NODES).all;
	bool steps = offer_of(engine, GGML_FOR_STEPS).any;
	bool callback = offer_of(engine, GGML_FOR_CALLBACK).all;
	bool any = false;
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		any |= engine->hooks[i].defined && engine->hooks[i].reached;
	engine->status = nodes && steps && waits ? DOCTOR_OK : any ? DOCTOR_LIMITED : DOCTOR_NO;
	engine->method = xstrdup(
		nodes && steps && !waits
			? "each node on each thread; waiting is not kept apart from work"
		: nodes && steps ? "each node on each thread, without splitting the graph"
		: nodes		 ? "each node on each thread; steps are not seen"
		: callback	 ? "each node by the scheduler's evaluation callback, which splits "
				   "the graph: times are inflated"
		: any		 ? "steps and phases only: these libraries have no hook for "
				   "single nodes (llama.cpp from b4435 on does)"
		      : "nothing: none of the functions that Brick hooks can be found in it");
	/* Details that are not listed. */
	size_t kept = 0;
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (engine->hooks[i].gives)
			engine->hooks[kept++] = engine->hooks[i];
	engine->hook_count = kept;
}

static struct doctor_engine *new_engine(struct doctor *doctor, const char *path)
{
	if (doctor->engines.count == ENGINES_MAX)
		return NULL;
	xpush(&doctor->engines,
		(struct doctor_engine){.path = xstrdup(path), .files = xstrdup("")});
	struct doctor_engine *engine = &doctor->engines.items[doctor->engines.count - 1];
	for (size_t i = 0; i < GGML_SYMBOL_COUNT; i++)
		engine->hooks[i] =
			(struct doctor_hook){ggml_symbols[i].name, ggml_symbols[i].gives, 0, 0};
	return engine;
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
	qsort(names, count, sizeof(*names), order_texts);
	return count;
}

static bool is_known(const struct doctor *doctor, const char *path)
{
	for (size_t i = 0; i < doctor->engines.count; i++)
		if (!strcmp(doctor->engines.items[i].path, path))
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
		SCOPED char *file = xasprintf("%s/%s", real, names[i]);
		if (look_at(engine, file) == 0)
			xappend(&engine->files, " ", "%s", names[i]);
	}
	if (engine)
		judge(engine);
}

/* A directory, and those below it down to a depth; links are not followed. */
static void search(struct doctor *doctor, const char *path, int depth)
{
	SCOPED char **names = xcalloc(FILES_MAX * 16, sizeof(*names));
	size_t count = list_directory(path, names, FILES_MAX * 16);
	look_at_directory(doctor, path, names, count);
	for (size_t i = 0; i < count; i++) {
		struct stat st;
		SCOPED char *below = xasprintf("%s/%s", path, names[i]);
		if (depth > 0 && lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
			search(doctor, below, depth - 1);
		free(names[i]);
	}
}

static void add_named(struct doctor *doctor, const char *path)
{
	struct stat st;
	size_t before = doctor->engines.count;
	if (stat(path, &st) != 0) {
		doctor_add(
			doctor, "ggml", "engine", DOCTOR_NO, NULL, "%s: %s", path, strerror(errno));
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		search(doctor, path, DEPTH_MAX);
		if (doctor->engines.count == before && !is_known(doctor, path))
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
	SCOPED char *copy = xstrdup(list ? list : "");
	char *rest = copy, *path;
	while ((path = strsep(&rest, ":")))
		if (*path)
			search(doctor, path, 0);
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
	for (size_t i = 0; i < doctor->engines.count; i++)
		well += doctor->engines.items[i].status == DOCTOR_OK;
	if (doctor->engines.count)
		doctor_add(doctor, "ggml", "libraries",
			well == doctor->engines.count ? DOCTOR_OK : DOCTOR_LIMITED, NULL,
			"%zu set%s found, %zu of which can be recorded node by node",
			doctor->engines.count, doctor->engines.count == 1 ? "" : "s", well);
	else if (!paths[0])
		doctor_add(doctor, "ggml", "libraries", DOCTOR_ABSENT,
			"point to an engine's libraries with --engine DIR",
			"none found in LD_LIBRARY_PATH, the usual directories and ./node_modules");
}

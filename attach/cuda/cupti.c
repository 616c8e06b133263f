/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening CUPTI (cupti.h). It belongs to the toolkit, not to the driver, so it is looked for where
 * the user says, in the linker's path, beside the CUDA runtime that the program has loaded (as
 * Python packages lay it out), and where toolkits are installed.
 */
#include "attach/cuda/cupti.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sys/functions.h"

struct cupti cupti;

#define NEEDED(member, name) SYS_NEEDED(cupti, member, name)
#define OPTIONAL(member, name) SYS_OPTIONAL(cupti, member, name)
static const struct sys_function functions[] = {
	NEEDED(version, "cuptiGetVersion"),
	NEEDED(result_string, "cuptiGetResultString"),
	NEEDED(subscribe, "cuptiSubscribe"),
	NEEDED(unsubscribe, "cuptiUnsubscribe"),
	NEEDED(enable_callback, "cuptiEnableCallback"),
	NEEDED(callback_name, "cuptiGetCallbackName"),
	NEEDED(register_callbacks, "cuptiActivityRegisterCallbacks"),
	NEEDED(enable, "cuptiActivityEnable"),
	NEEDED(disable, "cuptiActivityDisable"),
	NEEDED(next_record, "cuptiActivityGetNextRecord"),
	NEEDED(dropped, "cuptiActivityGetNumDroppedRecords"),
	NEEDED(flush_all, "cuptiActivityFlushAll"),
	NEEDED(timestamp, "cuptiGetTimestamp"),
	OPTIONAL(set_attribute, "cuptiActivitySetAttribute"),
	OPTIONAL(graph_node_id, "cuptiGetGraphNodeId"),
	OPTIONAL(enable_driver_call, "cuptiActivityEnableDriverApi"),
	OPTIONAL(enable_runtime_call, "cuptiActivityEnableRuntimeApi"),
};

static void *library;

static int try_open(const char *path)
{
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return library != NULL;
}

static int try_in(const char *directory, const char *below)
{
	static const char *const names[] = {
		"libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int n = snprintf(path, sizeof path, "%s%s%s", directory, below, names[i]);
		if (n < (int)sizeof path && try_open(path))
			return 1;
	}
	return 0;
}

/* .../cuda_runtime/lib/libcudart.so.12 has a sibling .../cuda_cupti/lib */
static int look_beside(struct dl_phdr_info *info, size_t size, void *context)
{
	char directory[PATH_MAX];
	const char *name = info->dlpi_name;
	const char *file = name ? strrchr(name, '/') : NULL;

	if (!file || strncmp(file, "/libcudart.so", 13) || file - name >= (long)sizeof directory)
		return 0;
	snprintf(directory, sizeof directory, "%.*s", (int)(file - name), name);
	snprintf(context, PATH_MAX, "%s", directory);
	return 1;
}

static int open_beside_runtime(void)
{
	char directory[PATH_MAX] = "";

	/* opening from within the iteration could wait for the linker's own lock */
	return dl_iterate_phdr(look_beside, directory) &&
	       (try_in(directory, "/") || try_in(directory, "/../../cuda_cupti/lib/") ||
		       try_in(directory, "/../extras/CUPTI/lib64/"));
}

static int find_library(void)
{
	static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
	const char *wanted = getenv("BRICK_CUPTI");

	if (wanted && *wanted)
		return try_open(wanted);
	if (try_in("", "") || open_beside_runtime())
		return 1;
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *home = getenv(variables[i]);
		if (home && *home &&
			(try_in(home, "/extras/CUPTI/lib64/") || try_in(home, "/lib64/")))
			return 1;
	}
	return try_in("/usr/local/cuda", "/extras/CUPTI/lib64/") ||
	       try_in("/usr/local/cuda", "/lib64/") || try_in("/opt/cuda", "/extras/CUPTI/lib64/");
}

static void note_path(void)
{
	struct link_map *map = NULL;

	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
		snprintf(cupti.path, sizeof cupti.path, "%s", map->l_name);
}

int cupti_open(char *why, size_t bytes)
{
	if (!find_library()) {
		snprintf(why, bytes,
			"libcupti.so was not found (set BRICK_CUPTI to its path, or CUDA_HOME)");
		return -ENOENT;
	}
	note_path();
	const char *missing = sys_functions_find(
		library, functions, sizeof functions / sizeof *functions, &cupti);
	if (missing) {
		snprintf(why, bytes, "%s has no %s", cupti.path, missing);
		return -ELIBACC;
	}
	return 0;
}

const char *cupti_text(int result)
{
	const char *text = NULL;

	if (cupti.result_string && cupti.result_string(result, &text) == CUPTI_FINE && text)
		return text;
	return "unknown error";
}

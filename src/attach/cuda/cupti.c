/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI belongs to the toolkit, not to the driver, so it is looked for where
 * the user says, among what the program has loaded, in the linker's path, beside the CUDA runtime
 * that the program has loaded (as Python packages lay it out), and where toolkits are installed.
 */
#include "attach/cuda/cupti.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sys/environment.h"
#include "lib/sys/functions.h"

struct cupti cupti;

#define NEEDED(member, name) SYS_NEEDED(cupti, member, name)
#define OPTIONAL(member, name) SYS_OPTIONAL(cupti, member, name)
static const struct sys_function cupti_functions[] = {
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
	OPTIONAL(use_timestamp, "cuptiActivityRegisterTimestampCallback"),
};

enum { MAX_TRIED = 16 };

static void *cupti_library;
static void *tried[MAX_TRIED]; /* those that were opened before */
static uint32_t tried_count;

/* False for a library that did not suit. */
static bool cupti_is_next(void *handle)
{
	for (uint32_t i = 0; i < tried_count; i++)
		if (tried[i] == handle)
			return false;
	if (tried_count == MAX_TRIED)
		return false;
	tried[tried_count++] = cupti_library = handle;
	return true;
}

static int try_open(const char *path, int flags)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);

	if (handle && cupti_is_next(handle))
		return 1;
	if (handle)
		dlclose(handle);
	return 0;
}

/* Paths of the loaded CUPTI and of the loaded CUDA runtime; "" where there is none. */
struct loaded {
	char cupti[PATH_MAX], runtime[PATH_MAX];
};

static int look_at_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *loaded = context;
	const char *name = info->dlpi_name ? info->dlpi_name : "", *file = strrchr(name, '/');

	file = file ? file + 1 : name;
	if (!strncmp(file, "libcupti.so", 11))
		snprintf(loaded->cupti, sizeof(loaded->cupti), "%s", name);
	if (!strncmp(file, "libcudart.so", 12))
		snprintf(loaded->runtime, sizeof(loaded->runtime), "%s", name);
	return 0;
}

/* First that of the runtime's own major version, then whatever there is. */
static int try_in(const char *directory, const char *below, const struct loaded *loaded)
{
	const char *version = strstr(loaded->runtime, "libcudart.so.");
	char own[32], path[PATH_MAX];
	const char *const names[] = {
		own, "libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};

	snprintf(own, sizeof(own), "libcupti.so.%d", version ? atoi(version + 13) : 0);
	for (size_t i = version ? 0 : 1; i < sizeof(names) / sizeof(*names); i++) {
		int n = snprintf(path, sizeof(path), "%s%s%s", directory, below, names[i]);
		if (n < (int)sizeof(path) && try_open(path, 0))
			return 1;
	}
	return 0;
}

/* .../cuda_runtime/lib/libcudart.so.12 has a sibling .../cuda_cupti/lib */
static int open_beside_runtime(const struct loaded *loaded)
{
	char directory[PATH_MAX];
	const char *file = strrchr(loaded->runtime, '/');

	if (!file)
		return 0;
	snprintf(directory, sizeof(directory), "%.*s", (int)(file - loaded->runtime),
		loaded->runtime);
	return try_in(directory, "/", loaded) ||
	       try_in(directory, "/../../cuda_cupti/lib/", loaded) ||
	       try_in(directory, "/../extras/CUPTI/lib64/", loaded);
}

static int cupti_find_library(void)
{
	static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
	const char *wanted = brick__environment("BRICK_CUPTI");
	struct loaded loaded = {"", ""};

	if (wanted && *wanted)
		return try_open(wanted, 0);
	/* opening from within the iteration could wait for the linker's own lock */
	dl_iterate_phdr(look_at_loaded, &loaded);
	if (*loaded.cupti && try_open(loaded.cupti, RTLD_NOLOAD))
		return 1;
	if (try_in("", "", &loaded) || open_beside_runtime(&loaded))
		return 1;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *home = brick__environment(variables[i]);
		if (home && *home &&
			(try_in(home, "/extras/CUPTI/lib64/", &loaded) ||
				try_in(home, "/lib64/", &loaded)))
			return 1;
	}
	return try_in("/usr/local/cuda", "/extras/CUPTI/lib64/", &loaded) ||
	       try_in("/usr/local/cuda", "/lib64/", &loaded) ||
	       try_in("/opt/cuda", "/extras/CUPTI/lib64/", &loaded);
}

int cupti_open(char *why, size_t bytes)
{
	struct link_map *map = NULL;

	if (!cupti_find_library()) {
		snprintf(why, bytes,
			"libcupti.so was not found (set BRICK_CUPTI to its path, or CUDA_HOME)");
		return -ENOENT;
	}
	if (dlinfo(cupti_library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
		snprintf(cupti.path, sizeof(cupti.path), "%s", map->l_name);
	const char *missing = sys_functions_find(cupti_library, cupti_functions,
		sizeof(cupti_functions) / sizeof(*cupti_functions), &cupti);
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

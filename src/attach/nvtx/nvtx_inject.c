/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-nvtx.so: NVTX loads it at the first call of each shared object that has NVTX inside, as
 * `brick record` sets NVTX_INJECTION64_PATH. A tool that the user had set there is in
 * BRICK_NVTX_NEXT: it is loaded as well, initialised first, and called from our functions. Whether
 * the other tool takes an object or not, ours does.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include "attach/annotate/ranges.h"
#include "attach/common/notes_once.h"
#include "attach/nvtx/nvtx_calls.h"
#include "attach/nvtx/nvtx_handles.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "lib/sys/environment.h"
#include "lib/sys/functions.h"

BRICK_API int InitializeInjectionNvtx2(nvtx_export_fn get_export);
BRICK_API int InitializeInjectionNvtxExtension(struct nvtx_module *module);

typedef int (*initialize_fn)(nvtx_export_fn);
typedef int (*initialize_extension_fn)(struct nvtx_module *);

static struct {
	initialize_fn initialize;
	initialize_extension_fn initialize_extension;
} other;
static pthread_once_t nvtx_inject_once = PTHREAD_ONCE_INIT;

static void load_other(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY);

	if (!library) {
		note_once("nvtx.next", "%s was not loaded: %s", path, dlerror());
		return;
	}
	sys_function_find(library, "InitializeInjectionNvtx2", &other.initialize);
	sys_function_find(library, "InitializeInjectionNvtxExtension", &other.initialize_extension);
	if (other.initialize == InitializeInjectionNvtx2) { /* a recorder within a recorder */
		other.initialize = NULL;
		other.initialize_extension = NULL;
		return;
	}
	if (!other.initialize && !other.initialize_extension)
		note_once("nvtx.next", "%s has nothing that NVTX calls", path);
	else
		note_once("nvtx.next", "%s gets all calls as well", path);
	nvtx_is_chained = true;
}

static void nvtx_inject_start(void)
{
	const char *next = brick__environment("BRICK_NVTX_NEXT");

	if (next && *next)
		load_other(next);
	ranges_tell_at_exit("nvtx");
}

int InitializeInjectionNvtx2(nvtx_export_fn get_export)
{
	static const int modules[] = {NVTX_CORE, NVTX_CORE2};
	nvtx_function **tables[2] = {NULL, NULL}, before[2][NVTX_MAX_CALLS];
	unsigned counts[2] = {0, 0};
	KEEP_ERRNO();
	const struct nvtx_callbacks *callbacks = get_export ? get_export(NVTX_CALLBACKS) : NULL;

	if (!callbacks || callbacks->size < sizeof(*callbacks) || !callbacks->module_table)
		return 0;
	pthread_once(&nvtx_inject_once, nvtx_inject_start);
	note_once("attach", "NVTX ranges");
	for (int m = 0; m < 2; m++) {
		if (!callbacks->module_table(modules[m], &tables[m], &counts[m]) || !tables[m])
			counts[m] = 0;
		for (unsigned i = 1; i < counts[m] && i < NVTX_MAX_CALLS; i++)
			before[m][i] = tables[m][i] ? *tables[m][i] : NULL;
	}
	if (other.initialize)
		other.initialize(get_export);
	for (int m = 0; m < 2; m++)
		nvtx_calls_take(modules[m], tables[m], counts[m], before[m]);
	return 1;
}

int InitializeInjectionNvtxExtension(struct nvtx_module *module)
{
	KEEP_ERRNO();

	if (!module || !module->segments)
		return 0;
	pthread_once(&nvtx_inject_once, nvtx_inject_start);
	int theirs = other.initialize_extension ? other.initialize_extension(module) : 0;
	if (module->id != NVTX_PAYLOAD_MODULE)
		return theirs;
	for (size_t i = 0; i < module->segment_count; i++)
		if (module->segments[i].slots)
			nvtx_payloads_take(&module->segments[i]);
	return 1;
}

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes,
		"NVTX ranges of any program are recorded; engines may need a switch to make them");
	return 0;
}

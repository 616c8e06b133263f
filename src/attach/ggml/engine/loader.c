/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of this library must use these functions: dlopen() and dlclose() by name are our own hooks
 * (hooks_process.c).
 */
#include "attach/ggml/engine/loader.h"

#include <dlfcn.h>
#include "lib/sys/functions.h"

void *loader_real_dlopen __attribute__((visibility("hidden")));

void loader_ready(void)
{
	sys_function_next(&loader_real_dlopen, "dlopen");
}

void *loader_open(const char *path, int flags)
{
	void *(*open)(const char *, int) =
		(void *(*)(const char *, int))sys_function_next(&loader_real_dlopen, "dlopen");

	return open(path, flags);
}

int loader_close(void *handle)
{
	static void *found;
	int (*close)(void *) = (int (*)(void *))sys_function_next(&found, "dlclose");

	return close ? close(handle) : -1;
}

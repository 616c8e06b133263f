/* SPDX-License-Identifier: Apache-2.0 */
/* A handle on the library, and its version by its name or by the file beside it. */
#include "attach/torch/torch_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "attach/common/object.h"
#include "lib/sys/functions.h"

static void *torch_library; /* libtorch_cpu.so; NULL: it has not been seen */
static bool is_observed;

void torch_library_set(void *handle)
{
	__atomic_store_n(&torch_library, handle, __ATOMIC_RELEASE);
}

bool torch_library_known(void)
{
	return __atomic_load_n(&torch_library, __ATOMIC_ACQUIRE) != NULL;
}

void torch_library_symbol(const char *name, void *function)
{
	void *handle = __atomic_load_n(&torch_library, __ATOMIC_ACQUIRE);

	if (!handle || !sys_function_find(handle, name, function))
		memset(function, 0, sizeof(void *));
}

void torch_library_next(const char *name, const void *ours, void *function)
{
	void *found;

	torch_library_symbol(name, &found);
	if (!found || found == ours) /* opened by a bare name, or it has another one */
		found = object_symbol(name, ours);
	memcpy(function, &found, sizeof(found));
}

void torch_observed_set(bool is)
{
	__atomic_store_n(&is_observed, is, __ATOMIC_RELEASE);
}

bool torch_observed(void)
{
	return __atomic_load_n(&is_observed, __ATOMIC_ACQUIRE);
}

/* The first number with a dot behind it in a line of a file: "__version__ = '1.13.1+cpu'". */
static bool read_version(const char *path, char *version, size_t bytes)
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool is_found = false;

	while (file && !is_found && fgets(line, sizeof(line), file)) {
		const char *number = strpbrk(line, "0123456789");
		if (!number || (strncmp(line, "__version__", 11) && number != line))
			continue;
		snprintf(version, bytes, "%.*s", (int)strcspn(number, "'\"\n"), number);
		is_found = strchr(version, '.') != NULL;
	}
	if (file)
		fclose(file);
	return is_found;
}

/* Wheels have version.py beside their lib/, the C++ distribution build-version. */
void torch_library_version(const char *path, char *version, size_t bytes)
{
	static const char *const beside[] = {"/../version.py", "/../build-version"};
	const char *slash = strrchr(path, '/'), *suffix = strstr(slash ? slash : path, ".so.");
	char file[PATH_MAX];

	snprintf(version, bytes, "%s", suffix ? suffix + 4 : "");
	for (size_t i = 0; !*version && slash && i < 2; i++) {
		snprintf(file, sizeof(file), "%.*s%s", (int)(slash - path), path, beside[i]);
		if (!read_version(file, version, bytes))
			*version = '\0';
	}
}

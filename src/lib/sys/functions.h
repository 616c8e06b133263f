/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a library that is opened at run time, looked up into a struct of pointers. */
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct sys_function {
	const char *name;
	size_t offset;
	int optional;
};

/* For a table of them: a member of struct `type`, which without the function is NULL. */
#define SYS_NEEDED(type, member, name)                 \
	{                                              \
		name, offsetof(struct type, member), 0 \
	}
#define SYS_OPTIONAL(type, member, name)               \
	{                                              \
		name, offsetof(struct type, member), 1 \
	}

/* NULL, or the name of the first needed one that is not there. */
static inline const char *sys_functions_find(
	void *library, const struct sys_function *list, size_t count, void *to)
{
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(library, list[i].name);
		if (!function && !list[i].optional)
			return list[i].name;
		/* function pointers have the size of data pointers wherever there is dlsym() */
		memcpy((char *)to + list[i].offset, &function, sizeof(function));
	}
	return NULL;
}

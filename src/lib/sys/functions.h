/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a library that is opened at run time. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * One function, into a pointer to it: NULL, and false, where it is not there. The program's own
 * dlerror() tells nothing of it.
 */
static inline bool sys_function_find(void *library, const char *name, void *pointer)
{
	void *function = dlsym(library, name);

	if (!function)
		dlerror();
	/* function pointers have the size of data pointers wherever there is dlsym() */
	memcpy(pointer, &function, sizeof(function));
	return function != NULL;
}

/* The function of that name that the program would have without us, looked up once. Any thread. */
static inline void *sys_function_next(void **known, const char *name)
{
	void *function = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (!function) {
		function = dlsym(RTLD_NEXT, name);
		__atomic_store_n(known, function, __ATOMIC_RELAXED);
	}
	return function;
}

/* Several, into a struct of pointers. */
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
	for (size_t i = 0; i < count; i++)
		if (!sys_function_find(library, list[i].name, (char *)to + list[i].offset) &&
			!list[i].optional)
			return list[i].name;
	return NULL;
}

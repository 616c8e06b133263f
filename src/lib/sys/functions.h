/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a library that is opened at run time. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Stores the address of a function in *pointer, a pointer to functions. False: the library has no
 * such function, and *pointer is NULL. The program's own dlerror() tells nothing of it.
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

/*
 * Returns the function that the program would call under that name without us; NULL: there is none.
 * *known keeps it, NULL at first. Any thread.
 */
static inline void *sys_function_next(void **known, const char *name)
{
	void *function = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (!function) {
		function = dlsym(RTLD_NEXT, name);
		__atomic_store_n(known, function, __ATOMIC_RELAXED);
	}
	return function;
}

/* A function that sys_functions_find() stores in a struct of pointers. */
struct sys_function {
	const char *name;
	size_t offset; /* of its pointer in the struct */
	int optional;  /* 1: the library may lack it; its pointer is then NULL */
};

/* Entries of a table of struct sys_function, for a member of struct `type`. */
#define SYS_NEEDED(type, member, name)                 \
	{                                              \
		name, offsetof(struct type, member), 0 \
	}
#define SYS_OPTIONAL(type, member, name)               \
	{                                              \
		name, offsetof(struct type, member), 1 \
	}

/* Stores the functions of a list in *to. Returns NULL, or the name of a needed one that is missing.
 */
static inline const char *sys_functions_find(
	void *library, const struct sys_function *list, size_t count, void *to)
{
	for (size_t i = 0; i < count; i++)
		if (!sys_function_find(library, list[i].name, (char *)to + list[i].offset) &&
			!list[i].optional)
			return list[i].name;
	return NULL;
}

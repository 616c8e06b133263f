/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks a thread while it is inside of a backend. `brick record` may be attached to the same
 * driver, and then records none of the thread's waits and launches, because they are not the
 * program's.
 */
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include "lib/sys/functions.h"

extern __thread uint32_t brick__in_backend
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline void brick__backend_enter(void)
{
	brick__in_backend++;
}

static inline void brick__backend_leave(void)
{
	brick__in_backend--;
}

/* The result of a backend's function, called inside of such a mark. */
#define IN_BACKEND(call)                \
	__extension__({                 \
		brick__backend_enter(); \
		int result_ = (call);   \
		brick__backend_leave(); \
		result_;                \
	})

/* Leaves the mark to call the program, and then restores it. */
static inline uint32_t brick__program_enter(void)
{
	uint32_t was = brick__in_backend;

	brick__in_backend = 0;
	return was;
}

static inline void brick__program_leave(uint32_t was)
{
	brick__in_backend = was;
}

/*
 * Finds a function of an attached library of `brick record`. With it a backend in the program tells
 * which queues it times itself. `library` ("libbrick-opencl.so") must be loaded already; the
 * function's address is copied to `function`, a pointer of its type. 0: it is not attached, and
 * NULL is copied.
 */
static inline int brick__attached_function(const char *library, const char *name, void *function)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle) {
		dlerror();
		memset(function, 0, sizeof(void *));
		return 0;
	}
	int is_found = sys_function_find(handle, name, function);
	dlclose(handle); /* it stays loaded: attached libraries are never unloaded */
	return is_found;
}

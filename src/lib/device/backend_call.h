/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of a backend. What it asks of its driver is not the program's: while a thread is in there,
 * `brick record`, which is attached to the driver, records neither waits nor launches of it.
 */
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

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

/* What a call of a backend's function returns, which is made inside. */
#define IN_BACKEND(call)                \
	__extension__({                 \
		brick__backend_enter(); \
		int result_ = (call);   \
		brick__backend_leave(); \
		result_;                \
	})

/* From there into the program, and back to what it was. */
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
 * Finds a function that `brick record` has attached to this process, for backends inside of the
 * program: it leaves to them what they time themselves. `library` ("libbrick-opencl.so") must be
 * loaded already; the function's address is copied to `function`, a pointer of its type. 0: it is
 * not attached, and NULL is copied.
 */
static inline int brick__attached_function(const char *library, const char *name, void *function)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? dlsym(handle, name) : NULL;

	memcpy(function, &found, sizeof(found));
	if (handle)
		dlclose(handle); /* it stays loaded: who attaches does so for good */
	if (!found)
		dlerror();
	return found != NULL;
}

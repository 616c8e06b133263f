/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a thread is inside of a backend, `brick record`, which may be attached to the same
 * driver, records none of its waits and launches: they are not the program's.
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
 * Finds a function of an attached library of `brick record`, which leaves to a backend inside of
 * the program what that times itself. `library` ("libbrick-opencl.so") must be loaded already;
 * the function's address is copied to `function`, a pointer of its type. 0: it is not attached,
 * and NULL is copied.
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

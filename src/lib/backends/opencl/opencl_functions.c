/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the OpenCL library (opencl.h); it stays open, as drivers do not like to go. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "lib/backends/opencl/opencl_backend.h"

static struct opencl_functions functions;
static const char *missing; /* "": nothing; NULL: not looked yet */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static void look(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

	missing = "";
	if (!library) {
		dlerror();
		missing = "libOpenCL.so.1 is not here";
		return;
	}
#define OPENCL_LOOK_UP(name)                                         \
	{                                                            \
		void *function = dlsym(library, #name);              \
		memcpy(&functions.name, &function, sizeof function); \
	}
	OPENCL_FUNCTIONS(OPENCL_LOOK_UP)
	if (!functions.clEnqueueMarkerWithWaitList || !functions.clGetEventProfilingInfo)
		missing = "the OpenCL library is older than version 1.2";
}

const struct opencl_functions *opencl_functions(char *reason, size_t bytes)
{
	pthread_mutex_lock(&lock);
	if (!missing)
		look();
	pthread_mutex_unlock(&lock);
	if (!*missing)
		return &functions;
	if (reason && bytes)
		snprintf(reason, bytes, "%s", missing);
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Loads no runtime; the first call looks whether the process has one, and later calls keep that. */
#include "base/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char *(*function)(const char *, char *, size_t *, int *);

static void demangle_find(void)
{
	void *runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *found = dlsym(runtime ? runtime : RTLD_DEFAULT, "__cxa_demangle");

	memcpy(&function, &found, sizeof(found));
}

char *demangle(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int status = -1;

	pthread_once(&once, demangle_find);
	char *text =
		function && !strncmp(name, "_Z", 2) ? function(name, NULL, NULL, &status) : NULL;
	if (text && status) {
		free(text);
		text = NULL;
	}
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks of the system's: ggml opens and closes its backends, and programs the libraries that
 * have ggml inside. After one was closed another may lie where one was that we know: what has been
 * found there is forgotten before anybody can use it. After one was opened it may have to be
 * patched before anybody calls it; that cannot be done where a name is looked for along the
 * caller's own paths, as the caller would then be us.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/ggml_hooks.h"
#include "attach/ggml/patched.h"
#include "attach/ggml/resolve.h"
#include "brick/export.h"
#include "lib/sys/interpose.h"

BRICK_API int dlclose(void *handle);
int dlclose(void *handle)
{
	return resolve_close(handle);
}

void *ggml_dlopen_choose(const char *path, int flags);
extern void *ggml_dlopen_real;
void *ggml_dlopen_real __attribute__((visibility("hidden")));

static void find_real(void)
{
	if (!__atomic_load_n(&ggml_dlopen_real, __ATOMIC_RELAXED))
		__atomic_store_n(&ggml_dlopen_real, dlsym(RTLD_NEXT, "dlopen"), __ATOMIC_RELAXED);
}

/* dlopen() itself. */
static void *load_library(const char *path, int flags)
{
	void *(*real)(const char *, int);

	find_real();
	memcpy(&real, &ggml_dlopen_real, sizeof real);
	return real(path, flags);
}

static struct patch_wish wishes[GGML_SYMBOL_COUNT];

/*
 * Of a backend that computes on a device. Without one nobody has to know which tensor's emptiness
 * is asked for, which is done three times for each node.
 */
static int is_of_device(const char *function)
{
	static const char *const others[] = {"cpu_reg", "blas_reg", "dev_backend_reg"};
	static const char prefix[] = "ggml_backend_";
	size_t length = strlen(function);

	if (strncmp(function, prefix, sizeof prefix - 1) || length < sizeof prefix + 4)
		return 0;
	const char *name = function + sizeof prefix - 1;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(name, others[i]))
			return 0;
	return !strcmp(function + length - 4, "_reg") || !strcmp(name, "cuda_init") ||
	       !strcmp(name, "vk_init"); /* before there was a registry */
}

/* Our own hooks, by our own handle: a program that exports functions of these names comes first. */
static void make_wishes(void)
{
	Dl_info info;
	void *self = dladdr((void *)&make_wishes, &info)
			     ? load_library(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			     : NULL;

	for (int i = 0; i < GGML_SYMBOL_COUNT; i++) {
		const struct ggml_symbol *symbol = &ggml_symbols[i];
		wishes[i] = (struct patch_wish){.name = symbol->name,
			.hook = self ? dlsym(self, symbol->name) : NULL,
			.tell = (char *)&patched_told - (char *)__builtin_thread_pointer(),
			.group = (int)symbol->use,
			.is_needed = symbol->need == GGML_MUST};
		if (!wishes[i].hook)
			dlerror();
	}
	/* of the hot path: these go by their caller, which is never us */
	wishes[GGML_NODE_FORWARD].tell = wishes[GGML_FUSED_FORWARD].tell = 0;
	wishes[GGML_BARRIER].tell = wishes[GGML_IS_EMPTY].tell = 0;
	wishes[GGML_GRAPH_PLAN].is_sign = wishes[GGML_SCHED_NEW].is_sign = 1;
	wishes[GGML_CONTEXT_DECODE].is_sign = 1;
	wishes[GGML_BARRIER].hook_from = (void *)hook_barrier_from;
	wishes[GGML_IS_EMPTY].hook_from = (void *)hook_is_empty_from;
	wishes[GGML_IS_EMPTY].is_wanted_with = is_of_device;
}

static struct patch_wish *all_wishes(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_wishes);
	return wishes;
}

/* Is this process recorded, so that patching makes sense? */
static int is_recorded(void)
{
	const char *directory = getenv("BRICK_SESSION_DIR");

	return directory && *directory;
}

/* All that the program was linked with is in place, and none of its code has run. */
__attribute__((constructor)) static void look_first(void)
{
	if (is_recorded())
		patched_look(all_wishes(), load_library);
}

static uint32_t opening; /* calls of dlopen() that have not returned */

/* The library, patched if need be; NULL: it is up to the dynamic linker. */
__attribute__((visibility("hidden"))) void *ggml_dlopen_choose(const char *path, int flags)
{
	find_real();
	if (!path || !strchr(path, '/') || strchr(path, '$') || (flags & RTLD_NOLOAD) ||
		!is_recorded())
		return NULL;
	/* within another dlopen() a library is there whose constructors run: it is new, too */
	if (!__atomic_fetch_add(&opening, 1, __ATOMIC_RELAXED))
		patched_look(NULL, load_library);
	void *handle = load_library(path, flags);
	if (handle)
		patched_look(all_wishes(), load_library);
	__atomic_fetch_sub(&opening, 1, __ATOMIC_RELAXED);
	return handle;
}

SYS_INTERPOSE(dlopen, ggml_dlopen_choose, ggml_dlopen_real);

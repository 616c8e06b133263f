/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that look up OpenCL's functions instead of linking with them. dlsym() gives them our
 * hooks; its first few instructions are in assembly, because the C library's own looks at where the
 * call came from: what is not ours is passed on by a jump, as if we had not been there.
 */
#include <dlfcn.h>
#include <string.h>
#include "attach/opencl/opencl_driver.h"
#include "base/scope.h"
#include "lib/sys/interpose.h"

void *opencl_dlsym_choose(void *handle, const char *name);
extern void *opencl_dlsym_real;
void *opencl_dlsym_real __attribute__((visibility("hidden")));

/* NULL: we do not stand in front of it. */
static void *opencl_symbols_hook_of(const char *name)
{
	static const struct {
		const char *name;
		void *hook;
	} hooks[] = {
#define ENTRY(name) {#name, (void *)name},
		DRIVER_HOOKED(ENTRY)
#undef ENTRY
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(hooks[i].name, name))
			return hooks[i].hook;
	return NULL;
}

/*
 * The program asked the handle of a library for `name` and would get `function`: our hook where
 * that is a function of the driver that we stand in front of, else NULL.
 */
static void *adopt(void *handle, const char *name, void *function)
{
	void *hook = opencl_symbols_hook_of(name);
	KEEP_ERRNO();

	if (!hook)
		return NULL;
	driver_offer(handle);
	void *own = driver_function(name);
	if (own == function)
		return hook;
	if (own)
		notes_second_driver(function);
	return NULL;
}

/* Chooses a hook in place of the function that the caller of dlsym() would get; NULL: no hook. */
__attribute__((visibility("hidden"))) void *opencl_dlsym_choose(void *handle, const char *name)
{
	if (!__atomic_load_n(&opencl_dlsym_real, __ATOMIC_RELAXED))
		__atomic_store_n(&opencl_dlsym_real, driver_real_symbol(), __ATOMIC_RELAXED);
	if (!name || name[0] != 'c' || name[1] != 'l' || handle == RTLD_NEXT ||
		!opencl_symbols_hook_of(name))
		return NULL;
	void *function = driver_symbol(handle, name);
	if (!function || driver_is_ours(function))
		return NULL;
	return adopt(handle, name, function);
}

SYS_INTERPOSE(dlsym, opencl_dlsym_choose, opencl_dlsym_real);

/*
 * An address from here leads past the ICD loader. Where it is the loader's own function, our hook
 * stands in for it; else calls through it cannot be seen.
 */
static void *extension(const char *name, void *function)
{
	void *hook = function && name ? opencl_symbols_hook_of(name) : NULL;

	if (!hook)
		return function;
	void *adopted = adopt(NULL, name, function);
	return adopted ? adopted : function;
}

HOOK void *clGetExtensionFunctionAddress(const char *name)
{
	return extension(name, DRIVER()->clGetExtensionFunctionAddress(name));
}

HOOK void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	return extension(name, DRIVER()->clGetExtensionFunctionAddressForPlatform(platform, name));
}

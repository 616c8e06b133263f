/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that look up OpenCL's functions instead of linking with them. dlsym() gives them our
 * hooks; its first few instructions are in assembly, because the C library's own looks at where the
 * call came from: what is not ours is passed on by a jump, as if we had not been there.
 */
#include <dlfcn.h>
#include <string.h>
#include "attach/opencl/opencl_hooks.h"
#include "attach/opencl/opencl_notes.h"
#include "lib/sys/interpose.h"

void *opencl_dlsym_choose(void *handle, const char *name);
extern void *opencl_dlsym_real;
void *opencl_dlsym_real __attribute__((visibility("hidden")));

static void *adopt(void *handle, const char *name, void *function)
{
	int is_another;
	void *hook = driver_adopt(handle, name, function, &is_another);

	if (is_another)
		notes_second_driver(function);
	return hook;
}

/* A hook in place of what the caller of dlsym() would get; NULL: let it have that. */
__attribute__((visibility("hidden"))) void *opencl_dlsym_choose(void *handle, const char *name)
{
	if (!__atomic_load_n(&opencl_dlsym_real, __ATOMIC_RELAXED))
		__atomic_store_n(&opencl_dlsym_real, driver_real_symbol(), __ATOMIC_RELAXED);
	if (!name || name[0] != 'c' || name[1] != 'l' || handle == RTLD_NEXT || !driver_hook(name))
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
	void *hook = function && name ? driver_hook(name) : NULL;

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that look up OpenCL's functions instead of linking with them. dlsym() gives them our
 * hooks; its first few instructions are in assembly, because the C library's own looks at where the
 * call came from: what is not ours is passed on by a jump, as if we had not been there.
 */
#include <dlfcn.h>
#include <string.h>
#include "attach/opencl/hooks.h"
#include "attach/opencl/notes.h"

void *opencl_dlsym_choose(void *handle, const char *name);
extern void *opencl_dlsym_real;
void *opencl_dlsym_real __attribute__((visibility("hidden")));

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
	return driver_adopt(handle, name, function);
}

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"pushq %rdi\n"
	".cfi_adjust_cfa_offset 8\n"
	"pushq %rsi\n"
	".cfi_adjust_cfa_offset 8\n"
	"subq $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"call opencl_dlsym_choose\n"
	"addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"popq %rsi\n"
	".cfi_adjust_cfa_offset -8\n"
	"popq %rdi\n"
	".cfi_adjust_cfa_offset -8\n"
	"testq %rax, %rax\n"
	"jnz 1f\n"
	"jmp *opencl_dlsym_real(%rip)\n"
	"1: ret\n"
	".cfi_endproc\n"
	".size dlsym, . - dlsym\n"
	".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
	".globl dlsym\n"
	".type dlsym, %function\n"
	"dlsym:\n"
	"stp x29, x30, [sp, #-32]!\n"
	"mov x29, sp\n"
	"stp x0, x1, [sp, #16]\n"
	"bl opencl_dlsym_choose\n"
	"mov x9, x0\n"
	"ldp x0, x1, [sp, #16]\n"
	"ldp x29, x30, [sp], #32\n"
	"cbnz x9, 1f\n"
	"adrp x9, opencl_dlsym_real\n"
	"ldr x9, [x9, :lo12:opencl_dlsym_real]\n"
	"br x9\n"
	"1: mov x0, x9\n"
	"ret\n"
	".size dlsym, . - dlsym\n"
	".popsection\n");
#endif

/*
 * An address from here leads past the ICD loader. Where it is the loader's own function, our hook
 * stands in for it; else calls through it cannot be seen.
 */
static void *extension(const char *name, void *function)
{
	void *hook = function && name ? driver_hook(name) : NULL;

	if (!hook)
		return function;
	void *adopted = driver_adopt(NULL, name, function);
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

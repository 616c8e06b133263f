/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the runtime, and messages (objc.h). Objects that are only lent live in a pool of ours. */
#include "lib/backends/metal/metal_objc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void *open_runtime(void)
{
	static const char *const names[] = {"/usr/lib/libobjc.A.dylib", "libobjc.A.dylib"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library)
			return library;
	}
	return NULL;
}

/* Function pointers have the size of data pointers wherever there is dlsym(). */
static int look_up(void *library, const char *name, void *to)
{
	void *function = library ? dlsym(library, name) : NULL;

	if (!function)
		function = dlsym(RTLD_DEFAULT, name);
	memcpy(to, &function, sizeof function);
	return function != NULL;
}

int metal_objc_open(struct metal_objc *objc, char *why, size_t bytes)
{
	struct metal_objc opened = {.library = open_runtime()};

	if (!opened.library) {
		snprintf(why, bytes,
			"there is no Objective-C runtime (Metal is for macOS; never run on a Mac "
			"so far)");
		return -ENOENT;
	}
	if (!look_up(opened.library, "objc_msgSend", &opened.send) ||
		!look_up(opened.library, "sel_registerName", &opened.selector) ||
		!look_up(opened.library, "objc_autoreleasePoolPush", &opened.pool_push) ||
		!look_up(opened.library, "objc_autoreleasePoolPop", &opened.pool_pop)) {
		snprintf(why, bytes, "the Objective-C runtime lacks functions");
		dlclose(opened.library);
		return -ELIBACC;
	}
	/* stays loaded: it does not go away from a process that uses it */
	void *metal = dlopen("/System/Library/Frameworks/Metal.framework/Metal", RTLD_LAZY);
	if (!look_up(metal, "MTLCreateSystemDefaultDevice", &opened.default_device)) {
		snprintf(why, bytes, "Metal.framework is not here");
		dlclose(opened.library);
		return -ENOENT;
	}
	look_up(NULL, "clock_gettime_nsec_np", &opened.clock_ns);
	*objc = opened;
	return 0;
}

void metal_objc_close(struct metal_objc *objc)
{
	if (objc->library)
		dlclose(objc->library);
	objc->library = NULL;
}

/* ---- messages: objc_msgSend has the type of the method that it calls ---- */

typedef uintptr_t (*send_word_fn)(void *, void *);
typedef double (*send_double_fn)(void *, void *);
typedef void (*send_void_fn)(void *, void *);
typedef signed char (*send_selector_fn)(void *, void *, void *);
typedef const char *(*send_text_fn)(void *, void *);

int metal_has_times(const struct metal_objc *objc, void *command_buffer)
{
	void *responds = objc->selector("respondsToSelector:");
	send_selector_fn send = (send_selector_fn)objc->send;

	return send(command_buffer, responds, objc->selector("GPUStartTime")) &&
	       send(command_buffer, responds, objc->selector("GPUEndTime"));
}

enum metal_status metal_status(const struct metal_objc *objc, void *command_buffer)
{
	return (enum metal_status)((send_word_fn)objc->send)(
		command_buffer, objc->selector("status"));
}

double metal_gpu_start_s(const struct metal_objc *objc, void *command_buffer)
{
	return ((send_double_fn)objc->send)(command_buffer, objc->selector("GPUStartTime"));
}

double metal_gpu_end_s(const struct metal_objc *objc, void *command_buffer)
{
	return ((send_double_fn)objc->send)(command_buffer, objc->selector("GPUEndTime"));
}

void metal_wait(const struct metal_objc *objc, void *command_buffer)
{
	((send_void_fn)objc->send)(command_buffer, objc->selector("waitUntilCompleted"));
}

void metal_retain(const struct metal_objc *objc, void *object)
{
	((send_word_fn)objc->send)(object, objc->selector("retain"));
}

void metal_release(const struct metal_objc *objc, void *object)
{
	((send_void_fn)objc->send)(object, objc->selector("release"));
}

void *metal_default_device(const struct metal_objc *objc)
{
	return objc->default_device();
}

int metal_device_name(const struct metal_objc *objc, void *device, char *name, size_t bytes)
{
	void *pool = objc->pool_push();
	void *string = (void *)((send_word_fn)objc->send)(device, objc->selector("name"));
	const char *text =
		string ? ((send_text_fn)objc->send)(string, objc->selector("UTF8String")) : NULL;

	if (text)
		snprintf(name, bytes, "%s", text);
	objc->pool_pop(pool);
	return text != NULL;
}

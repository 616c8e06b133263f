/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the library behind us in the order of the dynamic linker, from the object that calls,
 * and by its usual name among loaded ones; or the program names it itself, by asking it for a
 * function. The library stays loaded: at exit its events must still be readable.
 */
#include "attach/opencl/opencl_driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/common/object.h"
#include "base/scope.h"
#include "lib/device/gpus.h"

static struct driver found;
static const struct driver opencl_driver_nothing;
static const struct driver *driver; /* NULL or &found */
static char path[PATH_MAX];
static pthread_mutex_t opencl_driver_lock = PTHREAD_MUTEX_INITIALIZER;

struct entry {
	const char *name;
	size_t offset; /* in struct driver */
};

static const struct entry opencl_driver_entries[] = {
#define ENTRY(name) {#name, offsetof(struct driver, name)},
	DRIVER_HOOKED(ENTRY) DRIVER_CALLED(ENTRY)
#undef ENTRY
};
enum { ENTRIES = sizeof(opencl_driver_entries) / sizeof(*opencl_driver_entries) };

typedef void *(*symbol_fn)(void *handle, const char *name);

/* The C library's own, not the hook that callers of dlsym() find. */
static symbol_fn real_dlsym(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	static symbol_fn function;
	symbol_fn known = __atomic_load_n(&function, __ATOMIC_RELAXED);

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions) && !known; i++)
		known = (symbol_fn)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	__atomic_store_n(&function, known, __ATOMIC_RELAXED);
	return known;
}

void *driver_real_symbol(void)
{
	symbol_fn function = real_dlsym();
	void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

void *driver_symbol(void *handle, const char *name)
{
	symbol_fn function = real_dlsym();
	void *symbol = function ? function(handle, name) : NULL;

	if (!symbol)
		dlerror(); /* the program's own state stays clean */
	return symbol;
}

bool driver_is_ours(const void *address)
{
	static uintptr_t low, bytes; /* do not change once set: we are never unloaded */

	if (!__atomic_load_n(&bytes, __ATOMIC_ACQUIRE)) {
		struct loaded_object own;
		if (!object_at((uintptr_t)&found, &own))
			return false;
		__atomic_store_n(&low, own.low, __ATOMIC_RELAXED);
		__atomic_store_n(&bytes, own.bytes, __ATOMIC_RELEASE);
	}
	return (uintptr_t)address - low < bytes;
}

const struct driver *driver_get(void)
{
	return __atomic_load_n(&driver, __ATOMIC_ACQUIRE);
}

/*
 * Is there an OpenCL library to be reached through this handle? Then take it. Without our lock: the
 * loader's own may be held by whoever waits for ours.
 */
static int opencl_driver_take(void *handle)
{
	struct driver candidate;
	void *probe = driver_symbol(handle, "clGetPlatformIDs");
	Dl_info info;

	if (!probe || driver_is_ours(probe))
		return 0;
	if (!dladdr(probe, &info) || !info.dli_fname)
		return 0;
	/* all from the object itself, and a reference to it that is never given back */
	void *own = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!own)
		dlerror();
	for (size_t i = 0; i < ENTRIES; i++) {
		void *function = driver_symbol(own ? own : handle, opencl_driver_entries[i].name);
		if (function && driver_is_ours(function))
			function = NULL;
		memcpy((char *)&candidate + opencl_driver_entries[i].offset, &function,
			sizeof(function));
	}
	if (!candidate.clGetEventInfo || !candidate.clGetEventProfilingInfo ||
		!candidate.clReleaseEvent || !candidate.clRetainEvent || !candidate.clGetDeviceInfo)
		return 0;
	HOLD(&opencl_driver_lock);
	if (!driver_get()) { /* else another thread has been faster */
		found = candidate;
		snprintf(path, sizeof(path), "%s", info.dli_fname);
		__atomic_store_n(&driver, &found, __ATOMIC_RELEASE);
	}
	return 1;
}

static int take_from_caller(const void *return_address)
{
	Dl_info info;
	void *handle = NULL;

	if (dladdr(return_address, &info) && info.dli_fname)
		handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle) {
		dlerror();
		return 0;
	}
	int taken = opencl_driver_take(handle);
	dlclose(handle);
	return taken;
}

static int take_by_name(void)
{
	static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
		if (!handle) {
			dlerror();
			continue;
		}
		if (opencl_driver_take(handle))
			return 1;
		dlclose(handle);
	}
	return 0;
}

const struct driver *driver_find(const void *return_address)
{
	const struct driver *d = driver_get();

	if (d)
		return d;
	KEEP_ERRNO();
	if (opencl_driver_take(RTLD_NEXT) || take_from_caller(return_address) || take_by_name())
		d = driver_get();
	return d ? d : &opencl_driver_nothing;
}

void driver_offer(void *handle)
{
	if (!driver_get())
		opencl_driver_take(handle);
}

void *driver_function(const char *name)
{
	const struct driver *d = driver_get();
	void *function = NULL;

	for (size_t i = 0; d && i < ENTRIES; i++)
		if (!strcmp(opencl_driver_entries[i].name, name))
			memcpy(&function, (const char *)d + opencl_driver_entries[i].offset,
				sizeof(function));
	return function;
}

/* Notes for the recording. */

static void device_text(cl_device_id device, cl_device_info what, char *text, size_t bytes)
{
	text[0] = '\0';
	if (driver_get()->clGetDeviceInfo(device, what, bytes, text, NULL) != CL_SUCCESS)
		snprintf(text, bytes, "unknown");
	text[bytes - 1] = '\0';
}

/* Extensions may be missing; then the driver refuses, and what they would tell stays unknown. */
static void opencl_driver_describe_gpu(cl_device_id device, const char *name)
{
	const struct driver *d = driver_get();
	cl_device_pci_bus_info_khr bus;
	uint8_t uuid[16];
	char vendor[96] = "", pci[32];
	struct gpu_facts facts = {.name = name, .vendor = vendor};

	d->clGetDeviceInfo(device, CL_DEVICE_VENDOR, sizeof(vendor) - 1, vendor, NULL);
	if (d->clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(bus), &bus, NULL) ==
		CL_SUCCESS) {
		snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x", bus.pci_domain, bus.pci_bus,
			bus.pci_device, bus.pci_function);
		facts.pci = pci;
	}
	if (d->clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, sizeof(uuid), uuid, NULL) == CL_SUCCESS)
		facts.uuid = uuid;
	brick__gpu_describe("opencl", (uintptr_t)device, &facts);
}

void notes_device(cl_device_id device, char *name, size_t bytes)
{
	const struct driver *d = driver_get();
	char platform[96] = "unknown", version[96], driver_version[96];
	cl_platform_id id = NULL;

	device_text(device, CL_DEVICE_NAME, name, bytes);
	if (d->clGetPlatformInfo &&
		d->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(id), &id, NULL) == CL_SUCCESS)
		d->clGetPlatformInfo(id, CL_PLATFORM_NAME, sizeof(platform), platform, NULL);
	platform[sizeof(platform) - 1] = '\0';
	device_text(device, CL_DEVICE_VERSION, version, sizeof(version));
	device_text(device, CL_DRIVER_VERSION, driver_version, sizeof(driver_version));
	opencl_driver_describe_gpu(device, name);
	note_once("attach", "OpenCL queues of %s", platform);
	note_once("backend", "opencl %s", name);
	note_once("opencl.library", "%s", path);
	note_once("opencl.device", "%s: %s, driver %s, of %s", name, version, driver_version,
		platform);
}

void notes_clock(cl_device_id device, int by_timer, uint32_t anchors, uint64_t residual_ns)
{
	char name[96];

	device_text(device, CL_DEVICE_NAME, name, sizeof(name));
	if (!anchors)
		note_once("opencl.clock", "%s: it tells no time that could be placed on the host's",
			name);
	else
		note_once("opencl.clock", "%s: %s, %u anchors, within %llu ns", name,
			by_timer ? "its timer" : "from the times commands were queued at", anchors,
			(unsigned long long)residual_ns);
}

void notes_fault(const char *what)
{
	note_once("opencl.trouble", "%s", what);
}

void notes_second_driver(const void *function)
{
	Dl_info info;

	if (dladdr(function, &info) && info.dli_fname)
		note_once("opencl.trouble", "not attached to %s: %s is", info.dli_fname, path);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The recording's notes (notes.h). */
#include "attach/opencl/opencl_notes.h"

#include <dlfcn.h>
#include <stdio.h>
#include "attach/common/notes_once.h"
#include "attach/opencl/opencl_driver.h"

static void device_text(cl_device_id device, cl_device_info what, char *text, size_t bytes)
{
	text[0] = '\0';
	if (driver_get()->clGetDeviceInfo(device, what, bytes, text, NULL) != CL_SUCCESS)
		snprintf(text, bytes, "unknown");
	text[bytes - 1] = '\0';
}

static void platform_text(cl_device_id device, cl_platform_info what, char *text, size_t bytes)
{
	const struct driver *d = driver_get();
	cl_platform_id platform = NULL;

	snprintf(text, bytes, "unknown");
	if (d->clGetPlatformInfo && d->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform,
					    &platform, NULL) == CL_SUCCESS)
		d->clGetPlatformInfo(platform, what, bytes, text, NULL);
	text[bytes - 1] = '\0';
}

void notes_device(cl_device_id device, char *name, size_t bytes)
{
	char platform[96], version[96], driver_version[96];

	device_text(device, CL_DEVICE_NAME, name, bytes);
	platform_text(device, CL_PLATFORM_NAME, platform, sizeof platform);
	device_text(device, CL_DEVICE_VERSION, version, sizeof version);
	device_text(device, CL_DRIVER_VERSION, driver_version, sizeof driver_version);
	note_once("attach", "OpenCL queues of %s", platform);
	note_once("backend", "opencl %s", name);
	note_once("opencl.library", "%s", driver_path());
	note_once("opencl.device", "%s: %s, driver %s, of %s", name, version, driver_version,
		platform);
}

void notes_clock(cl_device_id device, int by_timer, uint32_t anchors, uint64_t residual_ns)
{
	char name[96];

	device_text(device, CL_DEVICE_NAME, name, sizeof name);
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
		note_once("opencl.trouble", "not attached to %s: %s is", info.dli_fname,
			driver_path());
}

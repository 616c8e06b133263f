/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording's notes (notes.h). What has been written is remembered by its hash for as long as
 * the session lasts.
 */
#include "attach/opencl/notes.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "attach/opencl/driver.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { MOST_NOTES = 64 };

static uint64_t written[MOST_NOTES];
static uint32_t written_count, session;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void hold(void)
{
	pthread_mutex_lock(&lock);
}

static void let_go(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(hold, let_go, let_go);
}

/* Under the lock. */
static int is_new(const char *text)
{
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	if (now != session) {
		session = now;
		written_count = 0;
	}
	for (uint32_t i = 0; i < written_count; i++)
		if (written[i] == hash)
			return 0;
	if (written_count == MOST_NOTES)
		return 0;
	written[written_count++] = hash;
	return 1;
}

__attribute__((format(printf, 2, 3))) static void note(const char *key, const char *format, ...)
{
	char text[512];
	int saved = errno;
	va_list arguments;

	if (!brick_enabled() || brick_thread_ready())
		return;
	int n = snprintf(text, sizeof text, "%s=", key);
	va_start(arguments, format);
	vsnprintf(text + n, sizeof text - (size_t)n, format, arguments);
	va_end(arguments);
	hold();
	if (is_new(text))
		brick_note(key, "%s", text + n);
	let_go();
	errno = saved;
}

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
	note("attach", "OpenCL queues of %s", platform);
	note("backend", "opencl %s", name);
	note("opencl.library", "%s", driver_path());
	note("opencl.device", "%s: %s, driver %s, of %s", name, version, driver_version, platform);
}

void notes_clock(cl_device_id device, int by_timer, uint32_t anchors, uint64_t residual_ns)
{
	char name[96];

	device_text(device, CL_DEVICE_NAME, name, sizeof name);
	if (!anchors)
		note("opencl.clock", "%s: it tells no time that could be placed on the host's",
			name);
	else
		note("opencl.clock", "%s: %s, %u anchors, within %llu ns", name,
			by_timer ? "its timer" : "from the times commands were queued at", anchors,
			(unsigned long long)residual_ns);
}

void notes_trouble(const char *what)
{
	note("opencl.trouble", "%s", what);
}

void notes_second_driver(const void *function)
{
	Dl_info info;

	if (dladdr(function, &info) && info.dli_fname)
		note("opencl.trouble", "not attached to %s: %s is", info.dli_fname, driver_path());
}

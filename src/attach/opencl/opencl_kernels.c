/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and programs are found by handle. The driver is asked about a kernel when it
 * is launched for the first time. Entries are never freed: a handle that comes back overwrites its
 * former one, and a full table forgets.
 */
#include "attach/opencl/opencl_kernels.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/opencl/opencl_driver.h"
#include "base/hash.h"
#include "base/scope.h"
#include "brick/queue.h"

enum {
	MAX_KERNELS = 4096, /* a power of two */
	MAX_PROGRAMS = 1024,
	PROBES = 16,
	SHAPES = 8,
	MAX_SOURCE_BYTES = 8 << 20,
};

struct shape {
	uint32_t grid[3], block[3];
	uint32_t index; /* 0: unused */
};

struct kernel {
	cl_kernel handle;
	cl_device_id device; /* the device that `block` and `shared_bytes` hold for */
	bool is_known;
	char name[192];
	uint64_t code, shared_bytes;
	size_t block[3]; /* the size that its source requires, or 0 */
	struct shape shapes[SHAPES];
	uint32_t next_shape;
};

struct program {
	cl_program handle;
	uint64_t code;
};

static struct kernel *opencl_kernels[MAX_KERNELS];
static struct program programs[MAX_PROGRAMS];
static uint32_t next_program;
static pthread_mutex_t opencl_kernels_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock: the entry of a handle, a new one, or, where there is no room, somebody else's. */
static struct kernel *opencl_kernels_entry_of(cl_kernel handle, int *is_new)
{
	uint64_t hash = hash_pointer(handle);
	struct kernel **place = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		place = &opencl_kernels[(hash + i) & (MAX_KERNELS - 1)];
		if (!*place || (*place)->handle == handle)
			break;
	}
	if (!*place)
		*place = calloc(1, sizeof(**place));
	*is_new = *place && (*place)->handle != handle;
	if (*is_new) {
		memset(*place, 0, sizeof(**place));
		(*place)->handle = handle;
	}
	return *place;
}

void kernels_program(
	cl_program program, cl_uint count, const char *const *strings, const size_t *lengths)
{
	size_t bytes = 0, used = 0;

	for (cl_uint i = 0; i < count; i++)
		bytes += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	if (!bytes || bytes > MAX_SOURCE_BYTES)
		return;
	SCOPED char *source = malloc(bytes);
	if (!source)
		return;
	for (cl_uint i = 0; i < count; i++) {
		size_t n = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
		memcpy(source + used, strings[i], n);
		used += n;
	}
	uint64_t code = brick_code_register(source, bytes, NULL, NULL);
	HOLD(&opencl_kernels_lock);
	programs[next_program++ % MAX_PROGRAMS] = (struct program){program, code};
}

/* Under the lock; the newest entry of a handle counts. */
static uint64_t opencl_kernels_code_of(cl_program program)
{
	for (uint32_t i = 1; i <= MAX_PROGRAMS; i++) {
		const struct program *p = &programs[(next_program - i) % MAX_PROGRAMS];
		if (p->handle == program)
			return p->code;
	}
	return 0;
}

void kernels_created(cl_kernel handle)
{
	int is_new;

	HOLD(&opencl_kernels_lock);
	struct kernel *k = opencl_kernels_entry_of(handle, &is_new);
	if (k && !is_new) {
		memset(k, 0, sizeof(*k));
		k->handle = handle;
	}
}

void kernels_local_changed(cl_kernel handle)
{
	int is_new;

	HOLD(&opencl_kernels_lock);
	struct kernel *k = opencl_kernels_entry_of(handle, &is_new);
	if (k) {
		k->device = NULL;
		memset(k->shapes, 0, sizeof(k->shapes));
	}
}

/* Asks the driver about a kernel, without our lock. */
static void opencl_kernels_ask(struct kernel *k, cl_device_id device)
{
	const struct driver *d = driver_get();
	cl_ulong local = 0;
	cl_program program = NULL;

	if (!d->clGetKernelInfo || !d->clGetKernelWorkGroupInfo)
		return;
	if (d->clGetKernelInfo(k->handle, CL_KERNEL_FUNCTION_NAME, sizeof(k->name), k->name,
		    NULL) != CL_SUCCESS)
		strcpy(k->name, "(a kernel with a very long name)");
	k->name[sizeof(k->name) - 1] = '\0';
	d->clGetKernelInfo(k->handle, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	if (d->clGetKernelWorkGroupInfo(k->handle, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local),
		    &local, NULL) == CL_SUCCESS)
		k->shared_bytes = local;
	if (d->clGetKernelWorkGroupInfo(k->handle, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
		    sizeof(k->block), k->block, NULL) != CL_SUCCESS)
		memset(k->block, 0, sizeof(k->block));
	pthread_mutex_lock(&opencl_kernels_lock);
	k->code = program ? opencl_kernels_code_of(program) : 0;
	pthread_mutex_unlock(&opencl_kernels_lock);
	k->device = device;
	k->is_known = true;
}

static uint32_t opencl_kernels_cut(size_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Work groups and work items in each; of an unknown size of groups, work items and 0. */
static void describe_shape(struct shape *shape, const struct kernel *k, cl_uint dimensions,
	const size_t *global, const size_t *local)
{
	const size_t *block = local ? local : k->block[0] ? k->block : NULL;

	for (cl_uint i = 0; i < 3; i++) {
		size_t items = i < dimensions && global ? global[i] : 1;
		size_t each = !block ? 0 : i < dimensions ? block[i] : 1;
		shape->block[i] = opencl_kernels_cut(each);
		shape->grid[i] = opencl_kernels_cut(each ? (items + each - 1) / each : items);
	}
}

/* Asks, registers and remembers a kernel in a new shape. */
static uint32_t launch_slow(cl_kernel handle, cl_device_id device, cl_uint dimensions,
	const size_t *global, const size_t *local)
{
	struct kernel k = {.handle = handle};
	struct shape shape = {.index = 0};
	int is_new;

	opencl_kernels_ask(&k, device);
	describe_shape(&shape, &k, dimensions, global, local);
	struct brick_kernel description = {
		.size = sizeof(struct brick_kernel),
		.name = k.name,
		.backend = "opencl",
		.kind = BRICK_KERNEL_COMPUTE,
		.shared_bytes = k.shared_bytes,
		.code = k.code,
	};
	memcpy(description.grid, shape.grid, sizeof(shape.grid));
	memcpy(description.block, shape.block, sizeof(shape.block));
	shape.index = brick_kernel_register(&description);
	HOLD(&opencl_kernels_lock);
	struct kernel *entry = opencl_kernels_entry_of(handle, &is_new);
	if (entry) {
		if (entry->device != device)
			memset(entry->shapes, 0, sizeof(entry->shapes));
		memcpy(k.shapes, entry->shapes, sizeof(k.shapes));
		k.next_shape = entry->next_shape;
		k.shapes[k.next_shape++ % SHAPES] = shape;
		*entry = k;
	}
	return shape.index;
}

uint32_t kernels_launch(cl_kernel handle, cl_device_id device, cl_uint dimensions,
	const size_t *global, const size_t *local)
{
	struct shape shape = {.index = 0};
	uint32_t index = 0;
	int is_new, saved = errno;

	if (dimensions < 1 || dimensions > 3)
		return 0;
	pthread_mutex_lock(&opencl_kernels_lock);
	const struct kernel *k = opencl_kernels_entry_of(handle, &is_new);
	if (k && k->is_known && k->device == device) {
		describe_shape(&shape, k, dimensions, global, local);
		for (int i = 0; i < SHAPES && !index; i++)
			if (!memcmp(k->shapes[i].grid, shape.grid, sizeof(shape.grid)) &&
				!memcmp(k->shapes[i].block, shape.block, sizeof(shape.block)))
				index = k->shapes[i].index;
	}
	pthread_mutex_unlock(&opencl_kernels_lock);
	if (!index)
		index = launch_slow(handle, device, dimensions, global, local);
	errno = saved;
	return index;
}

void kernels_forget_all(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	opencl_kernels_lock = fresh;
}

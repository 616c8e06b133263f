/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's double: the kernels that a library registers when it is loaded, by the address of
 * their stub on the host, and launches of them (runtime.h).
 */
#include "tests/doubles/cuda/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hashmap.h"

static struct hashmap functions; /* stub, and handle -> struct function */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread struct {
	struct dim3 grid, block;
	size_t shared;
	struct stream *stream;
} configured;

DOUBLE_API void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle;
	handle = binary;
	return &handle;
}

DOUBLE_API void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

DOUBLE_API void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

DOUBLE_API void __cudaRegisterVar(void **handle, char *variable, char *address, const char *name,
	int is_extern, size_t bytes, int is_constant, int is_global)
{
	(void)handle, (void)variable, (void)address, (void)name, (void)is_extern, (void)bytes;
	(void)is_constant, (void)is_global;
}

static struct function *make(const char *name)
{
	struct function *function = calloc(1, sizeof *function);

	if (function)
		snprintf(function->name, sizeof function->name, "%s", name);
	return function;
}

DOUBLE_API void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub,
	const char *name, int threads, void *a, void *b, void *c, void *d, int *e)
{
	(void)handle, (void)device_stub, (void)threads;
	(void)a, (void)b, (void)c, (void)d, (void)e;
	struct function *function = make(name);

	pthread_mutex_lock(&lock);
	if (!function || hashmap_set(&functions, (uintptr_t)stub, (uintptr_t)function) ||
		hashmap_set(&functions, (uintptr_t)function, (uintptr_t)function))
		abort();
	pthread_mutex_unlock(&lock);
}

static struct function *find(const void *stub)
{
	pthread_mutex_lock(&lock);
	uint64_t function = hashmap_get(&functions, (uintptr_t)stub);
	pthread_mutex_unlock(&lock);
	return function == HASHMAP_NONE ? NULL : (struct function *)(uintptr_t)function;
}

static struct module *the_module; /* that all of them are in */

static void load_module(void)
{
	cuModuleLoadData(&the_module, "");
}

DOUBLE_API int runtime_launch(struct function *function, struct dim3 grid, struct dim3 block,
	size_t shared, struct stream *stream)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static uint64_t nothing;
	void *arguments[] = {&nothing, &nothing, &nothing};

	runtime_ready();
	pthread_once(&once, load_module);
	function->module = the_module;
	return cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
		(unsigned)shared, stream, arguments, NULL);
}

DOUBLE_API unsigned __cudaPushCallConfiguration(
	struct dim3 grid, struct dim3 block, size_t shared, struct stream *stream)
{
	configured.grid = grid;
	configured.block = block;
	configured.shared = shared;
	configured.stream = stream;
	return 0;
}

DOUBLE_API int __cudaPopCallConfiguration(
	struct dim3 *grid, struct dim3 *block, size_t *shared, struct stream **stream)
{
	*grid = configured.grid;
	*block = configured.block;
	*shared = configured.shared;
	*stream = configured.stream;
	return FINE;
}

DOUBLE_API int __cudaGetKernel(struct function **out, const void *stub)
{
	*out = find(stub);
	return *out ? FINE : 98;
}

DOUBLE_API int __cudaLaunchKernel(struct function *kernel, struct dim3 grid, struct dim3 block,
	void **arguments, size_t shared, struct stream *stream)
{
	(void)arguments;
	return runtime_launch(kernel, grid, block, shared, stream);
}

struct launch_config {
	struct dim3 grid, block;
	size_t shared;
	struct stream *stream;
	void *attributes;
	unsigned attribute_count;
};

DOUBLE_API int cudaLaunchKernelExC(
	const struct launch_config *config, const void *stub, void **arguments)
{
	struct function *function = find(stub);

	(void)arguments;
	if (!function)
		return 98;
	return runtime_launch(
		function, config->grid, config->block, config->shared, config->stream);
}

DOUBLE_API int cudaLaunchCooperativeKernel(const void *stub, struct dim3 grid, struct dim3 block,
	void **arguments, size_t shared, struct stream *stream)
{
	struct function *function = find(stub);

	(void)arguments;
	return function ? runtime_launch(function, grid, block, shared, stream) : 98;
}

/* struct cudaFuncAttributes of CUDA 13, where it differs from 0. */
struct function_attributes {
	uint64_t shared, constant, local;
	int max_threads, registers, versions[3], max_shared;
	uint8_t more[144 - 48];
};

_Static_assert(sizeof(struct function_attributes) == 144, "as CUDA 13 has it");

DOUBLE_API int cudaFuncGetAttributes(struct function_attributes *out, const void *stub)
{
	*out = (struct function_attributes){
		.max_threads = 1024, .registers = 32, .max_shared = OPTIN_BYTES};
	return find(stub) ? FINE : 98;
}

DOUBLE_API int cudaFuncSetAttribute(const void *stub, int attribute, int value)
{
	(void)attribute, (void)value;
	return find(stub) ? FINE : 98;
}

DOUBLE_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, const void *stub, int threads, size_t shared, unsigned flags)
{
	(void)threads, (void)shared, (void)flags;
	*blocks = 2;
	return find(stub) ? FINE : 98;
}

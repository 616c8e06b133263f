/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the CUDA backend share: the driver's double, and a host that keeps completions. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/backends/cuda/cuda_chain.h"
#include "lib/backends/backend_load.h"
#include "brick/brick.h"
#include "brick/cuda.h"
#include "brick/error.h"
#include "tests/doubles/cuda/double.h"

enum { MAX_COMPLETIONS = 4096 };

static const struct brick_backend *const backend = &brick__backend_cuda;
static struct brick_completion completions[MAX_COMPLETIONS];
static uint32_t completion_count;
static uint64_t lost;
static struct context *context;
static struct stream *stream;

static struct {
	int (*init)(unsigned);
	int (*context)(struct context **, unsigned, int);
	int (*stream)(struct stream **, unsigned), (*stream_destroy)(struct stream *);
	int (*event)(struct event **, unsigned);
	int (*event_destroy)(struct event *);
	int (*record)(struct event *, struct stream *);
	int (*fill)(uint64_t, uint32_t, size_t, void *);
	int (*alloc)(uint64_t *, size_t);
	int (*capture)(struct stream *, int);
	int (*end_capture)(struct stream *, struct graph **);
	int (*instantiate)(struct graph **, struct graph *, unsigned long long);
	int (*graph_destroy)(struct graph *), (*exec_destroy)(struct graph *);
	int (*sync)(struct stream *), (*context_sync)(void);
	int (*alive)(void);
	struct double_options *(*options)(void);
	uint64_t (*device_ns)(uint64_t);
	uint64_t (*now)(void);
} cu;

static inline void look_up(void *library, void *to, const char *name)
{
	void *function = dlsym(library, name);
	if (!function)
		fail_msg("the double has no %s", name);
	memcpy(to, &function, sizeof function);
}

static uint64_t memory;

/* Found by its name from now on, as the real one would be. */
static inline int open_double(void **state)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);

	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/../lib/doubles/libcuda.so.1");
	void *library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	unsetenv("CUDA_INJECTION64_PATH");
	look_up(library, &cu.init, "cuInit");
	look_up(library, &cu.context, "cuCtxCreate_v2");
	look_up(library, &cu.stream, "cuStreamCreate");
	look_up(library, &cu.stream_destroy, "cuStreamDestroy_v2");
	look_up(library, &cu.event, "cuEventCreate");
	look_up(library, &cu.event_destroy, "cuEventDestroy_v2");
	look_up(library, &cu.record, "cuEventRecord");
	look_up(library, &cu.fill, "cuMemsetD32Async");
	look_up(library, &cu.alloc, "cuMemAlloc_v2");
	look_up(library, &cu.capture, "cuStreamBeginCapture_v2");
	look_up(library, &cu.end_capture, "cuStreamEndCapture");
	look_up(library, &cu.instantiate, "cuGraphInstantiateWithFlags");
	look_up(library, &cu.graph_destroy, "cuGraphDestroy");
	look_up(library, &cu.exec_destroy, "cuGraphExecDestroy");
	look_up(library, &cu.sync, "cuStreamSynchronize");
	look_up(library, &cu.context_sync, "cuCtxSynchronize");
	look_up(library, &cu.alive, "double_events_alive");
	look_up(library, &cu.options, "double_options");
	look_up(library, &cu.now, "double_now");
	look_up(library, &cu.device_ns, "double_device_ns");
	cu.init(0);
	cu.context(&context, 0, 0);
	cu.stream(&stream, 1);
	cu.alloc(&memory, 1 << 20);
	return 0;
}

static inline void complete(void *own, const struct brick_completion *completion)
{
	assert_true(completion_count < MAX_COMPLETIONS);
	completions[completion_count++] = *completion;
}

static inline void count_lost(void *own, uint64_t count)
{
	lost += count;
}

static inline struct brick_backend_device *open_device(uint32_t pairs)
{
	const struct brick_backend_host host = {
		.size = sizeof host, .complete = complete, .lost = count_lost};
	const struct brick_backend_options options = {.size = sizeof options, .pairs = pairs};
	struct brick_backend_device *device = NULL;

	completion_count = 0;
	lost = 0;
	assert_int_equal(backend->open(&device, &host, &options), 0);
	return device;
}

static inline void work(void)
{
	assert_int_equal(cu.fill(memory, 7, 1 << 10, stream), 0);
}

/* Setups: what is late on a busy machine shall not be late on the device. */
static inline int in_manual_time(void **state)
{
	*cu.options() = (struct double_options){.manual_ns = cu.now()};
	return 0;
}

static inline int in_real_time(void **state)
{
	*cu.options() = (struct double_options){0};
	return 0;
}

static inline void pass(unsigned us)
{
	if (cu.options()->manual_ns)
		cu.options()->manual_ns += us * 1000ull;
	else
		usleep(us);
}

/* Whatever is put into the stream in the next time waits until then. */
static inline void occupy(unsigned us)
{
	stream->busy_until = cu.now() + us * 1000ull;
}

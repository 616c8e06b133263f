// SPDX-License-Identifier: Apache-2.0
//
// The cost of hooks that do nothing: it hooks the same functions that are called for every node,
// and leads on. With FLOOR=1 a node's hook reads the clock and stores 32 bytes. With FLOOR=2 it
// reads the clock twice, as any profiler must that separates its own time from the nodes'.
// `bench/distortion.py --floor` preloads it into engine-pair. One thread; nothing is kept.
#include <dlfcn.h>
#include <stdlib.h>

#include "lib/sys/ticks.h"

enum { EVENTS = 1024 };

struct event {
	uint64_t begin, end;
	const void *node;
	uint64_t pad;
};

static struct event events[EVENTS];
static unsigned event_count, readings;

__attribute__((constructor)) static void ask(void)
{
	const char *floor = getenv("FLOOR");

	readings = floor ? (unsigned)atoi(floor) : 0;
}

static void *find(const void *caller, const char *name)
{
	Dl_info info;
	void *handle =
		dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : NULL;
	void *function = handle ? dlsym(handle, name) : NULL;

	if (!function)
		abort();
	return function;
}

static inline void note(const void *node)
{
	struct event *e = &events[event_count % EVENTS];

	if (!readings)
		return;
	e->begin = brick__counter();
	e->node = node;
	event_count++;
	if (readings > 1)
		e->end = brick__counter();
}

#define FLOOR(result, name, parameters, arguments, before)                                     \
	BRICK_API result name parameters;                                                      \
	result name parameters                                                                 \
	{                                                                                      \
		static result(*real) parameters;                                               \
		if (!real)                                                                     \
			real = (result(*) parameters)find(__builtin_return_address(0), #name); \
		before;                                                                        \
		return real arguments;                                                         \
	}

FLOOR(void *, ggml_barrier, (void *pool), (pool), (void)0)
FLOOR(_Bool, ggml_is_empty, (const void *tensor), (tensor), (void)0)
FLOOR(_Bool, ggml_cpu_extra_compute_forward, (const void *params, void *node), (params, node),
	note(node))
FLOOR(void *, ggml_compute_forward_rms_norm_mul_fused, (const void *params, void *norm, void *mul),
	(params, norm, mul), note(norm))

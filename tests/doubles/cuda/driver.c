/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's double: start, devices, contexts, memory, and what tools are told (double.h). As the
 * real one it loads the library of CUDA_INJECTION64_PATH in cuInit().
 */
#include "tests/doubles/cuda/double.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock_ns.h"

struct tools double_tools;
pthread_mutex_t double_lock = PTHREAD_MUTEX_INITIALIZER;
static struct double_options options;
static __thread struct context *stack[16];
static __thread int depth;
static uint32_t next_context = 1, last_correlation;
static uint64_t start_ns;

DOUBLE_API void double_tools_set(const struct tools *tools)
{
	double_tools = *tools;
}

DOUBLE_API const struct double_options *double_options(void)
{
	return &options;
}

DOUBLE_API uint64_t double_now(void)
{
	uint64_t manual_ns = __atomic_load_n(&options.manual_ns, __ATOMIC_RELAXED);
	return manual_ns ? manual_ns : monotonic_ns();
}

void double_wait_until(uint64_t host)
{
	const struct timespec t = {(time_t)(host / 1000000000u), (long)(host % 1000000000u)};

	if (!options.manual_ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	else if (options.manual_ns < host)
		options.manual_ns = host;
}

DOUBLE_API uint64_t double_device_ns(uint64_t host)
{
	int64_t since = (int64_t)(host - start_ns);
	return 1700000000000000000ull +
	       (uint64_t)(since + (int64_t)((__int128)since * options.drift_ppm / 1000000));
}

static long option_value(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	size_t n = strlen(name);
	return at && at[n] == '=' ? atol(at + n + 1) : at != NULL;
}

static void read_options(void)
{
	const char *text = getenv("FAKE_CUDA");

	text = text ? text : "";
	options.shuffle = (int)option_value(text, "shuffle");
	options.taken = (int)option_value(text, "taken");
	options.unfit = (int)option_value(text, "unfit");
	options.noids = (int)option_value(text, "noids");
	options.failread = (int)option_value(text, "failread");
	options.oddid = (int)option_value(text, "oddid");
	options.noexec = (int)option_value(text, "noexec");
	options.nostamp = (int)option_value(text, "nostamp");
	options.misfit = (int)option_value(text, "misfit");
	options.ga = (int)option_value(text, "ga");
	options.old = (int)option_value(text, "old");
	options.more_devices = strstr(text, "devices=") ? option_value(text, "devices") - 1 : 0;
	options.nowhole = (int)option_value(text, "nowhole");
	options.bothkinds = (int)option_value(text, "bothkinds");
	options.hostfirst = (int)option_value(text, "hostfirst");
	options.stuck = (int)option_value(text, "stuck");
	options.atbirth = option_value(text, "atbirth");
	options.vary = option_value(text, "vary");
	options.cost_switch = option_value(text, "cost_switch");
	options.announce = option_value(text, "announce");
	options.lose = option_value(text, "lose");
	options.late_ms = option_value(text, "late");
	options.fail = strstr(text, "fail=") ? option_value(text, "fail") : 0;
	options.drift_ppm = option_value(text, "drift");
	options.cost_callback = option_value(text, "cost_callback");
	options.cost_record = option_value(text, "cost_record");
	options.cost_node = option_value(text, "cost_node");
	options.cost_device = option_value(text, "cost_device");
	options.cost_far = option_value(text, "cost_far");
	options.cost_flush_us = option_value(text, "cost_flush");
	options.cost_seed = option_value(text, "cost_seed");
}

/* ---- tools ---- */

uint32_t double_correlation(void)
{
	return __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
}

void double_enter(struct entry *e)
{
	e->correlation = double_correlation();
	if (double_tools.call)
		double_tools.call(CUPTI_ENTER, e->id, e->name, e->parameters, NULL, e->symbol,
			double_current(), e->correlation);
}

int double_leave(struct entry *e, int result)
{
	e->result = result;
	if (double_tools.call)
		double_tools.call(CUPTI_EXIT, e->id, e->name, e->parameters, &e->result, e->symbol,
			double_current(), e->correlation);
	return result;
}

int double_fails(void)
{
	static long launches;
	return options.fail && !double_cost_is_tool() &&
	       __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED) % options.fail == 0;
}

/* ---- start ---- */

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	void *found = NULL;
	int (*start)(void);

	if (library)
		found = dlsym(library, "InitializeInjection");
	memcpy(&start, &found, sizeof start);
	if (path && *path && !start)
		fprintf(stderr, "double: %s: %s\n", path, library ? "no entry" : dlerror());
	if (start)
		start();
}

static void begin(void)
{
	start_ns = double_now();
	read_options();
	inject();
}

DOUBLE_API int cuInit(unsigned flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
	return flags ? INVALID_VALUE : FINE;
}

DOUBLE_API int cuDriverGetVersion(int *version)
{
	*version = 12040;
	return FINE;
}

DOUBLE_API int cuDeviceGetCount(int *count)
{
	*count = 1 + (int)options.more_devices;
	return FINE;
}

DOUBLE_API int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal < 0 || ordinal > options.more_devices ? 101 : FINE;
}

DOUBLE_API int cuDeviceGetName(char *name, int bytes, int device)
{
	snprintf(name, (size_t)bytes, "Double of a device");
	return device ? 101 : FINE;
}

DOUBLE_API int cuDeviceGetPCIBusId(char *text, int bytes, int device)
{
	snprintf(text, (size_t)bytes, "0000:3b:00.0");
	return device ? 101 : FINE;
}

DOUBLE_API int cuDeviceGetUuid(unsigned char *uuid, int device)
{
	for (int i = 0; i < 16; i++)
		uuid[i] = (unsigned char)(0xd0 + i);
	return device ? 101 : FINE;
}

DOUBLE_API int cuGetErrorName(int error, const char **name)
{
	*name = error ? "CUDA_ERROR_OF_THE_DOUBLE" : "CUDA_SUCCESS";
	return FINE;
}

/* ---- contexts ---- */

struct context *double_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

DOUBLE_API int cuCtxPushCurrent_v2(struct context *context)
{
	if (depth == 16)
		return INVALID_VALUE;
	stack[depth++] = context;
	return FINE;
}

DOUBLE_API int cuCtxPopCurrent_v2(struct context **context)
{
	if (!depth)
		return NO_CONTEXT;
	depth--;
	if (context)
		*context = stack[depth];
	return FINE;
}

DOUBLE_API int cuCtxGetCurrent(struct context **context)
{
	*context = double_current();
	return FINE;
}

DOUBLE_API int cuCtxGetDevice(int *device)
{
	*device = double_current() ? (int)double_current()->device : 0;
	return double_current() ? FINE : NO_CONTEXT;
}

DOUBLE_API int cuCtxSetCurrent(struct context *context)
{
	depth = 0;
	return context ? cuCtxPushCurrent_v2(context) : FINE;
}

static struct context *spare_context; /* its handle is the next one's */

DOUBLE_API int cuCtxCreate_v2(struct context **out, unsigned flags, int device)
{
	struct context *context = spare_context ? spare_context : malloc(sizeof *context);

	spare_context = NULL;
	memset(context, 0, sizeof *context);
	context->id = next_context++;
	context->device = (uint32_t)device;
	context->null_stream = calloc(1, sizeof *context->null_stream);
	context->null_stream->context = context;
	context->null_stream->id = 7;
	*out = context;
	return cuCtxPushCurrent_v2(context);
}

DOUBLE_API int cuCtxDestroy_v2(struct context *context)
{
	const struct cuda_context_call parameters = {context};
	struct entry e = {.id = 322, .name = "cuCtxDestroy_v2", .parameters = &parameters};

	double_enter(&e);
	if (double_tools.context_goes)
		double_tools.context_goes(context->id);
	double_wait_stream(context->null_stream);
	if (double_current() == context)
		depth--;
	free(context->null_stream);
	free(spare_context);
	spare_context = context;
	return double_leave(&e, FINE);
}

/* ---- memory ---- */

DOUBLE_API int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
	if (memory)
		memset(memory, 0, bytes);
	*address = (uint64_t)(uintptr_t)memory;
	return memory ? FINE : 2;
}

DOUBLE_API int cuMemFree_v2(uint64_t address)
{
	free((void *)(uintptr_t)address);
	return FINE;
}

static int transfer(uint32_t id, const char *name, struct op op, void *handle, int waits)
{
	/* of copies and fills alike: where to, what, how much, and the stream of those that have
	 * one */
	const uint64_t parameters[] = {(uintptr_t)op.to, 0, op.bytes, (uintptr_t)handle};
	struct entry e = {.id = id, .name = name, .parameters = parameters};
	struct stream *stream = double_stream(handle);

	if (!stream)
		return NO_CONTEXT;
	double_enter(&e);
	int error = double_capture_error(stream);
	if (error || double_fails())
		return double_leave(&e, error ? error : OUT_OF_RESOURCES);
	if (stream->capture)
		double_capture(stream, &op);
	else
		double_run(stream, &op, e.correlation, 0);
	if (waits)
		double_wait_stream(stream);
	return double_leave(&e, FINE);
}

static struct op copy(uint8_t kind, uint64_t to, uint64_t from, size_t bytes)
{
	return (struct op){.kind = OP_COPY,
		.copy = kind,
		.to = (void *)(uintptr_t)to,
		.from = (void *)(uintptr_t)from,
		.bytes = bytes};
}

DOUBLE_API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	return transfer(
		276, "cuMemcpyHtoD_v2", copy(CUPTI_COPY_HTOD, to, (uintptr_t)from, bytes), NULL, 1);
}

DOUBLE_API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	return transfer(
		278, "cuMemcpyDtoH_v2", copy(CUPTI_COPY_DTOH, (uintptr_t)to, from, bytes), NULL, 1);
}

DOUBLE_API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	return transfer(277, "cuMemcpyHtoDAsync_v2",
		copy(CUPTI_COPY_HTOD, to, (uintptr_t)from, bytes), stream, 0);
}

DOUBLE_API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	return transfer(279, "cuMemcpyDtoHAsync_v2",
		copy(CUPTI_COPY_DTOH, (uintptr_t)to, from, bytes), stream, 0);
}

DOUBLE_API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	return transfer(281, "cuMemcpyDtoDAsync_v2", copy(8, to, from, bytes), stream, 0);
}

DOUBLE_API int cuMemsetD32Async(uint64_t to, uint32_t value, size_t count, void *stream)
{
	struct op op = {.kind = OP_FILL,
		.to = (void *)(uintptr_t)to,
		.fill = value,
		.bytes = count * sizeof value};
	return transfer(220, "cuMemsetD32Async", op, stream, 0);
}

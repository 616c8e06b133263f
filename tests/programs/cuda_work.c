/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program for tests: two kernels, copies and fills, with bricks of its own around its
 * launches. Runs on the double of the driver and on a real one (tests/gpu). What it prints depends
 * on its arguments alone.
 *
 *   cuda_work plain|graph|streams|many|early|threads [COUNT]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/brick.h"

enum { N = 4096, BLOCK = 128, SHARED = 1024 };

static const char ptx[] =
	"//\n.version 6.3\n.target sm_75\n.address_size 64\n"
	".visible .entry scale(.param .u64 x, .param .f32 factor, .param .u32 n)\n{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<4>;\n"
	"  ld.param.u64 %d1, [x]; ld.param.f32 %f1, [factor]; ld.param.u32 %r1, [n];\n"
	"  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"  mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE1;\n"
	"  mul.wide.u32 %d2, %r5, 4; add.s64 %d3, %d1, %d2; ld.global.f32 %f2, [%d3];\n"
	"  mul.f32 %f3, %f2, %f1; st.global.f32 [%d3], %f3;\nDONE1:\n  ret;\n}\n"
	".visible .entry _Z3addPfPKfj(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<6>;\n"
	"  ld.param.u64 %d1, [x]; ld.param.u64 %d4, [y]; ld.param.u32 %r1, [n];\n"
	"  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"  mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.u32 %p1, %r5, %r1; @%p1 bra DONE2;\n"
	"  mul.wide.u32 %d2, %r5, 4; add.s64 %d3, %d1, %d2; add.s64 %d5, %d4, %d2;\n"
	"  ld.global.f32 %f1, [%d3]; ld.global.f32 %f2, [%d5]; add.f32 %f3, %f1, %f2;\n"
	"  st.global.f32 [%d3], %f3;\nDONE2:\n  ret;\n}\n";

typedef unsigned long long address;

static struct {
	int (*init)(unsigned), (*device)(int *, int), (*context)(void **, unsigned, int);
	int (*context_destroy)(void *), (*context_set)(void *), (*context_sync)(void);
	int (*load)(void **, const void *), (*function)(void **, void *, const char *);
	int (*unload)(void *);
	int (*alloc)(address *, size_t), (*release)(address);
	int (*to_device)(address, const void *, size_t), (*to_host)(void *, address, size_t);
	int (*to_device_async)(address, const void *, size_t, void *);
	int (*fill)(address, unsigned, size_t, void *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		void *, void **, void **);
	int (*stream)(void **, unsigned), (*stream_sync)(void *), (*stream_destroy)(void *);
	int (*capture)(void *, int), (*end_capture)(void *, void **);
	int (*instantiate)(void **, void *, unsigned long long), (*replay)(void *, void *);
	int (*graph_destroy)(void *), (*exec_destroy)(void *);
} cu;

static const struct {
	const char *name;
	void *to;
} entries[] = {
	{"cuInit", &cu.init},
	{"cuDeviceGet", &cu.device},
	{"cuCtxCreate_v2", &cu.context},
	{"cuCtxDestroy_v2", &cu.context_destroy},
	{"cuCtxSetCurrent", &cu.context_set},
	{"cuCtxSynchronize", &cu.context_sync},
	{"cuModuleLoadData", &cu.load},
	{"cuModuleGetFunction", &cu.function},
	{"cuModuleUnload", &cu.unload},
	{"cuMemAlloc_v2", &cu.alloc},
	{"cuMemFree_v2", &cu.release},
	{"cuMemcpyHtoD_v2", &cu.to_device},
	{"cuMemcpyDtoH_v2", &cu.to_host},
	{"cuMemcpyHtoDAsync_v2", &cu.to_device_async},
	{"cuMemsetD32Async", &cu.fill},
	{"cuLaunchKernel", &cu.launch},
	{"cuStreamCreate", &cu.stream},
	{"cuStreamSynchronize", &cu.stream_sync},
	{"cuStreamDestroy_v2", &cu.stream_destroy},
	{"cuStreamBeginCapture_v2", &cu.capture},
	{"cuStreamEndCapture", &cu.end_capture},
	{"cuGraphInstantiateWithFlags", &cu.instantiate},
	{"cuGraphLaunch", &cu.replay},
	{"cuGraphDestroy", &cu.graph_destroy},
	{"cuGraphExecDestroy", &cu.exec_destroy},
};

static void *context, *module, *scale, *add;
static int failures;

static void check(int result, const char *what)
{
	if (!result)
		return;
	printf("%s: %d\n", what, result);
	failures++;
}

static int open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; library && i < sizeof entries / sizeof *entries; i++) {
		void *function = dlsym(library, entries[i].name);
		if (!function) {
			fprintf(stderr, "no %s\n", entries[i].name);
			return 0;
		}
		memcpy(entries[i].to, &function, sizeof function);
	}
	return library != NULL;
}

static void start(void)
{
	int device;

	check(cu.init(0), "init");
	check(cu.device(&device, 0), "device");
	check(cu.context(&context, 0, device), "context");
	check(cu.load(&module, ptx), "module");
	check(cu.function(&scale, module, "scale"), "scale");
	check(cu.function(&add, module, "_Z3addPfPKfj"), "add");
}

static void launch_scale(address x, float factor, void *stream)
{
	unsigned n = N;
	void *arguments[] = {&x, &factor, &n};
	check(cu.launch(scale, N / BLOCK, 1, 1, BLOCK, 1, 1, SHARED, stream, arguments, NULL),
		"launch");
}

static void launch_add(address x, address y, void *stream)
{
	unsigned n = N;
	void *arguments[] = {&x, &y, &n};
	check(cu.launch(add, N / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL), "launch");
}

/* One layer: a norm and a projection, as far as names go. */
static void layer(address x, address y, void *stream, int index)
{
	brick_span span = brick_begin_layer(BRICK_RMS_NORM, index);
	launch_scale(x, 0.5f, stream);
	brick_end(span);
	span = brick_begin_layer(BRICK_QKV_PROJECTION, index);
	launch_add(x, y, stream);
	brick_end(span);
}

static address buffer(float value)
{
	float host[N];
	address x = 0;

	for (int i = 0; i < N; i++)
		host[i] = value + (float)i;
	check(cu.alloc(&x, sizeof host), "alloc");
	check(cu.to_device(x, host, sizeof host), "to device");
	return x;
}

static void print_sum(address x)
{
	float host[N] = {0};
	double sum = 0;

	check(cu.to_host(host, x, sizeof host), "to host");
	for (int i = 0; i < N; i++)
		sum += host[i];
	printf("sum %.3f\n", sum);
}

static void run_plain(int count)
{
	address x = buffer(1), y = buffer(2);

	for (int i = 0; i < count; i++) {
		brick_span step = brick_step_begin(1, 1);
		layer(x, y, NULL, 0);
		layer(x, y, NULL, 1);
		check(cu.context_sync(), "sync");
		brick_end(step);
	}
	check(cu.fill(y, 0x3f800000, N, NULL), "fill");
	print_sum(x);
	print_sum(y);
	check(cu.release(x), "free");
	check(cu.release(y), "free");
}

/* Captured once; replayed with other bricks open than at capture. */
static void run_graph(int count)
{
	address x = buffer(1), y = buffer(2);
	void *stream, *graph, *exec;

	check(cu.stream(&stream, 1), "stream");
	check(cu.capture(stream, 2), "capture");
	layer(x, y, stream, 3);
	layer(x, y, stream, 4);
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < count; i++) {
		brick_span span = brick_begin(BRICK_LM_HEAD);
		check(cu.replay(exec, stream), "replay");
		brick_end(span);
	}
	check(cu.stream_sync(stream), "sync");
	print_sum(x);
	check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
	check(cu.stream_destroy(stream), "destroy");
}

static void run_streams(int count)
{
	enum { STREAMS = 4 };
	address x[STREAMS], y = buffer(1);
	void *streams[STREAMS];

	for (int i = 0; i < STREAMS; i++) {
		x[i] = buffer((float)i);
		check(cu.stream(&streams[i], 1), "stream");
	}
	for (int i = 0; i < count; i++)
		layer(x[i % STREAMS], y, streams[i % STREAMS], i % STREAMS);
	for (int i = 0; i < STREAMS; i++) {
		check(cu.stream_sync(streams[i]), "sync");
		print_sum(x[i]);
	}
}

static void run_many(int count)
{
	address x = buffer(1);

	for (int i = 0; i < count; i++)
		launch_scale(x, i % 2 ? 2.0f : 0.5f, NULL);
	check(cu.context_sync(), "sync");
	print_sum(x);
}

static void *work(void *count)
{
	address x = buffer(1), y = buffer(3);
	void *stream;

	check(cu.context_set(context), "current");
	check(cu.stream(&stream, 1), "stream");
	for (int i = 0; i < *(int *)count; i++)
		layer(x, y, stream, i % 8);
	check(cu.stream_sync(stream), "sync");
	return NULL;
}

static void run_threads(int count)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, &count);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	puts("threads done");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";
	int count = argc > 2 ? atoi(argv[2]) : 4;

	if (!open_driver()) {
		fputs("no CUDA driver\n", stderr);
		return 77;
	}
	start();
	if (!strcmp(what, "graph"))
		run_graph(count);
	else if (!strcmp(what, "streams"))
		run_streams(count);
	else if (!strcmp(what, "many"))
		run_many(count);
	else if (!strcmp(what, "threads"))
		run_threads(count);
	else
		run_plain(count);
	if (!strcmp(what, "early"))
		check(cu.context_destroy(context), "destroy"); /* nothing was synchronised last */
	return failures != 0;
}

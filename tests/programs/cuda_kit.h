/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUDA programs of tests share: the driver, opened at run time and declared here, and two
 * kernels as PTX. Works on the double of the driver and on a real one. One thread starts it.
 */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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
	int (*graph)(void **, unsigned);
	int (*child)(void **, void *, const void *, size_t, void *);
	int (*event)(void **, unsigned), (*record)(void *, void *), (*event_sync)(void *);
	int (*elapsed)(float *, void *, void *), (*event_destroy)(void *);
	int (*wait_event)(void *, void *, unsigned);
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
	{"cuGraphCreate", &cu.graph},
	{"cuGraphAddChildGraphNode", &cu.child},
	{"cuGraphDestroy", &cu.graph_destroy},
	{"cuGraphExecDestroy", &cu.exec_destroy},
	{"cuEventCreate", &cu.event},
	{"cuEventRecord", &cu.record},
	{"cuEventSynchronize", &cu.event_sync},
	{"cuEventElapsedTime", &cu.elapsed},
	{"cuEventDestroy_v2", &cu.event_destroy},
	{"cuStreamWaitEvent", &cu.wait_event},
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

static inline void launch_scale(address x, float factor, void *stream)
{
	unsigned n = N;
	void *arguments[] = {&x, &factor, &n};
	check(cu.launch(scale, N / BLOCK, 1, 1, BLOCK, 1, 1, SHARED, stream, arguments, NULL),
		"launch");
}

static inline void launch_add(address x, address y, void *stream)
{
	unsigned n = N;
	void *arguments[] = {&x, &y, &n};
	check(cu.launch(add, N / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL), "launch");
}

static inline address buffer(float value)
{
	float host[N];
	address x = 0;

	for (int i = 0; i < N; i++)
		host[i] = value + (float)i;
	check(cu.alloc(&x, sizeof host), "alloc");
	check(cu.to_device(x, host, sizeof host), "to device");
	return x;
}

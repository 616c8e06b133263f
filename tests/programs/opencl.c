/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses OpenCL, for tests of what is injected into it. It prints what it got from the
 * driver, errors included, so that its output with and without Brick can be compared; with
 * --times it prints what its own events say, one JSON line per command.
 *
 *   program-opencl [--old] [--profiling] [--times] [--out-of-order] [--dlopen] [--wrong]
 *                  [--kernels N] [--threads N] [--no-events] [--early] [--no-finish] [--user-event]
 *                  [--fork] [--waits]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CL/cl.h>
#include "tests/programs/asleep.h"
#include "tests/programs/opencl_functions.h"

static struct {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
} cl;

static struct {
	int old, profiling, times, out_of_order, dlopen, wrong, no_events, early, no_finish,
		user_event, fork, waits;
	int kernels, threads;
} option = {.kernels = 4, .threads = 1};

static const char *const source[] = {
	"__kernel void scale(__global float *x, float f, __local float *scratch)\n",
	"{\n\tsize_t i = get_global_id(0);\n\tscratch[get_local_id(0)] = x[i] * f;\n"
	"\tbarrier(CLK_LOCAL_MEM_FENCE);\n\tx[i] = scratch[get_local_id(0)] + 1;\n}\n"
	"__kernel void spin(__global float *x, int n)\n"
	"{\n\tfloat v = x[get_global_id(0)];\n\tfor (int i = 0; i < n; i++)\n"
	"\t\tv = v * 0.5f + 1.0f;\n\tx[get_global_id(0)] = v;\n}\n"};

enum { ITEMS = 1024, EVENTS = 64 };

static cl_context context;
static cl_device_id device;
static cl_program program;

static void load(void)
{
	void *handle = option.dlopen ? dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

	if (option.dlopen && !handle) {
		printf("no libOpenCL.so.1\n");
		exit(77);
	}
#define LOAD(name)                                                             \
	{                                                                      \
		void *function = handle ? dlsym(handle, #name) : (void *)name; \
		memcpy(&cl.name, &function, sizeof function);                  \
	}
	FUNCTIONS(LOAD)
}

static void want(const char *what, cl_int status)
{
	if (status == CL_SUCCESS)
		return;
	printf("%s: error %d\n", what, status);
	fflush(stdout);
	_exit(3);
}

/* One thread's work: its queue, and the events of what it enqueued. */
struct lane {
	cl_command_queue queue;
	cl_kernel scale, spin;
	cl_mem a, b;
	cl_event events[EVENTS];
	const char *names[EVENTS];
	int count;
	double sum;
};

/* Where the event of the next command goes; NULL when the program wants none. */
static cl_event *event_for(struct lane *l, const char *name)
{
	if (option.no_events || l->count == EVENTS)
		return NULL;
	l->names[l->count] = name;
	return &l->events[l->count++];
}

static void create_queue(struct lane *l)
{
	cl_int error;
	cl_command_queue_properties bits =
		(option.profiling || option.times ? CL_QUEUE_PROFILING_ENABLE : 0) |
		(option.out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
	cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, bits, 0};

	l->queue = option.old ? cl.clCreateCommandQueue(context, device, bits, &error)
			      : cl.clCreateCommandQueueWithProperties(
					context, device, bits ? list : NULL, &error);
	want("queue", error);
}

static void describe_queue(const struct lane *l)
{
	cl_command_queue_properties bits = 99;
	cl_queue_properties list[8];
	size_t bytes = 0;
	cl_int status =
		cl.clGetCommandQueueInfo(l->queue, CL_QUEUE_PROPERTIES, sizeof bits, &bits, &bytes);

	printf("properties: %d, %lx, %zu bytes\n", status, (unsigned long)bits, bytes);
	status = cl.clGetCommandQueueInfo(l->queue, CL_QUEUE_PROPERTIES, 1, &bits, &bytes);
	printf("too little room: %d\n", status);
	bytes = 0;
	status = cl.clGetCommandQueueInfo(
		l->queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &bytes);
	printf("array: %d, %zu bytes:", status, bytes);
	for (size_t i = 0; status == CL_SUCCESS && i < bytes / sizeof *list; i++)
		printf(" %lx", (unsigned long)list[i]);
	printf("\n");
}

/* PoCL 6 knows of no local memory that an argument asks for. */
static void describe_kernel(const struct lane *l)
{
	cl_ulong bytes = 0;

	want("local memory", cl.clGetKernelWorkGroupInfo(l->scale, device, CL_KERNEL_LOCAL_MEM_SIZE,
				     sizeof bytes, &bytes, NULL));
	printf("scale: %lu bytes of local memory\n", (unsigned long)bytes);
}

static void launch(struct lane *l, cl_kernel kernel, const char *name, size_t global, size_t local)
{
	want(name, cl.clEnqueueNDRangeKernel(l->queue, kernel, 1, NULL, &global,
			   local ? &local : NULL, 0, NULL, event_for(l, name)));
}

static void set_arguments(struct lane *l)
{
	cl_float factor = 0.5f;
	cl_int rounds = 2000;

	want("argument", cl.clSetKernelArg(l->scale, 0, sizeof l->a, &l->a));
	want("argument", cl.clSetKernelArg(l->scale, 1, sizeof factor, &factor));
	want("argument", cl.clSetKernelArg(l->scale, 2, 64 * sizeof(float), NULL));
	want("argument", cl.clSetKernelArg(l->spin, 0, sizeof l->a, &l->a));
	want("argument", cl.clSetKernelArg(l->spin, 1, sizeof rounds, &rounds));
}

/* Out of order everything waits for what it needs. */
static void order(struct lane *l)
{
	if (option.out_of_order)
		want("barrier", cl.clEnqueueBarrierWithWaitList(
					l->queue, 0, NULL, event_for(l, "Barrier")));
}

static void transfers(struct lane *l, float *data, float *result)
{
	float zero = 0;

	want("fill", cl.clEnqueueFillBuffer(l->queue, l->b, &zero, sizeof zero, 0,
			     ITEMS * sizeof zero, 0, NULL, event_for(l, "FillBuffer")));
	want("write", cl.clEnqueueWriteBuffer(l->queue, l->a, CL_FALSE, 0, ITEMS * sizeof *data,
			      data, 0, NULL, event_for(l, "WriteBuffer")));
	order(l);
	for (int i = 0; i < option.kernels; i++) {
		launch(l, l->scale, "scale", ITEMS, 64);
		order(l);
		launch(l, l->spin, "spin", ITEMS / 2, 0);
		order(l);
	}
	const cl_event *last = l->count ? &l->events[l->count - 1] : NULL;
	want("copy", cl.clEnqueueCopyBuffer(l->queue, l->a, l->b, 0, 0, ITEMS * sizeof *data,
			     last != NULL, last, event_for(l, "CopyBuffer")));
	order(l);
	want("marker", cl.clEnqueueMarkerWithWaitList(l->queue, 0, NULL, event_for(l, "Marker")));
	if (!option.no_finish)
		want("read",
			cl.clEnqueueReadBuffer(l->queue, l->b, CL_TRUE, 0, ITEMS * sizeof *data,
				result, 0, NULL, event_for(l, "ReadBuffer")));
}

static void map(struct lane *l)
{
	cl_int error;
	float *at = cl.clEnqueueMapBuffer(l->queue, l->b, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL,
		event_for(l, "MapBuffer"), &error);

	want("map", error);
	l->sum += at[0];
	want("unmap",
		cl.clEnqueueUnmapMemObject(l->queue, l->b, at, 0, NULL, event_for(l, "Unmap")));
	want("finish", cl.clFinish(l->queue));
}

/* Calls that fail, and how. */
static void wrong(struct lane *l)
{
	size_t zero = 0, odd = 7, items = ITEMS;
	char byte;
	cl_int error = 0;

	printf("kernel of no size: %d\n",
		cl.clEnqueueNDRangeKernel(l->queue, l->spin, 0, NULL, &zero, NULL, 0, NULL, NULL));
	printf("groups that do not fit: %d\n", cl.clEnqueueNDRangeKernel(l->queue, l->scale, 1,
						       NULL, &items, &odd, 0, NULL, NULL));
	printf("read behind the end: %d\n",
		cl.clEnqueueReadBuffer(l->queue, l->a, CL_TRUE, 1 << 20, 1, &byte, 0, NULL, NULL));
	printf("wait list without events: %d\n",
		cl.clEnqueueMarkerWithWaitList(l->queue, 1, NULL, NULL));
	printf("map behind the end: %d ",
		cl.clEnqueueMapBuffer(l->queue, l->a, CL_TRUE, CL_MAP_READ, 1 << 20, 1, 0, NULL,
			NULL, &error) == NULL);
	printf("%d\n", error);
	printf("no events to wait for: %d\n", cl.clWaitForEvents(0, NULL));
	cl_queue_properties nonsense[] = {0x4242, 1, 0};
	cl_command_queue none =
		cl.clCreateCommandQueueWithProperties(context, device, nonsense, &error);
	printf("queue of unknown properties: %d %d\n", none == NULL, error);
}

static void print_events(struct lane *l)
{
	static const cl_profiling_info infos[] = {CL_PROFILING_COMMAND_QUEUED,
		CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};

	for (int i = 0; i < l->count; i++) {
		cl_ulong t[4] = {0};
		cl_int status = CL_SUCCESS;
		for (int k = 0; k < 4 && status == CL_SUCCESS; k++)
			status = cl.clGetEventProfilingInfo(
				l->events[i], infos[k], sizeof t[k], &t[k], NULL);
		if (option.times)
			printf("{\"name\": \"%s\", \"queued\": %lu, \"submitted\": %lu, "
			       "\"begin\": %lu, \"end\": %lu}\n",
				l->names[i], t[0], t[1], t[2], t[3]);
		else
			printf("%s: profiling %d\n", l->names[i], status);
	}
}

static void open_lane(struct lane *l)
{
	cl_int error;

	create_queue(l);
	l->a = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, &error);
	want("buffer", error);
	l->b = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, &error);
	want("buffer", error);
	l->scale = cl.clCreateKernel(program, "scale", &error);
	want("kernel", error);
	l->spin = cl.clCreateKernel(program, "spin", &error);
	want("kernel", error);
	set_arguments(l);
}

static void release(struct lane *l)
{
	for (int i = 0; i < l->count; i++)
		want("release", cl.clReleaseEvent(l->events[i]));
	cl.clReleaseKernel(l->scale);
	cl.clReleaseKernel(l->spin);
	cl.clReleaseMemObject(l->a);
	cl.clReleaseMemObject(l->b);
	if (!option.early)
		want("release", cl.clReleaseCommandQueue(l->queue));
}

static void *work(void *argument)
{
	struct lane *l = argument;
	float data[ITEMS], result[ITEMS] = {0};
	cl_event gate = NULL;
	cl_int error;

	for (int i = 0; i < ITEMS; i++)
		data[i] = (float)i;
	open_lane(l);
	if (option.user_event) {
		gate = cl.clCreateUserEvent(context, &error);
		want("user event", error);
		want("gate", cl.clEnqueueBarrierWithWaitList(l->queue, 1, &gate, NULL));
		launch(l, l->spin, "spin", ITEMS, 64);
		want("flush", cl.clFlush(l->queue));
		usleep(20000);
		want("open", cl.clSetUserEventStatus(gate, CL_COMPLETE));
		cl.clReleaseEvent(gate);
		order(l);
	}
	transfers(l, data, result);
	if (option.early) /* events outlive their queue */
		want("release", cl.clReleaseCommandQueue(l->queue));
	if (!option.no_finish && !option.early) {
		map(l);
		if (l->count)
			want("wait", cl.clWaitForEvents((cl_uint)l->count, l->events));
	}
	for (int i = 0; i < ITEMS; i++)
		l->sum += result[i];
	return NULL;
}

static pid_t waiter; /* 0: it has not begun */

static void *wait_for(void *gate)
{
	cl_event event = gate;

	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	want("first wait", cl.clWaitForEvents(1, &event));
	return NULL;
}

/* A thread waits, as the first that it does, while another one works and ends. */
static void outlast(struct lane *l)
{
	pthread_t first, second;
	cl_int error;
	cl_event gate = cl.clCreateUserEvent(context, &error);

	want("user event", error);
	pthread_create(&first, NULL, wait_for, gate);
	until_asleep(&waiter);
	pthread_create(&second, NULL, work, l);
	pthread_join(second, NULL);
	want("open", cl.clSetUserEventStatus(gate, CL_COMPLETE));
	pthread_join(first, NULL);
	cl.clReleaseEvent(gate);
}

static void many(void)
{
	struct lane l = {0};
	struct rusage before, after;

	option.no_events = 1;
	open_lane(&l);
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < option.kernels; i++)
		launch(&l, l.spin, "spin", 8, 8);
	want("finish", cl.clFinish(l.queue));
	getrusage(RUSAGE_SELF, &after);
	printf("%d kernels\n", option.kernels);
	fprintf(stderr, "grew by %ld kB\n", after.ru_maxrss - before.ru_maxrss);
	release(&l);
}

static void set_up(void)
{
	cl_platform_id platform;
	cl_int error;

	if (cl.clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
		printf("no OpenCL device\n");
		exit(77);
	}
	context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	want("context", error);
	program = cl.clCreateProgramWithSource(
		context, 2, (const char **)(uintptr_t)source, NULL, &error);
	want("program", error);
	want("build", cl.clBuildProgram(program, 1, &device, "", NULL, NULL));
}

static void parse(int argc, char **argv)
{
	const struct {
		const char *name;
		int *flag, is_number;
	} options[] = {{"--old", &option.old, 0}, {"--profiling", &option.profiling, 0},
		{"--times", &option.times, 0}, {"--out-of-order", &option.out_of_order, 0},
		{"--dlopen", &option.dlopen, 0}, {"--wrong", &option.wrong, 0},
		{"--no-events", &option.no_events, 0}, {"--early", &option.early, 0},
		{"--no-finish", &option.no_finish, 0}, {"--user-event", &option.user_event, 0},
		{"--fork", &option.fork, 0}, {"--waits", &option.waits, 0},
		{"--kernels", &option.kernels, 1}, {"--threads", &option.threads, 1}};

	for (int i = 1; i < argc; i++) {
		size_t k = 0;
		while (k < sizeof options / sizeof *options && strcmp(options[k].name, argv[i]))
			k++;
		if (k == sizeof options / sizeof *options ||
			(options[k].is_number && i + 1 == argc))
			exit(2);
		*options[k].flag = options[k].is_number ? atoi(argv[++i]) : 1;
	}
	if (option.threads < 1 || option.threads > 8)
		exit(2);
}

int main(int argc, char **argv)
{
	static struct lane lanes[8];
	pthread_t threads[8];

	parse(argc, argv);
	load();
	set_up();
	if (option.kernels > 1000) {
		many();
		return 0;
	}
	if (option.waits)
		outlast(&lanes[0]);
	for (int i = 0; i < option.threads && !option.waits; i++)
		pthread_create(&threads[i], NULL, work, &lanes[i]);
	for (int i = 0; i < option.threads && !option.waits; i++)
		pthread_join(threads[i], NULL);
	cl.clReleaseProgram(program);
	if (option.early)
		cl.clReleaseContext(context);
	if (option.fork && fork() == 0)
		_exit(5);
	if (option.fork)
		wait(NULL);
	for (int i = 0; i < option.threads; i++) {
		if (!option.times && !option.early) {
			printf("sum %.6g\n", lanes[i].sum);
			describe_queue(&lanes[i]);
			if (!option.no_finish)
				describe_kernel(&lanes[i]);
		}
		if (option.wrong)
			wrong(&lanes[i]);
		print_events(&lanes[i]);
		if (!option.no_finish)
			release(&lanes[i]);
	}
	return option.no_finish ? 7 : 0;
}

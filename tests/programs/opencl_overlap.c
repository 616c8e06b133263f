/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of OpenCL that overlap, and what the program waits for: PROGRAM MODE. "events", "finish"
 * and "thread" give a long command and then a short one, four times: to two queues, waiting for
 * their events; to an out-of-order queue, waiting with clFinish; and to one queue, to which another
 * thread gives the short one while clFinish waits. It prints for how long it waited, and when
 * commands began and ended by their own events. A round counts if the short command ended first, or
 * was given while clFinish waited; others are made again. "ahead" gives 3000 short commands to an
 * out-of-order queue, from three threads, and waits at the end; "leave" gives 20 and ends before
 * they are done. Exit 77: there is no device.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <CL/cl.h>

enum {
	ROUNDS = 4,
	LONG = 30000000,
	SHORT = 1000000,
	THREADS = 3,
	EACH = 1000,
	TINY = 20000,
	LEFT = 20
};

static const char *const source =
	"#define SPIN(name) __kernel void name(__global uint *x, uint n)\\\n"
	"{ uint a = n; for (uint i = 0; i < n; i++) a = a * 1664525u + 1013904223u; x[0] = a; }\n"
	"SPIN(slow)\nSPIN(quick)\n";
static cl_context context;
static cl_device_id device;
static cl_kernel kernels[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static cl_command_queue make_queue(cl_command_queue_properties properties)
{
	return clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, NULL);
}

static cl_event launch(cl_command_queue queue, int which, cl_uint rounds)
{
	const size_t one = 1;
	cl_event event = NULL;

	pthread_mutex_lock(&lock);
	clSetKernelArg(kernels[which], 1, sizeof rounds, &rounds);
	clEnqueueNDRangeKernel(queue, kernels[which], 1, NULL, &one, &one, 0, NULL, &event);
	pthread_mutex_unlock(&lock);
	clFlush(queue);
	return event;
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

/* Its end by its own clock. */
static cl_ulong print(const char *name, cl_event event)
{
	cl_ulong begin = 0, end = 0;

	clWaitForEvents(1, &event);
	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
	printf("%s %llu %llu\n", name, (unsigned long long)begin, (unsigned long long)end);
	clReleaseEvent(event);
	return end;
}

static atomic_bool is_finishing, has_finished, was_late;

/* Nothing between is_finishing and clFinish sleeps, so the main thread sleeps in clFinish alone. */
static bool sleeps_in_finish(void)
{
	char state = 0;
	FILE *file = fopen("/proc/self/stat", "r"); /* the main thread's state */

	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S' && is_finishing;
}

static void *give_late(void *queue)
{
	const struct timespec pause = {0, 1000000};

	while (!has_finished && !sleeps_in_finish())
		nanosleep(&pause, NULL);
	cl_event event = launch(queue, 1, SHORT);
	was_late = !has_finished;
	return event;
}

/* True if the wait was for the long command. */
static bool one_round(const char *mode)
{
	static cl_command_queue queues[2];
	int is_thread = !strcmp(mode, "thread");
	void *late = NULL;
	pthread_t thread;

	for (int i = 0; i < 2 && !queues[i]; i++)
		queues[i] = make_queue(
			strcmp(mode, "finish") ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	is_finishing = has_finished = was_late = false;
	cl_event events[2] = {launch(queues[0], 0, LONG)};
	if (is_thread)
		pthread_create(&thread, NULL, give_late, queues[0]);
	else
		events[1] = launch(queues[!strcmp(mode, "events")], 1, SHORT);
	unsigned long long begin_ns = now_ns();
	is_finishing = true;
	if (strcmp(mode, "events"))
		clFinish(queues[0]);
	else
		clWaitForEvents(2, events);
	has_finished = true;
	printf("wait %llu\n", now_ns() - begin_ns);
	if (is_thread) {
		pthread_join(thread, &late);
		events[1] = late;
	}
	cl_ulong slow_end = print("slow", events[0]), quick_end = print("quick", events[1]);
	bool is_for_slow = is_thread ? was_late : slow_end > quick_end;
	printf("%s\n", is_for_slow ? "counts" : "again");
	return is_for_slow;
}

static cl_event given[THREADS][EACH];
static cl_command_queue shared;

static void *give_many(void *events)
{
	cl_event *to = events;

	for (int i = 0; i < EACH; i++)
		to[i] = launch(shared, i & 1, TINY);
	return NULL;
}

static void ahead(void)
{
	pthread_t threads[THREADS];

	shared = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, give_many, given[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	clFinish(shared);
	for (int i = 0; i < THREADS * EACH; i++)
		print(i % EACH & 1 ? "quick" : "slow", given[i / EACH][i % EACH]);
}

static void leave(void)
{
	cl_command_queue queue = make_queue(0);

	for (int i = 0; i < LEFT; i++)
		clReleaseEvent(launch(queue, 0, SHORT));
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "events";
	cl_platform_id platform;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
	cl_program program =
		clCreateProgramWithSource(context, 1, (const char **)&source, NULL, NULL);
	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL) != CL_SUCCESS)
		return 1;
	kernels[0] = clCreateKernel(program, "slow", NULL);
	kernels[1] = clCreateKernel(program, "quick", NULL);
	for (int i = 0; i < 2; i++)
		clSetKernelArg(kernels[i], 0, sizeof memory, &memory);
	cl_command_queue warm = make_queue(0);
	for (int i = 0; i < 2; i++)
		clReleaseEvent(launch(warm, i, 1)); /* so that they are compiled */
	clFinish(warm);
	clReleaseCommandQueue(warm);
	if (!strcmp(mode, "leave"))
		leave();
	for (int i = 0; i < ROUNDS && strcmp(mode, "ahead");)
		i += one_round(mode);
	if (!strcmp(mode, "ahead"))
		ahead();
	return 0;
}

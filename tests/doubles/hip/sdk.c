/* SPDX-License-Identifier: Apache-2.0 */
/* The double (double.h), against src/attach/hip/hip_abi.h's layouts. */
#include "tests/doubles/hip/double.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "attach/hip/hip_abi.h"

#define API __attribute__((visibility("default")))
enum {
	KIND_CODE = 10,
	KIND_KERNEL = 12,
	KIND_COPY = 13,
	KIND_CALL = 5,
	KIND_STREAM = 14,
	KINDS = 15
};
enum {
	OPERATION_SYNCHRONISE = 77,
	OPERATION_STREAM,
	MAX_JOBS = 4096,
	MAX_KERNELS = 16,
	CLOCK_OFF_NS = 123456789,
	LATE_NS = 2000000
};

static struct {
	void (*callback)(void);
	void *data;
} services[KINDS];

struct job {
	int is_copy;
	int32_t operation;
	struct hip_dispatch_data dispatch;
	struct hip_copy_data copy;
	const char *name;
	void *user;
};

static struct job jobs[MAX_JOBS];
static size_t queued, done;
static const char *kernels[MAX_KERNELS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct hip_tool *tool;
static uint64_t busy_until_ns[2]; /* one engine for all but the queue of its own */
static int has_started;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + CLOCK_OFF_NS;
}

static uint32_t version(void)
{
	const char *text = getenv("FAKE_HIP");

	return text ? (uint32_t)atoi(text) : 10100;
}

/* ---- what tools ask for ---- */

API int rocprofiler_create_context(uint64_t *context)
{
	*context = 1;
	return 0;
}

API int rocprofiler_start_context(uint64_t context)
{
	has_started = context == 1;
	return context != 1;
}

API int rocprofiler_stop_context(uint64_t context)
{
	has_started = 0;
	return context != 1;
}

API int rocprofiler_get_timestamp(uint64_t *ns)
{
	*ns = now_ns();
	return 0;
}

API int rocprofiler_configure_callback_tracing_service(uint64_t context, int32_t kind,
	const int32_t *operations, size_t count, void (*callback)(void), void *data)
{
	if (context != 1 || kind <= 0 || kind >= KINDS ||
		(kind == KIND_CALL && (count != 2 || operations[0] != OPERATION_SYNCHRONISE ||
					      operations[1] != OPERATION_STREAM)))
		return 1;
	services[kind].callback = callback;
	services[kind].data = data;
	return 0;
}

static const char *const kind_names[KINDS] = {[KIND_CODE] = "CODE_OBJECT",
	[KIND_KERNEL] = "KERNEL_DISPATCH",
	[KIND_COPY] = "MEMORY_COPY",
	[KIND_CALL] = "HIP_RUNTIME_API",
	[KIND_STREAM] = "HIP_STREAM"};

API int rocprofiler_iterate_callback_tracing_kinds(hip_kind_fn callback, void *data)
{
	for (int32_t kind = 1; kind < KINDS; kind++)
		if (callback(kind, data))
			break;
	return 0;
}

API int rocprofiler_query_callback_tracing_kind_name(
	int32_t kind, const char **name, uint64_t *length)
{
	*name = kind == KIND_STREAM && version() < HIP_VERSION_1 ? NULL : kind_names[kind];
	if (length)
		*length = *name ? strlen(*name) : 0;
	return 0;
}

API int rocprofiler_iterate_callback_tracing_kind_operations(
	int32_t kind, hip_operation_fn callback, void *data)
{
	for (int32_t operation = OPERATION_SYNCHRONISE - 1; operation <= OPERATION_STREAM;
		operation++)
		callback(kind, operation, data);
	return 0;
}

API int rocprofiler_query_callback_tracing_kind_operation_name(
	int32_t kind, int32_t operation, const char **name, uint64_t *length)
{
	*name = kind != KIND_CALL		     ? NULL
		: operation == OPERATION_SYNCHRONISE ? "hipDeviceSynchronize"
		: operation == OPERATION_STREAM	     ? "hipStreamSynchronize"
						     : "hipDeviceReset";
	(void)length;
	return 0;
}

/* ---- what tools are told ---- */

static void tell(int32_t kind, int32_t operation, int32_t phase, void *payload, void **user)
{
	const struct hip_event event = {kind, operation, phase, payload};

	if (!has_started || !services[kind].callback)
		return;
	if (version() < HIP_VERSION_1) {
		const struct hip_record_0 record = {1, 2, {3, 4}, event};
		((void (*)(struct hip_record_0, void **, void *))services[kind].callback)(
			record, user, services[kind].data);
	} else {
		const struct hip_record_1 record = {1, 2, {3, 4, 12}, event};
		((void (*)(struct hip_record_1, void **, void *))services[kind].callback)(
			record, user, services[kind].data);
	}
}

static void log_job(const struct job *job)
{
	const char *path = getenv("FAKE_HIP_LOG");
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (!file)
		return;
	fprintf(file, "%s %llu %llu %llu %llu\n", job->name,
		(unsigned long long)(job->is_copy ? 0 : job->dispatch.info.queue),
		(unsigned long long)(job->is_copy ? job->copy.start : job->dispatch.start) -
			CLOCK_OFF_NS,
		(unsigned long long)(job->is_copy ? job->copy.end : job->dispatch.end) -
			CLOCK_OFF_NS,
		(unsigned long long)(job->is_copy ? job->copy.bytes : 0));
	fclose(file);
}

static void complete(struct job *job)
{
	log_job(job);
	if (job->is_copy)
		tell(KIND_COPY, job->operation, HIP_PHASE_EXIT, &job->copy, &job->user);
	else
		tell(KIND_KERNEL, HIP_DISPATCH_COMPLETE, HIP_PHASE_NONE, &job->dispatch,
			&job->user);
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)((ns - CLOCK_OFF_NS) / 1000000000u),
		(long)((ns - CLOCK_OFF_NS) % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

/* Pairs the wrong way round, as signals may be looked at in any order. */
static void *deliver(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (done == queued)
			pthread_cond_wait(&changed, &lock);
		size_t count = queued - done >= 2 ? 2 : 1;
		struct job *last = &jobs[done + count - 1];
		uint64_t end = last->is_copy ? last->copy.end : last->dispatch.end;
		pthread_mutex_unlock(&lock);
		sleep_until(end);
		for (size_t i = count; i-- > 0;)
			complete(&jobs[done + i]);
		pthread_mutex_lock(&lock);
		done += count;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void put(struct job *job, uint64_t ns)
{
	pthread_mutex_lock(&lock);
	uint64_t begin = now_ns() + 2000;
	uint64_t *busy =
		&busy_until_ns[!job->is_copy && job->dispatch.info.queue == DOUBLE_HIP_OWN];
	begin = begin > *busy ? begin : *busy;
	*busy = begin + ns;
	job->dispatch.start = job->copy.start = begin;
	job->dispatch.end = job->copy.end = begin + ns;
	if (queued < MAX_JOBS)
		jobs[queued++] = *job;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static uint64_t kernel_id(const char *name)
{
	for (uint64_t i = 0; i < MAX_KERNELS; i++) {
		if (kernels[i] && !strcmp(kernels[i], name))
			return i + 1;
		if (kernels[i])
			continue;
		struct hip_symbol_data symbol = {sizeof symbol, i + 1, 1, name};
		void *user = NULL;
		kernels[i] = name;
		tell(KIND_CODE, HIP_CODE_KERNEL_SYMBOL, HIP_PHASE_ENTER, &symbol, &user);
		return i + 1;
	}
	return 0;
}

/* A stream for each queue. */
static void tell_stream(uint64_t queue, int32_t phase, void **user)
{
	struct hip_stream_data data = {sizeof data, queue, &jobs[queue]};

	tell(KIND_STREAM, HIP_STREAM_SET, phase, &data, user);
}

API void double_hip_dispatch(const char *kernel, uint64_t queue, uint32_t groups, uint64_t ns)
{
	struct job job = {.name = kernel,
		.dispatch = {.size = sizeof job.dispatch,
			.info = {.size = sizeof job.dispatch.info,
				.agent = 7,
				.queue = queue,
				.kernel = kernel_id(kernel),
				.group_bytes = 1024,
				.group = {64, 1, 1},
				.grid = {64 * groups, 1, 1}}}};

	void *of_stream = NULL;
	tell_stream(queue, HIP_PHASE_ENTER, &of_stream);
	tell(KIND_KERNEL, HIP_DISPATCH_ENQUEUE, HIP_PHASE_ENTER, &job.dispatch, &job.user);
	void *user = job.user;
	put(&job, ns);
	tell(KIND_KERNEL, HIP_DISPATCH_ENQUEUE, HIP_PHASE_EXIT, &job.dispatch, &user);
	tell_stream(queue, HIP_PHASE_EXIT, &of_stream);
}

API void double_hip_copy(uint64_t from_agent, uint64_t to_agent, uint64_t bytes, uint64_t ns)
{
	struct job job = {.name = "copy",
		.is_copy = 1,
		.operation = HIP_COPY_HOST_TO_DEVICE,
		.copy = {sizeof job.copy, 0, 0, to_agent, from_agent, bytes}};

	tell(KIND_COPY, job.operation, HIP_PHASE_ENTER, &job.copy, &job.user);
	put(&job, ns);
}

API void double_hip_synchronise(void)
{
	void *user = NULL;

	tell(KIND_CALL, OPERATION_SYNCHRONISE, HIP_PHASE_ENTER, NULL, &user);
	pthread_mutex_lock(&lock);
	while (done != queued)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	tell(KIND_CALL, OPERATION_SYNCHRONISE, HIP_PHASE_EXIT, NULL, &user);
}

API void double_hip_stream_synchronise(void)
{
	void *user = NULL, *of_stream = NULL;

	tell(KIND_CALL, OPERATION_STREAM, HIP_PHASE_ENTER, NULL, &user);
	tell_stream(1, HIP_PHASE_ENTER, &of_stream);
	pthread_mutex_lock(&lock);
	uint64_t until = busy_until_ns[0];
	pthread_mutex_unlock(&lock);
	sleep_until(until + LATE_NS);
	tell_stream(1, HIP_PHASE_EXIT, &of_stream);
	tell(KIND_CALL, OPERATION_STREAM, HIP_PHASE_EXIT, NULL, &user);
}

/* ---- the runtime's part ---- */

static void finish(void)
{
	if (tool && tool->finish)
		tool->finish(tool->data);
}

API void double_hip_start(void)
{
	const char *path = getenv("ROCP_TOOL_LIBRARIES");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
	struct hip_client client = {sizeof client, "", 1};
	struct hip_tool *(*configure)(uint32_t, const char *, uint32_t, struct hip_client *) = NULL;
	pthread_t thread;

	if (library) {
		void *found = dlsym(library, "rocprofiler_configure");
		memcpy(&configure, &found, sizeof found);
	}
	tool = configure ? configure(version(), "double", 0, &client) : NULL;
	if (tool && !tool->initialise(NULL, tool->data))
		atexit(finish);
	else
		tool = NULL;
	pthread_create(&thread, NULL, deliver, NULL);
	pthread_detach(thread);
}

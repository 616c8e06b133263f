/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How rocprofiler-sdk finds us: ROCm's runtimes have it load the libraries that ROCP_TOOL_LIBRARIES
 * names, and it asks each for rocprofiler_configure(). Callbacks come on the thread that launches,
 * and on one of ROCm's when the device is done.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "attach/hip/hip_abi.h"
#include "attach/hip/hip_commands.h"
#include "attach/common/notes_once.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/attach.h"
#include "brick/clock.h"
#include "brick/queue.h"

#define EXPORTED __attribute__((visibility("default")))
enum { MAX_WAITS = 16 };

enum traced { KERNELS, COPIES, CODE, CALLS, STREAMS, TRACED };
static const char *const kind_names[TRACED] = {
	"KERNEL_DISPATCH", "MEMORY_COPY", "CODE_OBJECT", "HIP_RUNTIME_API", "HIP_STREAM"};

static struct hip_functions sdk;
static uint32_t sdk_version;
static uint64_t context;
static int32_t kinds[TRACED]; /* 0: it has none of that name */
static int32_t waits[MAX_WAITS];
static size_t wait_count;

static void about_dispatch(const struct hip_event *e, void **user)
{
	if (e->operation == HIP_DISPATCH_COMPLETE)
		commands_dispatched(*user, e->payload);
	else if (e->operation == HIP_DISPATCH_ENQUEUE && e->phase == HIP_PHASE_ENTER)
		*user = commands_dispatch(e->payload);
	else if (e->operation == HIP_DISPATCH_ENQUEUE && e->phase == HIP_PHASE_EXIT)
		commands_launched(*user);
}

/* The call that asks for a copy is not seen from within; the end of a copy is its exit. */
static void about_copy(const struct hip_event *e, void **user)
{
	if (e->phase == HIP_PHASE_ENTER) {
		*user = commands_copy(e->payload, e->operation);
		commands_launched(*user);
	} else if (e->phase == HIP_PHASE_EXIT) {
		commands_copied(*user, e->payload);
	}
}

/* The call that waits, of this thread; begin 0: there is none. */
static __thread struct {
	uint64_t begin, number;
} waiting __attribute__((tls_model("initial-exec")));

/* It is for the newest command of its stream, or of all where no stream is told, at the latest. */
static void about_call(const struct hip_event *e)
{
	if (e->phase == HIP_PHASE_ENTER) {
		waiting.begin = brick_enabled() && !brick_thread_ready() ? brick_ticks() : 0;
		waiting.number = commands_newest();
	} else if (e->phase == HIP_PHASE_EXIT && waiting.begin) {
		brick_record_wait(waiting.begin, brick_ticks(), waiting.number);
		waiting.begin = 0;
	}
}

/* Around a call, or within what is told of it; a call may make another one. */
static void about_stream(const struct hip_event *e, void **user)
{
	const struct hip_stream_data *data = e->payload;

	if (e->operation != HIP_STREAM_SET)
		return;
	if (e->phase == HIP_PHASE_ENTER) {
		uint64_t outer = commands_stream(data->handle ? data->stream + 1 : 0);
		*user = (void *)(uintptr_t)outer;
		if (waiting.begin)
			waiting.number = commands_newest();
	} else if (e->phase == HIP_PHASE_EXIT) {
		commands_stream((uintptr_t)*user);
	}
}

static void about(const struct hip_event *e, void **user)
{
	KEEP_ERRNO();

	if (!e->payload && e->kind != kinds[CALLS])
		return;
	if (e->kind == kinds[KERNELS])
		about_dispatch(e, user);
	else if (e->kind == kinds[COPIES])
		about_copy(e, user);
	else if (e->kind == kinds[CALLS])
		about_call(e);
	else if (e->kind == kinds[STREAMS])
		about_stream(e, user);
	else if (e->kind == kinds[CODE] && e->operation == HIP_CODE_KERNEL_SYMBOL &&
		 e->phase == HIP_PHASE_ENTER)
		commands_kernel(e->payload);
}

static void callback_0(struct hip_record_0 record, void **user, void *data)
{
	about(&record.event, user);
}

static void callback_1(struct hip_record_1 record, void **user, void *data)
{
	about(&record.event, user);
}

static int find_kind(int32_t kind, void *data)
{
	const char *name = NULL;

	if (sdk.query_callback_tracing_kind_name(kind, &name, NULL) != HIP_FINE || !name)
		return 0;
	for (int i = 0; i < TRACED; i++)
		if (!strcmp(name, kind_names[i]))
			kinds[i] = kind;
	return 0;
}

static int find_wait(int32_t kind, int32_t operation, void *data)
{
	static const char *const names[] = {
		"hipDeviceSynchronize", "hipStreamSynchronize", "hipEventSynchronize"};
	const char *name = NULL;

	if (sdk.query_callback_tracing_kind_operation_name(kind, operation, &name, NULL) !=
			HIP_FINE ||
		!name)
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(name, names[i], strlen(names[i])) && wait_count < MAX_WAITS)
			waits[wait_count++] = operation; /* also those of the thread's own stream */
	return 0;
}

static int trace(enum traced what, const int32_t *operations, size_t count)
{
	void (*callback)(void) = sdk_version >= HIP_VERSION_1 ? (void (*)(void))callback_1
							      : (void (*)(void))callback_0;

	if (!kinds[what])
		return -ENOTSUP;
	return sdk.configure_callback_tracing_service(
		       context, kinds[what], operations, count, callback, NULL) == HIP_FINE
		       ? 0
		       : -EIO;
}

/* Kernels are what it is for; without the rest they are there all the same. */
static int configure(void)
{
	if (sdk.create_context(&context) != HIP_FINE)
		return -EIO;
	sdk.iterate_callback_tracing_kinds(find_kind, NULL);
	if (kinds[CALLS])
		sdk.iterate_callback_tracing_kind_operations(kinds[CALLS], find_wait, NULL);
	int rc = trace(KERNELS, NULL, 0);
	if (rc)
		return rc;
	trace(COPIES, NULL, 0);
	trace(CODE, NULL, 0);
	if (wait_count)
		trace(CALLS, waits, wait_count);
	trace(STREAMS, NULL, 0);
	return sdk.start_context(context) == HIP_FINE ? 0 : -EIO;
}

static int initialise(void (*finalise)(uint32_t client), void *data)
{
	commands_clock(sdk.get_timestamp);
	int rc = configure();
	if (rc)
		note_once("hip", "rocprofiler-sdk %u traces no kernels for us", sdk_version);
	else
		note_once("attach", "callbacks through rocprofiler-sdk %u.%u.%u",
			sdk_version / 10000, sdk_version / 100 % 100, sdk_version % 100);
	return rc ? -1 : 0;
}

static void finish(void *data)
{
	sdk.stop_context(context);
	commands_end();
}

static int load(void *library)
{
#define X(name, type, arguments)                                    \
	{                                                           \
		void *found = dlsym(library, "rocprofiler_" #name); \
		memcpy(&sdk.name, &found, sizeof found);            \
		if (!found)                                         \
			return -ENOTSUP;                            \
	}
	HIP_FUNCTIONS(X)
#undef X
	return 0;
}

EXPORTED struct hip_tool *rocprofiler_configure(
	uint32_t version, const char *text, uint32_t priority, struct hip_client *client);
struct hip_tool *rocprofiler_configure(
	uint32_t version, const char *text, uint32_t priority, struct hip_client *client)
{
	static struct hip_tool tool = {sizeof tool, initialise, finish, NULL};
	Dl_info who;
	void *library = NULL;

	if (dladdr(__builtin_return_address(0), &who) && who.dli_fname)
		library = dlopen(who.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	sdk_version = version;
	if (!library || load(library) || version >= 2 * HIP_VERSION_1) {
		note_once("hip", "rocprofiler-sdk %u is not known here", version);
		return NULL;
	}
	client->name = "brick";
	return &tool;
}

EXPORTED int brick_attacher_check(char *text, size_t bytes)
{
	static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (dlopen(names[i], RTLD_LAZY | RTLD_LOCAL)) {
			snprintf(text, bytes, "HIP programs are traced through %s", names[i]);
			return 0;
		}
	snprintf(text, bytes, "kernels of HIP programs cannot be traced: %s is not here", names[0]);
	return -ENOENT;
}

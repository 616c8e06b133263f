/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brick's tool for rocprofiler-sdk, which ROCm's runtimes have load the libraries of
 * ROCP_TOOL_LIBRARIES. It calls rocprofiler_configure() in each. Callbacks come on the launching
 * thread, and on a thread of ROCm's when the device is done. Commands finish in any order, and are
 * recorded in the order of their queue's launches.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/device_clock.h"
#include "attach/common/notes_once.h"
#include "attach/hip/hip_abi.h"
#include "base/demangle.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/attach.h"
#include "brick/clock.h"
#include "brick/queue.h"
#include "lib/device/correlation_residual.h"
#include "lib/device/queue_lane.h"
#include "lib/sys/functions.h"

#define EXPORTED __attribute__((visibility("default")))
enum { MAX_WAITS = 16 };

enum traced { KERNELS, COPIES, CODE, CALLS, STREAMS, TRACED };
static const char *const kind_names[TRACED] = {
	"KERNEL_DISPATCH", "MEMORY_COPY", "CODE_OBJECT", "HIP_RUNTIME_API", "HIP_STREAM"};

static struct hip_functions sdk;
static uint32_t sdk_version;
static uint64_t context;
static int32_t hip_kinds[TRACED]; /* the SDK's ids of kinds; 0: this version lacks the kind */
static int32_t hip_waits[MAX_WAITS];
static size_t wait_count;

/*
 * ---- commands from their launch until the device has done them ---- Queues by agent and queue id,
 * copies by their two agents, each with its outstanding commands. In a queue the first command that
 * is not done holds back those behind it, at most MAX_HELD. Streams share queues, so commands may
 * overlap.
 */

enum { MAX_HELD = 1 << 16 };
#define PERIOD_NS 500000000ull

struct command {
	struct command *next; /* the next one in its queue */
	struct queue *queue;
	struct brick_launch launch;
	const struct brick_launch_owner *work;
	uint32_t kernel; /* set for a copy; a dispatch's is known at its end */
	uint64_t bytes, flops, begin_ns, end_ns;
	int refs; /* of its queue, and of its callbacks to come */
	bool is_done, is_given_up;
};

struct queue {
	struct brick_queue *lane;
	struct command *first, **last;
	uint32_t held;
};

static pthread_mutex_t hip_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hashmap hip_queues;   /* hash of its ids -> struct queue */
static struct hashmap kernel_names; /* id -> name; never freed */
static struct hashmap newest_of;    /* stream + 1 -> number of the command launched last */
/* 1 + stream of this thread's next commands; 0: not told. */
static __thread uint64_t stream_now __attribute__((tls_model("initial-exec")));
static struct device_clock clock_line;
static uint64_t hip_newest, hip_lost;

static bool ask_clock(void *unused, uint64_t *ns)
{
	return sdk.get_timestamp(ns) == HIP_FINE;
}

/* Set stream_now. Returns its former value. */
static uint64_t set_stream(uint64_t stream)
{
	uint64_t former = stream_now;

	stream_now = stream;
	return former;
}

/* The number of the newest command of this thread's stream, or else of all; 0: there is none. */
static uint64_t newest_command(void)
{
	HOLD(&hip_lock);
	uint64_t number = stream_now ? hashmap_get(&newest_of, stream_now) : HASHMAP_NONE;

	return number == HASHMAP_NONE ? hip_newest : number;
}

/* Keeps a kernel's name. */
static void name_kernel(const struct hip_symbol_data *symbol)
{
	char name[512];
	size_t length = strnlen(symbol->name, sizeof(name) - 1);

	memcpy(name, symbol->name, length);
	name[length] = '\0';
	if (length > 3 &&
		!strcmp(name + length - 3, ".kd")) /* the suffix of the kernel's descriptor */
		name[length - 3] = '\0';
	char *readable = demangle(name);
	char *kept = readable ? readable : strdup(name);
	HOLD(&hip_lock);
	uint64_t former = hashmap_get(&kernel_names, symbol->kernel);
	if (former != HASHMAP_NONE || !kept ||
		hashmap_set_pointer(&kernel_names, symbol->kernel, kept))
		free(kept);
}

/* Under the lock; NULL: no memory. */
static struct queue *hip_queue_of(uint64_t a, uint64_t b, bool is_copy)
{
	uint64_t key = hash_add(hash_add(hash_u64(a), b), (uint64_t)is_copy);
	uint64_t found = hashmap_get(&hip_queues, key);
	char name[96];

	if (found != HASHMAP_NONE)
		return hashmap_pointer(found);
	struct queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->last = &queue->first;
	snprintf(name, sizeof(name),
		is_copy ? "copies, agent %llu to %llu" : "agent %llu queue %llu",
		(unsigned long long)a, (unsigned long long)b);
	const struct brick_queue_options options = {.size = sizeof(options),
		.name = name,
		.backend = "hip",
		.flags = BRICK_QUEUE_OUT_OF_ORDER};
	if (!brick_queue_create(&queue->lane, &options) &&
		!hashmap_set_pointer(&hip_queues, key, queue)) {
		if (!is_copy)
			brick__queue_on_gpu(queue->lane, "hip", a);
		return queue;
	}
	brick_queue_destroy(queue->lane);
	free(queue);
	return NULL;
}

/* Times that are not there, or that no clock places, are not made up. */
static void hip_record(const struct command *c)
{
	struct brick_command command = {.size = sizeof(command),
		.launch = c->launch,
		.kernel = c->kernel,
		.source = BRICK_SOURCE_DEVICE_ACTIVITY,
		.begin_ns = brick_correlation_host_ns(&clock_line.correlation, c->begin_ns),
		.end_ns = brick_correlation_host_ns(&clock_line.correlation, c->end_ns),
		.bytes = c->work ? c->work->bytes : c->bytes,
		.flops = c->work ? c->work->flops : 0,
		.residual_ns = (uint32_t)brick__correlation_residual_ns(
			&clock_line.correlation, c->end_ns)};

	if (c->is_given_up || !c->begin_ns || !c->end_ns || !clock_line.correlation.count)
		brick_queue_dropped(c->queue->lane, 1);
	else
		brick_queue_record(c->queue->lane, &command);
}

/* Under the lock. */
static void hip_drop(struct command *c)
{
	if (!--c->refs)
		free(c);
}

/* Under the lock. */
static void hip_release(struct queue *queue)
{
	while (queue->first && (queue->first->is_done || queue->held > MAX_HELD)) {
		struct command *c = queue->first;
		queue->first = c->next;
		if (!queue->first)
			queue->last = &queue->first;
		queue->held--;
		c->is_given_up = !c->is_done;
		hip_lost += (uint64_t)c->is_given_up;
		hip_record(c);
		hip_drop(c);
	}
}

static struct command *hip_begin(uint64_t a, uint64_t b, bool is_copy)
{
	struct command *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 2;
	brick_launch_begin(&c->launch);
	if (!c->launch.number) { /* nothing is recorded */
		free(c);
		return NULL;
	}
	c->work = is_copy ? NULL : brick_launch_work();
	HOLD(&hip_lock);
	hip_newest = c->launch.number;
	if (stream_now)
		hashmap_set(&newest_of, stream_now, hip_newest);
	c->queue = hip_queue_of(a, b, is_copy);
	if (c->queue) {
		c->refs++;
		*c->queue->last = c;
		c->queue->last = &c->next;
		c->queue->held++;
	}
	return c;
}

static void *begin_copy(const struct hip_copy_data *data, int32_t direction)
{
	static const char *const names[] = {[HIP_COPY_HOST_TO_DEVICE] = "copy to device",
		[HIP_COPY_DEVICE_TO_HOST] = "copy to host",
		[HIP_COPY_ON_DEVICE] = "copy on device"};
	static const uint32_t kinds[] = {[HIP_COPY_HOST_TO_DEVICE] = BRICK_KERNEL_H2D,
		[HIP_COPY_DEVICE_TO_HOST] = BRICK_KERNEL_D2H,
		[HIP_COPY_ON_DEVICE] = BRICK_KERNEL_D2D};
	int known = direction >= HIP_COPY_HOST_TO_DEVICE && direction <= HIP_COPY_ON_DEVICE;
	const struct brick_kernel kernel = {.size = sizeof(kernel),
		.name = known ? names[direction] : "copy",
		.backend = "hip",
		.kind = known ? kinds[direction] : BRICK_KERNEL_D2D};
	struct command *c = hip_begin(data->from_agent, data->to_agent, 1);

	if (c)
		c->kernel = brick_kernel_register(&kernel);
	return c;
}

/* The launching call is over. */
static void hip_launched(void *user)
{
	struct command *c = user;

	if (!c)
		return;
	HOLD(&hip_lock);
	brick_launch_end(&c->launch);
	hip_drop(c);
}

/* Under the lock. */
static uint32_t hip_kernel_of(const struct hip_dispatch_data *data)
{
	uint64_t name = hashmap_get(&kernel_names, data->info.kernel);
	struct brick_kernel kernel = {.size = sizeof(kernel),
		.name = name == HASHMAP_NONE ? "kernel" : hashmap_pointer(name),
		.backend = "hip",
		.kind = BRICK_KERNEL_COMPUTE,
		.shared_bytes = data->info.group_bytes};

	for (int i = 0; i < 3; i++) {
		uint32_t group = data->info.group[i] ? data->info.group[i] : 1;
		kernel.block[i] = group;
		kernel.grid[i] = (data->info.grid[i] + group - 1) / group;
	}
	return brick_kernel_register(&kernel);
}

/* Under the lock. */
static void done(struct command *c, uint64_t begin_ns, uint64_t end_ns)
{
	if (!c->is_given_up && c->queue) {
		if (device_clock_is_due(&clock_line, PERIOD_NS))
			device_clock_read(&clock_line, ask_clock, NULL);
		c->begin_ns = begin_ns;
		c->end_ns = end_ns;
		c->is_done = true;
		hip_release(c->queue);
	}
	hip_drop(c);
}

static void dispatched(void *user, const struct hip_dispatch_data *data)
{
	struct command *c = user;

	if (!c)
		return;
	HOLD(&hip_lock);
	c->kernel = hip_kernel_of(data);
	done(c, data->start, data->end);
}

static void hip_copied(void *user, const struct hip_copy_data *data)
{
	struct command *c = user;

	if (!c)
		return;
	HOLD(&hip_lock);
	c->bytes = data->bytes;
	done(c, data->start, data->end);
}

/* Callbacks from rocprofiler-sdk. */

static void about_dispatch(const struct hip_event *e, void **user)
{
	const struct hip_dispatch_data *data = e->payload;

	if (e->operation == HIP_DISPATCH_COMPLETE)
		dispatched(*user, data);
	else if (e->operation == HIP_DISPATCH_ENQUEUE && e->phase == HIP_PHASE_ENTER)
		*user = hip_begin(data->info.agent, data->info.queue, false);
	else if (e->operation == HIP_DISPATCH_ENQUEUE && e->phase == HIP_PHASE_EXIT)
		hip_launched(*user);
}

/* The call that asks for a copy is not seen from within; the end of a copy is its exit. */
static void about_copy(const struct hip_event *e, void **user)
{
	if (e->phase == HIP_PHASE_ENTER) {
		*user = begin_copy(e->payload, e->operation);
		hip_launched(*user);
	} else if (e->phase == HIP_PHASE_EXIT) {
		hip_copied(*user, e->payload);
	}
}

/* The waiting call of this thread; begin 0: there is none. */
static __thread struct {
	uint64_t begin, number;
} waiting __attribute__((tls_model("initial-exec")));

/*
 * The wait is for the newest command of its stream at the latest; if no stream is told, for the
 * newest of all.
 */
static void about_call(const struct hip_event *e)
{
	if (e->phase == HIP_PHASE_ENTER) {
		waiting.begin = brick_enabled() && !brick_thread_ready() ? brick_ticks() : 0;
		waiting.number = newest_command();
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
		uint64_t outer = set_stream(data->handle ? data->stream + 1 : 0);
		*user = (void *)(uintptr_t)outer;
		if (waiting.begin)
			waiting.number = newest_command();
	} else if (e->phase == HIP_PHASE_EXIT) {
		set_stream((uintptr_t)*user);
	}
}

static void hip_about(const struct hip_event *e, void **user)
{
	KEEP_ERRNO();

	if (!e->payload && e->kind != hip_kinds[CALLS])
		return;
	if (e->kind == hip_kinds[KERNELS])
		about_dispatch(e, user);
	else if (e->kind == hip_kinds[COPIES])
		about_copy(e, user);
	else if (e->kind == hip_kinds[CALLS])
		about_call(e);
	else if (e->kind == hip_kinds[STREAMS])
		about_stream(e, user);
	else if (e->kind == hip_kinds[CODE] && e->operation == HIP_CODE_KERNEL_SYMBOL &&
		 e->phase == HIP_PHASE_ENTER)
		name_kernel(e->payload);
}

static void callback_0(struct hip_record_0 record, void **user, void *data)
{
	hip_about(&record.event, user);
}

static void callback_1(struct hip_record_1 record, void **user, void *data)
{
	hip_about(&record.event, user);
}

static int find_kind(int32_t kind, void *data)
{
	const char *name = NULL;

	if (sdk.query_callback_tracing_kind_name(kind, &name, NULL) != HIP_FINE || !name)
		return 0;
	for (int i = 0; i < TRACED; i++)
		if (!strcmp(name, kind_names[i]))
			hip_kinds[i] = kind;
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
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])) && wait_count < MAX_WAITS)
			hip_waits[wait_count++] =
				operation; /* also those of the thread's own stream */
	return 0;
}

static int trace(enum traced what, const int32_t *operations, size_t count)
{
	void (*callback)(void) = sdk_version >= HIP_VERSION_1 ? (void (*)(void))callback_1
							      : (void (*)(void))callback_0;

	if (!hip_kinds[what])
		return -ENOTSUP;
	return sdk.configure_callback_tracing_service(
		       context, hip_kinds[what], operations, count, callback, NULL) == HIP_FINE
		       ? 0
		       : -EIO;
}

/* Kernels are the library's purpose; without the rest they are there all the same. */
static int configure(void)
{
	if (sdk.create_context(&context) != HIP_FINE)
		return -EIO;
	sdk.iterate_callback_tracing_kinds(find_kind, NULL);
	if (hip_kinds[CALLS])
		sdk.iterate_callback_tracing_kind_operations(hip_kinds[CALLS], find_wait, NULL);
	int rc = trace(KERNELS, NULL, 0);
	if (rc)
		return rc;
	trace(COPIES, NULL, 0);
	trace(CODE, NULL, 0);
	if (wait_count)
		trace(CALLS, hip_waits, wait_count);
	trace(STREAMS, NULL, 0);
	return sdk.start_context(context) == HIP_FINE ? 0 : -EIO;
}

static int initialise(void (*finalise)(uint32_t client), void *data)
{
	device_clock_init(&clock_line);
	int rc = configure();
	if (rc)
		note_once("hip", "rocprofiler-sdk %u traces no kernels for us", sdk_version);
	else
		note_once("attach", "callbacks through rocprofiler-sdk %u.%u.%u",
			sdk_version / 10000, sdk_version / 100 % 100, sdk_version % 100);
	return rc ? -1 : 0;
}

static void hip_finish(void *data)
{
	sdk.stop_context(context);
	HOLD(&hip_lock);
	for (const struct hashmap_slot *s = NULL; (s = hashmap_next(&hip_queues, s));) {
		struct queue *queue = hashmap_pointer(s->value);
		/* what is still outstanding never came */
		brick_queue_dropped(queue->lane, queue->held);
		hip_lost += queue->held;
	}
	note_once("hip.commands", "%llu never came; clock within %llu ns",
		(unsigned long long)hip_lost,
		(unsigned long long)clock_line.correlation.residual_ns);
}

static int hip_load(void *library)
{
#define X(name, type, arguments)                                          \
	if (!sys_function_find(library, "rocprofiler_" #name, &sdk.name)) \
		return -ENOTSUP;
	HIP_FUNCTIONS(X)
#undef X
	return 0;
}

EXPORTED struct hip_tool *rocprofiler_configure(
	uint32_t version, const char *text, uint32_t priority, struct hip_client *client);
struct hip_tool *rocprofiler_configure(
	uint32_t version, const char *text, uint32_t priority, struct hip_client *client)
{
	static struct hip_tool tool = {sizeof(tool), initialise, hip_finish, NULL};
	Dl_info who;
	void *library = NULL;

	if (dladdr(__builtin_return_address(0), &who) && who.dli_fname)
		library = dlopen(who.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	sdk_version = version;
	if (!library || hip_load(library) || version >= 2 * HIP_VERSION_1) {
		note_once("hip", "rocprofiler-sdk %u is not known here", version);
		return NULL;
	}
	client->name = "brick";
	return &tool;
}

EXPORTED int brick_attacher_check(char *text, size_t bytes)
{
	static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (dlopen(names[i], RTLD_LAZY | RTLD_LOCAL)) {
			snprintf(text, bytes, "HIP programs are traced through %s", names[i]);
			return 0;
		}
	snprintf(text, bytes, "kernels of HIP programs cannot be traced: %s is not here", names[0]);
	return -ENOENT;
}

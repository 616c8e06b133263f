/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's callbacks (calls.h). A call inside of a call that launches belongs to the outer call: the
 * runtime's calls make the driver's calls. The program's errno is kept.
 */
#include "attach/cuda/calls.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "attach/cuda/call_names.h"
#include "attach/cuda/cupti.h"
#include "attach/common/newest_numbers.h"
#include "attach/cuda/cuda_calibration.h"
#include "attach/cuda/cuda_graphs.h"
#include "attach/cuda/cuda_replays.h"
#include "attach/cuda/cuda_streams.h"
#include "attach/cuda/cuda_launches.h"
#include "attach/cuda/modules.h"
#include "base/scope.h"
#include "brick/attach.h"
#include "brick/clock.h"
#include "brick/probe.h"
#include "brick/queue.h"
#include "brick/session.h"
#include "lib/probe/waits.h"

enum { MAX_IDS = 1536, HOOK_PERIOD = 64, FIRST_HOOK = 16 };

static struct call_shape calls_shapes[2][MAX_IDS]; /* by domain and id */
static uint32_t calls_stopped;
static uint32_t calls_first; /* the first call's id behind calls_go_on(); 0: none was made yet */
static uint32_t calls_turn;  /* changes where callbacks go on: threads may have been within calls */
/* By whether the program's default stream is a thread's own. */
static struct calibration_call calls_kernels[] = {
	{"cuLaunchKernel", 0}, {"cuLaunchKernel_ptsz", 0}};
static uint32_t calls_are_calibrated;

/* The last command of each stream of a context, for waits for them. */
static struct newest_number tail_places[512];
static struct newest_numbers calls_tails = NEWEST_NUMBERS(tail_places);
#define KEY(handle) ((uintptr_t)(handle))

/* The state of a thread in its calls. */
struct call_thread {
	uint32_t turn;			  /* calls_turn of what follows */
	uint32_t depth;			  /* how many launching calls the thread is in */
	uint32_t hook_calls;		  /* launching calls since one was timed */
	uint32_t was_timed;		  /* one call was timed; the first ones are not typical */
	bool is_captured;		  /* the call made nodes of a graph instead */
	bool is_calibrating;		  /* its calls are Brick's own */
	bool is_sample;			  /* the graph that it replays has records of nodes */
	uint64_t hook_ticks, apart_ticks; /* the latter: of samples, which are calibrated */
	uint64_t wait_begin;
	struct brick__waits waits;
	uint64_t source; /* hash of the PTX that is being loaded; 0: none */
	struct brick_launch launch;
	const struct brick_launch_owner *work; /* the owner whose work the call's kernel does */
	uint32_t numbers; /* how many numbers of commands the call takes, from launch.number on */
	uint32_t outer;	  /* id of the outermost call that launches */
};

static __thread struct call_thread call_thread;

/* Choosing. */

/* Returns a result of CUPTI's. */
static int enable_domain(uint32_t domain)
{
	int result = CUPTI_FINE;

	for (uint32_t id = 1; result == CUPTI_FINE && id < MAX_IDS; id++) {
		const char *name = NULL;
		if (cupti.callback_name(domain, id, &name) != CUPTI_FINE || !name)
			continue;
		struct call_shape shape = domain == CUPTI_DOMAIN_DRIVER
						  ? call_shape_of_driver(name)
						  : call_shape_of_runtime(name);
		calls_shapes[domain - 1][id] = shape;
		for (int i = 0; i < 2; i++)
			if (!strcmp(name, calls_kernels[i].name))
				calls_kernels[i].id = id;
		if (shape.kind != CALL_NONE)
			result = cupti.enable_callback(1, cupti.subscriber, domain, id);
	}
	return result;
}

int calls_enable(void)
{
	static const uint32_t resources[] = {CUPTI_MODULE_LOADED, CUPTI_MODULE_UNLOADING,
		CUPTI_GRAPH_NODE_CREATED, CUPTI_GRAPH_NODE_DESTROYING, CUPTI_GRAPH_EXEC_STARTING,
		CUPTI_GRAPH_EXEC_CREATED, CUPTI_GRAPH_EXEC_DESTROYING, CUPTI_GRAPH_NODE_CLONED};

	/*
	 * Before any call is seen: kernels that are captured meanwhile would count as launched.
	 * Older versions lack some: kernels of graphs then have no parents.
	 */
	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++)
		cupti.enable_callback(1, cupti.subscriber, CUPTI_DOMAIN_RESOURCE, resources[i]);
	return enable_domain(CUPTI_DOMAIN_DRIVER);
}

void calls_enable_runtime(void)
{
	enable_domain(CUPTI_DOMAIN_RUNTIME);
}

void calls_enable_records(void)
{
	int narrow = cupti.enable_driver_call && cupti.enable_runtime_call;

	cupti.enable(CUPTI_DRIVER_CALL);
	cupti.enable(CUPTI_RUNTIME_CALL);
	for (uint32_t id = 1; narrow && id < MAX_IDS; id++) {
		const char *name;
		if (cupti.callback_name(CUPTI_DOMAIN_DRIVER, id, &name) == CUPTI_FINE)
			cupti.enable_driver_call(id, (uint8_t)call_launches(&calls_shapes[0][id]));
		if (cupti.callback_name(CUPTI_DOMAIN_RUNTIME, id, &name) == CUPTI_FINE)
			cupti.enable_runtime_call(id, (uint8_t)call_launches(&calls_shapes[1][id]));
	}
}

void calls_disable_records(void)
{
	cupti.disable(CUPTI_DRIVER_CALL);
	cupti.disable(CUPTI_RUNTIME_CALL);
}

void calls_stop(void)
{
	__atomic_store_n(&calls_stopped, 1, __ATOMIC_RELEASE);
}

void calls_go_on(void)
{
	__atomic_store_n(&calls_first, 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&calls_turn, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&calls_stopped, 0, __ATOMIC_RELEASE);
}

bool calls_came_before(uint32_t correlation)
{
	uint32_t first = __atomic_load_n(&calls_first, __ATOMIC_RELAXED);

	return __atomic_load_n(&calls_turn, __ATOMIC_RELAXED) &&
	       (!first || (int32_t)(correlation - first) < 0);
}

void calls_do_not_calibrate(const char *why)
{
	__atomic_store_n(&calls_are_calibrated, 1, __ATOMIC_RELEASE);
	brick_note("cuda.calibration", "none: %s", why);
}

/* Calls that launch. */

static bool calls_has_failed(const struct cupti_call *call)
{
	return call->result && *(const int *)call->result != 0;
}

/* The stream of a call, the context's handle for its default one; NULL: it is not known. */
static cuda_handle calls_stream_of(const struct call_shape *shape, const struct cupti_call *call)
{
	cuda_handle stream;

	if (!call_stream(shape, call->parameters, &stream))
		return NULL;
	return stream ? stream : call->context;
}

static struct launch_records calls_records_of(
	const struct call_shape *shape, const struct cupti_call *call)
{
	const struct cuda_graph_launch *graph = call->parameters;

	if (shape->kind == CALL_KERNEL)
		return (struct launch_records){.count = 1, .certain = 1, .numbers = 1};
	if (shape->kind == CALL_COPY)
		return (struct launch_records){.count = 1, .numbers = 1};
	struct exec_launch launch = nodes_exec_launch(graph->exec);
	return (struct launch_records){.count = launch.records,
		.numbers = launch.records ? launch.records : 1,
		.shape = launch.shape};
}

/* Switches of CUPTI's, in some replays: their time is no part of a usual call. */
static void sample_begin(struct call_thread *t, replay_shape shape)
{
	uint64_t begin = brick_ticks();

	t->is_sample = replays_enter(shape);
	t->apart_ticks += brick_ticks() - begin;
}

static void sample_end(struct call_thread *t)
{
	uint64_t begin = brick_ticks();

	t->is_sample = false;
	replays_leave();
	t->apart_ticks += brick_ticks() - begin;
}

static void launch_enter(const struct call_shape *shape, const struct cupti_call *call)
{
	struct call_thread *t = &call_thread;
	cuda_handle stream = calls_stream_of(shape, call);
	bool is_excluded = stream && excluded_has(stream);
	uint32_t none = 0;

	if (!__atomic_load_n(&calls_first, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&calls_first, &none, call->correlation, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (t->depth++ == 0) {
		t->is_captured = false;
		t->launch = (struct brick_launch){.number = 0};
		t->work = NULL;
		if (!is_excluded)
			brick_launch_begin(&t->launch);
	}
	if (is_excluded) {
		launches_pass_over(call->correlation, LAUNCHES_DISOWNED);
	} else if (t->launch.number) {
		struct launch_records records = calls_records_of(shape, call);
		if (shape->kind == CALL_KERNEL && !t->work)
			t->work = brick_launch_work();
		records.work = shape->kind == CALL_KERNEL ? t->work : NULL;
		if (t->depth == 1)
			brick_launch_many(&t->launch, t->numbers = records.numbers);
		records.numbers = t->numbers;
		launches_begin(call->correlation, &t->launch, &records);
		if (t->depth == 1)
			t->outer = call->correlation;
		else if (t->outer != call->correlation)
			launches_join(t->outer, call->correlation);
		if (shape->kind == CALL_GRAPH && !t->is_sample)
			sample_begin(t, records.shape);
	} else if (!brick_enabled()) {
		launches_pass_over(call->correlation, LAUNCHES_IGNORED);
	}
}

static void calls_launched(const struct call_shape *shape, const struct cupti_call *call)
{
	struct call_thread *t = &call_thread;
	cuda_handle stream = calls_stream_of(shape, call);

	if (t->is_captured || calls_has_failed(call)) {
		launches_forget(call->correlation);
		return;
	}
	if (stream) {
		events_launched(stream, call->correlation);
		launches_in_stream(call->correlation, stream);
	}
	launches_end(call->correlation, &t->launch);
	if (stream)
		newest_numbers_set(&calls_tails, KEY(call->context), KEY(stream),
			t->launch.number + t->numbers - 1);
}

static void launch_exit(const struct call_shape *shape, const struct cupti_call *call)
{
	struct call_thread *t = &call_thread;

	if (!t->depth)
		return;
	if (shape->kind == CALL_GRAPH && t->is_sample)
		sample_end(t);
	if (t->depth == 1)
		brick_launch_end(&t->launch);
	if (shape->kind == CALL_GRAPH)
		graph_calls_count(GRAPH_LAUNCHED, calls_has_failed(call));
	else if (shape->kind == CALL_KERNEL && !t->is_captured && !calls_has_failed(call))
		graph_calls_without();
	if (t->launch.number)
		calls_launched(shape, call);
	t->depth--;
}

/* Calls that wait, or have streams wait. */

/* Notes now which commands a wait is for: other threads may launch more meanwhile. */
static void wait_enter(const struct call_shape *shape, const struct cupti_call *call)
{
	const struct cuda_event_call *event = call->parameters;
	cuda_handle stream = calls_stream_of(shape, call);
	struct brick__waits *waits = &call_thread.waits;

	call_thread.wait_begin = brick__wait_begin();
	waits->count = 0;
	if (shape->kind == CALL_WAIT_STREAM && stream)
		brick__waits_add(
			waits, newest_numbers_get(&calls_tails, KEY(call->context), KEY(stream)));
	else if (shape->kind == CALL_WAIT_CONTEXT)
		newest_numbers_waits(&calls_tails, KEY(call->context), waits);
	else if (shape->kind == CALL_WAIT_EVENT && event)
		brick__waits_add(waits, events_number(event->event));
}

static void wait_exit(const struct cupti_call *call)
{
	if (!call_thread.wait_begin || calls_has_failed(call))
		return;
	brick__record_waits(call_thread.wait_begin, brick_ticks(), &call_thread.waits);
	call_thread.wait_begin = 0;
}

static void order_exit(const struct call_shape *shape, const struct cupti_call *call)
{
	const struct cuda_event_record *record = call->parameters;
	const struct cuda_stream_wait *wait = call->parameters;
	cuda_handle stream = calls_stream_of(shape, call);

	if (!stream || (calls_has_failed(call) && shape->kind != CALL_CAPTURE_END))
		return;
	if (shape->kind == CALL_CAPTURE_END)
		graph_calls_count(GRAPH_CAPTURED, calls_has_failed(call));
	if (shape->kind == CALL_EVENT)
		events_recorded(call->context, record->event, stream,
			newest_numbers_get(&calls_tails, KEY(call->context), KEY(stream)));
	else if (shape->kind == CALL_AFTER_EVENT)
		events_waited(call->context, stream, wait->event);
	else if (shape->kind == CALL_CAPTURE)
		events_capture(call->context, stream);
	else
		events_capture_end(stream);
}

/* Calls that destroy: a handle may be the next one's, too. */

/* Takes the context from the parameters: another one may be current on this thread, or none. */
static void context_gone(const struct cupti_call *call)
{
	const struct cuda_context_call *gone = call->parameters;

	if (!gone || !gone->context || calls_has_failed(call))
		return;
	excluded_forget(gone->context);
	newest_numbers_forget_all(&calls_tails, KEY(gone->context));
	events_forget_context(gone->context);
}

static void stream_goes(const struct call_shape *shape, const struct cupti_call *call)
{
	cuda_handle stream = calls_stream_of(shape, call);

	if (!stream)
		return;
	events_forget_stream(stream);
	excluded_forget(stream);
	newest_numbers_forget(&calls_tails, KEY(call->context), KEY(stream));
}

/* The callback. */

static int calls_waits(const struct call_shape *shape)
{
	return shape->kind >= CALL_WAIT_STREAM && shape->kind <= CALL_WAIT_EVENT;
}

static void calls_enter(const struct call_shape *shape, const struct cupti_call *call)
{
	const struct cuda_load_data *load = call->parameters;
	const struct cuda_event_call *event = call->parameters;

	if (call_launches(shape))
		launch_enter(shape, call);
	else if (calls_waits(shape))
		wait_enter(shape, call);
	else if (shape->kind == CALL_LOAD)
		call_thread.source = load ? modules_source(load->image) : 0;
	else if (shape->kind == CALL_CONTEXT_GOES || shape->kind == CALL_PRIMARY_GOES)
		cupti.flush_all(0); /* takes complete records, while their context is there */
	else if (shape->kind == CALL_STREAM_GOES)
		stream_goes(shape, call);
	else if (shape->kind == CALL_EVENT_GOES && event)
		events_forget(event->event);
}

static void calls_leave(const struct call_shape *shape, const struct cupti_call *call)
{
	const struct cuda_node_switch *node = call->parameters;

	if (call_launches(shape))
		launch_exit(shape, call);
	else if (calls_waits(shape))
		wait_exit(call);
	else if (shape->kind == CALL_LOAD)
		call_thread.source = 0;
	else if (shape->kind >= CALL_EVENT && shape->kind <= CALL_CAPTURE_END)
		order_exit(shape, call);
	else if (shape->kind == CALL_CONTEXT_GOES)
		context_gone(call);
	else if (shape->kind == CALL_INSTANTIATE)
		graph_calls_instantiated(calls_has_failed(call));
	else if (shape->kind == CALL_UPDATE)
		graph_calls_updated(call->parameters, shape->offset != 0, calls_has_failed(call));
	else if (shape->kind == CALL_NODE_SWITCH && node && !calls_has_failed(call))
		nodes_exec(
			node->exec, 0); /* from now on unknown how many records a launch brings */
}

/*
 * At the first command of the process, which usually copies a model's weights, before any step.
 * Others wait until it is done: no kernel may be launched before. Commands while nothing records
 * are not the first. A program has one kind of default stream, so it does not make the calls of
 * programs that have the other one.
 */
static void calls_calibrate(const struct call_shape *first)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	HOLD(&lock);
	if (calls_are_calibrated)
		return;
	call_thread.is_calibrating = true;
	cuda_calibrate(calls_kernels[!first->is_per_thread]);
	call_thread.is_calibrating = false;
	__atomic_store_n(&calls_are_calibrated, 1, __ATOMIC_RELEASE);
}

/* One launch in HOOK_PERIOD is timed whole: our own cost, without CUPTI's. */
static void timed_call(const struct call_shape *shape, const struct cupti_call *call)
{
	struct call_thread *t = &call_thread;
	int entering = call->site == CUPTI_ENTER, launches = call_launches(shape);

	if (t->is_calibrating) {
		if (shape->kind == CALL_GRAPH && entering)
			launches_pass_over(call->correlation, LAUNCHES_OWN);
		return;
	}
	if (entering && launches && t->depth == 0 && call->context &&
		!__atomic_load_n(&calls_are_calibrated, __ATOMIC_ACQUIRE) && brick_enabled())
		calls_calibrate(shape);
	int samples =
		launches && t->hook_calls >= (uint32_t)(t->was_timed ? HOOK_PERIOD : FIRST_HOOK);
	uint64_t begin = samples ? brick_ticks() : 0;

	t->hook_calls += launches && !entering;
	t->apart_ticks = 0;
	if (entering)
		calls_enter(shape, call);
	else
		calls_leave(shape, call);
	if (samples && entering) {
		t->hook_ticks = brick_ticks() - begin - t->apart_ticks;
	} else if (samples && t->hook_ticks) {
		brick_hook_cost(
			t->hook_calls, t->hook_ticks + (brick_ticks() - begin - t->apart_ticks));
		t->hook_calls = t->hook_ticks = 0;
		t->was_timed = 1;
	}
}

static void about_resource(uint32_t id, const struct cupti_resource_call *resource)
{
	const struct cupti_module *module = resource->what;

	if (!resource->what || call_thread.is_calibrating)
		return;
	if (id == CUPTI_MODULE_LOADED)
		modules_loaded(module->id, module->cubin, module->bytes, call_thread.source);
	else if (id == CUPTI_MODULE_UNLOADING)
		modules_unloading(module->id);
	else
		call_thread.is_captured |= graph_calls_resource(id, resource->what,
			call_thread.depth ? &call_thread.launch : NULL,
			call_thread.depth ? call_thread.work : NULL);
}

void calls_callback(void *own, uint32_t domain, uint32_t id, const void *data)
{
	KEEP_ERRNO();

	if (!data || __atomic_load_n(&calls_stopped, __ATOMIC_ACQUIRE))
		return;
	uint32_t turn = __atomic_load_n(&calls_turn, __ATOMIC_RELAXED);
	if (call_thread.turn != turn)
		call_thread = (struct call_thread){.turn = turn};
	if (domain == CUPTI_DOMAIN_RESOURCE)
		about_resource(id, data);
	else if (domain <= CUPTI_DOMAIN_RUNTIME && domain && id < MAX_IDS)
		timed_call(&calls_shapes[domain - 1][id], data);
}

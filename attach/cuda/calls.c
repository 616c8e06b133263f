/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls are looked at is decided by name when tracing starts, so that no table of ids has to
 * be kept per version (calls.h). A call inside of another that launches, as the runtime's are built
 * on the driver's, belongs to the outer one. The program's errno is kept.
 */
#include "attach/cuda/calls.h"

#include <errno.h>
#include <string.h>
#include "attach/cuda/cupti.h"
#include "attach/cuda/last.h"
#include "attach/cuda/launches.h"
#include "attach/cuda/modules.h"
#include "attach/cuda/nodes.h"
#include "brick/attach.h"
#include "brick/clock.h"
#include "brick/probe.h"
#include "brick/queue.h"

enum { MOST_IDS = 1536, HOOK_PERIOD = 64, FIRST_HOOK = 16 };

enum kind {
	CALL_NONE,
	CALL_KERNEL,
	CALL_KERNEL_EX, /* with a struct of attributes */
	CALL_GRAPH,
	CALL_COPY,
	CALL_WAIT_STREAM,
	CALL_WAIT_CONTEXT,
	CALL_WAIT_EVENT,
	CALL_LOAD,
	CALL_DESTROY,
};

static uint8_t kinds[2][MOST_IDS]; /* by domain and id */
static uint32_t stopped;

/* What a thread is in the middle of. */
struct call_thread {
	uint32_t depth;	      /* of calls that launch */
	uint32_t hook_calls;  /* that launched, since one was timed */
	uint32_t was_timed;   /* one was, once: the first ones are not typical */
	uint32_t is_captured; /* the call made nodes of a graph instead */
	uint32_t in_exec;     /* a graph is being instantiated */
	uint32_t exec_nodes;
	uint64_t hook_ticks;
	uint64_t wait_begin;
	uint64_t source; /* of the module that is being loaded */
	struct brick_launch launch;
};

static __thread struct call_thread call_thread;

/* ---- choosing ---- */

static int begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static enum kind kind_of_driver(const char *name)
{
	if (begins(name, "cuLaunchHostFunc"))
		return CALL_NONE;
	if (begins(name, "cuLaunchKernelEx"))
		return CALL_KERNEL_EX;
	if (begins(name, "cuLaunch"))
		return CALL_KERNEL;
	if (begins(name, "cuGraphLaunch"))
		return CALL_GRAPH;
	if (begins(name, "cuMemcpy") || begins(name, "cuMemset"))
		return CALL_COPY;
	if (begins(name, "cuStreamSynchronize"))
		return CALL_WAIT_STREAM;
	if (begins(name, "cuCtxSynchronize"))
		return CALL_WAIT_CONTEXT;
	if (begins(name, "cuEventSynchronize"))
		return CALL_WAIT_EVENT;
	if (begins(name, "cuModuleLoadData") || begins(name, "cuLibraryLoadData"))
		return CALL_LOAD;
	if (begins(name, "cuCtxDestroy") || begins(name, "cuDevicePrimaryCtxRelease") ||
		begins(name, "cuDevicePrimaryCtxReset"))
		return CALL_DESTROY;
	return CALL_NONE;
}

/* Parameters of these are not looked at: the driver's call inside tells. */
static enum kind kind_of_runtime(const char *name)
{
	if (begins(name, "cudaLaunchHostFunc"))
		return CALL_NONE;
	if (begins(name, "cudaLaunch") || begins(name, "cudaGraphLaunch") ||
		begins(name, "cudaMemcpy") || begins(name, "cudaMemset"))
		return CALL_COPY;
	return CALL_NONE;
}

static int enable_domain(uint32_t domain)
{
	int count = 0;

	for (uint32_t id = 1; id < MOST_IDS; id++) {
		const char *name = NULL;
		if (cupti.callback_name(domain, id, &name) != CUPTI_FINE || !name)
			continue;
		enum kind kind = domain == CUPTI_DOMAIN_DRIVER ? kind_of_driver(name)
							       : kind_of_runtime(name);
		kinds[domain - 1][id] = (uint8_t)kind;
		if (kind == CALL_NONE)
			continue;
		int result = cupti.enable_callback(1, cupti.subscriber, domain, id);
		if (result != CUPTI_FINE)
			return -result;
		count++;
	}
	return count;
}

int calls_enable(void)
{
	static const uint32_t resources[] = {CUPTI_MODULE_LOADED, CUPTI_MODULE_UNLOADING,
		CUPTI_GRAPH_NODE_CREATED, CUPTI_GRAPH_NODE_DESTROYING, CUPTI_GRAPH_EXEC_STARTING,
		CUPTI_GRAPH_EXEC_CREATED, CUPTI_GRAPH_EXEC_DESTROYING, CUPTI_GRAPH_NODE_CLONED};
	int count = enable_domain(CUPTI_DOMAIN_DRIVER);

	/* older versions lack some: kernels of graphs then have no parents */
	for (size_t i = 0; count >= 0 && i < sizeof resources / sizeof *resources; i++)
		cupti.enable_callback(1, cupti.subscriber, CUPTI_DOMAIN_RESOURCE, resources[i]);
	return count;
}

void calls_enable_runtime(void)
{
	enable_domain(CUPTI_DOMAIN_RUNTIME);
}

static int is_launch(enum kind kind)
{
	return kind >= CALL_KERNEL && kind <= CALL_COPY;
}

void calls_enable_records(void)
{
	int narrow = cupti.enable_driver_call && cupti.enable_runtime_call;

	cupti.enable(CUPTI_DRIVER_CALL);
	cupti.enable(CUPTI_RUNTIME_CALL);
	for (uint32_t id = 1; narrow && id < MOST_IDS; id++) {
		const char *name;
		if (cupti.callback_name(CUPTI_DOMAIN_DRIVER, id, &name) == CUPTI_FINE)
			cupti.enable_driver_call(id, is_launch(kinds[0][id]));
		if (cupti.callback_name(CUPTI_DOMAIN_RUNTIME, id, &name) == CUPTI_FINE)
			cupti.enable_runtime_call(id, is_launch(kinds[1][id]));
	}
}

void calls_stop(void)
{
	__atomic_store_n(&stopped, 1, __ATOMIC_RELEASE);
}

/* ---- calls that launch ---- */

static struct launch_records records_of(enum kind kind, const struct cupti_call *call)
{
	const struct cuda_graph_launch *graph = call->parameters;

	switch (kind) {
	case CALL_KERNEL:
	case CALL_KERNEL_EX:
		return (struct launch_records){1, 1};
	case CALL_GRAPH:
		return (struct launch_records){nodes_exec_records(graph->exec), 0};
	default:
		return (struct launch_records){1, 0};
	}
}

static void launch_enter(enum kind kind, const struct cupti_call *call)
{
	struct call_thread *t = &call_thread;

	if (t->depth++ == 0) {
		t->is_captured = 0;
		brick_launch_begin(&t->launch);
	}
	if (t->launch.number) {
		struct launch_records records = records_of(kind, call);
		launches_begin(call->correlation, &t->launch, &records);
	}
}

/* The stream that a call names in its parameters; 0: it does not. */
static int stream_of(enum kind kind, const struct cupti_call *call, cuda_handle *stream)
{
	const struct cuda_launch_kernel *kernel = call->parameters;
	const struct cuda_launch_kernel_ex *ex = call->parameters;
	const struct cuda_graph_launch *graph = call->parameters;

	if (kind == CALL_KERNEL && begins(call->function, "cuLaunchKernel"))
		*stream = kernel->stream;
	else if (kind == CALL_KERNEL_EX && ex->config)
		*stream = ex->config->stream;
	else if (kind == CALL_GRAPH)
		*stream = graph->stream;
	else
		return 0;
	return 1;
}

static int has_failed(const struct cupti_call *call)
{
	return call->result && *(const int *)call->result != 0;
}

static void launch_exit(enum kind kind, const struct cupti_call *call)
{
	struct call_thread *t = &call_thread;
	cuda_handle stream;

	if (!t->depth)
		return;
	if (t->depth == 1)
		brick_launch_end(&t->launch);
	if (t->launch.number) {
		if (t->is_captured || has_failed(call)) {
			launches_forget(call->correlation);
		} else {
			launches_end(call->correlation, &t->launch);
			if (stream_of(kind, call, &stream))
				last_set(call->context, stream, t->launch.number);
		}
	}
	t->depth--;
}

/* ---- calls that wait ---- */

static void wait_exit(enum kind kind, const struct cupti_call *call)
{
	const struct cuda_stream_call *sync = call->parameters;
	uint64_t number = 0;

	if (!call_thread.wait_begin || has_failed(call))
		return;
	if (kind == CALL_WAIT_STREAM)
		number = last_of_stream(call->context, sync->stream);
	else if (kind == CALL_WAIT_CONTEXT)
		number = last_of_context(call->context);
	brick_record_wait(call_thread.wait_begin, brick_ticks(), number);
	call_thread.wait_begin = 0;
}

/* ---- the callback ---- */

static void enter(enum kind kind, const struct cupti_call *call)
{
	const struct cuda_load_data *load = call->parameters;

	if (is_launch(kind))
		launch_enter(kind, call);
	else if (kind == CALL_LOAD)
		call_thread.source = load ? modules_source(load->image) : 0;
	else if (kind == CALL_DESTROY)
		cupti.flush_all(0); /* what is complete, while its context is there */
	else
		call_thread.wait_begin = brick_enabled() ? brick_ticks() : 0;
}

static void leave(enum kind kind, const struct cupti_call *call)
{
	if (is_launch(kind))
		launch_exit(kind, call);
	else if (kind == CALL_LOAD)
		call_thread.source = 0;
	else if (kind != CALL_DESTROY)
		wait_exit(kind, call);
}

/* One launch in HOOK_PERIOD is timed whole: what this here costs, without what CUPTI adds. */
static void timed_call(enum kind kind, const struct cupti_call *call)
{
	struct call_thread *t = &call_thread;
	int entering = call->site == CUPTI_ENTER;
	int samples = is_launch(kind) &&
		      t->hook_calls >= (uint32_t)(t->was_timed ? HOOK_PERIOD : FIRST_HOOK);
	uint64_t begin = samples ? brick_ticks() : 0;

	t->hook_calls += is_launch(kind) && !entering;
	if (entering)
		enter(kind, call);
	else
		leave(kind, call);
	if (samples && entering) {
		t->hook_ticks = brick_ticks() - begin;
	} else if (samples && t->hook_ticks) {
		brick_hook_cost(t->hook_calls, t->hook_ticks + (brick_ticks() - begin));
		t->hook_calls = t->hook_ticks = 0;
		t->was_timed = 1;
	}
}

static void node_made(const struct cupti_graph *graph)
{
	struct call_thread *t = &call_thread;
	struct brick_launch parent;
	uint64_t id;

	t->is_captured = 1;
	if (!cupti.graph_node_id || cupti.graph_node_id(graph->node, &id) != CUPTI_FINE)
		return;
	if (t->depth)
		parent = t->launch;
	else
		brick_launch_parent(&parent);
	nodes_created(id, parent.brick, parent.layer);
}

static void node_cloned(const struct cupti_graph *graph)
{
	uint64_t id, original;

	call_thread.exec_nodes += call_thread.in_exec && graph->node_type <= CUDA_NODE_MEMSET;
	if (cupti.graph_node_id && cupti.graph_node_id(graph->node, &id) == CUPTI_FINE &&
		cupti.graph_node_id(graph->original_node, &original) == CUPTI_FINE)
		nodes_cloned(id, original);
}

static void about_graph(uint32_t id, const struct cupti_graph *graph)
{
	struct call_thread *t = &call_thread;
	uint64_t node;

	switch (id) {
	case CUPTI_GRAPH_NODE_CREATED:
		node_made(graph);
		break;
	case CUPTI_GRAPH_NODE_CLONED:
		node_cloned(graph);
		break;
	case CUPTI_GRAPH_NODE_DESTROYING:
		if (cupti.graph_node_id && cupti.graph_node_id(graph->node, &node) == CUPTI_FINE)
			nodes_destroyed(node);
		break;
	case CUPTI_GRAPH_EXEC_STARTING:
		t->in_exec = 1;
		t->exec_nodes = 0;
		break;
	case CUPTI_GRAPH_EXEC_CREATED:
		nodes_exec(graph->exec, t->exec_nodes);
		t->in_exec = 0;
		break;
	case CUPTI_GRAPH_EXEC_DESTROYING:
		nodes_exec(graph->exec, 0);
		break;
	default:
		break;
	}
}

static void about_resource(uint32_t id, const struct cupti_resource_call *resource)
{
	const struct cupti_module *module = resource->what;

	if (!resource->what)
		return;
	if (id == CUPTI_MODULE_LOADED)
		modules_loaded(module->id, module->cubin, module->bytes, call_thread.source);
	else if (id == CUPTI_MODULE_UNLOADING)
		modules_unloading(module->id);
	else
		about_graph(id, resource->what);
}

void calls_callback(void *own, uint32_t domain, uint32_t id, const void *data)
{
	int saved = errno;

	if (!data || __atomic_load_n(&stopped, __ATOMIC_ACQUIRE))
		return;
	if (domain == CUPTI_DOMAIN_RESOURCE)
		about_resource(id, data);
	else if (domain <= CUPTI_DOMAIN_RUNTIME && domain && id < MOST_IDS)
		timed_call(kinds[domain - 1][id], data);
	errno = saved;
}

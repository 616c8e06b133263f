/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's double: who subscribes to what, and callbacks (double.h). Records are in activity.c. */
#include "tests/doubles/cuda/activity.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	uint32_t id;
	const char *name;
} names[] = {{17, "cuCtxSynchronize"}, {19, "cuModuleLoadData"}, {119, "cuEventRecord"},
	{325, "cuEventDestroy_v2"}, {326, "cuStreamDestroy_v2"}, {121, "cuEventSynchronize"},
	{295, "cuStreamWaitEvent"}, {497, "cuStreamEndCapture"}, {539, "cuStreamBeginCapture_v2"},
	{587, "cuEventRecordWithFlags"}, {126, "cuStreamSynchronize"}, {220, "cuMemsetD32Async"},
	{276, "cuMemcpyHtoD_v2"}, {277, "cuMemcpyHtoDAsync_v2"}, {278, "cuMemcpyDtoH_v2"},
	{279, "cuMemcpyDtoHAsync_v2"}, {281, "cuMemcpyDtoDAsync_v2"}, {307, "cuLaunchKernel"},
	{442, "cuLaunchKernel_ptsz"}, {322, "cuCtxDestroy_v2"}, {514, "cuGraphLaunch"},
	{643, "cuGraphInstantiateWithFlags"}, {644, "cuGraphExecUpdate_v2"},
	{527, "cuLaunchHostFunc"}};

static cupti_callback_fn callback; /* atomic: NULL as soon as the subscriber goes */
static void *callback_own;
static uint8_t wanted_calls[1536], wanted_resources[64];

/* ---- callbacks ---- */

/* NULL: nobody wants it. One reading of it: the subscriber may go while a call is on its way. */
static cupti_callback_fn callback_of(const uint8_t *wanted, size_t count, uint32_t id)
{
	return id < count && wanted[id] ? __atomic_load_n(&callback, __ATOMIC_ACQUIRE) : NULL;
}

static void on_call(uint32_t site, uint32_t id, const char *name, const void *parameters,
	int *result, const char *symbol, struct context *context, uint32_t correlation)
{
	struct cupti_call call = {
		.site = site,
		.function = name,
		.parameters = parameters,
		.result = result,
		.symbol = symbol,
		.context = context,
		.context_id = context ? context->id : 0,
		.correlation = correlation,
	};

	cupti_callback_fn call_back = callback_of(wanted_calls, sizeof wanted_calls, id);

	if (!call_back)
		return;
	uint64_t begin = double_now(), before = double_cost_saved_ns();
	double_cost(double_options()->cost_callback);
	uint64_t called = double_now();
	double_cost_tool(1);
	call_back(callback_own, CUPTI_DOMAIN_DRIVER, id, &call);
	double_cost_tool(0);
	called = double_now() - called;
	double_cost_called(called);
	double_cost_work(begin + called, before);
}

static void on_resource(uint32_t id, struct context *context, void *what)
{
	struct cupti_resource_call call = {context, NULL, what};
	const struct cupti_graph *graph = what;
	cupti_callback_fn call_back = callback_of(wanted_resources, sizeof wanted_resources, id);

	if (id == CUPTI_GRAPH_EXEC_CREATED)
		double_activity_exec_made(graph->exec);
	if (call_back)
		call_back(callback_own, CUPTI_DOMAIN_RESOURCE, id, &call);
}

/* ---- the interface ---- */

DOUBLE_API int cuptiGetVersion(uint32_t *version)
{
	*version = double_options()->ga	   ? CUPTI_VERSION_13_0
		   : double_options()->old ? 12 /* of CUDA 10 */
					   : 22;
	return CUPTI_FINE;
}

DOUBLE_API int cuptiGetResultString(int result, const char **text)
{
	*text = result ? "an error of the double" : "fine";
	return CUPTI_FINE;
}

/* There is a copy beside it, libcupti.so.13. */
static int is_found_first(void)
{
	Dl_info info;
	size_t length = dladdr(&callback, &info) ? strlen(info.dli_fname) : 0;

	return length > 11 && !strcmp(info.dli_fname + length - 11, "libcupti.so");
}

DOUBLE_API int cuptiSubscribe(void **subscriber, cupti_callback_fn function, void *own_data)
{
	static const struct tools tools = {on_call, on_resource, double_activity,
		double_activity_context_goes, double_activity_is_timed};

	if (double_options()->unfit || (double_options()->misfit && is_found_first()))
		return CUPTI_UNREADY;
	if (callback || double_options()->taken)
		return CUPTI_HAS_SUBSCRIBER;
	if (double_activity_start())
		return CUPTI_UNREADY;
	callback_own = own_data;
	__atomic_store_n(&callback, function, __ATOMIC_RELEASE);
	*subscriber = &callback;
	double_tools_set(&tools);
	return CUPTI_FINE;
}

DOUBLE_API int cuptiUnsubscribe(void *subscriber)
{
	__atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
	memset(wanted_calls, 0, sizeof wanted_calls); /* the next one enables its own */
	memset(wanted_resources, 0, sizeof wanted_resources);
	return subscriber == &callback ? CUPTI_FINE : 1;
}

DOUBLE_API int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
	for (size_t i = 0; domain == CUPTI_DOMAIN_DRIVER && i < sizeof names / sizeof *names; i++)
		if (names[i].id == id) {
			*name = names[i].name;
			return CUPTI_FINE;
		}
	return 1;
}

DOUBLE_API int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)
{
	if (subscriber != &callback)
		return 1;
	if (domain == CUPTI_DOMAIN_DRIVER && !wanted_resources[CUPTI_GRAPH_NODE_CREATED])
		double_broken("calls are seen before the nodes that they make instead of commands");
	if (domain == CUPTI_DOMAIN_DRIVER && id < sizeof wanted_calls)
		wanted_calls[id] = enable != 0;
	else if (domain == CUPTI_DOMAIN_RESOURCE && id < sizeof wanted_resources)
		wanted_resources[id] = enable != 0;
	return CUPTI_FINE;
}

DOUBLE_API int cuptiGetTimestamp(uint64_t *ns)
{
	*ns = double_device_ns(double_now());
	return CUPTI_FINE;
}

DOUBLE_API int cuptiGetGraphNodeId(const struct node *node, uint64_t *id)
{
	*id = node->id;
	return CUPTI_FINE;
}

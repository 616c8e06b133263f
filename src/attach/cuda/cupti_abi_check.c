/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds cuda_abi.h and cupti.h against CUDA's own headers, at compile time. Where those headers are
 * missing, cupti_abi_check_none.c is built instead.
 */
#include "attach/cuda/cuda_abi.h"
#include "attach/cuda/cupti.h"
#include "attach/cuda/call_names.h"

#include <cuda.h>
#include <cupti.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define FIELD(ours, field, theirs, name)                                                         \
	_Static_assert(offsetof(struct ours, field) == offsetof(theirs, name) &&                 \
			       sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->name), \
		#theirs "." #name)
#define BEGIN_OF(ours, field, theirs, name) /* the first of three fields in a row */ \
	_Static_assert(offsetof(struct ours, field) == offsetof(theirs, name), #theirs "." #name)

SAME(CUPTI_FINE, CUPTI_SUCCESS);
SAME(CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(CUPTI_UNREADY, CUPTI_ERROR_NOT_INITIALIZED);
SAME(CUPTI_BAD_KIND, CUPTI_ERROR_INVALID_KIND);
SAME(CUPTI_NO_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_HAS_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(CUPTI_DRIVER_CALL, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(CUPTI_RUNTIME_CALL, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME(CUPTI_MODULE_UNLOADING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME(CUPTI_GRAPH_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME(CUPTI_GRAPH_NODE_DESTROYING, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
SAME(CUPTI_GRAPH_EXEC_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
SAME(CUPTI_GRAPH_EXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME(CUPTI_GRAPH_EXEC_DESTROYING, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME(CUPTI_GRAPH_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME(CUPTI_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(CUPTI_COPY_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME(CUPTI_COPY_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME(CUPTI_COPY_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
SAME(CUPTI_COPY_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
SAME(CUPTI_COPY_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME(CUDA_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
SAME(CUDA_NODE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY);
SAME(CUDA_NODE_MEMSET, CU_GRAPH_NODE_TYPE_MEMSET);
SAME(CUDA_NODE_GRAPH, CU_GRAPH_NODE_TYPE_GRAPH);
#if CUPTI_API_VERSION >= 18
SAME(CUPTI_BUFFERS_ARE_ZEROED, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
#endif

/* Members that all records of work have. */
#define CHECK_TIMED(ours, theirs)                \
	FIELD(ours, start, theirs, start);       \
	FIELD(ours, end, theirs, end);           \
	FIELD(ours, device, theirs, deviceId);   \
	FIELD(ours, context, theirs, contextId); \
	FIELD(ours, stream, theirs, streamId);   \
	FIELD(ours, correlation, theirs, correlationId)

#define CHECK_KERNEL(theirs)                                              \
	CHECK_TIMED(cupti_kernel, theirs);                                \
	FIELD(cupti_kernel, kind, theirs, kind);                          \
	FIELD(cupti_kernel, registers, theirs, registersPerThread);       \
	BEGIN_OF(cupti_kernel, grid, theirs, gridX);                      \
	BEGIN_OF(cupti_kernel, block, theirs, blockX);                    \
	FIELD(cupti_kernel, static_shared, theirs, staticSharedMemory);   \
	FIELD(cupti_kernel, dynamic_shared, theirs, dynamicSharedMemory); \
	FIELD(cupti_kernel, name, theirs, name);                          \
	FIELD(cupti_kernel, queued, theirs, queued);                      \
	FIELD(cupti_kernel, submitted, theirs, submitted);                \
	FIELD(cupti_kernel, graph_node, theirs, graphNodeId)

#define CHECK_MEMCPY(theirs)                         \
	CHECK_TIMED(cupti_memcpy, theirs);           \
	FIELD(cupti_memcpy, copy, theirs, copyKind); \
	FIELD(cupti_memcpy, bytes, theirs, bytes);   \
	FIELD(cupti_memcpy, graph_node, theirs, graphNodeId)

#define CHECK_MEMSET(theirs)                       \
	CHECK_TIMED(cupti_memset, theirs);         \
	FIELD(cupti_memset, bytes, theirs, bytes); \
	FIELD(cupti_memset, graph_node, theirs, graphNodeId)

#define CHECK_PEER(theirs)                              \
	CHECK_TIMED(cupti_memcpy_peer, theirs);         \
	FIELD(cupti_memcpy_peer, bytes, theirs, bytes); \
	FIELD(cupti_memcpy_peer, graph_node, theirs, graphNodeId)

CHECK_KERNEL(CUpti_ActivityKernel5);
CHECK_KERNEL(CUpti_ActivityKernel7);
CHECK_MEMCPY(CUpti_ActivityMemcpy3);
CHECK_MEMCPY(CUpti_ActivityMemcpy4);
CHECK_MEMCPY(CUpti_ActivityMemcpy5);
CHECK_MEMSET(CUpti_ActivityMemset2);
CHECK_MEMSET(CUpti_ActivityMemset3);
CHECK_MEMSET(CUpti_ActivityMemset4);
CHECK_PEER(CUpti_ActivityMemcpyPtoP2);
CHECK_PEER(CUpti_ActivityMemcpyPtoP4);
#if CUPTI_API_VERSION >= 18
CHECK_KERNEL(CUpti_ActivityKernel8);
#endif
#if CUPTI_API_VERSION >= 20
CHECK_KERNEL(CUpti_ActivityKernel9);
#endif
#if CUPTI_API_VERSION >= 130000
SAME(CUDA_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME(CUPTI_BUFFERS_PER_THREAD, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
SAME(CUPTI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
CHECK_TIMED(cupti_graph_trace, CUpti_ActivityGraphTrace2);
FIELD(cupti_graph_trace, graph, CUpti_ActivityGraphTrace2, graphId);
FIELD(cuda_graph_update, exec, cuGraphExecUpdate_v2_params, hGraphExec);
FIELD(cuda_graph_update, graph, cuGraphExecUpdate_v2_params, hGraph);
FIELD(cuda_graph_update, info, cuGraphExecUpdate_v2_params, resultInfo);
FIELD(cuda_update_info, result, CUgraphExecUpdateResultInfo, result);
_Static_assert(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED == 2 &&
		       CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED == 8,
	"reasons of refused updates");
FIELD(cuda_node_switch, exec, cuGraphNodeSetEnabled_params, hGraphExec);
CHECK_KERNEL(CUpti_ActivityKernel10);
CHECK_MEMCPY(CUpti_ActivityMemcpy6);
#endif

FIELD(cupti_call, site, CUpti_CallbackData, callbackSite);
FIELD(cupti_call, function, CUpti_CallbackData, functionName);
FIELD(cupti_call, parameters, CUpti_CallbackData, functionParams);
FIELD(cupti_call, result, CUpti_CallbackData, functionReturnValue);
FIELD(cupti_call, symbol, CUpti_CallbackData, symbolName);
FIELD(cupti_call, context, CUpti_CallbackData, context);
FIELD(cupti_call, context_id, CUpti_CallbackData, contextUid);
FIELD(cupti_call, correlation, CUpti_CallbackData, correlationId);
FIELD(cupti_resource_call, context, CUpti_ResourceData, context);
FIELD(cupti_resource_call, what, CUpti_ResourceData, resourceDescriptor);
FIELD(cupti_module, id, CUpti_ModuleResourceData, moduleId);
FIELD(cupti_module, bytes, CUpti_ModuleResourceData, cubinSize);
FIELD(cupti_module, cubin, CUpti_ModuleResourceData, pCubin);
FIELD(cupti_graph, graph, CUpti_GraphData, graph);
FIELD(cupti_graph, original_graph, CUpti_GraphData, originalGraph);
FIELD(cupti_graph, node, CUpti_GraphData, node);
FIELD(cupti_graph, original_node, CUpti_GraphData, originalNode);
FIELD(cupti_graph, node_type, CUpti_GraphData, nodeType);
FIELD(cupti_graph, exec, CUpti_GraphData, graphExec);
BEGIN_OF(cuda_launch_kernel, grid, cuLaunchKernel_params, gridDimX);
FIELD(cuda_launch_kernel, stream, cuLaunchKernel_params, hStream);
FIELD(cuda_launch_kernel, stream, cuLaunchCooperativeKernel_params, hStream);
FIELD(cuda_graph_launch, exec, cuGraphLaunch_params, hGraph);
FIELD(cuda_graph_launch, stream, cuGraphLaunch_params, hStream);
FIELD(cuda_load_data, image, cuModuleLoadData_params, image);
FIELD(cuda_load_data, image, cuModuleLoadDataEx_params, image);
FIELD(cuda_stream_call, stream, cuStreamSynchronize_params, hStream);
FIELD(cuda_stream_call, stream, cuStreamBeginCapture_v2_params, hStream);
FIELD(cuda_stream_call, stream, cuStreamEndCapture_params, hStream);
FIELD(cuda_stream_call, stream, cuStreamDestroy_v2_params, hStream);
FIELD(cuda_context_call, context, cuCtxDestroy_params, ctx);
FIELD(cuda_context_call, context, cuCtxDestroy_v2_params, ctx);
FIELD(cuda_event_call, event, cuEventSynchronize_params, hEvent);
FIELD(cuda_event_call, event, cuEventDestroy_v2_params, hEvent);
FIELD(cuda_event_record, event, cuEventRecord_params, hEvent);
FIELD(cuda_event_record, stream, cuEventRecord_params, hStream);
FIELD(cuda_event_record, event, cuEventRecordWithFlags_params, hEvent);
FIELD(cuda_event_record, stream, cuEventRecordWithFlags_params, hStream);
FIELD(cuda_stream_wait, stream, cuStreamWaitEvent_params, hStream);
FIELD(cuda_stream_wait, event, cuStreamWaitEvent_params, hEvent);
#define COPY_IN(name, at) _Static_assert(offsetof(name##_params, hStream) == (at), #name);
CALL_COPIES_IN_STREAMS(COPY_IN)
#if CUDA_VERSION >= 13000
CALL_BATCHES_IN_STREAMS(COPY_IN)
#endif
#if CUDA_VERSION >= 11080
FIELD(cuda_launch_config, stream, CUlaunchConfig, hStream);
FIELD(cuda_launch_kernel_ex, config, cuLaunchKernelEx_params, config);
#endif
#if CUPTI_API_VERSION >= 19
FIELD(cuda_load_data, image, cuLibraryLoadData_params, code);
#endif

const char *abi_check_headers(void)
{
	static char text[32];
	const unsigned version = CUDA_VERSION, major = version / 1000, minor = version % 1000 / 10;

	text[0] = (char)('0' + major / 10);
	text[1] = (char)('0' + major % 10);
	text[2] = '.';
	text[3] = (char)('0' + minor % 10);
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of CUPTI's binary interface that Brick uses, written down from its documentation so
 * that everything builds where there is no CUDA; cupti_abi_check.c holds it against the real
 * headers where they are there. Records of all versions of CUPTI since 11.1 begin with these
 * fields.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void *cuda_handle; /* CUcontext, CUstream, CUgraph, CUgraphNode, CUgraphExec, CUmodule */

enum cupti_result {
	CUPTI_FINE = 0,
	CUPTI_LIMIT_REACHED = 12, /* no further record in the buffer */
	CUPTI_UNREADY = 15,	  /* the driver does not suit it */
	CUPTI_BAD_KIND = 21,	  /* the rest of the buffer cannot be read */
	CUPTI_NO_PRIVILEGES = 35,
	CUPTI_HAS_SUBSCRIBER = 39,
};

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_DRIVER_CALL = 4,
	CUPTI_RUNTIME_CALL = 5,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_MEMCPY_PEER = 22,
	CUPTI_GRAPH_TRACE = 51,
};

enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2, CUPTI_DOMAIN_RESOURCE = 3 };

enum cupti_resource {
	CUPTI_MODULE_LOADED = 6,
	CUPTI_MODULE_UNLOADING = 7,
	CUPTI_GRAPH_NODE_CREATED = 13,
	CUPTI_GRAPH_NODE_DESTROYING = 14,
	CUPTI_GRAPH_EXEC_STARTING = 17,
	CUPTI_GRAPH_EXEC_CREATED = 18,
	CUPTI_GRAPH_EXEC_DESTROYING = 19,
	CUPTI_GRAPH_NODE_CLONED = 20,
};

enum { CUPTI_ENTER = 0, CUPTI_EXIT = 1 }; /* of a call */
enum { CUPTI_FLUSH_FORCED = 1 };
enum { CUPTI_BUFFERS_ARE_ZEROED = 5, CUPTI_BUFFERS_PER_THREAD = 9 }; /* attributes: one byte */
/* As cuptiGetVersion() has them. Before CUDA 11.0 records are others: without a node of a graph,
 * and shorter. */
enum { CUPTI_VERSION_OLDEST = 13, CUPTI_VERSION_13_0 = 130000 };

enum cupti_copy { /* copyKind */
	CUPTI_COPY_HTOD = 1,
	CUPTI_COPY_DTOH = 2,
	CUPTI_COPY_HTOA = 3,
	CUPTI_COPY_ATOH = 4,
	CUPTI_COPY_HTOH = 9,
};

/* CUpti_Activity: the begin of every record. */
struct cupti_record {
	uint32_t kind;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityKernel5 and later. */
struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config;
	uint8_t shared_config;
	uint16_t registers;
	uint32_t cache_requested, cache_executed;
	uint64_t start, end, completed; /* 0: not known */
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted; /* 0: not collected */
	uint8_t launch_type, carveout_is_requested, carveout_requested, padding;
	uint32_t shared_executed;
	uint64_t graph_node; /* 0: of no graph */
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemcpy3 and later. */
struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, pad;
	void *reserved;
	uint64_t graph_node;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemset2 and later. */
struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
} __attribute__((packed, aligned(8)));

/* CUpti_ActivityMemcpyPtoP2 and later. */
struct cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t from_device, from_context, to_device, to_context, correlation;
	void *reserved;
	uint64_t graph_node;
} __attribute__((packed, aligned(8)));

#define CUPTI_NO_DEVICE 0x7fffffffu

/* CUpti_ActivityGraphTrace and later: a graph's launch as a whole. */
struct cupti_graph_trace {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device; /* of the first node, or CUPTI_NO_DEVICE if that runs on the host */
	uint32_t graph, context, stream;
	void *reserved;
} __attribute__((packed, aligned(8)));

/* CUpti_CallbackData */
struct cupti_call {
	uint32_t site;
	const char *function;
	const void *parameters;
	void *result; /* valid at exit */
	const char *symbol;
	cuda_handle context;
	uint32_t context_id;
	uint64_t *own;
	uint32_t correlation;
};

/* CUpti_ResourceData */
struct cupti_resource_call {
	cuda_handle context, stream;
	void *what;
};

/* CUpti_ModuleResourceData */
struct cupti_module {
	uint32_t id;
	size_t bytes;
	const char *cubin;
};

/* CUpti_GraphData */
struct cupti_graph {
	cuda_handle graph, original_graph;
	cuda_handle node, original_node;
	uint32_t node_type; /* enum cuda_node_type */
	cuda_handle dependency, exec;
};

enum cuda_node_type {
	CUDA_NODE_KERNEL = 0,
	CUDA_NODE_MEMCPY = 1,
	CUDA_NODE_MEMSET = 2, /* the last of those that bring a record */
	CUDA_NODE_GRAPH = 4,
	CUDA_NODE_CONDITIONAL = 13,
};

/* Parameters of calls, as far as they are looked at. */
struct cuda_launch_kernel { /* cuLaunchKernel, cuLaunchCooperativeKernel */
	cuda_handle function;
	uint32_t grid[3], block[3], shared;
	cuda_handle stream;
};

struct cuda_launch_config { /* CUlaunchConfig */
	uint32_t grid[3], block[3], shared;
	cuda_handle stream;
};

struct cuda_launch_kernel_ex {
	const struct cuda_launch_config *config;
};

struct cuda_graph_launch {
	cuda_handle exec, stream;
};

struct cuda_update_info { /* CUgraphExecUpdateResultInfo, from CUDA 12 on */
	int result;
	cuda_handle from, to;
};

struct cuda_graph_update { /* cuGraphExecUpdate_v2; without _v2 the third is another */
	cuda_handle exec, graph;
	const struct cuda_update_info *info;
};

struct cuda_node_switch { /* cuGraphNodeSetEnabled */
	cuda_handle exec, node;
	uint32_t is_enabled;
};

struct cuda_load_data { /* cuModuleLoadData(Ex), cuModuleLoadFatBinary, cuLibraryLoadData */
	void *out;
	const void *image;
};

struct cuda_stream_call { /* cuStreamSynchronize, cuStreamBeginCapture, cuStreamEndCapture */
	cuda_handle stream;
};

struct cuda_context_call { /* cuCtxDestroy */
	cuda_handle context;
};

struct cuda_event_call { /* cuEventSynchronize */
	cuda_handle event;
};

struct cuda_event_record { /* cuEventRecord, cuEventRecordWithFlags */
	cuda_handle event, stream;
};

struct cuda_stream_wait { /* cuStreamWaitEvent */
	cuda_handle stream, event;
};

/* Handles of default streams. */
#define CUDA_STREAM_LEGACY ((cuda_handle)1)
#define CUDA_STREAM_PER_THREAD ((cuda_handle)2)

typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void (*cupti_complete_fn)(
	cuda_handle context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);
typedef uint64_t (*cupti_timestamp_fn)(void);
typedef void (*cupti_callback_fn)(void *own, uint32_t domain, uint32_t id, const void *data);

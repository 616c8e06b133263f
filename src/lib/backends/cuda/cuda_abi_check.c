/* SPDX-License-Identifier: Apache-2.0 */
/* Holds cuda_driver.h against cuda.h at compile time; built only where cuda.h exists. */
#include "lib/backends/cuda/cuda_driver.h"

#include <cuda.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define AS(field, function, ...) \
	_Static_assert(_Generic(&function, __VA_ARGS__ : 1, default : 0), #function)

SAME(CUDA_FINE, CUDA_SUCCESS);
SAME(CUDA_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(CUDA_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(CUDA_RECORD_EXTERNAL, CU_EVENT_RECORD_EXTERNAL);
SAME(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(CUDA_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(CUDA_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
_Static_assert(sizeof(CUresult) == sizeof(int) && sizeof(CUdevice) == sizeof(int), "ints");
_Static_assert(sizeof(CUevent) == sizeof(void *), "handles are pointers");

/* The real prototypes, with their handles where ours have void *. */
AS(event_elapsed, cuEventElapsedTime, CUresult (*)(float *, CUevent, CUevent));
AS(event_record, cuEventRecord, CUresult (*)(CUevent, CUstream));
AS(event_create, cuEventCreate, CUresult (*)(CUevent *, unsigned int));
AS(stream_is_capturing, cuStreamIsCapturing, CUresult (*)(CUstream, CUstreamCaptureStatus *));
AS(capture_mode, cuThreadExchangeStreamCaptureMode, CUresult (*)(CUstreamCaptureMode *));
AS(graph_launch, cuGraphLaunch, CUresult (*)(CUgraphExec, CUstream));
AS(event_record_flags, cuEventRecordWithFlags, CUresult (*)(CUevent, CUstream, unsigned int));
AS(exec_set_event, cuGraphExecEventRecordNodeSetEvent,
	CUresult (*)(CUgraphExec, CUgraphNode, CUevent));
#if CUDA_VERSION < 13000
AS(capture_info, cuStreamGetCaptureInfo_v2,
	CUresult (*)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
		const CUgraphNode **, size_t *));
#endif

typedef int abi_check_is_not_empty;

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brick, a token-centric profiler: all that libbrick offers to a program. Left out are
 *
 *   brick/graph.h, graph_path.h, graph_view.h    the execution graph: libbrick-graph, linked apart
 *   brick/attach.h                               for what is injected into other people's programs
 *
 * and brick/abi/ comes in with what uses it: layouts that are shared with other processes and with
 * plugins. Conventions:
 *
 * - Options, descriptions and results begin with their `size`, so that later versions may add
 *   fields at the end: initialise them with their macro (struct brick_stats s = BRICK_STATS_INIT)
 *   or set `size`. -EINVAL: it was not set; -E2BIG: the program sets fields that this library does
 *   not know. `reserved` fields are 0.
 * - Structs without `size` never change: values (struct brick_clock, brick_digest, brick_sample,
 *   ...), and what a begin hands to its end (struct brick_launch, brick_counted, brick_tile).
 * - Ids of bricks, categories, sites, kernels are uint32_t; functions that make or find one return
 *   it as an int, or a negative code. A layer is an int, -1 outside of blocks, at most 32767.
 * - Functions return 0 or more, or -errno or a code of error.h. The hot path returns
 *   nothing: it drops and counts.
 * - Pairs: init/fini (your storage), create/destroy, open/close, begin/end (work that is timed),
 *   start/stop (sessions, timers). Functions that end something accept NULL.
 * - A NULL pointer gives -EINVAL, or the call does nothing: for sized structs, devices, timers,
 *   queues, handles, recordings and names. brick_record_sample(), launches, tiles, tensors and the
 *   graph's calls do not check: NULL is undefined there.
 */
#ifndef BRICK_BRICK_H
#define BRICK_BRICK_H

#include "brick/clock.h"
#include "brick/cpu.h"
#include "brick/correlation.h"
#include "brick/counters.h"
#include "brick/cuda.h"
#include "brick/device.h"
#include "brick/digest.h"
#include "brick/error.h"
#include "brick/export.h"
#include "brick/metal.h"
#include "brick/opencl.h"
#include "brick/probe.h"
#include "brick/queue.h"
#include "brick/recorded.h"
#include "brick/registry.h"
#include "brick/request.h"
#include "brick/session.h"
#include "brick/stats.h"
#include "brick/tile.h"
#include "brick/version.h"
#include "brick/vulkan.h"

#endif

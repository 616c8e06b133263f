/* SPDX-License-Identifier: Apache-2.0 */
/* Brick, a token-centric profiler: all of its public interface. */
#ifndef BRICK_BRICK_H
#define BRICK_BRICK_H

#include "brick/clock.h"
#include "brick/digest.h"
#include "brick/correlation.h"
#include "brick/counters.h"
#include "brick/device.h"
#include "brick/error.h"
#include "brick/export.h"
#include "brick/graph.h"
#include "brick/graph_path.h"
#include "brick/graph_view.h"
#include "brick/opencl.h"
#include "brick/probe.h"
#include "brick/queue.h"
#include "brick/registry.h"
#include "brick/session.h"
#include "brick/stats.h"
#include "brick/tile.h"
#include "brick/version.h"

#endif

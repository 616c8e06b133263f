/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the graph: nodes that have a name and a time.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "brick/graph.h"
#include "brick/queue.h"
#include "tests/unit/graph_fixture.h"
#include "tests/unit/graph_text.h"

static inline int add(struct brick_graph *g, int kind, const char *name, uint64_t time_ns)
{
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = (uint32_t)kind,
		.name = name,
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = time_ns};
	return brick_graph_add(g, &node);
}

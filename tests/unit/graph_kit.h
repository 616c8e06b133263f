/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and edges of a graph in one line. cmocka.h comes first. */
#pragma once

#include "brick/graph_path.h"
#include "tests/unit/graph_fixture.h"
#include "tests/unit/graph_text.h"

/* A name that would break any format. */
#define HOSTILE                                                                 \
	"a;b \"c\" \\ {d} <e> & [f] \n\r\t\x1b[31m \x7f \xc2\x9b \xe2\x80\xae " \
	"\xff \xc0\x80 \xed\xa0\x80 \xf5\x80\x80\x80 \xf0\x9f\xa7\xb1 \xc3"

static inline uint32_t add(struct brick_graph *g, int kind, const char *name, uint64_t time_ns)
{
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = (uint32_t)kind,
		.name = name,
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = time_ns};
	int id = brick_graph_add(g, &node);
	assert_true(id >= 0);
	return (uint32_t)id;
}

static inline uint32_t brick(struct brick_graph *g, const char *name, uint64_t time_ns)
{
	return add(g, BRICK_NODE_BRICK, name, time_ns);
}

static inline void connect(struct brick_graph *g, uint32_t from, uint32_t to, int kind)
{
	assert_true(brick_graph_connect(g, from, to, kind, 1) >= 0);
}

static inline struct brick_graph_path path_of(struct brick_graph *g)
{
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	assert_int_equal(brick_graph_critical_path(g, &path), 0);
	return path;
}

static inline struct brick_graph_times times_of(struct brick_graph *g, uint32_t node)
{
	struct brick_graph_times times = BRICK_GRAPH_TIMES_INIT;
	assert_int_equal(brick_graph_times_get(g, node, &times), 0);
	return times;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of its own for each test. cmocka.h comes first. */
#pragma once

#include "brick/graph.h"

static inline int create(void **state)
{
	struct brick_graph *g = NULL;
	int error = brick_graph_create(&g);

	*state = g;
	return error;
}

static inline int destroy(void **state)
{
	brick_graph_destroy(*state);
	return 0;
}

#define GRAPH_TEST(test) cmocka_unit_test_setup_teardown(test, create, destroy)

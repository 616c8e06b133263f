/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of an execution graph; each writes all of it. One thread at a time. */
#pragma once

#include "lib/graph/graph_core.h"
#include "lib/graph/graph_text.h"

int brick__graph_put_json(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_csr(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_dot(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_folded(struct brick_graph *graph, struct brick__sink *sink);
int brick__graph_put_tree(struct brick_graph *graph, struct brick__sink *sink);

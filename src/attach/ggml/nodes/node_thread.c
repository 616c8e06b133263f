/* SPDX-License-Identifier: Apache-2.0 */
/* The state of threads (node_thread.h), and what they share. */
#include "attach/ggml/nodes/node_thread.h"

#include "attach/ggml/method.h"

struct brick__series_timing node_run_none[NODE_PLAN_BEFORE + 1] = {
	[NODE_PLAN_BEFORE] = {.mark = NODE_KEY_NONE}};
__thread struct node_thread node_thread __attribute__((tls_model("initial-exec"))) = {
	.run = NODE_RUN_NONE, .run_from = NODE_RUN_NONE};
struct attach_shared attach_shared = {
	.resolve_generation = 1, .graph_generation = 1, .graph_serial = 1, .method = METHOD_NODES};

/* SPDX-License-Identifier: Apache-2.0 */
/* The state of threads (node_thread.h), and what they share. */
#include "attach/ggml/node_thread.h"

#include "attach/ggml/method.h"

__thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));
struct attach_shared attach_shared = {
	.resolve_generation = 1, .graph_generation = 1, .graph_serial = 1, .method = METHOD_NODES};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be learnt of a node from the engine's memory, copied out: names, operations, shapes and
 * types of it and its sources. With an unknown tensor layout the accessors give operation, name and
 * number of elements only. Tensors that their engine has left without a name of their own
 * ("leaf_12", "node_7") may have been given one, which is kept here and never written to the
 * engine's memory. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "attach/ggml/engine/node_work.h"

enum { GIVEN_NAME_BYTES = 64 };

/* own: what the engine calls it now. Without memory the tensor stays as it is. */
void given_name_set(const void *tensor, const char *own, const char *given);

/* Have any been given? */
bool given_names_any(void);

/* Under the lock: the name that was given to it, until the lock is let go; NULL: none was. */
const char *given_name_of(const void *tensor, const char *own);

extern pthread_mutex_t given_names_mutex; /* held over forks */

/* Has the program given no name? Then the engine has numbered it, or called it after its source. */
static inline bool tensor_is_nameless(const char *name)
{
	return !*name || !strncmp(name, "node_", 5) || strstr(name, " (");
}

/* A norm by itself: its weight is another node's. */
static inline bool operation_is_norm(const char *operation)
{
	return !strcmp(operation, "NORM") || !strcmp(operation, "RMS_NORM");
}

struct tensor_text {
	char name[TENSOR_NAME_BYTES];
	char operation[32];
	int64_t ne[TENSOR_DIMS];
	int32_t type;
};

struct node_text {
	struct tensor_text self;
	struct tensor_text source[TENSOR_SOURCES];
	uint32_t source_count;
	/* A product without a name of what two nodes have made: "SOFT_MAX" if one of these is, else
	 * "RESULTS"; "": it is none. */
	const char *results;
	uint64_t elements; /* when shapes are not known */
	bool has_shapes;
};

void node_text_read(
	struct node_text *text, const struct engine *engine, const void *node, const void *mul);

/* 64 bits each, which differ where the nodes do. */
struct node_hash {
	uint64_t names; /* by operations and names, of the sources too: what rules look at */
	uint64_t all;	/* by shapes and types as well */
};
struct node_hash node_text_hash(const struct node_text *text);

/* Its shapes, if text->has_shapes. The operation points into the text. */
void node_text_fill(
	const struct node_text *text, const struct engine *engine, struct work_node *node);

/* What one execution works on. */
void node_text_work(
	const struct node_text *text, const struct engine *engine, struct work_counts *counts);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of what the engine's memory says of a node: names, operations, shapes and types of the
 * node and its sources. If the tensor layout is unknown, accessors give operation, name and number
 * of elements only. For tensors that the engine has only numbered ("leaf_12", "node_7") this file
 * keeps given names; they are never written to the engine's memory. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "attach/ggml/engine/node_work.h"

enum { GIVEN_NAME_BYTES = 64 };

/*
 * Give a tensor a name. own: its name in the engine now; once the engine's name differs, the given
 * name no longer holds. Without memory, or room in the table, nothing happens.
 */
void given_name_set(const void *tensor, const char *own, const char *given);

/* Has any name been given in this process? */
bool given_names_any(void);

/*
 * The name given to a tensor, or NULL. The caller holds given_names_mutex, and the text is valid
 * until it unlocks.
 */
const char *given_name_of(const void *tensor, const char *own);

extern pthread_mutex_t given_names_mutex; /* held over forks */

/*
 * True if the program has given no name: the engine has numbered the node ("node_7"), or named it
 * after its source ("x (view)").
 */
static inline bool tensor_is_nameless(const char *name)
{
	return !*name || !strncmp(name, "node_", 5) || strstr(name, " (");
}

/* A norm without its weight, which another node multiplies. */
static inline bool operation_is_norm(const char *operation)
{
	return !strcmp(operation, "NORM") || !strcmp(operation, "RMS_NORM");
}

/* Zeroed before it is filled, so that equal tensors have equal bytes. Names may be cut. */
struct tensor_text {
	char name[TENSOR_NAME_BYTES];
	char operation[32]; /* "": an absent source, or not known */
	int64_t ne[TENSOR_DIMS];
	int32_t type;
};

struct node_text {
	struct tensor_text self; /* of a fused pair: the MUL, with the operation "RMS_NORM+MUL" */
	struct tensor_text source[TENSOR_SOURCES]; /* absent sources keep their place */
	uint32_t source_count;			   /* up to the last source that is there */
	/*
	 * For a nameless MUL_MAT of two nodes' results: "SOFT_MAX" if one of these is a SOFT_MAX,
	 * else "RESULTS". For all others: "".
	 */
	const char *results;
	uint64_t elements; /* of the result; 0 if has_shapes */
	bool has_shapes; /* false: the layout is unknown, and only `self` and `elements` are filled
			  */
};

/* mul: the second node of a fused pair, or NULL. The engine may not change the nodes meanwhile. */
void node_text_read(
	struct node_text *text, const struct engine *engine, const void *node, const void *mul);

/* Hashes, taken as identities: different texts have different hashes in practice. */
struct node_hash {
	uint64_t names; /* of the operations and names of node and sources, which rules look at */
	uint64_t all;	/* of these, the shapes and the types */
};
struct node_hash node_text_hash(const struct node_text *text);

/* Copy the shapes; needs text->has_shapes. node->operation points into the text. */
void node_text_fill(
	const struct node_text *text, const struct engine *engine, struct work_node *node);

/* The work of one execution of the node. */
void node_text_work(
	const struct node_text *text, const struct engine *engine, struct work_counts *counts);

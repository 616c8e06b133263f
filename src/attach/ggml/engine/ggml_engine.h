/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine: one copy of ggml in this process, as seen from the object that holds its CPU code. It
 * has the functions that the hooks of the hot path stand in front of, accessors, and the layout of
 * its tensors. A function or accessor that was not found is NULL. Engines are never freed; once
 * published, only `generation`, `profile` and `operation_class` change. A new accessor goes into
 * engine_create() too. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/engine/layout.h"
#include "attach/ggml/engine/resolve.h"

/*
 * The head of ggml_compute_params since June 2024. Earlier versions have a word before it: the task
 * (prepare, compute or finish the node). Only read through a pointer. ith: the thread's index in
 * its team; nth: the team's threads.
 */
struct compute_params {
	int ith, nth;
};

typedef _Bool (*extra_forward_fn)(const struct compute_params *params, void *node);
typedef void (*compute_forward_fn)(const struct compute_params *params, void *node);
typedef void (*fused_forward_fn)(const struct compute_params *params, void *norm, void *mul);
typedef void (*barrier_fn)(void *pool);
typedef _Bool (*is_empty_fn)(const void *tensor);

/* A graph by value, from ggml_graph_view(). Its size must be at least that of any engine's graph.
 */
struct graph_view {
	uint64_t words[128];
};

enum params_kind {
	PARAMS_UNKNOWN = 0, /* not told yet */
	PARAMS_PLAIN,	    /* begins with struct compute_params */
	PARAMS_WITH_TASK,   /* has the task before it */
};

/* What threads have learnt of an engine while it computed. Relaxed atomics. */
struct barrier_profile {
	uintptr_t barrier; /* return address of the barrier that ended the first graph; 0: none */
	uint32_t agreed;   /* further graphs that ended at this barrier */
	uint32_t refuted;  /* 1: a graph ended elsewhere, or went on behind it */
	uint32_t params;   /* enum params_kind */
	uint32_t arguments_hold; /* 1: its calls pass params and a node (node_arguments.h) */
	uint32_t is_past;	 /* 1: its barriers were told to skip the hook (slots.h) */
};

/* The class of an operation's number, found when a node first has it. */
enum operation_class {
	OPERATION_UNKNOWN = 0,
	OPERATION_WORK,
	OPERATION_EMPTY, /* never executed */
	OPERATION_RMS_NORM,
	OPERATION_MUL,
};
enum { OPERATION_CLASSES = 256 }; /* greater numbers count as OPERATION_WORK */

struct engine {
	struct engine *next;
	struct loaded_object object;
	uint32_t generation; /* attach_shared.resolve_generation in which it was seen last */

	extra_forward_fn extra_forward;
	fused_forward_fn fused_forward;
	compute_forward_fn compute_forward;
	bool stands_in; /* compute_forward() is hooked, and extra_forward() is not */
	barrier_fn barrier;
	is_empty_fn is_empty;

	const char *(*op_desc)(const void *tensor);
	const char *(*get_name)(const void *tensor);
	int64_t (*block_size)(int type);
	size_t (*type_size)(int type);
	int64_t (*element_count)(const void *tensor);
	size_t (*byte_count)(const void *tensor);
	const void *(*get_data)(const void *tensor);
	int (*graph_node_count)(const void *graph);
	const void *(*graph_node)(const void *graph, int index);
	const void *const *(*graph_nodes)(const void *graph);
	struct graph_view (*graph_view)(const void *graph, int begin, int end);
	const char *(*backend_name)(const void *backend);
	const char *(*version)(void);
	const char *(*commit)(void);

	struct tensor_layout layout;
	bool layout_known;
	bool is_proved; /* it is ggml; else only the functions that hooks stand in front of are set
			 */
	const char *layout_refused; /* the field that was not found; NULL if layout_known */
	struct barrier_profile *profile;
	uint8_t *operation_class; /* [OPERATION_CLASSES], enum operation_class; relaxed atomics */
};

/* Offsets in bytes of the fields by which a node differs from a former node at its address. */
struct shape_offsets {
	uint16_t ne, op, type;
	uint16_t source; /* 0: the layout is not known */
};

static inline int shape_offsets_known(const struct shape_offsets *at)
{
	return at->source != 0;
}

static inline struct shape_offsets engine_shape_offsets(const struct engine *e)
{
	const struct tensor_layout *l = &e->layout;

	return e->layout_known ? (struct shape_offsets){l->ne, l->op, l->type, l->source}
			       : (struct shape_offsets){0, 0, 0, 0};
}

/* The engine that code at this address belongs to; NULL when out of memory or in no object. */
const struct engine *engine_at(uintptr_t address);

/* As engine_operation(), for an operation that is met for the first time. */
enum operation_class engine_operation_new(const struct engine *engine, const void *node);

/* Class of a node's operation; needs a known layout. */
static inline enum operation_class engine_operation(const struct engine *e, const void *node)
{
	uint32_t op = (uint32_t)tensor_int32(node, e->layout.op);
	if (op >= OPERATION_CLASSES)
		return OPERATION_WORK;
	uint8_t class = __atomic_load_n(&e->operation_class[op], __ATOMIC_RELAXED);
	return BRICK_LIKELY(class != OPERATION_UNKNOWN) ? (enum operation_class) class
							: engine_operation_new(e, node);
}

/* False for views and the like. */
static inline bool engine_executes(const struct engine *e, const void *node)
{
	return engine_operation(e, node) != OPERATION_EMPTY;
}

enum { ENGINE_MAX_VIEWS = 16 }; /* in a chain: an end if memory is corrupt and the chain a ring */

/* The tensor that a chain of views shows: an executed node, or a leaf. Needs a known layout. */
static inline const void *engine_shown(const struct engine *e, const void *tensor)
{
	for (int i = 0; i < ENGINE_MAX_VIEWS && !engine_executes(e, tensor); i++) {
		const void *next = tensor_view_source(&e->layout, tensor);
		next = next ? next : tensor_source(&e->layout, tensor, 0);
		if (!next)
			break;
		tensor = next;
	}
	return tensor;
}

/* The MUL that the engine will compute together with this RMS_NORM, if `next` is it; else NULL. */
const void *engine_fused(const struct engine *engine, const void *norm, const void *next);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution graph (libbrick-graph): layers, bricks, kernels, transfers, functions and
 * asynchronous tasks, with edges for nesting and for order. Build one inside of an engine, or let
 * `brick graph` build it from a recording; ask it about itself here, and about its critical path in
 * graph_path.h. A graph is used by one thread at a time; different graphs are independent.
 *
 * Two kinds of edges are kept apart. Holding (CALLS, CONTAINS, LAUNCHES): `to` is part of `from`,
 * and its time is part of the time of `from`. Precedence (SEQUENCE, DEPENDS_ON, TRANSFER): `to`
 * cannot begin before `from` has ended. All edges point the way that time goes.
 *
 * Structs begin with their size, as brick.h says: initialise them with their macro or set `size`.
 * Names and arrays that a graph hands out are valid until the next call that changes it.
 */
#ifndef BRICK_GRAPH_H
#define BRICK_GRAPH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

struct brick_graph;

/* Kinds of nodes. A new kind also gets a name in brick__node_kinds (src/lib/graph/graph_text.c). */
enum brick_node_kind {
	BRICK_NODE_LAYER = 0,
	BRICK_NODE_BRICK = 1,
	BRICK_NODE_KERNEL = 2,	 /* one launch on a device */
	BRICK_NODE_TRANSFER = 3, /* a copy between host and device */
	BRICK_NODE_FUNCTION = 4,
	BRICK_NODE_TASK = 5, /* an asynchronous task that is polled until it is done */
	BRICK_NODE_KINDS,
};

/* Kinds of edges: the first three hold, the others precede. */
enum brick_edge_kind {
	BRICK_EDGE_CALLS = 0,
	BRICK_EDGE_CONTAINS = 1,
	BRICK_EDGE_LAUNCHES = 2, /* `to` on the lane of `from`: inside of it; on another lane:
				    asynchronous, see brick_graph_add() */
	BRICK_EDGE_SEQUENCE = 3,
	BRICK_EDGE_DEPENDS_ON = 4, /* `to` depends on `from` */
	BRICK_EDGE_TRANSFER = 5,   /* data goes from `from` to `to` */
	BRICK_EDGE_KINDS,
};

/* Directions of transfers; H: host, D: device. */
enum brick_transfer_direction {
	BRICK_TRANSFER_UNKNOWN = 0,
	BRICK_TRANSFER_H2D = 1,
	BRICK_TRANSFER_D2H = 2,
	BRICK_TRANSFER_D2D = 3,
};

/* An unknown value is 0 with its flag clear, and is never shown as a 0. */
enum brick_node_flags {
	BRICK_NODE_HAS_TIME = 1,
	BRICK_NODE_HAS_BEGIN = 2,
	BRICK_NODE_HAS_ELEMENTS = 4,
	BRICK_NODE_HAS_BYTES = 8,
	BRICK_NODE_HAS_INTENSITY = 16,
	BRICK_NODE_HAS_TFLOPS = 32,
	BRICK_NODE_HAS_LAYER = 64, /* a node of kind LAYER always has one */
	BRICK_NODE_MARKED = 128,   /* pictures highlight it: as on a critical path */
};

enum { BRICK_GRAPH_NAME_BYTES = 4096 }; /* of a name, label or path: a longer one is refused */

/* Details of a kernel. */
struct brick_graph_kernel {
	uint64_t code;		    /* from brick_graph_code_add(), or 0 */
	uint32_t grid[3], block[3]; /* all 0: not known */
	uint64_t shared_bytes;	    /* shared memory of a block */
	double intensity;	    /* FLOP per byte, with BRICK_NODE_HAS_INTENSITY */
	double tflops;		    /* achieved, with BRICK_NODE_HAS_TFLOPS */
};

/* Details of a transfer. */
struct brick_graph_transfer {
	const char *source, *target; /* names of buffers or places, or NULL */
	uint32_t direction;	     /* enum brick_transfer_direction */
};

/* Details of a function. */
struct brick_graph_function {
	const char *file; /* or NULL */
	uint32_t line;
};

/* Details of a task. */
struct brick_graph_task {
	uint64_t polls;	  /* how often it was polled; 0: not known */
	uint64_t yields;  /* how often it gave up its turn */
	uint64_t poll_ns; /* spent in all polls together */
};

/* A node, as it is added and as it is read. */
struct brick_graph_node {
	size_t size;	   /* sizeof(struct brick_graph_node) */
	uint32_t kind;	   /* enum brick_node_kind */
	uint32_t flags;	   /* enum brick_node_flags */
	const char *name;  /* copied; of a layer: NULL gives "Layer N" */
	const char *label; /* tells it from others of its name, or NULL; copied */
	uint64_t begin_ns; /* with BRICK_NODE_HAS_BEGIN */
	uint64_t time_ns;  /* with BRICK_NODE_HAS_TIME */
	uint64_t wait_ns;  /* part of time_ns: waiting for the nodes that must end before it */
	uint64_t elements;
	uint64_t bytes;
	uint32_t lane; /* thread or queue; the nodes of one lane run one after the other */
	int32_t layer;
	/* by kind; kinds without a member here leave it all 0 */
	union {
		struct brick_graph_kernel kernel;
		struct brick_graph_transfer transfer;
		struct brick_graph_function function;
		struct brick_graph_task task;
		uint64_t reserved[12];
	};
};

#define BRICK_GRAPH_NODE_INIT BRICK_SIZED(struct brick_graph_node)

/* An edge between two nodes. */
struct brick_graph_edge {
	size_t size;	   /* sizeof(struct brick_graph_edge) */
	uint32_t from, to; /* nodes */
	uint32_t kind;	   /* enum brick_edge_kind */
	double weight;	   /* the caller's own: a count, bytes, ns; no analysis looks at it */
};

#define BRICK_GRAPH_EDGE_INIT BRICK_SIZED(struct brick_graph_edge)

/* Makes an empty graph. 0 or -ENOMEM. */
BRICK_API int brick_graph_create(struct brick_graph **out);

/* Frees a graph, with all that it has handed out. NULL is legal. */
BRICK_API void brick_graph_destroy(struct brick_graph *graph);

/* Forget everything, lanes, scopes and code included: the graph is as it was when it was created.
 */
BRICK_API void brick_graph_clear(struct brick_graph *graph);

/*
 * Add a node; returns its id: 0, 1, 2, ... While a scope is open the call also adds edges: the
 * scope holds the node (LAUNCHES for a kernel, CALLS for a function in a function, else CONTAINS),
 * and the node is in SEQUENCE with the node before it in the same scope and lane. A kernel or
 * transfer on another lane than its scope's is asynchronous: it begins after its scope has begun
 * (LAUNCHES), its time is no part of its scope's, and it is in SEQUENCE with the asynchronous node
 * before it on its lane.
 * -EINVAL: size, kind, name, or a number that is not finite. -E2BIG: fields that are not known.
 * BRICK_EFULL: 2^31 - 1 nodes. -ENOMEM.
 */
BRICK_API int brick_graph_add(struct brick_graph *graph, const struct brick_graph_node *node);

/* Add an edge; returns its id: 0, 1, 2, ... -EINVAL: kind or weight. -ENOENT: no such node.
 * BRICK_EFULL. -ENOMEM. An edge that closes a cycle is taken, and named by brick_graph_cycle(). */
BRICK_API int brick_graph_connect(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight);

/* Set facts that became known after a node was added. -ENOENT: no such node. */
BRICK_API int brick_graph_time_set(
	struct brick_graph *graph, uint32_t node, uint64_t begin_ns, uint64_t time_ns);
BRICK_API int brick_graph_mark(struct brick_graph *graph, uint32_t node);

/* Name a lane: 0, -EINVAL: bad name, or -ENOMEM. Get its name: NULL if it has none. */
BRICK_API int brick_graph_lane_name_set(struct brick_graph *graph, uint32_t lane, const char *name);
BRICK_API const char *brick_graph_lane_name(const struct brick_graph *graph, uint32_t lane);

/* Open a scope: nodes added from now on are part of that node. -ENOENT: no such node. -ENOMEM. */
BRICK_API int brick_graph_push(struct brick_graph *graph, uint32_t node);

/* Add a node and open its scope; returns its id. Errors as of brick_graph_add(). */
BRICK_API int brick_graph_enter(struct brick_graph *graph, const struct brick_graph_node *node);

/* Short form: opens the scope of a layer. Returns its id, or an error as of brick_graph_add(). */
static inline int brick_graph_enter_layer(struct brick_graph *graph, int32_t layer)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	node.kind = BRICK_NODE_LAYER;
	node.layer = layer;
	return brick_graph_enter(graph, &node);
}

/* Short form: opens the scope of a brick that took so long for so many elements; 0: not known. */
static inline int brick_graph_enter_brick(
	struct brick_graph *graph, const char *name, uint64_t time_ns, uint64_t elements)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	node.kind = BRICK_NODE_BRICK;
	node.name = name;
	node.time_ns = time_ns;
	node.elements = elements;
	node.flags = (time_ns ? BRICK_NODE_HAS_TIME : 0) | (elements ? BRICK_NODE_HAS_ELEMENTS : 0);
	return brick_graph_enter(graph, &node);
}

/* Add a kernel with the first numbers of its grid and block; the others are 1. */
static inline int brick_graph_add_kernel(struct brick_graph *graph, const char *name, uint32_t grid,
	uint32_t block, uint64_t shared_bytes)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	node.kind = BRICK_NODE_KERNEL;
	node.name = name;
	for (int i = 0; i < 3; i++) {
		node.kernel.grid[i] = i ? 1 : grid;
		node.kernel.block[i] = i ? 1 : block;
	}
	node.kernel.shared_bytes = shared_bytes;
	return brick_graph_add(graph, &node);
}

/* Add a kernel with its whole grid and block, and the hash of its source (0: not known). */
static inline int brick_graph_add_launch(struct brick_graph *graph, const char *name,
	const uint32_t grid[3], const uint32_t block[3], uint64_t shared_bytes, uint64_t code)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	node.kind = BRICK_NODE_KERNEL;
	node.name = name;
	for (int i = 0; i < 3; i++) {
		node.kernel.grid[i] = grid[i];
		node.kernel.block[i] = block[i];
	}
	node.kernel.shared_bytes = shared_bytes;
	node.kernel.code = code;
	return brick_graph_add(graph, &node);
}

/* Close the innermost scope; returns its node. BRICK_ESTATE: none is open. */
BRICK_API int brick_graph_pop(struct brick_graph *graph);

/* Node of the innermost scope; -ENOENT if none is open. */
BRICK_API int brick_graph_current(const struct brick_graph *graph);

/* 1 when every push was popped and no pop found nothing to close, else 0. */
BRICK_API int brick_graph_is_balanced(const struct brick_graph *graph);

/* Numbers of nodes and of edges: their ids are 0 .. count-1. */
BRICK_API size_t brick_graph_node_count(const struct brick_graph *graph);
BRICK_API size_t brick_graph_edge_count(const struct brick_graph *graph);

/* Get a node or edge. 0. -ENOENT: there is none of that id; *out is untouched. -EINVAL: size. */
BRICK_API int brick_graph_node_get(
	const struct brick_graph *graph, uint32_t id, struct brick_graph_node *out);
BRICK_API int brick_graph_edge_get(
	const struct brick_graph *graph, uint32_t id, struct brick_graph_edge *out);

/* Returns the first node of that name, and the next one that is named as `node` is; -ENOENT: none.
 */
BRICK_API int brick_graph_find(const struct brick_graph *graph, const char *name);
BRICK_API int brick_graph_find_next(const struct brick_graph *graph, uint32_t node);

/* Edges that leave or enter a node, in the order in which they were added; returns their number. */
BRICK_API int brick_graph_out(struct brick_graph *graph, uint32_t node, const uint32_t **edges);
BRICK_API int brick_graph_in(struct brick_graph *graph, uint32_t node, const uint32_t **edges);

/* Nodes of a kind, in the order in which they were added; returns their number. */
BRICK_API int brick_graph_of_kind(
	const struct brick_graph *graph, int kind, const uint32_t **nodes);

/* Returns the kernel with the longest known time, the first of equal ones. BRICK_ENOTRECORDED: no
 * kernel has a known time. */
BRICK_API int brick_graph_slowest_kernel(const struct brick_graph *graph);

/* Returns 1 / polls: 1 for a task that was done at its first poll; negative: not known. */
BRICK_API double brick_graph_task_efficiency(const struct brick_graph_node *node);

/* Source of kernels, by the FNV-1a hash of its text. Strings are copied. */
struct brick_graph_code {
	size_t size; /* sizeof(struct brick_graph_code) */
	uint64_t hash;
	const char *name, *source, *path; /* path may be NULL */
};

#define BRICK_GRAPH_CODE_INIT BRICK_SIZED(struct brick_graph_code)

/* Register source under its hash, which `code->hash` receives. -EEXIST: other source has the same
 * hash. 0 for what was known already (its first name stays). -EINVAL: no name or source. -ENOMEM.
 */
BRICK_API int brick_graph_code_add(struct brick_graph *graph, struct brick_graph_code *code);

/* Get a source by its hash. 0. -ENOENT: no such source. -EINVAL: size. */
BRICK_API int brick_graph_code_get(
	const struct brick_graph *graph, uint64_t hash, struct brick_graph_code *out);

/* Output formats of a graph. */
enum brick_graph_format {
	BRICK_GRAPH_DOT = 0,  /* Graphviz */
	BRICK_GRAPH_JSON = 1, /* schema brick/graph/1 */
	BRICK_GRAPH_CSR = 2,  /* compressed sparse rows as JSON arrays: schema brick/graph-csr/1 */
	BRICK_GRAPH_FOLDED = 3, /* "a;b;c ns" lines for flame graphs: own times of stacks */
	BRICK_GRAPH_TREE = 4,	/* the nesting, as lines of UTF-8 text */
	BRICK_GRAPH_FORMATS,
};

/* Takes bytes of the output; returns 0, or a negative code that ends the writing. */
typedef int (*brick_graph_write_fn)(void *context, const char *data, size_t bytes);

/*
 * Write the graph, the same bytes for the same graph wherever it runs. Names are escaped as the
 * format needs. BRICK_ECYCLE (FOLDED and TREE): see brick_graph_cycle(). -EINVAL. -ENOMEM.
 */
BRICK_API int brick_graph_write(
	struct brick_graph *graph, int format, brick_graph_write_fn write, void *context);

/* The same to a stream. -EIO: it took not all of it. */
BRICK_API int brick_graph_print(struct brick_graph *graph, int format, FILE *out);

/* The same to a file that appears under its name only when it is whole. Also -errno. */
BRICK_API int brick_graph_save(struct brick_graph *graph, int format, const char *path);

BRICK_END_DECLS

#endif

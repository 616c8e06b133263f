/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to an execution graph about speed: the critical path, the slack of each node, what a
 * faster brick would buy, transfers that go back and forth. The time for an answer grows linearly
 * with the graph; answers are kept until the graph changes. Threads: as in graph.h. Results begin
 * with their size (-EINVAL: not set); in an array the first one's size holds for all.
 *
 * A node's own time is its time less its waits and less the longest chain of nodes that it holds,
 * so that nothing counts twice: a brick of 200 us around a kernel of 180 us is 200 us long, not
 * 380. The own time comes first; the nodes that it holds follow, in the order of the precedence
 * edges. The first holding edge that enters a node decides which node holds it; analysis ignores
 * further holding edges. A node without a known time takes as long as the nodes that it holds.
 */
#ifndef BRICK_GRAPH_PATH_H
#define BRICK_GRAPH_PATH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "brick/export.h"
#include "brick/graph.h"

BRICK_BEGIN_DECLS

/*
 * Finds the nodes of one cycle, in its order. An edge leads from each node to the next, and from
 * the last to the first; where a node precedes what is inside of it, the next is its holder.
 * *nodes is the graph's, valid until it changes. Returns the number of nodes; 0: there is no
 * cycle. -ENOMEM.
 */
BRICK_API int brick_graph_cycle(struct brick_graph *graph, const uint32_t **nodes);

/* A chain of nodes. */
struct brick_graph_path {
	size_t size;	       /* sizeof(struct brick_graph_path) */
	uint64_t length_ns;    /* sum of the own times of its nodes */
	const uint32_t *nodes; /* in the order of time; without nodes that only hold others */
	size_t count;
};

#define BRICK_GRAPH_PATH_INIT BRICK_SIZED(struct brick_graph_path)

/* Finds the longest chain, always the same one of equally long ones. BRICK_ECYCLE. -ENOMEM. */
BRICK_API int brick_graph_critical_path(struct brick_graph *graph, struct brick_graph_path *out);

/*
 * Write the critical path as text: its length, and the nodes on it with their own times, the
 * longest `rows` of them (0: all) in the order of time. Errors as above. -EIO.
 */
BRICK_API int brick_graph_path_print(struct brick_graph *graph, size_t rows, FILE *out);

/* The times of a node if everything runs as early as it can, and how much later it could begin. */
struct brick_graph_times {
	size_t size;		   /* sizeof(struct brick_graph_times) */
	uint64_t begin_ns, end_ns; /* from the graph's start; end: of it and all that it holds */
	uint64_t own_ns;	   /* its own time */
	uint64_t slack_ns; /* how much longer or later it could be with the graph's length as it is
			    */
};

#define BRICK_GRAPH_TIMES_INIT BRICK_SIZED(struct brick_graph_times)

/* Get the times of a node. 0. -ENOENT: no such node. BRICK_ECYCLE. -ENOMEM. */
BRICK_API int brick_graph_times_get(
	struct brick_graph *graph, uint32_t node, struct brick_graph_times *out);

/*
 * Computes how long the critical path were if all nodes of that name took `factor` (0 to 1e6) times
 * as long, with the kernels, transfers, functions and tasks in them, but without the bricks and
 * layers in them. -ENOENT: no such name. -EINVAL: factor. BRICK_ECYCLE. -ENOMEM.
 */
BRICK_API int brick_graph_what_if(
	struct brick_graph *graph, const char *name, double factor, uint64_t *length_ns);

/* The gain of a faster brick. */
struct brick_graph_opportunity {
	size_t size; /* sizeof(struct brick_graph_opportunity) */
	const char *name;
	uint64_t on_path_ns; /* own time of its nodes on the critical path */
	uint64_t less_ns;    /* length of the critical path if the brick took 10 % less */
	uint64_t nothing_ns; /* length of the critical path if the brick took no time at all */
};

#define BRICK_GRAPH_OPPORTUNITY_INIT BRICK_SIZED(struct brick_graph_opportunity)

/*
 * Finds the `capacity` names with the smallest less_ns, the best first. Only the names with most
 * time on the path are tried, up to 8 for each one asked for. Returns the number of names in *out.
 * BRICK_ECYCLE. -ENOMEM.
 */
BRICK_API int brick_graph_opportunities(
	struct brick_graph *graph, struct brick_graph_opportunity *out, size_t capacity);

/* Two transfers of which the second brings as many bytes back as the first took away. */
struct brick_graph_ping_pong {
	size_t size;	      /* sizeof(struct brick_graph_ping_pong) */
	uint32_t there, back; /* nodes; `back` is the later one */
	uint64_t bytes;	      /* of one way */
	uint64_t time_ns;     /* of both; what is not known counts 0 */
};

#define BRICK_GRAPH_PING_PONG_INIT BRICK_SIZED(struct brick_graph_ping_pong)

/*
 * Finds pairs of transfers with exchanged source and target and equal bytes. A transfer is in at
 * most one pair, with the nearest one before it. Writes at most `capacity` pairs, in rising order
 * of `back`; returns how many there are. -ENOMEM.
 */
BRICK_API int brick_graph_ping_pongs(
	struct brick_graph *graph, struct brick_graph_ping_pong *out, size_t capacity);

/* A graph in numbers. */
struct brick_graph_summary {
	size_t size; /* sizeof(struct brick_graph_summary) */
	size_t nodes, edges;
	size_t by_node_kind[BRICK_NODE_KINDS], by_edge_kind[BRICK_EDGE_KINDS];
	size_t without_time;	  /* kernels and transfers whose time is not known */
	uint64_t length_ns;	  /* of the critical path */
	uint64_t work_ns;	  /* sum of the own times of all nodes */
	double parallelism;	  /* work_ns / length_ns; negative: length_ns is 0 */
	uint64_t ping_pong_bytes; /* both ways */
	size_t ping_pongs;
};

#define BRICK_GRAPH_SUMMARY_INIT BRICK_SIZED(struct brick_graph_summary)

/* Fills *out. 0. BRICK_ECYCLE. -ENOMEM. */
BRICK_API int brick_graph_summarize(struct brick_graph *graph, struct brick_graph_summary *out);

/*
 * Returns the distance from the roof: 1 - achieved / min(peak, intensity x bandwidth), in FLOP/s,
 * FLOP per byte and bytes/s. 0 is the roof itself; a negative value means that the work was faster
 * than the given roof. NaN when an argument makes no sense.
 */
BRICK_API double brick_roofline_distance(
	double achieved, double peak, double intensity, double bandwidth);

/* A kernel, and its distance from the roof. */
struct brick_graph_distance {
	size_t size;   /* sizeof(struct brick_graph_distance) */
	uint32_t node; /* the kernel */
	double distance;
};

#define BRICK_GRAPH_DISTANCE_INIT BRICK_SIZED(struct brick_graph_distance)

/*
 * Distances of the kernels whose speed and intensity are known, in the order in which they were
 * added. peak in FLOP/s, bandwidth in bytes/s. Writes at most `capacity`; returns how many there
 * are. -EINVAL: a roof that makes no sense.
 */
BRICK_API int brick_graph_roofline(struct brick_graph *graph, double peak, double bandwidth,
	struct brick_graph_distance *out, size_t capacity);

/* What a maker says that a processor can do at most; unlike ceilings, nothing measured it. */
struct brick_peak {
	size_t size;		/* sizeof(struct brick_peak) */
	double flops;		/* of a GPU, in FLOP/s with 32 bits, without tensor cores; else 0 */
	double bandwidth;	/* of a GPU's memory, in bytes/s; else 0 */
	double flops_per_cycle; /* of a CPU's core with 32 bits; else 0 */
};

#define BRICK_PEAK_INIT BRICK_SIZED(struct brick_peak)

/*
 * Get the nominal peak of a GPU by the name that its driver gives it, such as "NVIDIA GeForce RTX
 * 4090", or of a core by its vector instructions, as brick_cpu_isa() names them. Sources: the
 * makers' data sheets, with the boost clock and dense operations; for cores Intel's and Arm's
 * optimization guides, with two units for multiply-add. -ENOENT: the name is not in the table.
 * -EINVAL: size.
 */
BRICK_API int brick_peak_nominal(const char *name, struct brick_peak *out);

BRICK_END_DECLS

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Light recording of CUDA graphs. CUPTI records a replay as a whole, which costs the program about
 * as much as a launch. One replay in REPLAY_PERIOD is a sample: its nodes have records of their
 * own. The nodes of other replays get their times from the last sample of the same graph, and have
 * the source "estimated"; begin and end of the replay are its own. Graphs that are not known node
 * by node are never recorded as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "brick/queue.h"

enum {
	REPLAY_FIRST = 8,   /* replays of a graph that are samples; the first are not typical */
	REPLAY_PERIOD = 16, /* of later ones one in so many */
};

/*
 * An executable graph with the work that it has now: an update makes it another one. 0: none is
 * known, or its replays bring no fixed number of records.
 */
typedef uint32_t replay_shape;

/* One launch of an executable graph. */
struct exec_launch {
	uint32_t records; /* of its nodes; 0: not known */
	replay_shape shape;
};

/* The wish of the user; before CUPTI records anything for a recorder. */
enum replay_detail { REPLAYS_AS_COST, REPLAYS_LIGHT, REPLAYS_FULL, REPLAYS_WHOLE };
void replays_want(enum replay_detail detail);
bool replays_may_be_light(void);

/* By the calibration, us: a kernel's record, a replay as a whole, a sample's two switches. */
struct replay_costs {
	int nodes; /* of the graph that was replayed */
	double node, whole, sample;
};

/*
 * Decides by the costs, and begins to record whole replays. obstacle: why that cannot be; NULL: it
 * can. Writes the note "cuda.detail".
 */
void replays_decide(const char *obstacle, const struct replay_costs *costs);

/* Records of Brick's own replays (cuda_calibration.h): of nodes, and of replays as a whole. */
struct replays_own {
	uint64_t nodes, wholes;
};
void replays_own_record(bool is_whole);
struct replays_own replays_own(void);

/* Launching threads. */

/* A number for an executable graph that was made or updated. */
replay_shape replays_new_shape(void);

/*
 * Around a call that replays a graph. The first returns true if the replay is a sample, and nodes
 * are recorded on all threads until another replay is none: then the second has to follow.
 */
bool replays_enter(replay_shape shape);
void replays_leave(void);

/* The consumer of records (cuda_records.h). */

/* A command of a graph; times are CUPTI's. */
struct replay_node {
	struct brick_queue *queue;
	uint64_t begin, end, bytes, graph_node;
	uint32_t kernel;
};

/*
 * The record of a whole replay could not be shared out. A graph without any sample should have no
 * such record: after some, all replays are samples.
 */
void replays_unknown(replay_shape shape);

/* A node of a replay of `count` nodes, on its record. */
void replays_node(
	replay_shape shape, uint32_t count, uint32_t correlation, const struct replay_node *node);

/*
 * The nodes of a replay that was recorded from begin to end as a whole, in `queue`: how many, or
 * -ENOENT: not known. Nodes that have a record of their own are not among them. Valid until the
 * next call of a function here. Replays come by their begin. Nodes in the queue of the sample's
 * first node are in `queue`.
 */
int replays_estimate(replay_shape shape, uint32_t correlation, struct brick_queue *queue,
	uint64_t begin, uint64_t end, const struct replay_node **nodes);

/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of making a graph of a run share. Inside of analysis/graph_*.c only. */
#pragma once

#include <stdbool.h>
#include "analysis/path/schedule.h"
#include "brick/graph.h"

/* What became of a sample; nodes may be RUN_NONE. */
struct graph_sample {
	uint32_t node;	    /* its execution */
	uint32_t wait;	    /* its waiting right after the end */
	uint32_t before;    /* what had ended last on its lane when it began */
	uint32_t scope;	    /* what its waiting is part of; RUN_NONE: nothing */
	uint64_t waited_ns; /* of its waiting: for others */
};

struct graph_lane {
	uint32_t first, count; /* samples */
	struct graph_sample *samples;
};

struct graph_builder {
	struct brick_graph *graph;
	const struct run *run;
	const struct step_index *index;
	const struct schedule *schedule;
	struct graph_lane *lanes; /* [span_count] */
	uint32_t *thread_of;	  /* [activities] of starts: the node that they begin */
	int error;		  /* the first one */
};

/* The id, or RUN_NONE after an error, which is kept. */
uint32_t graph_check(struct graph_builder *b, int result);

/* graph_lane.c: what a lane is called. */
enum { GRAPH_LANE_NAME_BYTES = 128 };
void graph_lane_name(char name[GRAPH_LANE_NAME_BYTES], const struct run_lane *lane);

/* graph_lane.c: nodes for the samples of a span. */
void graph_take_lane(struct graph_builder *b, uint32_t span);

/* graph_command.c: a node for a command, in the scope of the call that launched it; both are to be
 * popped. RUN_NONE: its call is not in the graph; nothing was opened. */
uint32_t graph_enter_command(struct graph_builder *b, const struct run_command *command);

/* graph_command.c: what commands had to wait for. */
void graph_link_commands(struct graph_builder *b);

/* graph_data.c: what worked on whose results, where the recording says so. */
void graph_link_data(struct graph_builder *b);

/* What became of a sample, or NULL. */
struct graph_sample *graph_sample_at(const struct graph_builder *b, uint32_t lane, uint32_t sample);

/* graph_lane.c: a node for an execution that stands by itself. */
uint32_t graph_add_sample(struct graph_builder *b, uint32_t lane, uint32_t sample,
	uint64_t begin_ns, uint64_t time_ns);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes an execution graph out of a schedule and the samples that it was made of. First come the
 * nodes, lane by lane: a walk over a lane's samples opens and closes scopes of the graph, from
 * which holding and sequence follow, and samples of one layer that stand side by side share a
 * layer. A device's command stands inside of the call that launched it. Then come the edges between
 * lanes: starts, barriers, dependencies of commands, and the data that flows between the nodes of
 * an engine's graph, where the recording has it (`brick record --graph`; brick/abi/dataflow.h says
 * what the text is). Data flows from the last execution of a producer on the same thread to each
 * execution that works on it; parts on other threads are kept apart by the barriers that are in the
 * graph anyway.
 */
#include "analysis/path/graph_from_run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/walk/walk.h"
#include "analysis/path/schedule.h"
#include "base/array.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/abi/dataflow.h"
#include "brick/error.h"
#include "brick/graph.h"
#include "brick/queue.h"

/* The nodes of a sample, or RUN_NONE. */
struct graph_sample {
	uint32_t node;	    /* its execution */
	uint32_t wait;	    /* its waiting right after the end */
	uint32_t before;    /* the last to end on its lane before it began */
	uint32_t scope;	    /* the node that its waiting is part of; RUN_NONE: none */
	uint64_t waited_ns; /* of its waiting: for others */
};

struct graph_lane {
	uint32_t first, count; /* samples */
	struct graph_sample *samples;
};

struct builder {
	struct brick_graph *graph;
	const struct run *run;
	const struct step_index *index;
	const struct schedule *schedule;
	struct graph_lane *lanes; /* [span_count] */
	uint32_t *thread_of;	  /* [activities] of starts: the node that they begin */
	int error;		  /* the first one */
};

/* Returns the id, or RUN_NONE after an error, which is kept. */
static uint32_t run_graph_check(struct builder *b, int result)
{
	if (result < 0 && !b->error)
		b->error = result;
	return result < 0 ? RUN_NONE : (uint32_t)result;
}

static void run_graph_connect(
	struct builder *b, uint32_t from, uint32_t to, int kind, double weight)
{
	if (!b->error && from != RUN_NONE && to != RUN_NONE)
		run_graph_check(b, brick_graph_connect(b->graph, from, to, kind, weight));
}

/* The nodes of a sample, or NULL. */
static struct graph_sample *run_graph_sample_at(
	const struct builder *b, uint32_t lane, uint32_t sample)
{
	const struct schedule *s = b->schedule;

	for (size_t i = 0; i < s->spans.count; i++) {
		const struct graph_lane *l = &b->lanes[i];
		if (s->spans.items[i].lane != lane)
			continue;
		return l->samples && sample >= l->first && sample - l->first < l->count
			       ? &l->samples[sample - l->first]
			       : NULL;
	}
	return NULL;
}

static bool run_graph_is_transfer(const struct run_kernel *kernel, uint32_t *direction)
{
	switch (kernel->kind) {
	case BRICK_KERNEL_H2D:
		*direction = BRICK_TRANSFER_H2D;
		return true;
	case BRICK_KERNEL_D2H:
		*direction = BRICK_TRANSFER_D2H;
		return true;
	case BRICK_KERNEL_D2D:
		*direction = BRICK_TRANSFER_D2D;
		return true;
	default:
		return false;
	}
}

static struct brick_graph_node run_graph_node_of(
	const struct run *run, const struct run_command *command, uint64_t time_ns)
{
	const struct run_kernel *kernel = &run->kernels[command->kernel];
	const struct run_sample *sample = run_command_sample(run, command);
	const struct run_site *site = &run->sites[sample->site];
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = *kernel->name ? kernel->name : run->bricks[site->brick].name,
		.lane = command->lane};
	uint32_t direction;

	if (run_graph_is_transfer(kernel, &direction)) {
		const char *backend = run->lanes[command->lane].backend;
		node.kind = BRICK_NODE_TRANSFER;
		node.transfer = (struct brick_graph_transfer){
			.source = direction == BRICK_TRANSFER_H2D ? "host" : backend,
			.target = direction == BRICK_TRANSFER_D2H ? "host" : backend,
			.direction = direction};
	} else {
		node.kernel.code = kernel->code;
		for (int i = 0; i < 3; i++) {
			node.kernel.grid[i] = kernel->grid[i];
			node.kernel.block[i] = kernel->block[i];
		}
		node.kernel.shared_bytes = kernel->shared_bytes;
		if (command->bytes && command->flops) {
			node.kernel.intensity = (double)command->flops / (double)command->bytes;
			node.flags |= BRICK_NODE_HAS_INTENSITY;
		}
		if (command->flops && time_ns) {
			node.kernel.tflops = (double)command->flops / (double)time_ns / 1e3;
			node.flags |= BRICK_NODE_HAS_TFLOPS;
		}
	}
	if (command->bytes) {
		node.bytes = command->bytes;
		node.flags |= BRICK_NODE_HAS_BYTES;
	}
	if (site->flags & BRICK_SITE_HAS_ELEMENTS) {
		node.elements = site->elements;
		node.flags |= BRICK_NODE_HAS_ELEMENTS;
	}
	if (site->layer >= 0) {
		node.layer = site->layer;
		node.flags |= BRICK_NODE_HAS_LAYER;
	}
	return node;
}

static uint32_t run_graph_brick_of(const struct run *run, uint32_t lane, uint32_t sample)
{
	return run->sites[run->lanes[lane].samples[sample].site].brick;
}

/* True if the thread was in the command's brick when it launched it, or no brick launched it. */
static bool is_launched_inside(const struct run *run, const struct run_command *command)
{
	const struct run_sample *samples = run->lanes[command->launch_lane].samples;
	uint32_t brick = run_graph_brick_of(run, command->lane, command->sample);
	uint32_t i = command->launch_sample, depth = samples[i].depth + 1u;

	if (launches_is_unnamed(run, brick))
		return true;
	for (;; i--) {
		if (samples[i].depth < depth &&
			run_graph_brick_of(run, command->launch_lane, i) == brick)
			return true;
		depth = samples[i].depth < depth ? samples[i].depth : depth;
		if (!depth || !i)
			return false;
	}
}

static void link_afters(struct builder *b, const struct run_command *command)
{
	const struct graph_sample *to = run_graph_sample_at(b, command->lane, command->sample);

	for (uint32_t i = 0; to && i < command->dependency_count && !b->error; i++) {
		const struct run_command *before =
			&b->run->commands[b->run->dependencies[command->dependency_first + i]];
		const struct graph_sample *from =
			run_graph_sample_at(b, before->lane, before->sample);
		const struct run_sample *x = run_command_sample(b->run, before);
		const struct run_sample *y = run_command_sample(b->run, command);
		/* an edge that times contradict would make a cycle */
		if (from && from->node != RUN_NONE && to->node != RUN_NONE &&
			x->end_ns <= y->begin_ns && from->node != to->node)
			run_graph_check(b, brick_graph_connect(b->graph, from->node, to->node,
						   BRICK_EDGE_DEPENDS_ON, 1));
	}
}

static void run_graph_link_commands(struct builder *b)
{
	const struct run *run = b->run;

	for (size_t i = 0; i < b->schedule->spans.count && run->command_count; i++) {
		uint32_t lane = b->schedule->spans.items[i].lane;
		const struct graph_lane *l = &b->lanes[i];
		if (run->lanes[lane].kind != BRICK_LANE_QUEUE || !l->count)
			continue;
		for (size_t c = run_command_from(run, lane, l->first);
			c < run->command_count && run->commands[c].lane == lane &&
			run->commands[c].sample < l->first + l->count;
			c++)
			link_afters(b, &run->commands[c]);
	}
}

enum { LEVELS = UINT8_MAX + 3, LABEL_BYTES = 256, NO_LAYER = -1 };

/* The open layer at one depth: the inside of a sample, or of the lane. */
struct level {
	int32_t inside; /* the layer that all of it belongs to */
	int32_t layer;	/* the one that is open in it, or NO_LAYER */
	uint32_t node;	/* of that one */
	uint64_t begin_ns, end_ns;
};

struct walker {
	struct builder *b;
	uint32_t lane;
	struct graph_lane *out;
	bool is_queue, is_driver;
	bool is_command; /* the outermost sample that is open is one, in the scope of its call */
	uint32_t brick;	 /* that holds it there, and is open in its layer; or RUN_NONE */
	uint32_t scope, layer; /* the last of these layers, and its holder; or RUN_NONE */
	int32_t layer_number;
	uint64_t layer_begin_ns;
	uint32_t next, end; /* activities that may be starts */
	uint32_t last;	    /* the node that ended last */
	uint32_t thread;    /* the node of the thread's work, or RUN_NONE */
	uint64_t thread_begin_ns, thread_end_ns;
	struct level levels[LEVELS];
};

static void run_graph_leave(struct walker *w, uint32_t node, uint64_t begin_ns, uint64_t end_ns)
{
	struct brick_graph *graph = w->b->graph;

	if (w->b->error)
		return;
	brick_graph_pop(graph);
	brick_graph_time_set(graph, node, begin_ns, end_ns > begin_ns ? end_ns - begin_ns : 0);
}

static void close_layer(struct walker *w, struct level *level)
{
	if (level->layer != NO_LAYER)
		run_graph_leave(w, level->node, level->begin_ns, level->end_ns);
	level->layer = NO_LAYER;
}

/* Opens the layer of the next node in a level; NO_LAYER: none. */
static void open_layer(struct walker *w, struct level *level, int32_t layer, uint64_t begin_ns)
{
	if (layer == level->inside)
		layer = NO_LAYER;
	if (layer == level->layer)
		return;
	close_layer(w, level);
	if (layer == NO_LAYER || w->b->error)
		return;
	const struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_LAYER,
		.layer = layer,
		.lane = w->lane};
	level->node = run_graph_check(w->b, brick_graph_enter(w->b->graph, &node));
	level->layer = layer;
	level->begin_ns = level->end_ns = begin_ns;
}

static void close_thread(struct walker *w)
{
	close_layer(w, &w->levels[0]);
	if (w->thread != RUN_NONE)
		run_graph_leave(w, w->thread, w->thread_begin_ns, w->thread_end_ns);
	w->thread = RUN_NONE;
}

enum { LANE_NAME_BYTES = 128 };

static void run_graph_lane_name(char name[LANE_NAME_BYTES], const struct run_lane *lane)
{
	snprintf(name, LANE_NAME_BYTES, "%s %.80s%s(%llu)",
		lane->kind == BRICK_LANE_QUEUE ? "queue" : "thread", lane->name ? lane->name : "",
		lane->name && *lane->name ? " " : "", (unsigned long long)lane->tid);
}

static void open_thread(struct walker *w, uint64_t begin_ns)
{
	char name[LANE_NAME_BYTES];
	const struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_FUNCTION,
		.name = name,
		.lane = w->lane};

	run_graph_lane_name(name, &w->b->run->lanes[w->lane]);
	if (!w->b->error)
		w->thread = run_graph_check(w->b, brick_graph_enter(w->b->graph, &node));
	w->thread_begin_ns = w->thread_end_ns = begin_ns;
}

/*
 * Outermost samples belong to their thread's work for a step; those of the step's thread are apart.
 */
static void begin_thread(struct walker *w, uint64_t begin_ns)
{
	const struct schedule *s = w->b->schedule;

	for (; w->next < w->end && s->activities.items[w->next].end_ns <= begin_ns; w->next++) {
		if (s->activities.items[w->next].kind != SCHEDULE_START)
			continue;
		close_thread(w);
		open_thread(w, begin_ns);
		w->b->thread_of[w->next] = w->thread;
	}
	if (w->thread == RUN_NONE && !w->is_driver)
		open_thread(w, begin_ns);
}

/* "MUL_MAT Qcur-0": operation and tensor, cut to fit. */
static const char *label_of(const struct run_site *site, char label[LABEL_BYTES])
{
	const char *operation = site->operation ? site->operation : "";
	const char *name = site->label ? site->label : "";

	snprintf(label, LABEL_BYTES, "%.120s%s%.120s", operation, *operation && *name ? " " : "",
		name);
	return *label ? label : NULL;
}

/* Work of a device is a kernel in its brick. */
static void run_graph_add_kernel(struct builder *b, const struct brick_graph_node *brick,
	const struct run_site *site, const char *label, uint64_t time_ns)
{
	struct brick_graph_node kernel = *brick;

	kernel.kind = BRICK_NODE_KERNEL;
	kernel.name = label ? label : brick->name;
	kernel.label = NULL;
	kernel.time_ns = time_ns;
	kernel.flags |= BRICK_NODE_HAS_TIME;
	unsigned known = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
	if ((site->flags & known) == known && site->bytes) {
		kernel.kernel.intensity = (double)site->flops / (double)site->bytes;
		kernel.flags |= BRICK_NODE_HAS_INTENSITY;
	}
	if ((site->flags & BRICK_SITE_HAS_FLOPS) && time_ns) {
		kernel.kernel.tflops = (double)site->flops / (double)time_ns / 1e3;
		kernel.flags |= BRICK_NODE_HAS_TFLOPS;
	}
	run_graph_check(b, brick_graph_add(b->graph, &kernel));
}

/* Enter a node for an execution. */
static uint32_t enter_sample(
	struct builder *b, uint32_t lane, uint32_t sample, uint64_t waited_ns, uint64_t length_ns)
{
	const struct run *run = b->run;
	const struct run_site *site = &run->sites[run->lanes[lane].samples[sample].site];
	bool is_queue = run->lanes[lane].kind == BRICK_LANE_QUEUE;
	char label[LABEL_BYTES];
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = run->bricks[site->brick].name,
		.lane = lane,
		.wait_ns = waited_ns};

	if (b->error)
		return RUN_NONE;
	if (site->flags & BRICK_SITE_HAS_ELEMENTS) {
		node.elements = site->elements;
		node.flags |= BRICK_NODE_HAS_ELEMENTS;
	}
	if (site->flags & BRICK_SITE_HAS_BYTES) {
		node.bytes = site->bytes;
		node.flags |= BRICK_NODE_HAS_BYTES;
	}
	if (site->layer >= 0) {
		node.layer = site->layer;
		node.flags |= BRICK_NODE_HAS_LAYER;
	}
	const char *text = label_of(site, label);
	node.label = is_queue ? NULL : text;
	uint32_t id = run_graph_check(b, brick_graph_enter(b->graph, &node));
	if (is_queue && !b->error)
		run_graph_add_kernel(b, &node, site, text, length_ns);
	return id;
}

/* A node for an execution that stands by itself. */
static uint32_t run_graph_add_sample(
	struct builder *b, uint32_t lane, uint32_t sample, uint64_t begin_ns, uint64_t time_ns)
{
	uint32_t node = enter_sample(b, lane, sample, 0, time_ns);

	if (!b->error) {
		brick_graph_pop(b->graph);
		brick_graph_time_set(b->graph, node, begin_ns, time_ns);
	}
	return node;
}

static struct graph_sample *sample_of_frame(const struct walker *w, const struct walk_frame *frame)
{
	return &w->out->samples[frame->index - w->out->first];
}

static bool run_graph_is_wait(const struct walker *w, const struct walk_frame *frame)
{
	return w->b->index->kinds[frame->brick] == BRICK_KIND_WAIT;
}

/*
 * The layer of a device's brick, in the holder of the call; the holder itself if it is the layer.
 */
static uint32_t layer_of_command(struct walker *w, uint32_t scope, int32_t layer, uint64_t begin_ns)
{
	struct brick_graph_node holder = {.size = sizeof(struct brick_graph_node)};
	const struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_LAYER,
		.layer = layer,
		.lane = w->lane};

	run_graph_check(w->b, brick_graph_node_get(w->b->graph, scope, &holder));
	if (layer < 0 || (holder.kind == BRICK_NODE_LAYER && holder.layer == layer))
		return scope;
	if (w->scope == scope && w->layer_number == layer)
		return w->layer;
	w->scope = scope;
	w->layer_number = layer;
	w->layer_begin_ns = begin_ns;
	run_graph_check(w->b, brick_graph_push(w->b->graph, scope));
	w->layer =
		w->b->error ? RUN_NONE : run_graph_check(w->b, brick_graph_add(w->b->graph, &node));
	brick_graph_pop(w->b->graph);
	return w->layer;
}

/* Layer, brick and kernel, where no brick of the thread was around the launch. */
static uint32_t enter_brick(struct walker *w, const struct walk_frame *frame,
	const struct run_command *command, const struct graph_sample *call)
{
	struct builder *b = w->b;
	struct brick_graph_node node = run_graph_node_of(
					b->run, command, frame->end_ns - frame->begin_ns),
				brick = node;
	uint32_t layer = layer_of_command(w, call->scope,
		node.flags & BRICK_NODE_HAS_LAYER ? node.layer : NO_LAYER, frame->begin_ns);

	brick.kind = BRICK_NODE_BRICK;
	brick.name = b->run->bricks[frame->brick].name;
	brick.flags &= ~(uint32_t)(BRICK_NODE_HAS_INTENSITY | BRICK_NODE_HAS_TFLOPS);
	if (b->error || run_graph_check(b, brick_graph_push(b->graph, layer)) == RUN_NONE)
		return RUN_NONE;
	w->brick = run_graph_check(b, brick_graph_enter(b->graph, &brick));
	node.time_ns = frame->end_ns - frame->begin_ns;
	node.begin_ns = frame->begin_ns;
	node.flags |= BRICK_NODE_HAS_TIME | BRICK_NODE_HAS_BEGIN;
	uint32_t kernel =
		b->error ? RUN_NONE : run_graph_check(b, brick_graph_add(b->graph, &node));
	run_graph_connect(b, call->node, kernel, BRICK_EDGE_LAUNCHES, 1);
	if (layer != call->scope && w->layer == layer && !b->error)
		brick_graph_time_set(
			b->graph, layer, w->layer_begin_ns, frame->end_ns - w->layer_begin_ns);
	return kernel;
}

/* A command stands where it was launched, if that is known; its brick around it. */
static bool begin_command(
	struct walker *w, const struct walk_frame *frame, struct graph_sample *sample)
{
	struct builder *b = w->b;
	const struct run_command *command =
		w->is_queue ? launches_command(b->run, w->lane, frame->index) : NULL;
	const struct graph_sample *call =
		!command || command->launch_lane == RUN_NONE
			? NULL
			: run_graph_sample_at(b, command->launch_lane, command->launch_sample);

	if (b->error || !call || call->node == RUN_NONE)
		return false;
	if (call->scope != RUN_NONE && !is_launched_inside(b->run, command)) {
		sample->node = enter_brick(w, frame, command, call);
	} else if (run_graph_check(b, brick_graph_push(b->graph, call->node)) != RUN_NONE) {
		const struct brick_graph_node node =
			run_graph_node_of(b->run, command, frame->end_ns - frame->begin_ns);
		sample->node = run_graph_check(b, brick_graph_enter(b->graph, &node));
	}
	w->is_command = true;
	sample->before = w->last;
	w->levels[1] = (struct level){.inside = NO_LAYER, .layer = NO_LAYER};
	return true;
}

static void run_graph_on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct walker *w = context;
	struct level *around = &w->levels[depth - 1];
	struct graph_sample *sample = sample_of_frame(w, frame);
	int32_t layer = w->b->run->sites[frame->sample->site].layer;

	if (depth == 1 && begin_command(w, frame, sample))
		return;
	if (depth == 1)
		begin_thread(w, frame->begin_ns);
	if (!run_graph_is_wait(w, frame)) /* waits stay in the layer that they follow */
		open_layer(w, around, layer < 0 ? NO_LAYER : layer, frame->begin_ns);
	sample->before = w->last;
	int scope = brick_graph_current(w->b->graph);
	sample->scope = scope < 0 ? RUN_NONE : (uint32_t)scope;
	sample->node = enter_sample(
		w->b, w->lane, frame->index, sample->waited_ns, frame->end_ns - frame->begin_ns);
	w->levels[depth] =
		(struct level){.inside = layer < 0 ? around->inside : layer, .layer = NO_LAYER};
}

static void run_graph_add_wait(
	struct walker *w, struct graph_sample *sample, const struct walk_frame *frame)
{
	const struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = brick_name(BRICK_BARRIER_WAIT),
		.flags = BRICK_NODE_HAS_BEGIN | BRICK_NODE_HAS_TIME,
		.begin_ns = frame->end_ns,
		.time_ns = frame->wait_ns,
		.wait_ns = sample->waited_ns < frame->wait_ns ? sample->waited_ns : frame->wait_ns,
		.lane = w->lane};

	if (!w->b->error)
		sample->wait = run_graph_check(w->b, brick_graph_add(w->b->graph, &node));
	w->last = sample->wait;
}

static void run_graph_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct walker *w = context;
	struct level *around = &w->levels[depth - 1];
	struct graph_sample *sample = sample_of_frame(w, frame);

	if (depth == 1 && w->is_command) {
		uint32_t open = w->brick == RUN_NONE ? sample->node : w->brick;
		close_layer(w, &w->levels[1]);
		run_graph_leave(w, open, frame->begin_ns, frame->end_ns);
		if (!w->b->error)
			brick_graph_pop(w->b->graph);
		w->brick = RUN_NONE;
		w->last = sample->node;
		w->is_command = false;
		return;
	}
	close_layer(w, &w->levels[depth]);
	run_graph_leave(w, sample->node, frame->begin_ns, frame->end_ns);
	w->last = sample->node;
	if (frame->wait_ns && !(w->is_driver && depth == 1))
		run_graph_add_wait(w, sample, frame);
	around->end_ns = w->thread_end_ns = frame->end_ns + frame->wait_ns;
}

static void run_graph_take_lane(struct builder *b, uint32_t number)
{
	const struct schedule_span *span = &b->schedule->spans.items[number];
	const struct run_lane *lane = &b->run->lanes[span->lane];
	struct graph_lane *out = &b->lanes[number];
	struct walker w = {.b = b,
		.lane = span->lane,
		.out = out,
		.is_queue = lane->kind == BRICK_LANE_QUEUE,
		.is_driver = b->schedule->step != RUN_NONE && number == 0,
		.next = span->first,
		.end = span->first + span->count,
		.last = RUN_NONE,
		.thread = RUN_NONE,
		.brick = RUN_NONE,
		.scope = RUN_NONE,
		.layer = RUN_NONE};
	static const struct walk_ops ops = {.begin = run_graph_on_begin, .end = run_graph_on_end};

	w.levels[0] = (struct level){.inside = NO_LAYER, .layer = NO_LAYER};
	walk_samples(b->run, b->index, span->lane, out->first, (size_t)out->first + out->count,
		&ops, &w);
	close_thread(&w);
}

/* Operation and label of a site, in the recording's own text. */
struct key {
	const char *operation, *label;
	size_t operation_bytes, label_bytes;
};

struct flow {
	struct key from, to;
};

struct flows {
	ARRAY(struct flow) list; /* by consumer */
};

static int run_graph_compare_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	return memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes) ?: ORDER(a_bytes, b_bytes);
}

static int compare_keys(const struct key *a, const struct key *b)
{
	return run_graph_compare_text(a->label, a->label_bytes, b->label, b->label_bytes)
		       ?: run_graph_compare_text(a->operation, a->operation_bytes, b->operation,
				  b->operation_bytes);
}

COMPARATOR(
	by_consumer, struct flow, compare_keys(&x->to, &y->to) ?: compare_keys(&x->from, &y->from))

/* A field of a line, up to a tab or the line's end; 0: there is none. */
static bool take_field(const char **at, const char *end, const char **field, size_t *bytes)
{
	const char *tab = memchr(*at, '\t', (size_t)(end - *at));

	if (*at > end)
		return false;
	*field = *at;
	*bytes = (size_t)((tab ? tab : end) - *at);
	*at = (tab ? tab : end) + 1;
	return true;
}

/* Lines that are not of four fields are passed over: the text is from outside. */
static bool run_graph_parse_line(struct flow *flow, const char *at, const char *end)
{
	return take_field(&at, end, &flow->from.operation, &flow->from.operation_bytes) &&
	       take_field(&at, end, &flow->from.label, &flow->from.label_bytes) &&
	       take_field(&at, end, &flow->to.operation, &flow->to.operation_bytes) &&
	       take_field(&at, end, &flow->to.label, &flow->to.label_bytes) && at > end;
}

static int parse_flows(struct flows *flows, const char *text)
{
	for (const char *at = text; *at;) {
		const char *end = strchr(at, '\n');
		struct flow flow;
		if (!end)
			end = at + strlen(at);
		if (run_graph_parse_line(&flow, at, end) && array_push(&flows->list, flow))
			return -ENOMEM;
		at = end + (*end == '\n');
	}
	return 0;
}

static struct key run_graph_key_of(const struct run_site *site)
{
	const char *operation = site->operation ? site->operation : "",
		   *label = site->label ? site->label : "";

	return (struct key){operation, label, strlen(operation), strlen(label)};
}

/* The last execution on this thread of any site with a key. */
struct producer {
	struct key key;
	uint32_t node;
};

COMPARATOR(by_key, struct producer, compare_keys(&x->key, &y->key))

/* All producers, each once; the caller frees. */
static struct producer *collect_producers(const struct flows *flows, size_t *count)
{
	struct producer *list = malloc((flows->list.count + 1) * sizeof(*list));
	size_t n = 0;

	if (!list)
		return NULL;
	for (size_t i = 0; i < flows->list.count; i++)
		list[i] = (struct producer){flows->list.items[i].from, RUN_NONE};
	qsort(list, flows->list.count, sizeof(*list), by_key);
	for (size_t i = 0; i < flows->list.count; i++)
		if (!i || compare_keys(&list[i].key, &list[i - 1].key))
			list[n++] = list[i];
	*count = n;
	return list;
}

static struct producer *run_graph_find_last(
	struct producer *list, size_t count, const struct key *key)
{
	const struct producer wanted = {*key, RUN_NONE};

	return bsearch(&wanted, list, count, sizeof(*list), by_key);
}

static void link_data_of_sample(struct builder *b, const struct flows *flows, struct producer *list,
	size_t count, const struct run_site *site, uint32_t node)
{
	const struct key key = run_graph_key_of(site);

	size_t first =
		BISECT(i, 0, flows->list.count, compare_keys(&flows->list.items[i].to, &key) < 0);
	for (size_t i = first;
		i < flows->list.count && !compare_keys(&flows->list.items[i].to, &key) && !b->error;
		i++) {
		const struct producer *from =
			run_graph_find_last(list, count, &flows->list.items[i].from);
		bool again = i && !by_consumer(&flows->list.items[i], &flows->list.items[i - 1]);
		if (!again && from && from->node != RUN_NONE)
			run_graph_check(b, brick_graph_connect(b->graph, from->node, node,
						   BRICK_EDGE_DEPENDS_ON, 1));
	}
	struct producer *own = run_graph_find_last(list, count, &key);
	if (own)
		own->node = node;
}

static void link_data(struct builder *b)
{
	struct flows flows = {0};
	size_t count = 0;
	int error = 0;

	for (size_t i = 0; i < b->run->code_count && !error; i++) {
		const struct run_code *code = &b->run->codes[i];
		if (code->path && code->source && !strcmp(code->path, BRICK_DATAFLOW_PATH))
			error = parse_flows(&flows, code->source);
	}
	array_sort(&flows.list, by_consumer);
	SCOPED struct producer *list =
		flows.list.count && !error ? collect_producers(&flows, &count) : NULL;
	if (error || (flows.list.count && !list))
		b->error = -ENOMEM;
	for (uint32_t i = 0; list && i < b->schedule->spans.count; i++) {
		const struct graph_lane *lane = &b->lanes[i];
		const struct run_lane *samples = &b->run->lanes[b->schedule->spans.items[i].lane];
		for (size_t k = 0; k < count; k++)
			list[k].node = RUN_NONE;
		for (uint32_t k = 0; k < lane->count && !b->error; k++) {
			const struct run_site *site =
				&b->run->sites[samples->samples[lane->first + k].site];
			if (site->label && lane->samples[k].node != RUN_NONE)
				link_data_of_sample(
					b, &flows, list, count, site, lane->samples[k].node);
		}
	}
	array_fini(&flows.list);
}

/* The sample that an activity is a part of; NULL if there is none. */
static struct graph_sample *run_graph_sample_of(
	const struct builder *b, uint32_t span, const struct schedule_activity *activity)
{
	const struct graph_lane *lane = &b->lanes[span];
	return activity->sample == RUN_NONE ? NULL : &lane->samples[activity->sample - lane->first];
}

/* True if a wait follows its sample, rather than being the sample itself. */
static bool follows_sample(const struct builder *b, const struct schedule_activity *wait)
{
	uint32_t site = b->run->lanes[wait->lane].samples[wait->sample].site;
	return b->index->kinds[b->run->sites[site].brick] != BRICK_KIND_WAIT;
}

/* Finds the samples of a lane that take part, and how long they waited for others. */
static int run_graph_init_lane(struct builder *b, uint32_t number)
{
	const struct schedule_span *span = &b->schedule->spans.items[number];
	const struct schedule_activity *activities = b->schedule->activities.items + span->first;
	struct graph_lane *lane = &b->lanes[number];
	uint32_t end = 0;

	lane->first = RUN_NONE;
	for (uint32_t i = 0; i < span->count; i++) {
		if (activities[i].sample == RUN_NONE)
			continue;
		if (activities[i].sample < lane->first)
			lane->first = activities[i].sample;
		if (activities[i].sample >= end)
			end = activities[i].sample + 1;
	}
	lane->count = end ? end - lane->first : 0;
	lane->samples = malloc(((size_t)lane->count + 1) * sizeof(*lane->samples));
	if (!lane->samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < lane->count; i++)
		lane->samples[i] = (struct graph_sample){RUN_NONE, RUN_NONE, RUN_NONE, RUN_NONE, 0};
	for (uint32_t i = 0; i < span->count; i++)
		if (activities[i].kind == SCHEDULE_WAIT)
			run_graph_sample_of(b, number, &activities[i])->waited_ns +=
				activities[i].end_ns - activities[i].begin_ns -
				activities[i].duration_ns;
	return 0;
}

static uint32_t span_of_lane(const struct schedule *s, uint32_t lane)
{
	for (uint32_t i = 0; i < s->spans.count; i++)
		if (s->spans.items[i].lane == lane)
			return i;
	return RUN_NONE;
}

/* A thread's part of a step was launched by the sample that began the work. */
static void link_start(struct builder *b, uint32_t number)
{
	const struct schedule *s = b->schedule;
	const struct schedule_fork *fork = &s->forks.items[s->activities.items[number].cause];
	uint32_t span = span_of_lane(s, fork->lane);

	if (span == RUN_NONE)
		return;
	const struct graph_lane *lane = &b->lanes[span];
	run_graph_connect(b, lane->samples[fork->sample - lane->first].node, b->thread_of[number],
		BRICK_EDGE_LAUNCHES, 1);
}

/* The node at which a barrier's threads come together. It is a part of the first thread's node. */
static uint32_t barrier_node(
	struct builder *b, uint32_t point, uint32_t lane, uint32_t scope, uint32_t *barriers)
{
	const struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = "Barrier",
		.flags = BRICK_NODE_HAS_BEGIN,
		.begin_ns = b->schedule->activities.items[point].begin_ns,
		.lane = lane};

	if (barriers[point] == RUN_NONE && !b->error) {
		barriers[point] = run_graph_check(b, brick_graph_add(b->graph, &node));
		run_graph_connect(b, scope, barriers[point], BRICK_EDGE_CONTAINS, 1);
	}
	return barriers[point];
}

/* Links a wait for devices to the parts of queues before it. */
static void link_device_wait(struct builder *b, uint32_t number, uint32_t wait)
{
	const struct schedule *s = b->schedule;

	for (uint32_t i = s->dag.first[number]; i < s->dag.first[number + 1]; i++) {
		const struct schedule_activity *before = &s->activities.items[s->dag.before[i]];
		if (before->lane == RUN_NONE || before->sample == RUN_NONE ||
			b->run->lanes[before->lane].kind != BRICK_LANE_QUEUE)
			continue;
		uint32_t span = span_of_lane(s, before->lane);
		run_graph_connect(b, run_graph_sample_of(b, span, before)->node, wait,
			BRICK_EDGE_DEPENDS_ON, 1);
	}
}

static void run_graph_link_wait(
	struct builder *b, uint32_t span, uint32_t number, uint32_t *barriers)
{
	const struct schedule_activity *a = &b->schedule->activities.items[number];

	if (a->cause == RUN_NONE || a->sample == RUN_NONE)
		return;
	const struct graph_sample *sample = run_graph_sample_of(b, span, a);

	if (a->cause == RUN_NONE || !sample)
		return; /* nobody was waited for: off the CPU, outside of any wait */
	bool follows = follows_sample(b, a);
	uint32_t wait = follows ? sample->wait : sample->node;
	uint32_t before = follows ? sample->node : sample->before;
	if (a->cause == number) {
		link_device_wait(b, number, wait);
		return;
	}
	uint32_t barrier = barrier_node(b, a->cause, a->lane, sample->scope, barriers);
	run_graph_connect(b, before, barrier, BRICK_EDGE_DEPENDS_ON, 1);
	run_graph_connect(b, barrier, wait, BRICK_EDGE_DEPENDS_ON, 1);
}

static void link_lanes(struct builder *b, uint32_t *barriers)
{
	const struct schedule *s = b->schedule;

	for (uint32_t span = 0; span < s->spans.count; span++)
		for (uint32_t i = s->spans.items[span].first;
			i < s->spans.items[span].first + s->spans.items[span].count; i++) {
			if (s->activities.items[i].kind == SCHEDULE_START)
				link_start(b, i);
			else if (s->activities.items[i].kind == SCHEDULE_WAIT ||
				 s->activities.items[i].kind == SCHEDULE_OFF)
				run_graph_link_wait(b, span, i, barriers);
		}
}

/*
 * Adds the activities in the step's account after its end, in sequence; nodes go to
 * nodes[activity].
 */
static void add_after(struct builder *b, uint32_t *nodes)
{
	const struct schedule *s = b->schedule;
	uint32_t before = b->lanes[0].count ? b->lanes[0].samples[0].node : RUN_NONE;

	for (uint32_t i = s->after; i < s->activities.count; i++) {
		const struct schedule_activity *a = &s->activities.items[i];
		if (a->kind == SCHEDULE_WAIT && follows_sample(b, a)) {
			const struct brick_graph_node node = {
				.size = sizeof(struct brick_graph_node),
				.kind = BRICK_NODE_BRICK,
				.name = brick_name(BRICK_BARRIER_WAIT),
				.flags = BRICK_NODE_HAS_BEGIN | BRICK_NODE_HAS_TIME,
				.begin_ns = a->begin_ns,
				.time_ns = a->duration_ns,
				.lane = a->lane};
			nodes[i] = b->error ? RUN_NONE
					    : run_graph_check(b, brick_graph_add(b->graph, &node));
		} else {
			nodes[i] = run_graph_add_sample(
				b, a->lane, a->sample, a->begin_ns, a->duration_ns);
		}
		run_graph_connect(b, before, nodes[i], BRICK_EDGE_SEQUENCE, 1);
		before = nodes[i];
	}
}

/* Nodes of activities: of their samples, waits and starts. Points and what follows are there. */
static void find_nodes(const struct builder *b, uint32_t *nodes)
{
	const struct schedule *s = b->schedule;

	for (uint32_t span = 0; span < s->spans.count; span++)
		for (uint32_t i = s->spans.items[span].first;
			i < s->spans.items[span].first + s->spans.items[span].count; i++) {
			const struct schedule_activity *a = &s->activities.items[i];
			const struct graph_sample *sample = run_graph_sample_of(b, span, a);
			if (!sample)
				nodes[i] = b->thread_of[i];
			else if (a->kind == SCHEDULE_WAIT && follows_sample(b, a))
				nodes[i] = sample->wait;
			else
				nodes[i] = sample->node;
		}
}

/* Marks nodes on the critical path, but not those that only hold such nodes. */
static int mark_path(struct builder *b, const uint32_t *nodes)
{
	const struct schedule *s = b->schedule;
	SCOPED uint64_t *duration = malloc(s->activities.count * sizeof(*duration));
	SCOPED uint64_t *finish = malloc(s->activities.count * sizeof(*finish));
	SCOPED uint32_t *path = malloc(s->activities.count * sizeof(*path));
	int error = duration && finish && path ? 0 : -ENOMEM;

	if (error == 0) {
		for (size_t i = 0; i < s->activities.count; i++)
			duration[i] = s->activities.items[i].duration_ns;
		brick__dag_forward(&s->dag, duration, finish);
		size_t length = brick__dag_path(&s->dag, finish, s->end, path);
		for (size_t i = 0; i < length; i++)
			if (nodes[path[i]] != RUN_NONE &&
				s->activities.items[path[i]].kind != SCHEDULE_REST)
				brick_graph_mark(b->graph, nodes[path[i]]);
	}
	return error;
}

static int run_graph_build(struct builder *b)
{
	const struct schedule *s = b->schedule;
	SCOPED uint32_t *nodes = malloc(s->activities.count * sizeof(*nodes));

	b->lanes = calloc(s->spans.count + 1, sizeof(*b->lanes));
	b->thread_of = malloc(s->activities.count * sizeof(*b->thread_of));
	if (!nodes || !b->lanes || !b->thread_of)
		b->error = -ENOMEM;
	for (size_t i = 0; !b->error && i < s->activities.count; i++)
		nodes[i] = b->thread_of[i] = RUN_NONE;
	for (uint32_t i = 0; !b->error && i < s->spans.count; i++)
		b->error = run_graph_init_lane(b, i);
	/* threads first: what they launched stands inside of what they did */
	for (int queues = 0; queues < 2; queues++)
		for (uint32_t i = 0; !b->error && i < s->spans.count; i++)
			if ((b->run->lanes[s->spans.items[i].lane].kind == BRICK_LANE_QUEUE) ==
				queues)
				run_graph_take_lane(b, i);
	if (!b->error) {
		run_graph_link_commands(b);
		link_data(b);
		link_lanes(b, nodes);
		add_after(b, nodes);
		find_nodes(b, nodes);
		char name[LANE_NAME_BYTES];
		for (size_t i = 0; i < s->spans.count && !b->error; i++) {
			run_graph_lane_name(name, &b->run->lanes[s->spans.items[i].lane]);
			run_graph_check(b,
				brick_graph_lane_name_set(b->graph, s->spans.items[i].lane, name));
		}
	}
	if (!b->error)
		b->error = mark_path(b, nodes);
	for (size_t i = 0; b->lanes && i < s->spans.count; i++)
		free(b->lanes[i].samples);
	free(b->lanes);
	free(b->thread_of);
	return b->error;
}

static int run_graph_add_schedule(struct brick_graph *graph, const struct run *run,
	const struct step_index *index, struct schedule *schedule)
{
	struct builder b = {.graph = graph, .run = run, .index = index, .schedule = schedule};
	size_t samples = 0;

	for (size_t i = 0; i < schedule->activities.count; i++)
		samples += schedule->activities.items[i].is_last;
	int rc = samples > GRAPH_FROM_RUN_SAMPLES ? BRICK_ERANGE : run_graph_build(&b);
	schedule_fini(schedule);
	return rc;
}

static int add_processes(struct brick_graph *graph, const struct run *run,
	const struct step_index *index, const struct schedule_source *source)
{
	struct schedule schedule;
	size_t samples = 0;
	int rc = BRICK_ENOTRECORDED;

	for (size_t i = 0; i < run->lane_count; i++)
		samples += run->lanes[i].sample_count;
	if (samples > GRAPH_FROM_RUN_SAMPLES)
		return BRICK_ERANGE;
	for (uint32_t process = 0; process < run->process_count; process++) {
		int one = schedule_of_process(&schedule, run, index, source, process);
		if (one == BRICK_ENOTRECORDED)
			continue;
		rc = one < 0 ? one : run_graph_add_schedule(graph, run, index, &schedule);
		if (rc < 0)
			break;
	}
	return rc;
}

static int run_graph_add_step(struct brick_graph *graph, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t step)
{
	struct schedule schedule;
	int rc = schedule_of_step(&schedule, run, index, source, step);

	return rc < 0 ? rc : run_graph_add_schedule(graph, run, index, &schedule);
}

static bool run_graph_is_used(const struct run *run, uint64_t hash)
{
	for (size_t i = 0; i < run->kernel_count; i++)
		if (run->kernels[i].code == hash)
			return true;
	return false;
}

/* The source of kernels, as far as the recording has it whole. */
static int run_graph_add_code(struct brick_graph *graph, const struct run *run)
{
	int rc = 0;

	for (size_t i = 0; i < run->code_count && rc >= 0; i++) {
		const struct run_code *code = &run->codes[i];
		struct brick_graph_code entry = {.size = sizeof(struct brick_graph_code),
			.name = code->name && *code->name ? code->name : "program",
			.source = code->source,
			.path = code->path && *code->path ? code->path : NULL};
		if (brick_code_hash(code->source, strlen(code->source)) == code->hash &&
			run_graph_is_used(run, code->hash))
			rc = brick_graph_code_add(graph, &entry);
		if (rc != -ENOMEM)
			rc = 0;
	}
	return rc;
}

int graph_from_run(struct brick_graph **out, const struct run *run, const struct step_index *index,
	uint32_t step)
{
	struct schedule_source source;
	struct brick_graph *graph = NULL;
	int rc = schedule_source_find(&source, run, index);

	if (rc < 0)
		return rc;
	rc = brick_graph_create(&graph);
	if (rc == 0)
		rc = step == RUN_NONE ? add_processes(graph, run, index, &source)
				      : run_graph_add_step(graph, run, index, &source, step);
	if (rc == 0)
		rc = run_graph_add_code(graph, run);
	schedule_source_fini(&source);
	if (rc < 0)
		brick_graph_destroy(graph);
	else
		*out = graph;
	return rc;
}

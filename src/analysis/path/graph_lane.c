/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes for what one lane did: a walk over its samples opens and closes scopes of the graph, from
 * which holding and sequence follow. Samples of one layer that stand side by side share a layer.
 */
#include <stdio.h>

#include "analysis/path/graph_state.h"
#include "analysis/accounts/walk.h"

enum { LEVELS = UINT8_MAX + 3, LABEL_BYTES = 256, NO_LAYER = -1 };

/* What is open at one depth: the inside of a sample, or of the lane. */
struct level {
	int32_t inside; /* the layer that all of it belongs to */
	int32_t layer;	/* the one that is open in it, or NO_LAYER */
	uint32_t node;	/* of that one */
	uint64_t begin_ns, end_ns;
};

struct walker {
	struct graph_builder *b;
	uint32_t lane;
	struct graph_lane *out;
	bool is_queue, is_driver;
	bool is_command;    /* the outermost sample that is open is one, in the scope of its call */
	uint32_t next, end; /* activities that may be starts */
	uint32_t last;	    /* the node that ended last */
	uint32_t thread;    /* the node of what the thread does, or RUN_NONE */
	uint64_t thread_begin_ns, thread_end_ns;
	struct level levels[LEVELS];
};

uint32_t graph_check(struct graph_builder *b, int result)
{
	if (result < 0 && !b->error)
		b->error = result;
	return result < 0 ? RUN_NONE : (uint32_t)result;
}

static void leave(struct walker *w, uint32_t node, uint64_t begin_ns, uint64_t end_ns)
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
		leave(w, level->node, level->begin_ns, level->end_ns);
	level->layer = NO_LAYER;
}

/* Have the layer of what comes next open in a level; NO_LAYER: none. */
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
	level->node = graph_check(w->b, brick_graph_enter(w->b->graph, &node));
	level->layer = layer;
	level->begin_ns = level->end_ns = begin_ns;
}

static void close_thread(struct walker *w)
{
	close_layer(w, &w->levels[0]);
	if (w->thread != RUN_NONE)
		leave(w, w->thread, w->thread_begin_ns, w->thread_end_ns);
	w->thread = RUN_NONE;
}

void graph_lane_name(char name[GRAPH_LANE_NAME_BYTES], const struct run_lane *lane)
{
	snprintf(name, GRAPH_LANE_NAME_BYTES, "%s %.80s%s(%llu)",
		lane->kind == BRICK_LANE_QUEUE ? "queue" : "thread", lane->name ? lane->name : "",
		lane->name && *lane->name ? " " : "", (unsigned long long)lane->tid);
}

static void open_thread(struct walker *w, uint64_t begin_ns)
{
	char name[GRAPH_LANE_NAME_BYTES];
	const struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_FUNCTION,
		.name = name,
		.lane = w->lane};

	graph_lane_name(name, &w->b->run->lanes[w->lane]);
	if (!w->b->error)
		w->thread = graph_check(w->b, brick_graph_enter(w->b->graph, &node));
	w->thread_begin_ns = w->thread_end_ns = begin_ns;
}

/* Outermost samples belong to what their thread does for a step; that of the step is by itself. */
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

/* "MUL_MAT Qcur-0": operation and tensor; what does not fit is cut off. */
static const char *label_of(const struct run_site *site, char label[LABEL_BYTES])
{
	const char *operation = site->operation ? site->operation : "";
	const char *name = site->label ? site->label : "";

	snprintf(label, LABEL_BYTES, "%.120s%s%.120s", operation, *operation && *name ? " " : "",
		name);
	return *label ? label : NULL;
}

static void set_work(struct brick_graph_node *node, const struct run_site *site)
{
	if (site->flags & BRICK_SITE_HAS_ELEMENTS) {
		node->elements = site->elements;
		node->flags |= BRICK_NODE_HAS_ELEMENTS;
	}
	if (site->flags & BRICK_SITE_HAS_BYTES) {
		node->bytes = site->bytes;
		node->flags |= BRICK_NODE_HAS_BYTES;
	}
	if (site->layer >= 0) {
		node->layer = site->layer;
		node->flags |= BRICK_NODE_HAS_LAYER;
	}
}

/* Work of a device is a kernel in its brick. */
static void add_kernel(struct graph_builder *b, const struct brick_graph_node *brick,
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
	graph_check(b, brick_graph_add(b->graph, &kernel));
}

/* Enter a node for an execution. */
static uint32_t enter_sample(struct graph_builder *b, uint32_t lane, uint32_t sample,
	uint64_t waited_ns, uint64_t length_ns)
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
	set_work(&node, site);
	const char *text = label_of(site, label);
	node.label = is_queue ? NULL : text;
	uint32_t id = graph_check(b, brick_graph_enter(b->graph, &node));
	if (is_queue && !b->error)
		add_kernel(b, &node, site, text, length_ns);
	return id;
}

uint32_t graph_add_sample(struct graph_builder *b, uint32_t lane, uint32_t sample,
	uint64_t begin_ns, uint64_t time_ns)
{
	uint32_t node = enter_sample(b, lane, sample, 0, time_ns);

	if (!b->error) {
		brick_graph_pop(b->graph);
		brick_graph_time_set(b->graph, node, begin_ns, time_ns);
	}
	return node;
}

static struct graph_sample *sample_of(const struct walker *w, const struct walk_frame *frame)
{
	return &w->out->samples[frame->index - w->out->first];
}

static bool is_wait(const struct walker *w, const struct walk_frame *frame)
{
	return w->b->index->kinds[frame->brick] == BRICK_KIND_WAIT;
}

/* A command stands where it was launched, if that is known. */
static bool begin_command(
	struct walker *w, const struct walk_frame *frame, struct graph_sample *sample)
{
	const struct run_command *command =
		w->is_queue ? launches_command(w->b->run, w->lane, frame->index) : NULL;
	uint32_t node = command ? graph_enter_command(w->b, command) : RUN_NONE;

	if (node == RUN_NONE)
		return false;
	w->is_command = true;
	sample->before = w->last;
	sample->node = node;
	w->levels[1] = (struct level){.inside = NO_LAYER, .layer = NO_LAYER};
	return true;
}

/* Out of the command, and out of the scope of its call. */
static void end_command(
	struct walker *w, const struct walk_frame *frame, const struct graph_sample *sample)
{
	close_layer(w, &w->levels[1]);
	leave(w, sample->node, frame->begin_ns, frame->end_ns);
	if (!w->b->error)
		brick_graph_pop(w->b->graph);
	w->last = sample->node;
	w->is_command = false;
}

static void on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct walker *w = context;
	struct level *around = &w->levels[depth - 1];
	struct graph_sample *sample = sample_of(w, frame);
	int32_t layer = w->b->run->sites[frame->sample->site].layer;

	if (depth == 1 && begin_command(w, frame, sample))
		return;
	if (depth == 1)
		begin_thread(w, frame->begin_ns);
	if (!is_wait(w, frame)) /* waits stay in the layer that they follow */
		open_layer(w, around, layer < 0 ? NO_LAYER : layer, frame->begin_ns);
	sample->before = w->last;
	int scope = brick_graph_current(w->b->graph);
	sample->scope = scope < 0 ? RUN_NONE : (uint32_t)scope;
	sample->node = enter_sample(
		w->b, w->lane, frame->index, sample->waited_ns, frame->end_ns - frame->begin_ns);
	w->levels[depth] =
		(struct level){.inside = layer < 0 ? around->inside : layer, .layer = NO_LAYER};
}

static void add_wait(struct walker *w, struct graph_sample *sample, const struct walk_frame *frame)
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
		sample->wait = graph_check(w->b, brick_graph_add(w->b->graph, &node));
	w->last = sample->wait;
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct walker *w = context;
	struct level *around = &w->levels[depth - 1];
	struct graph_sample *sample = sample_of(w, frame);

	if (depth == 1 && w->is_command) {
		end_command(w, frame, sample);
		return;
	}
	close_layer(w, &w->levels[depth]);
	leave(w, sample->node, frame->begin_ns, frame->end_ns);
	w->last = sample->node;
	if (frame->wait_ns && !(w->is_driver && depth == 1))
		add_wait(w, sample, frame);
	around->end_ns = w->thread_end_ns = frame->end_ns + frame->wait_ns;
}

void graph_take_lane(struct graph_builder *b, uint32_t number)
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
		.thread = RUN_NONE};
	static const struct walk_ops ops = {.begin = on_begin, .end = on_end};

	w.levels[0] = (struct level){.inside = NO_LAYER, .layer = NO_LAYER};
	walk_samples(b->run, b->index, span->lane, out->first, (size_t)out->first + out->count,
		&ops, &w);
	close_thread(&w);
}

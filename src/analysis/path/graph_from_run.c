/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes an execution graph out of a schedule and the samples that it was made of: first the nodes,
 * lane by lane (graph_lane.c), then what crosses lanes. Called by `brick graph`.
 */
#include "analysis/path/graph_from_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/graph_state.h"
#include "base/scope.h"
#include "brick/error.h"
#include "brick/queue.h"

static void connect(struct graph_builder *b, uint32_t from, uint32_t to, int kind, double weight)
{
	if (!b->error && from != RUN_NONE && to != RUN_NONE)
		graph_check(b, brick_graph_connect(b->graph, from, to, kind, weight));
}

struct graph_sample *graph_sample_at(const struct graph_builder *b, uint32_t lane, uint32_t sample)
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

/* The sample that an activity is a part of; NULL if there is none. */
static struct graph_sample *sample_of(
	const struct graph_builder *b, uint32_t span, const struct schedule_activity *activity)
{
	const struct graph_lane *lane = &b->lanes[span];
	return activity->sample == RUN_NONE ? NULL : &lane->samples[activity->sample - lane->first];
}

/* Whether a wait is one that follows its sample, rather than the sample itself. */
static bool follows_sample(const struct graph_builder *b, const struct schedule_activity *wait)
{
	uint32_t site = b->run->lanes[wait->lane].samples[wait->sample].site;
	return b->index->kinds[b->run->sites[site].brick] != BRICK_KIND_WAIT;
}

/* Which samples of a lane take part, and what they waited for others. */
static int init_lane(struct graph_builder *b, uint32_t number)
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
			sample_of(b, number, &activities[i])->waited_ns +=
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
static void link_start(struct graph_builder *b, uint32_t number)
{
	const struct schedule *s = b->schedule;
	const struct schedule_fork *fork = &s->forks.items[s->activities.items[number].cause];
	uint32_t span = span_of_lane(s, fork->lane);

	if (span == RUN_NONE)
		return;
	const struct graph_lane *lane = &b->lanes[span];
	connect(b, lane->samples[fork->sample - lane->first].node, b->thread_of[number],
		BRICK_EDGE_LAUNCHES, 1);
}

/* The node at which a barrier's threads come together: made by, and part of what the first does. */
static uint32_t barrier_node(
	struct graph_builder *b, uint32_t point, uint32_t lane, uint32_t scope, uint32_t *barriers)
{
	const struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = "Barrier",
		.flags = BRICK_NODE_HAS_BEGIN,
		.begin_ns = b->schedule->activities.items[point].begin_ns,
		.lane = lane};

	if (barriers[point] == RUN_NONE && !b->error) {
		barriers[point] = graph_check(b, brick_graph_add(b->graph, &node));
		connect(b, scope, barriers[point], BRICK_EDGE_CONTAINS, 1);
	}
	return barriers[point];
}

/* What a wait for devices waited for: the parts of queues before it. */
static void link_device_wait(struct graph_builder *b, uint32_t number, uint32_t wait)
{
	const struct schedule *s = b->schedule;

	for (uint32_t i = s->dag.first[number]; i < s->dag.first[number + 1]; i++) {
		const struct schedule_activity *before = &s->activities.items[s->dag.before[i]];
		if (before->lane == RUN_NONE || before->sample == RUN_NONE ||
			b->run->lanes[before->lane].kind != BRICK_LANE_QUEUE)
			continue;
		uint32_t span = span_of_lane(s, before->lane);
		connect(b, sample_of(b, span, before)->node, wait, BRICK_EDGE_DEPENDS_ON, 1);
	}
}

static void link_wait(struct graph_builder *b, uint32_t span, uint32_t number, uint32_t *barriers)
{
	const struct schedule_activity *a = &b->schedule->activities.items[number];
	const struct graph_sample *sample = sample_of(b, span, a);
	bool follows = follows_sample(b, a);
	uint32_t wait = follows ? sample->wait : sample->node;
	uint32_t before = follows ? sample->node : sample->before;

	if (a->cause == RUN_NONE)
		return;
	if (a->cause == number) {
		link_device_wait(b, number, wait);
		return;
	}
	uint32_t barrier = barrier_node(b, a->cause, a->lane, sample->scope, barriers);
	connect(b, before, barrier, BRICK_EDGE_DEPENDS_ON, 1);
	connect(b, barrier, wait, BRICK_EDGE_DEPENDS_ON, 1);
}

static void link_lanes(struct graph_builder *b, uint32_t *barriers)
{
	const struct schedule *s = b->schedule;

	for (uint32_t span = 0; span < s->spans.count; span++)
		for (uint32_t i = s->spans.items[span].first;
			i < s->spans.items[span].first + s->spans.items[span].count; i++) {
			if (s->activities.items[i].kind == SCHEDULE_START)
				link_start(b, i);
			else if (s->activities.items[i].kind == SCHEDULE_WAIT)
				link_wait(b, span, i, barriers);
		}
}

/* What is in the step's account after its end, in sequence; nodes go to nodes[activity]. */
static void add_after(struct graph_builder *b, uint32_t *nodes)
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
					    : graph_check(b, brick_graph_add(b->graph, &node));
		} else {
			nodes[i] = graph_add_sample(
				b, a->lane, a->sample, a->begin_ns, a->duration_ns);
		}
		connect(b, before, nodes[i], BRICK_EDGE_SEQUENCE, 1);
		before = nodes[i];
	}
}

/* Nodes of activities: of their samples, waits and starts. Points and what follows are there. */
static void find_nodes(const struct graph_builder *b, uint32_t *nodes)
{
	const struct schedule *s = b->schedule;

	for (uint32_t span = 0; span < s->spans.count; span++)
		for (uint32_t i = s->spans.items[span].first;
			i < s->spans.items[span].first + s->spans.items[span].count; i++) {
			const struct schedule_activity *a = &s->activities.items[i];
			const struct graph_sample *sample = sample_of(b, span, a);
			if (!sample)
				nodes[i] = b->thread_of[i];
			else if (a->kind == SCHEDULE_WAIT && follows_sample(b, a))
				nodes[i] = sample->wait;
			else
				nodes[i] = sample->node;
		}
}

/* Mark what is on the critical path; what only holds it is not. */
static int mark_path(struct graph_builder *b, const uint32_t *nodes)
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

static void name_lanes(struct graph_builder *b)
{
	const struct schedule *s = b->schedule;
	char name[GRAPH_LANE_NAME_BYTES];

	for (size_t i = 0; i < s->spans.count && !b->error; i++) {
		graph_lane_name(name, &b->run->lanes[s->spans.items[i].lane]);
		graph_check(b, brick_graph_lane_name_set(b->graph, s->spans.items[i].lane, name));
	}
}

static int build(struct graph_builder *b)
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
		b->error = init_lane(b, i);
	/* threads first: what they launched stands inside of what they did */
	for (int queues = 0; queues < 2; queues++)
		for (uint32_t i = 0; !b->error && i < s->spans.count; i++)
			if ((b->run->lanes[s->spans.items[i].lane].kind == BRICK_LANE_QUEUE) ==
				queues)
				graph_take_lane(b, i);
	if (!b->error) {
		graph_link_commands(b);
		graph_link_data(b);
		link_lanes(b, nodes);
		add_after(b, nodes);
		find_nodes(b, nodes);
		name_lanes(b);
	}
	if (!b->error)
		b->error = mark_path(b, nodes);
	for (size_t i = 0; b->lanes && i < s->spans.count; i++)
		free(b->lanes[i].samples);
	free(b->lanes);
	free(b->thread_of);
	return b->error;
}

static int add_schedule(struct brick_graph *graph, const struct run *run,
	const struct step_index *index, struct schedule *schedule)
{
	struct graph_builder b = {.graph = graph, .run = run, .index = index, .schedule = schedule};
	size_t samples = 0;

	for (size_t i = 0; i < schedule->activities.count; i++)
		samples += schedule->activities.items[i].is_last;
	int rc = samples > GRAPH_FROM_RUN_SAMPLES ? BRICK_ERANGE : build(&b);
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
		rc = one < 0 ? one : add_schedule(graph, run, index, &schedule);
		if (rc < 0)
			break;
	}
	return rc;
}

static int add_step(struct brick_graph *graph, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t step)
{
	struct schedule schedule;
	int rc = schedule_of_step(&schedule, run, index, source, step);

	return rc < 0 ? rc : add_schedule(graph, run, index, &schedule);
}

static int is_used(const struct run *run, uint64_t hash)
{
	for (size_t i = 0; i < run->kernel_count; i++)
		if (run->kernels[i].code == hash)
			return 1;
	return 0;
}

/* The source of kernels, as far as the recording has it whole. */
static int add_code(struct brick_graph *graph, const struct run *run)
{
	int rc = 0;

	for (size_t i = 0; i < run->code_count && rc >= 0; i++) {
		const struct run_code *code = &run->codes[i];
		struct brick_graph_code entry = {.size = sizeof(struct brick_graph_code),
			.name = code->name && *code->name ? code->name : "program",
			.source = code->source,
			.path = code->path && *code->path ? code->path : NULL};
		if (brick_code_hash(code->source, strlen(code->source)) == code->hash &&
			is_used(run, code->hash))
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
				      : add_step(graph, run, index, &source, step);
	if (rc == 0)
		rc = add_code(graph, run);
	schedule_source_fini(&source);
	if (rc < 0)
		brick_graph_destroy(graph);
	else
		*out = graph;
	return rc;
}

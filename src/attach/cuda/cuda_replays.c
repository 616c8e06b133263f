/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of replays, and estimates by them (cuda_replays.h). CUPTI's kind "whole graphs" covers
 * the whole process, so it is switched off while any thread makes a sample: a replay of another
 * thread then becomes a sample, too, or a sample comes as a whole, and both are right.
 */
#include "attach/cuda/cuda_replays.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/cuda/cupti.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/session.h"

enum {
	SHAPES = 1 << 12,   /* further ones take the places of older ones */
	MAX_PATTERNS = 256, /* of a graph, whose replays are still to come: of a flush period */
	MAX_PATTERN_NODES = 1 << 18, /* of all patterns; graphs without one are always samples */
	MAX_UNKNOWN = 8,	     /* see replays_unknown() */
	KEPT_SHAPES = 64,	     /* the last ones, whose samples stay when that is reached */
};

/* Above this a kernel of a replayed graph has no record of its own, unless that is wished. */
static const double most_node_us = 0.3;

/* A sample: the nodes of one replay; when it is complete, times from the begin of the first. */
struct replay_pattern {
	uint32_t correlation, count;
	uint64_t length, gaps; /* the latter: without any node, a part of it */
	struct replay_node *nodes;
	bool is_complete;
};

struct replay_mean {
	double sum, count;
};

struct replay_place {
	replay_shape shape, known; /* atomic: the one that is replayed, that has a sample */
	uint32_t replays;	   /* atomic */
	/* consumer */
	replay_shape sampled, whole;	       /* the latter: without any sample, */
	uint32_t unknown;		       /* so many times */
	ARRAY(struct replay_pattern) patterns; /* in the order of their calls */
	struct replay_mean samples, wholes;    /* lengths of replays of the shape */
};

static struct replay_place replays_places[SHAPES];
static replay_shape replays_last; /* atomic */
static enum replay_detail replays_wanted;
static bool replays_light;	   /* atomic */
static bool replays_are_on;	   /* atomic: CUPTI's kind */
static bool replays_failed;	   /* atomic: see replays_unknown() */
static size_t replays_nodes_count; /* consumer: of all patterns */
static ARRAY(struct replay_node) replays_answer;

bool replays_may_be_light(void)
{
	return replays_wanted < REPLAYS_FULL;
}

/* Graphs of programs have more nodes than Brick's own, and gain more. */
static bool light_is_worth_it(const struct replay_costs *c)
{
	return c->node > most_node_us &&
	       c->whole + c->sample / REPLAY_PERIOD < c->node * (double)c->nodes;
}

void replays_decide(const char *obstacle, const struct replay_costs *costs)
{
	bool is_asked = replays_wanted == REPLAYS_LIGHT;
	bool is_light = is_asked || light_is_worth_it(costs);
	const char *full = "full: a record for each kernel of a graph";

	if (replays_wanted == REPLAYS_WHOLE)
		return;
	if (replays_wanted == REPLAYS_FULL) {
		brick_note("cuda.detail", "%s, as asked", full);
		return;
	}
	if (is_light && !obstacle) {
		int result = cupti.enable(CUPTI_GRAPH_TRACE);
		obstacle = result == CUPTI_FINE ? NULL : cupti_text(result);
	}
	if (is_light && obstacle) {
		brick_note("cuda.detail", "%s; none for whole replays: %s", full, obstacle);
		return;
	}
	brick_note("cuda.detail",
		"%s, %s: a kernel of a replay took %.2f us here with a record of its own, a whole "
		"replay %.2f us, two switches for a sample %.2f us",
		is_light ? "light: a record for each replay of a graph, times of its kernels by "
			   "one replay in 16"
			 : full,
		is_asked ? "as asked" : "chosen by the cost", costs->node, costs->whole,
		costs->sample);
	if (!is_light)
		return;
	__atomic_store_n(&replays_are_on, true, __ATOMIC_RELAXED);
	__atomic_store_n(&replays_light, true, __ATOMIC_RELEASE);
}

static struct replays_own replays_counts; /* atomic */

void replays_own_record(bool is_whole)
{
	__atomic_fetch_add(
		is_whole ? &replays_counts.wholes : &replays_counts.nodes, 1, __ATOMIC_RELAXED);
}

struct replays_own replays_own(void)
{
	return (struct replays_own){__atomic_load_n(&replays_counts.nodes, __ATOMIC_RELAXED),
		__atomic_load_n(&replays_counts.wholes, __ATOMIC_RELAXED)};
}

/* Launching threads. */

replay_shape replays_new_shape(void)
{
	replay_shape shape = __atomic_add_fetch(&replays_last, 1, __ATOMIC_RELAXED);
	return shape ? shape : __atomic_add_fetch(&replays_last, 1, __ATOMIC_RELAXED);
}

static struct replay_place *replays_place_of(replay_shape shape)
{
	return &replays_places[shape % SHAPES];
}

static bool is_sample(replay_shape shape)
{
	struct replay_place *place = replays_place_of(shape);

	if (!shape)
		return true;
	if (__atomic_load_n(&place->shape, __ATOMIC_RELAXED) != shape) {
		__atomic_store_n(&place->replays, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&place->shape, shape, __ATOMIC_RELAXED);
	}
	uint32_t number = __atomic_fetch_add(&place->replays, 1, __ATOMIC_RELAXED);
	/* at no fixed distance: work that repeats itself, too, would always be met at one place */
	uint64_t chosen = hash_add(hash_u64(shape), number / REPLAY_PERIOD) % REPLAY_PERIOD;
	return number < REPLAY_FIRST || number % REPLAY_PERIOD == chosen ||
	       __atomic_load_n(&place->known, __ATOMIC_RELAXED) != shape;
}

static pthread_mutex_t replays_switch_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t replays_samples; /* that are under way */

/* Under the lock. */
static void replays_switch(bool on)
{
	if (replays_are_on == on)
		return;
	(on ? cupti.enable : cupti.disable)(CUPTI_GRAPH_TRACE);
	__atomic_store_n(&replays_are_on, on, __ATOMIC_RELAXED);
}

/* Here and not where it is noticed: CUPTI may deliver records while it switches. */
static void replays_give_up(void)
{
	HOLD(&replays_switch_lock);
	if (!replays_light)
		return;
	__atomic_store_n(&replays_light, false, __ATOMIC_RELEASE);
	replays_switch(false);
	brick_note("cuda.detail", "full from here on: CUPTI records replays as a whole that should "
				  "have records of kernels");
}

/* Samples in a row switch once: a graph that is updated before each replay has no others. */
bool replays_enter(replay_shape shape)
{
	if (!__atomic_load_n(&replays_light, __ATOMIC_ACQUIRE))
		return false;
	if (__atomic_load_n(&replays_failed, __ATOMIC_RELAXED)) {
		replays_give_up();
		return false;
	}
	bool is_one = is_sample(shape);
	if (!is_one && __atomic_load_n(&replays_are_on, __ATOMIC_RELAXED))
		return false;
	HOLD(&replays_switch_lock);
	replays_samples += is_one;
	if (replays_light)
		replays_switch(!replays_samples);
	return is_one;
}

void replays_leave(void)
{
	HOLD(&replays_switch_lock);
	replays_samples--;
}

/* Consumer. */

COMPARATOR(replays_by_begin, struct replay_node, ORDER(x->begin, y->begin))

/* Forgets the first ones. */
static void patterns_drop(struct replay_place *place, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		replays_nodes_count -= place->patterns.items[i].count;
		free(place->patterns.items[i].nodes);
	}
	if (!count)
		return;
	place->patterns.count -= count;
	memmove(place->patterns.items, place->patterns.items + count,
		place->patterns.count * sizeof(*place->patterns.items));
}

/* Queues of an earlier recorder are gone. */
void replays_want(enum replay_detail detail)
{
	HOLD(&replays_switch_lock);
	replays_wanted = detail;
	replays_samples = 0;
	__atomic_store_n(&replays_failed, false, __ATOMIC_RELAXED);
	__atomic_store_n(&replays_are_on, false, __ATOMIC_RELAXED);
	__atomic_store_n(&replays_light, false, __ATOMIC_RELEASE);
	for (size_t i = 0; i < SHAPES; i++) {
		patterns_drop(&replays_places[i], replays_places[i].patterns.count);
		__atomic_store_n(&replays_places[i].known, 0, __ATOMIC_RELAXED);
	}
}

void replays_unknown(replay_shape shape)
{
	struct replay_place *place = replays_place_of(shape);

	if (place->sampled == shape)
		return;
	place->unknown = place->whole == shape ? place->unknown + 1 : 1;
	place->whole = shape;
	if (place->unknown >= MAX_UNKNOWN)
		__atomic_store_n(&replays_failed, true, __ATOMIC_RELAXED);
}

/* Brings the nodes into order and counts their times from the first. */
static void pattern_close(struct replay_pattern *p)
{
	qsort(p->nodes, p->count, sizeof(*p->nodes), replays_by_begin);
	uint64_t first = p->nodes[0].begin, end = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		struct replay_node *node = &p->nodes[i];
		node->begin -= first;
		node->end -= first;
		p->gaps += node->begin > end ? node->begin - end : 0;
		end = node->end > end ? node->end : end;
	}
	p->length = end;
}

static void replay_mean_add(struct replay_mean *mean, double value)
{
	mean->sum += value;
	mean->count++;
}

static double replay_mean_of(const struct replay_mean *mean)
{
	return mean->sum / mean->count;
}

/* Graphs that are replayed all the same are sampled anew. */
static void forget_older_shapes(replay_shape shape)
{
	for (size_t i = 0; i < SHAPES; i++) {
		struct replay_place *place = &replays_places[i];
		if (!place->patterns.count || (int32_t)(shape - place->sampled) <= KEPT_SHAPES)
			continue;
		__atomic_store_n(&place->known, 0, __ATOMIC_RELAXED);
		patterns_drop(place, place->patterns.count);
	}
}

/* The sample of a call. NULL: no room. */
static struct replay_pattern *pattern_of(
	struct replay_place *place, uint32_t correlation, uint32_t count)
{
	size_t at = place->patterns.count;

	while (at && (int32_t)(place->patterns.items[at - 1].correlation - correlation) > 0)
		at--;
	if (at && place->patterns.items[at - 1].correlation == correlation)
		return &place->patterns.items[at - 1];
	if (replays_nodes_count + count > MAX_PATTERN_NODES)
		forget_older_shapes(place->sampled);
	if (place->patterns.count == MAX_PATTERNS ||
		replays_nodes_count + count > MAX_PATTERN_NODES)
		return NULL;
	struct replay_pattern p = {
		.correlation = correlation, .nodes = calloc(count, sizeof(*p.nodes))};
	if (!p.nodes || array_push(&place->patterns, p)) {
		free(p.nodes);
		return NULL;
	}
	memmove(&place->patterns.items[at + 1], &place->patterns.items[at],
		(place->patterns.count - 1 - at) * sizeof(p));
	place->patterns.items[at] = p;
	return &place->patterns.items[at];
}

void replays_node(
	replay_shape shape, uint32_t count, uint32_t correlation, const struct replay_node *node)
{
	struct replay_place *place = replays_place_of(shape);

	if (!__atomic_load_n(&replays_light, __ATOMIC_ACQUIRE) || !shape || !count ||
		node->end < node->begin || !node->begin)
		return;
	if (place->sampled != shape) {
		patterns_drop(place, place->patterns.count);
		place->samples = place->wholes = (struct replay_mean){0, 0};
		place->sampled = shape;
	}
	struct replay_pattern *p = pattern_of(place, correlation, count);
	if (!p || p->is_complete)
		return;
	p->nodes[p->count++] = *node;
	replays_nodes_count++;
	p->is_complete = p->count == count;
	if (!p->is_complete)
		return;
	pattern_close(p);
	replay_mean_add(&place->samples, (double)p->length);
	__atomic_store_n(&place->known, shape, __ATOMIC_RELAXED);
}

/* The last sample before a call, or the first one; those before it have served. NULL: none. */
static const struct replay_pattern *pattern_before(struct replay_place *place, uint32_t correlation)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < place->patterns.count; i++) {
		const struct replay_pattern *p = &place->patterns.items[i];
		if (p->is_complete &&
			(best == SIZE_MAX || (int32_t)(p->correlation - correlation) < 0))
			best = i;
	}
	if (best == SIZE_MAX)
		return NULL;
	patterns_drop(place, best);
	return place->patterns.items;
}

/* The records of single nodes of a replay that has a record as a whole, too. NULL: it has none. */
static struct replay_pattern *pattern_own(struct replay_place *place, uint32_t correlation)
{
	for (size_t i = 0; i < place->patterns.count; i++)
		if (place->patterns.items[i].correlation == correlation)
			return &place->patterns.items[i];
	return NULL;
}

static bool pattern_has(const struct replay_pattern *p, uint64_t graph_node)
{
	for (uint32_t i = 0; p && i < p->count; i++)
		if (p->nodes[i].graph_node == graph_node)
			return true;
	return false;
}

/* It is no sample: a later replay would be held for it. */
static void pattern_forget(struct replay_place *place, struct replay_pattern *p)
{
	replays_nodes_count -= p->count;
	free(p->nodes);
	memmove(p, p + 1,
		(size_t)(place->patterns.items + --place->patterns.count - p) * sizeof(*p));
}

/*
 * Nodes share the replay out as they did the sample. Samples may be longer as a whole, because
 * records of nodes keep the device waiting between them, or shorter: so far, means of both tell by
 * how much, and that is of the gaps.
 */
int replays_estimate(replay_shape shape, uint32_t correlation, struct brick_queue *queue,
	uint64_t begin, uint64_t end, const struct replay_node **nodes)
{
	struct replay_place *place = replays_place_of(shape);
	const struct replay_pattern *p = shape && place->sampled == shape && end >= begin
						 ? pattern_before(place, correlation)
						 : NULL;

	replays_answer.count = 0;
	if (!p || array_append(&replays_answer, p->nodes, p->count))
		return -ENOENT;
	struct replay_pattern *own = pattern_own(place, correlation);
	double busy = (double)(p->length - p->gaps), whole = (double)(end - begin);
	replay_mean_add(&place->wholes, whole);
	double stretch = p->length && place->wholes.sum > 0
				 ? whole / (double)p->length * replay_mean_of(&place->samples) /
					   replay_mean_of(&place->wholes)
				 : 1;
	if (stretch * busy > whole)
		stretch = whole / busy;
	double wait = p->gaps ? (whole - stretch * busy) / (double)p->gaps : 0, at = 0;
	uint64_t reached = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		struct replay_node *node = &replays_answer.items[i];
		const struct replay_node *of = &p->nodes[i];
		/* `at` is the time of the replay where the sample was at `reached` */
		double later = of->begin > reached ? wait * (double)(of->begin - reached)
						   : -stretch * (double)(reached - of->begin);
		double length = stretch * (double)(of->end - of->begin);
		node->begin = begin + (uint64_t)(at + later);
		node->end = begin + (uint64_t)(at + later + length);
		node->queue = of->queue == p->nodes[0].queue ? queue : of->queue;
		if (of->end > reached) {
			at += later + length;
			reached = of->end;
		}
	}
	uint32_t left = 0;
	for (uint32_t i = 0; i < replays_answer.count; i++)
		if (!pattern_has(own, replays_answer.items[i].graph_node))
			replays_answer.items[left++] = replays_answer.items[i];
	if (own && own != p)
		pattern_forget(place, own);
	*nodes = replays_answer.items;
	return (int)left;
}

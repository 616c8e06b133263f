/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graphs of the recording that has fewer must follow each other in the other one, too. A graph
 * that was computed at once gives a first line, and by this the waits of the client are found that
 * the server's results ended. Many waits are for nothing, and end before. A client of several
 * servers may wait for any of them, so that its waits limit nothing.
 */
#include "analysis/ranks/remote_clocks.h"

#include <errno.h>
#include <stdlib.h>
#include "analysis/ranks/offset_line.h"
#include "base/hashmap.h"
#include "base/order.h"
#include "base/scope.h"

enum {
	PLACES = 1024, /* that are tried */
	BLOCKS = 16,   /* of time */
	FEW_HELD = 8,
	PARTS = 4, /* of a place, that are tried before all of it */
	PART_GRAPHS = 1024,
};

/* One end of a graph that both recordings have. */
struct remote_turn {
	uint32_t graph;
	uint64_t begin_ns, end_ns; /* of the sending or the computing */
};

struct remote_turns {
	ARRAY(struct remote_turn) list, waits; /* by time */
	bool has_others;		       /* graphs that the other recording does not have */
};

static void remote_turns_fini(struct remote_turns *turns)
{
	array_fini(&turns->list);
	array_fini(&turns->waits);
}

COMPARATOR(remote_turns_order, struct remote_turn,
	ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->graph, y->graph))

/* Ends of one thread come in this order. */
static void remote_turns_sort(struct remote_turn *turns, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (remote_turns_order(&turns[i - 1], &turns[i]) > 0) {
			qsort(turns, count, sizeof(*turns), remote_turns_order);
			return;
		}
}

/* The waits of all threads that send graphs. */
static int remote_turns_wait(struct remote_turns *turns, const struct run *run)
{
	SCOPED bool *sends = calloc(run->lane_count + 1, sizeof(*sends));

	if (!sends)
		return -ENOMEM;
	for (size_t i = 0; i < run->message_count; i++)
		sends[run->messages[i].lane] |= run_message_is_remote(&run->messages[i]) &&
						run->messages[i].event == BRICK_MESSAGE_SENT;
	for (uint32_t l = 0; l < run->lane_count; l++) {
		const struct run_lane *lane = &run->lanes[l];
		for (size_t i = 0; i < lane->sample_count && sends[l]; i++) {
			const struct run_sample *s = &lane->samples[i];
			uint32_t category = run->bricks[run->sites[s->site].brick].category;
			run_lane_passed(lane, i);
			if (category != RUN_NONE && s->begin_ns < s->end_ns &&
				text_is_same(run->categories[category].name, "Wait") &&
				array_push(&turns->waits,
					(struct remote_turn){0, s->begin_ns, s->end_ns}))
				return -ENOMEM;
		}
	}
	remote_turns_sort(turns->waits.items, turns->waits.count);
	return 0;
}

/* event: of the ends that are taken, if the other recording has the graph. */
static int remote_turns_init(struct remote_turns *turns, const struct run *run,
	const struct run *other, enum brick_message_event event)
{
	SCOPED_BY(hashmap_fini) struct hashmap known = {0};

	for (size_t i = 0; i < other->message_count; i++) {
		const struct run_message *m = &other->messages[i];
		if (run_message_is_remote(m) && m->event != event &&
			hashmap_set(&known, m->communicator, 1))
			return -ENOMEM;
	}
	for (size_t i = 0; i < run->message_count; i++) {
		const struct run_message *m = &run->messages[i];
		const struct run_lane *lane = &run->lanes[m->lane];
		if (!run_message_is_remote(m) || m->event != event ||
			m->sample >= lane->sample_count)
			continue;
		if (hashmap_get(&known, m->communicator) == HASHMAP_NONE) {
			turns->has_others = true;
			continue;
		}
		const struct run_sample *s = &lane->samples[m->sample];
		if (array_push(&turns->list,
			    (struct remote_turn){m->communicator, s->begin_ns, s->end_ns}))
			return -ENOMEM;
	}
	remote_turns_sort(turns->list.items, turns->list.count);
	return 0;
}

/* A pair of clocks, one of which is aligned. */
struct remote_fit {
	const struct remote_source *known;
	struct remote_source *fitted;
	bool is_client; /* the fitted one */
	const struct remote_turn *clients, *servers, *waits;
	size_t client_count, server_count, wait_count;
	struct offset_points points;
};

/* A time of the fitted clock beside one of the known clock. */
static struct offset_point remote_fit_point(
	const struct remote_fit *fit, uint64_t client_ns, uint64_t server_ns)
{
	uint64_t own_ns = fit->is_client ? client_ns : server_ns;
	double own = (double)(int64_t)(own_ns - fit->fitted->clock.origin_ns);
	double known =
		(double)rank_clock_time(&fit->known->clock, fit->is_client ? server_ns : client_ns);

	return (struct offset_point){own, known - own};
}

/* The client's time is the earlier one; or else the server's. */
static int remote_fit_limit(
	struct remote_fit *fit, const struct offset_point *point, bool is_client_first)
{
	return is_client_first != fit->is_client ? array_push(&fit->points.below, *point)
						 : array_push(&fit->points.above, *point);
}

/* A line by the graphs of these places that were computed soonest after they were sent. */
static int remote_fit_begins(struct remote_fit *fit, size_t client, size_t server, size_t count,
	struct offset_line *line)
{
	double sign = fit->is_client ? -1 : 1, residual;
	struct offset_limits limits;

	fit->points.above.count = fit->points.below.count = fit->points.about.count = 0;
	for (size_t b = 0; b < BLOCKS; b++) {
		struct offset_point soonest = {0, -sign * INFINITY};
		for (size_t i = count * b / BLOCKS; i < count * (b + 1) / BLOCKS; i++) {
			const struct offset_point point =
				remote_fit_point(fit, fit->clients[client + i].begin_ns,
					fit->servers[server + i].begin_ns);
			if (remote_fit_limit(fit, &point, true))
				return -ENOMEM;
			if (sign * (point.v - soonest.v) > 0)
				soonest = point;
		}
		if (isfinite(soonest.v) && array_push(&fit->points.about, soonest))
			return -ENOMEM;
	}
	offset_limits_measure(&limits, &fit->points, 0, fit->points.about.items[0].x);
	int error = offset_line_fit(line, &residual, &fit->points, &limits);
	fit->points.about.count = 0;
	return error;
}

/*
 * Limits by waits during which, by the line, a server's result came, if the one before had come
 * already when the graph was sent. *held: how many there are.
 */
static int remote_fit_ends(struct remote_fit *fit, const struct offset_line *line, size_t client,
	size_t server, size_t count, size_t *held)
{
	int64_t before = INT64_MIN;

	const struct rank_clock fitted = {.origin_ns = fit->fitted->clock.origin_ns,
		.offset_ns = line->offset,
		.drift = line->drift};
	const struct rank_clock *servers = fit->is_client ? &fit->known->clock : &fitted;
	const struct rank_clock *clients = fit->is_client ? &fitted : &fit->known->clock;

	*held = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t done_ns = fit->servers[server + i].end_ns;
		int64_t done = rank_clock_time(servers, done_ns);
		size_t n = BISECT(w, 0, fit->wait_count,
			rank_clock_time(clients, fit->waits[w].begin_ns) < done);
		bool is_first =
			before < rank_clock_time(clients, fit->clients[client + i].begin_ns);
		before = done;
		if (!is_first || !n || rank_clock_time(clients, fit->waits[n - 1].end_ns) <= done)
			continue;
		const struct offset_point point =
			remote_fit_point(fit, fit->waits[n - 1].end_ns, done_ns);
		if (remote_fit_limit(fit, &point, false))
			return -ENOMEM;
		++*held;
	}
	return 0;
}

static bool remote_fit_is_same(
	const struct remote_fit *fit, size_t client, size_t server, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fit->clients[client + i].graph != fit->servers[server + i].graph)
			return false;
	return true;
}

/* Recordings of one host share a clock, if its times agree with that. */
static bool remote_fit_shares(struct remote_fit *fit, const struct offset_limits *limits)
{
	struct rank_clock *clock = &fit->fitted->clock;
	const struct offset_line same = {
		(double)rank_clock_time(&fit->known->clock, clock->origin_ns),
		fit->known->clock.drift};
	struct offset_line moved = same;

	if (!fit->known->run->host || !text_is_same(fit->known->run->host, fit->fitted->run->host))
		return false;
	offset_line_clamp(&moved, &fit->points, limits);
	if (fabs(moved.offset - same.offset) > 1 || moved.drift != same.drift)
		return false;
	clock->offset_ns = same.offset;
	clock->drift = same.drift;
	clock->bound_ns = fit->known->clock.bound_ns;
	return clock->is_aligned = true;
}

/* Graphs of both sides that would be the same, and how the fitted clock would be then. */
struct remote_place {
	size_t client, server, count;
	struct offset_line line;
	struct offset_limits limits;
	size_t held; /* waits that limit the line */
};

/* 1: it is possible; 0; or -ENOMEM. is_only: there is no other place, so it needs no waits. */
static int remote_fit_place(struct remote_fit *fit, struct remote_place *place, bool is_only)
{
	const struct remote_turn *own =
		fit->is_client ? &fit->clients[place->client] : &fit->servers[place->server];
	uint64_t origin_ns = fit->fitted->clock.origin_ns;

	if (remote_fit_begins(fit, place->client, place->server, place->count, &place->line) ||
		remote_fit_ends(fit, &place->line, place->client, place->server, place->count,
			&place->held))
		return -ENOMEM;
	offset_limits_measure(&place->limits, &fit->points, (double)(own->begin_ns - origin_ns),
		(double)(own[place->count - 1].begin_ns - origin_ns));
	return place->limits.is_possible &&
	       (is_only || (place->held && place->held >= place->count / FEW_HELD));
}

/* Does the client wait for a notable part of this time? */
static bool remote_fit_has_waits(const struct remote_fit *fit, const struct remote_place *place)
{
	uint64_t from_ns = fit->clients[place->client].begin_ns,
		 to_ns = fit->clients[place->client + place->count - 1].end_ns, ns = 0;

	for (size_t w = BISECT(i, 0, fit->wait_count, fit->waits[i].begin_ns < from_ns);
		w < fit->wait_count && fit->waits[w].begin_ns < to_ns; w++)
		ns += fit->waits[w].end_ns - fit->waits[w].begin_ns;
	return ns >= (to_ns - from_ns) / FEW_HELD;
}

/*
 * Parts of a long place tell, for a thousandth of the time, that it is none: all of it is tried
 * unless all parts refuse it. Where the client hardly waits, few waits refuse nothing.
 */
static int remote_fit_parts(struct remote_fit *fit, const struct remote_place *whole)
{
	int possible = whole->count <= PARTS * PART_GRAPHS;

	for (size_t i = 0; i < PARTS && !possible; i++) {
		size_t at = (whole->count - PART_GRAPHS) * i / (PARTS - 1);
		struct remote_place part = {.client = whole->client + at,
			.server = whole->server + at,
			.count = PART_GRAPHS};
		possible = remote_fit_place(fit, &part, !remote_fit_has_waits(fit, &part));
	}
	return possible;
}

/* Sets the fitted clock if it can be aligned at one place. 0 or -ENOMEM. */
static int remote_fit_places(struct remote_fit *fit)
{
	bool has_more_clients = fit->client_count > fit->server_count;
	size_t most = has_more_clients ? fit->client_count : fit->server_count;
	size_t count = has_more_clients ? fit->server_count : fit->client_count;
	struct rank_clock *clock = &fit->fitted->clock;
	const struct remote_turn *own = fit->is_client ? fit->clients : fit->servers;
	size_t found = 0, tried = 0;

	clock->origin_ns = own->begin_ns;
	for (size_t at = 0; at <= most - count; at++) {
		struct remote_place place = {.client = has_more_clients ? at : 0,
			.server = has_more_clients ? 0 : at,
			.count = count};
		double residual;
		if (!remote_fit_is_same(fit, place.client, place.server, count))
			continue;
		if (++tried > PLACES) {
			found = 2; /* nobody knows how many more */
			break;
		}
		int possible = most > count ? remote_fit_parts(fit, &place) : 1;
		if (possible > 0)
			possible = remote_fit_place(fit, &place, most == count);
		if (possible < 0)
			return -ENOMEM;
		if (!possible)
			continue;
		if (place.held && remote_fit_shares(fit, &place.limits))
			return 0;
		if (place.held &&
			offset_line_fit(&place.line, &residual, &fit->points, &place.limits))
			return -ENOMEM;
		found++;
		clock->offset_ns = place.line.offset;
		clock->drift = place.line.drift;
		clock->bound_ns =
			offset_line_bound(&place.line, &place.limits) + fit->known->clock.bound_ns;
	}
	clock->is_aligned = found == 1;
	return 0;
}

static int remote_clock_fit(
	const struct remote_source *known, struct remote_source *fitted, bool is_client)
{
	SCOPED_BY(remote_turns_fini) struct remote_turns clients = {0};
	SCOPED_BY(remote_turns_fini) struct remote_turns servers = {0};
	const struct run *client = is_client ? fitted->run : known->run;
	const struct run *server = is_client ? known->run : fitted->run;
	struct remote_fit fit = {.known = known, .fitted = fitted, .is_client = is_client};

	if (remote_turns_init(&clients, client, server, BRICK_MESSAGE_SENT) ||
		remote_turns_init(&servers, server, client, BRICK_MESSAGE_RECEIVED) ||
		(!clients.has_others && remote_turns_wait(&clients, client)))
		return -ENOMEM;
	if (!clients.list.count || !servers.list.count)
		return 0;
	fit.clients = clients.list.items;
	fit.servers = servers.list.items;
	fit.client_count = clients.list.count;
	fit.server_count = servers.list.count;
	fit.waits = clients.waits.items;
	fit.wait_count = clients.waits.count;
	int error = remote_fit_places(&fit);
	offset_points_fini(&fit.points);
	return error;
}

int remote_clocks_align(struct remote_source *sources, uint32_t count)
{
	bool has_found = true;

	for (uint32_t i = 0; i < count; i++)
		sources[i].clock = (struct rank_clock){
			.is_aligned = !i, .bound_ns = i ? INFINITY : 0, .residual_ns = NAN};
	if (count)
		sources[0].clock.origin_ns = sources[0].run->start_ns;
	while (has_found) {
		has_found = false;
		for (uint32_t k = 0; k < count; k++)
			for (uint32_t i = 1; i < count && sources[k].clock.is_aligned; i++)
				for (int c = 0; c < 2 && !sources[i].clock.is_aligned; c++) {
					if (remote_clock_fit(&sources[k], &sources[i], c))
						return -ENOMEM;
					has_found |= sources[i].clock.is_aligned;
				}
	}
	return 0;
}

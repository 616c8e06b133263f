/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of a graph are gone through together, by time. */
#include "analysis/ranks/remote_calls.h"

#include <errno.h>
#include <stdlib.h>
#include "base/number.h"
#include "base/order.h"
#include "base/scope.h"

/* Samples of the client's thread behind a call that are looked at for its end. */
enum { REMOTE_CALL_SAMPLES = 4096 };

struct remote_end {
	uint32_t graph, event, message, source;
	bool is_alone;
	int64_t ns; /* of all */
};

COMPARATOR(remote_ends_order, struct remote_end,
	ORDER(x->graph, y->graph) ?: ORDER(x->ns, y->ns) ?: ORDER(x->event, y->event)
		?: ORDER(x->source, y->source) ?: ORDER(x->message, y->message))

COMPARATOR(remote_calls_by_time, struct remote_call,
	ORDER(x->from, y->from) ?: ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->sent, y->sent))

static const struct run_sample *remote_call_sample(const struct run *run, uint32_t message)
{
	const struct run_message *m = &run->messages[message];
	const struct run_lane *lane = &run->lanes[m->lane];

	return m->sample < lane->sample_count ? &lane->samples[m->sample] : NULL;
}

static bool remote_call_is_wait(const struct run *run, const struct run_sample *sample)
{
	uint32_t category = run->bricks[run->sites[sample->site].brick].category;

	return category != RUN_NONE && text_is_same(run->categories[category].name, "Wait");
}

/* Sets when the call's result had come, and how long its thread waited until then. */
static void remote_call_follow(
	struct remote_call *call, const struct remote_source *source, int64_t done_ns)
{
	const struct run *run = source->run;
	const struct run_message *m = &run->messages[call->sent];
	const struct run_lane *lane = &run->lanes[m->lane];
	size_t last = m->sample + (size_t)REMOTE_CALL_SAMPLES;
	uint64_t waited_ns = 0;

	for (size_t i = m->sample + 1; i < lane->sample_count && i < last; i++) {
		const struct run_sample *s = &lane->samples[i];
		if (!remote_call_is_wait(run, s))
			continue;
		waited_ns += s->end_ns - s->begin_ns;
		if (rank_clock_time(&source->clock, s->end_ns) < done_ns)
			continue;
		call->end_ns = s->end_ns;
		call->waited_ns = waited_ns;
		uint64_t whole_ns = call->end_ns - call->begin_ns;
		call->wire_ns = whole_ns > call->compute_ns ? whole_ns - call->compute_ns : 0;
		return;
	}
}

static void remote_calls_add(struct remote_calls *calls, const struct remote_source *sources,
	const struct remote_end *sent, const struct remote_end *received)
{
	const struct remote_source *from = &sources[sent->source], *to = &sources[received->source];
	struct remote_call call = {.from = sent->source,
		.to = received->source,
		.sent = sent->message,
		.received = received->message};
	const struct run_sample *client = remote_call_sample(from->run, sent->message);
	const struct run_sample *server = remote_call_sample(to->run, received->message);

	if (client && server) {
		call.begin_ns = client->begin_ns;
		call.compute_ns = server->end_ns - server->begin_ns;
		remote_call_follow(&call, from, rank_clock_time(&to->clock, server->end_ns));
	}
	if (call.end_ns) {
		calls->whole_ns += call.end_ns - call.begin_ns;
		calls->compute_ns += call.compute_ns;
		calls->waited_ns += call.waited_ns;
		calls->wire_ns += call.wire_ns;
	}
	calls->list[calls->count++] = call;
}

/*
 * Finds ends whose other end is not there: computings when no sending was left, and sendings that
 * no later computing can be for, by how many are open from there on.
 */
static void remote_ends_without_another(struct remote_end *ends, size_t count)
{
	size_t open = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_sent = ends[i].event == BRICK_MESSAGE_SENT;
		ends[i].is_alone = !is_sent && !open;
		open = is_sent ? open + 1 : number_minus(open, 1);
	}
	open = 0;
	for (size_t i = count; i-- > 0;) {
		bool is_sent = ends[i].event == BRICK_MESSAGE_SENT;
		if (is_sent)
			ends[i].is_alone = !open;
		open = is_sent ? number_minus(open, 1) : open + !ends[i].is_alone;
	}
}

/* Do all sendings come from one process, and all computings run in another one? */
static bool remote_ends_are_of_two(
	const struct remote_source *sources, const struct remote_end *ends, size_t count)
{
	uint64_t sides[2] = {UINT64_MAX, UINT64_MAX};

	for (size_t i = 0; i < count; i++) {
		const struct run *run = sources[ends[i].source].run;
		uint64_t process = (uint64_t)ends[i].source << 32 |
				   run->lanes[run->messages[ends[i].message].lane].process;
		uint64_t *side = &sides[ends[i].event == BRICK_MESSAGE_SENT];
		if (*side != UINT64_MAX && *side != process)
			return false;
		*side = process;
	}
	return sides[0] != sides[1];
}

/*
 * Those of one graph. A stretch in which as many are computed as are sent has its calls in that
 * order, if all are sent before the first one is computed: else one that was lost may have shifted
 * them, as it may if one that is alone stands beside the stretch.
 */
static void remote_calls_of_graph(struct remote_calls *calls, const struct remote_source *sources,
	struct remote_end *ends, size_t count)
{
	remote_ends_without_another(ends, count);
	for (size_t i = 0, end; i < count; i = end) {
		size_t sent = 0, open = 0;
		bool is_mixed = false;
		for (end = i; end < count && (end == i || open); end++) {
			bool is_sent = ends[end].event == BRICK_MESSAGE_SENT;
			is_mixed |= is_sent && sent < end - i;
			sent += is_sent;
			open = ends[end].is_alone ? 0 : is_sent ? open + 1 : open - 1;
		}
		bool is_behind =
			i && ends[i - 1].is_alone && ends[i - 1].event == BRICK_MESSAGE_SENT;
		bool is_before =
			end < count && ends[end].is_alone && ends[end].event != BRICK_MESSAGE_SENT;
		if (ends[i].is_alone || is_mixed || is_behind || is_before ||
			!remote_ends_are_of_two(sources, &ends[i], end - i)) {
			calls->sent_alone += sent;
			calls->received_alone += end - i - sent;
			continue;
		}
		for (size_t s = i; s < i + sent; s++)
			remote_calls_add(calls, sources, &ends[s], &ends[s + sent]);
	}
}

static size_t remote_ends_add(struct remote_end *ends, const struct remote_source *sources,
	uint32_t source, struct remote_calls *calls)
{
	const struct run *run = sources[source].run;
	size_t count = 0;

	for (uint32_t i = 0; i < run->message_count; i++) {
		const struct run_message *m = &run->messages[i];
		const struct run_sample *sample = remote_call_sample(run, i);
		if (!run_message_is_remote(m))
			continue;
		if (!sources[source].clock.is_aligned)
			++*(m->event == BRICK_MESSAGE_SENT ? &calls->sent_alone
							   : &calls->received_alone);
		else
			ends[count++] = (struct remote_end){.graph = m->communicator,
				.event = m->event,
				.message = i,
				.source = source,
				.ns = sample ? rank_clock_time(
						       &sources[source].clock, sample->begin_ns)
					     : INT64_MIN};
	}
	return count;
}

int remote_calls_init_of(
	struct remote_calls *calls, const struct remote_source *sources, uint32_t source_count)
{
	size_t count = 0;

	*calls = (struct remote_calls){0};
	for (uint32_t i = 0; i < source_count; i++)
		count += sources[i].run->message_count;
	SCOPED struct remote_end *ends = malloc((count + 1) * sizeof(*ends));
	calls->list = malloc((count + 1) * sizeof(*calls->list));
	if (!ends || !calls->list) {
		remote_calls_fini(calls);
		return -ENOMEM;
	}
	count = 0;
	for (uint32_t i = 0; i < source_count; i++)
		count += remote_ends_add(&ends[count], sources, i, calls);
	if (count)
		qsort(ends, count, sizeof(*ends), remote_ends_order);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && ends[end].graph == ends[i].graph; end++)
			;
		remote_calls_of_graph(calls, sources, &ends[i], end - i);
	}
	if (calls->count)
		qsort(calls->list, calls->count, sizeof(*calls->list), remote_calls_by_time);
	return 0;
}

int remote_calls_init(struct remote_calls *calls, const struct run *run)
{
	const struct remote_source source = {run, {.is_aligned = true}};

	return remote_calls_init_of(calls, &source, 1);
}

void remote_calls_fini(struct remote_calls *calls)
{
	free(calls->list);
	*calls = (struct remote_calls){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A table of what was sent, by ends and number. Two messages that are equal in these have no pair.
 */
#include "analysis/ranks/message_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hashmap.h"
#include "analysis/ranks/remote_calls.h"
#include "base/scope.h"

enum { SENT_TWICE = RUN_NONE };

uint64_t message_key(const struct run *run, const struct run_message *m)
{
	int32_t own = run->processes[run->lanes[m->lane].process].rank;
	bool is_sent = m->event == BRICK_MESSAGE_SENT;

	if (own < 0 || m->peer < 0 || !m->number)
		return 0;
	uint64_t sender = (uint32_t)(is_sent ? own : m->peer);
	uint64_t receiver = (uint32_t)(is_sent ? m->peer : own);
	return hash_add(hash_add(hash_add(1, m->communicator), sender << 32 | receiver),
		(uint64_t)(uint32_t)m->tag << 32 | m->number);
}

const struct run_sample *message_call(const struct run *run, const struct run_message *m)
{
	const struct run_lane *lane = &run->lanes[m->lane];

	return m->sample < lane->sample_count ? &lane->samples[m->sample] : NULL;
}

static int message_pairs_find(struct message_pairs *pairs, const struct run *run)
{
	SCOPED_BY(hashmap_fini) struct hashmap sent = {0};
	size_t capacity = 0;
	uint64_t all_sent = 0;

	for (size_t i = 0; i < run->message_count; i++) {
		const struct run_message *m = &run->messages[i];
		if (m->event != BRICK_MESSAGE_SENT || run_message_is_remote(m))
			continue;
		uint64_t key = message_key(run, m);
		bool is_new = key && hashmap_get(&sent, key) == HASHMAP_NONE;
		all_sent++;
		if (key && hashmap_set(&sent, key, is_new ? i : (uint64_t)SENT_TWICE))
			return -ENOMEM;
	}
	for (size_t i = 0; i < run->message_count; i++) {
		const struct run_message *m = &run->messages[i];
		if (m->event != BRICK_MESSAGE_RECEIVED || run_message_is_remote(m))
			continue;
		uint64_t key = message_key(run, m);
		/* a second receive of one message finds none */
		uint64_t at = key ? hashmap_take(&sent, key) : HASHMAP_NONE;
		if (at == HASHMAP_NONE || at == (uint64_t)SENT_TWICE) {
			pairs->received_alone++;
			continue;
		}
		struct message_pair *list =
			array_grow(pairs->list, &capacity, pairs->count + 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		pairs->list = list;
		list[pairs->count++] = (struct message_pair){(uint32_t)at, (uint32_t)i};
		pairs->bytes += m->bytes;
		pairs->unequal += m->bytes != run->messages[at].bytes;
	}
	pairs->sent_alone = all_sent - pairs->count;
	return 0;
}

/* Messages that one call received stand together. */
static void message_pairs_time(struct message_pairs *pairs, const struct run *run)
{
	for (size_t i = 0, end; i < pairs->count; i = end) {
		const struct run_message *first = &run->messages[pairs->list[i].received];
		const struct run_sample *call = message_call(run, first);
		uint64_t sent_ns = 0;
		for (end = i; end < pairs->count; end++) {
			const struct run_message *m = &run->messages[pairs->list[end].received];
			if (m->lane != first->lane || m->sample != first->sample)
				break;
			const struct run_sample *sender =
				message_call(run, &run->messages[pairs->list[end].sent]);
			if (sender && sender->begin_ns > sent_ns)
				sent_ns = sender->begin_ns;
		}
		if (!call)
			continue;
		uint64_t until = sent_ns < call->end_ns ? sent_ns : call->end_ns;
		uint64_t waited = until > call->begin_ns ? until - call->begin_ns : 0;
		pairs->calls++;
		pairs->waited_ns += waited;
		pairs->transfer_ns += call->end_ns - call->begin_ns - waited;
	}
}

int message_pairs_init(struct message_pairs *pairs, const struct run *run)
{
	*pairs = (struct message_pairs){0};
	int rc = message_pairs_find(pairs, run);
	if (rc == 0)
		message_pairs_time(pairs, run);
	else
		message_pairs_fini(pairs);
	return rc;
}

void message_pairs_fini(struct message_pairs *pairs)
{
	free(pairs->list);
	*pairs = (struct message_pairs){0};
}

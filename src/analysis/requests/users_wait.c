/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are made only of runs with tokens of several sequences, because that takes a while. */
#include "analysis/requests/users_wait.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/requests/requests.h"
#include "base/order.h"
#include "base/scope.h"
#include "brick/error.h"

/* True if events tell tokens of two sequences. */
static bool users_wait_are_several(const struct run *run)
{
	const struct run_sequence_event *first = NULL;

	for (size_t i = 0; i < run->sequence_event_count; i++) {
		const struct run_sequence_event *e = &run->sequence_events[i];
		if (e->event != BRICK_SEQUENCE_TOKENS)
			continue;
		if (first &&
			(first->sequence != e->sequence || first->model != e->model ||
				run->lanes[first->lane].process != run->lanes[e->lane].process))
			return true;
		first = first ? first : e;
	}
	return false;
}

/* A request, from its first token to its last one. */
struct decoding {
	uint64_t from_ns, to_ns, tokens;
};

COMPARATOR(users_wait_by_begin, struct decoding, ORDER(x->from_ns, y->from_ns))

static uint64_t users_wait_at_once(const struct decoding *list, size_t count, size_t i)
{
	uint64_t at_once = 0;

	for (size_t k = 0; k < count && list[k].from_ns <= list[i].from_ns; k++)
		at_once += list[k].to_ns > list[i].from_ns;
	return at_once;
}

int users_wait_of(struct users_wait *out, const struct run *run)
{
	struct requests *q;

	*out = (struct users_wait){0};
	if (!users_wait_are_several(run))
		return 0;
	int rc = requests_create(&q, run);
	if (rc)
		return rc == BRICK_ENOTRECORDED ? 0 : rc;
	SCOPED struct decoding *list = calloc(q->count + 1, sizeof(*list));
	size_t count = 0;
	for (size_t i = 0; i < q->count && list; i++) {
		const struct request *r = &q->list[i];
		struct decoding d = {.from_ns = r->first_ns};
		for (uint32_t k = 0; k < r->gap_count; k++)
			d.tokens += q->gaps[r->gap_first + k].tokens;
		if (!d.tokens)
			continue;
		d.to_ns = q->gaps[r->gap_first + r->gap_count - 1].end_ns;
		list[count++] = d;
	}
	requests_destroy(q);
	if (!list)
		return -ENOMEM;
	qsort(list, count, sizeof(*list), users_wait_by_begin);
	uint64_t ns = 0, end_ns = 0;
	for (size_t i = 0; i < count; i++) {
		const struct decoding *d = &list[i];
		bool is_beside =
			d->from_ns < end_ns || (i + 1 < count && list[i + 1].from_ns < d->to_ns);
		end_ns = d->to_ns > end_ns ? d->to_ns : end_ns;
		if (!is_beside)
			continue;
		uint64_t at_once = users_wait_at_once(list, count, i);
		out->at_once = at_once > out->at_once ? at_once : out->at_once;
		out->requests++;
		out->tokens += d->tokens;
		ns += d->to_ns - d->from_ns;
	}
	out->token_ns = out->tokens ? ns / out->tokens : 0;
	return out->requests != 0;
}

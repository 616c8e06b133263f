/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only waits are looked at, not samples: each wait of a rank ends by the last of the others that it
 * needed, if that one came while it waited. The path jumps there and never forward in time.
 */
#include "analysis/ranks/rank_path.h"

#include <errno.h>
#include <stdlib.h>
#include "analysis/ranks/rank_strip.h"
#include "base/order.h"
#include "base/scope.h"

/* What lets a rank go on, by the time of the job. */
struct release {
	int64_t at;	 /* another rank came, or sent */
	int64_t until;	 /* the rank went on */
	uint32_t source; /* row of the other one */
	bool is_message;
};

struct releases {
	ARRAY(struct release) * of; /* [count]: by row, by time */
	uint32_t count;
};

COMPARATOR(release_order, struct release, ORDER(x->at, y->at) ?: ORDER(x->until, y->until))

static void releases_fini(struct releases *all)
{
	for (uint32_t r = 0; all->of && r < all->count; r++)
		array_fini(&all->of[r]);
	free(all->of);
}

static bool rank_path_has(const struct rank_job *job, uint32_t row)
{
	return job->clocks[job->rows[row].clock].is_aligned;
}

static int64_t rank_path_time(const struct rank_job *job, uint32_t row, uint64_t ns)
{
	return rank_clock_time(&job->clocks[job->rows[row].clock], ns);
}

/* The time of the rank's clock. */
static uint64_t rank_path_own(const struct rank_job *job, uint32_t row, int64_t time)
{
	return rank_clock_own(&job->clocks[job->rows[row].clock], time);
}

/* Waits for collectives. The last of those to which all had come then let the rank go. */
static int releases_add_holds(struct releases *all, const struct rank_job *job, uint32_t r)
{
	const struct rank_row *row = &job->rows[r];

	for (size_t i = 0; i < row->calls.holds.count; i++) {
		const struct rank_hold *hold = &row->calls.holds.items[i];
		int64_t from = rank_path_time(job, r, hold->begin_ns);
		int64_t until = rank_path_time(job, r, hold->end_ns);
		size_t n = BISECT(k, 0, row->calls.count, row->over_ns[k] < until);
		if (!n || row->over_ns[n - 1] <= from)
			continue;
		int64_t at = row->over_ns[n - 1];
		n = BISECT(k, 0, n, row->over_ns[k] < at);
		uint32_t last = job->meetings[row->calls.list[n].meeting].last;
		if (last != r && last != RUN_NONE &&
			array_push(&all->of[r], (struct release){at, until, last, false}))
			return -ENOMEM;
	}
	return 0;
}

static int releases_add_messages(struct releases *all, struct rank_job *job)
{
	for (size_t i = 0; i < job->passages.count; i++) {
		const struct rank_passage *p = &job->passages.items[i];
		if (p->is_beside || !rank_path_has(job, p->from) || !rank_path_has(job, p->to))
			continue;
		int64_t at = rank_path_time(job, p->from, p->sent_ns);
		int64_t until = rank_path_time(job, p->to, p->received_ns);
		if (at <= rank_path_time(job, p->to, p->begin_ns) || at >= until)
			continue;
		const struct rank_debt debt = {p->begin_ns, rank_path_own(job, p->to, at), p->from};
		if (array_push(&all->of[p->to], (struct release){at, until, p->from, true}) ||
			array_push(&job->rows[p->to].debts, debt))
			return -ENOMEM;
	}
	return 0;
}

COMPARATOR(rank_debts_order, struct rank_debt,
	ORDER(x->from_ns, y->from_ns) ?: ORDER(x->to_ns, y->to_ns))

/* One wait may be for several messages: each sender owes the part that no earlier one owes. */
static void rank_path_sort_debts(struct rank_row *row)
{
	uint64_t paid_ns = 0;

	array_sort(&row->debts, rank_debts_order);
	for (size_t i = 0; i < row->debts.count; i++) {
		struct rank_debt *debt = &row->debts.items[i];
		debt->from_ns = debt->from_ns > paid_ns ? debt->from_ns : paid_ns;
		paid_ns = debt->to_ns > paid_ns ? debt->to_ns : paid_ns;
	}
}

static int releases_init(struct releases *all, struct rank_job *job)
{
	all->of = calloc((size_t)job->count + 1, sizeof(*all->of));
	all->count = job->count;
	if (!all->of || releases_add_messages(all, job))
		return -ENOMEM;
	for (uint32_t r = 0; r < job->count; r++) {
		if (rank_path_has(job, r) && releases_add_holds(all, job, r))
			return -ENOMEM;
		array_sort(&all->of[r], release_order);
		rank_path_sort_debts(&job->rows[r]);
	}
	return 0;
}

/* From the first common event to the last, and the rank that the last is of; RUN_NONE: none is. */
static uint32_t rank_path_ends(const struct rank_job *job, int64_t *from, int64_t *to)
{
	uint32_t row = RUN_NONE;

	*from = INT64_MAX;
	*to = INT64_MIN;
	for (size_t i = 0; i < job->meeting_count; i++) {
		const struct rank_meeting *meeting = &job->meetings[i];
		if (meeting->last == RUN_NONE)
			continue;
		*from = meeting->latest_ns < *from ? meeting->latest_ns : *from;
		if (meeting->latest_ns > *to) {
			*to = meeting->latest_ns;
			row = meeting->last;
		}
	}
	for (size_t i = 0; i < job->passages.count; i++) {
		const struct rank_passage *p = &job->passages.items[i];
		if (p->is_beside || !rank_path_has(job, p->from) || !rank_path_has(job, p->to))
			continue;
		int64_t sent = rank_path_time(job, p->from, p->sent_ns);
		int64_t received = rank_path_time(job, p->to, p->received_ns);
		*from = sent < *from ? sent : *from;
		if (received > *to) {
			*to = received;
			row = p->to;
		}
	}
	return *from < *to ? row : RUN_NONE;
}

static int rank_path_stretch(struct rank_job *job, uint32_t r, int64_t from, int64_t to)
{
	return from < to ? array_push(&job->rows[r].path,
				   (struct rank_stretch){
					   rank_path_own(job, r, from), rank_path_own(job, r, to)})
			 : 0;
}

static void rank_path_reverse(struct rank_row *row)
{
	for (size_t i = 0, k = row->path.count; i + 1 < k; i++) {
		struct rank_stretch swapped = row->path.items[i];
		row->path.items[i] = row->path.items[--k];
		row->path.items[k] = swapped;
	}
}

int rank_path_find(struct rank_job *job)
{
	SCOPED_BY(releases_fini) struct releases all = {0};
	int64_t first, time;
	uint32_t r = rank_path_ends(job, &first, &time);

	if (r == RUN_NONE)
		return 0;
	job->path_ns = (uint64_t)time - (uint64_t)first;
	if (releases_init(&all, job) || rank_strip_init(&job->strip, first, job->path_ns))
		return -ENOMEM;
	while (time > first) {
		size_t n = BISECT(i, 0, all.of[r].count, all.of[r].items[i].at < time);
		const struct release *release = n ? &all.of[r].items[n - 1] : NULL;
		if (!release || release->at < first) {
			if (rank_path_stretch(job, r, first, time))
				return -ENOMEM;
			break;
		}
		int64_t until = release->until < time ? release->until : time;
		*(release->is_message ? &job->message_ns : &job->exchange_ns) +=
			(double)until - (double)release->at;
		rank_strip_add(&job->strip,
			release->is_message ? job->strip.message_ns : job->strip.exchange_ns,
			release->at, until);
		if (rank_path_stretch(job, r, until, time))
			return -ENOMEM;
		time = release->at;
		r = release->source;
	}
	for (uint32_t i = 0; i < job->count; i++) {
		rank_path_reverse(&job->rows[i]);
		array_fini(&job->rows[i].calls.holds);
	}
	return 0;
}

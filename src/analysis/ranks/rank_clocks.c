/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First each clock is fitted against the first one, which gives its bound; or, where they have
 * nothing in common, against all that are fitted already. Then each is moved into the limits that
 * all others set, a few times, so that every pair of ranks is in order.
 */
#include "analysis/ranks/rank_clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ranks/offset_line.h"
#include "base/order.h"

enum { SWEEPS = 16 };

/* When ranks of one clock came to a collective and left it, since the clock's origin. */
struct presence {
	double came, left; /* the last came, the first left; NAN: not known */
};

/* All clocks' earliest and latest of a collective, in the time of the job. */
struct extremes {
	double came[2], left[2];	 /* the latest two that came, the earliest two that left */
	uint32_t came_clock, left_clock; /* of the first of both */
};

struct alignment {
	struct rank_job *job;
	uint32_t *passages_of; /* indices in job->passages, by row */
	size_t *first_of;      /* [count + 1]: by row, its first in passages_of */
	size_t meetings;
	struct presence *present;  /* [clock_count][meetings] */
	struct extremes *extremes; /* [meetings] */
	struct offset_points points;
};

static void alignment_fini(struct alignment *a)
{
	free(a->present);
	free(a->extremes);
	free(a->passages_of);
	free(a->first_of);
	offset_points_fini(&a->points);
}

static struct presence *alignment_of(const struct alignment *a, uint32_t clock)
{
	return &a->present[clock * a->meetings];
}

static struct offset_line alignment_line(const struct rank_clock *clock)
{
	return (struct offset_line){clock->offset_ns, clock->drift};
}

static double alignment_time(const struct rank_clock *clock, double since)
{
	return since + clock->offset_ns + clock->drift * since;
}

/* The messages of each row. */
static int alignment_sort_passages(struct alignment *a)
{
	const struct rank_job *job = a->job;
	const struct rank_passage *passages = job->passages.items;
	size_t count = job->passages.count;

	a->first_of = calloc((size_t)job->count + 2, sizeof(*a->first_of));
	a->passages_of = malloc((2 * count + 1) * sizeof(*a->passages_of));
	if (!a->first_of || !a->passages_of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		a->first_of[passages[i].from + 2]++;
		a->first_of[passages[i].to + 2]++;
	}
	for (uint32_t r = 0; r < job->count; r++)
		a->first_of[r + 2] += a->first_of[r + 1];
	for (uint32_t i = 0; i < count; i++) {
		a->passages_of[a->first_of[passages[i].from + 1]++] = i;
		a->passages_of[a->first_of[passages[i].to + 1]++] = i;
	}
	return 0;
}

/* The first clock becomes that of the first rank that has collectives or messages. */
static void alignment_choose_first(struct alignment *a)
{
	struct rank_job *job = a->job;
	uint32_t first = 0;

	while (first < job->count && !job->rows[first].calls.count &&
		a->first_of[first + 1] == a->first_of[first])
		first++;
	uint32_t chosen = first < job->count ? job->rows[first].clock : 0;
	for (uint32_t r = 0; r < job->count; r++) {
		uint32_t *clock = &job->rows[r].clock;
		*clock = *clock == chosen ? 0 : *clock == 0 ? chosen : *clock;
	}
}

static void alignment_begin_at(struct rank_clock *clock, uint64_t ns)
{
	if (!clock->origin_ns || ns < clock->origin_ns)
		clock->origin_ns = ns;
}

static int alignment_init(struct alignment *a, struct rank_job *job)
{
	*a = (struct alignment){.job = job, .meetings = job->meeting_count};
	size_t count = (size_t)job->clock_count * a->meetings;
	a->present = malloc((count + 1) * sizeof(*a->present));
	a->extremes = malloc((a->meetings + 1) * sizeof(*a->extremes));
	if (!a->present || !a->extremes || alignment_sort_passages(a))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		a->present[i] = (struct presence){NAN, NAN};
	alignment_choose_first(a);
	for (uint32_t r = 0; r < job->count; r++)
		if (job->rows[r].calls.count)
			alignment_begin_at(&job->clocks[job->rows[r].clock],
				job->rows[r].calls.list[0].begin_ns);
	for (size_t i = 0; i < a->job->passages.count; i++) {
		const struct rank_passage *p = &a->job->passages.items[i];
		alignment_begin_at(&job->clocks[job->rows[p->from].clock], p->sent_ns);
		alignment_begin_at(&job->clocks[job->rows[p->to].clock], p->received_ns);
	}
	for (uint32_t r = 0; r < job->count; r++) {
		const struct rank_row *row = &job->rows[r];
		uint64_t origin = job->clocks[row->clock].origin_ns;
		for (size_t i = 0; i < row->calls.count; i++) {
			const struct rank_call *call = &row->calls.list[i];
			struct presence *p = &alignment_of(a, row->clock)[call->meeting];
			double came = (double)(int64_t)(call->begin_ns - origin);
			double left = call->end_ns ? (double)(int64_t)(call->end_ns - origin) : NAN;
			if (!job->meetings[call->meeting].joins)
				continue;
			p->came = fmax(p->came, came); /* of NAN and a number: the number */
			p->left = fmin(p->left, left);
		}
	}
	return 0;
}

/* Limits and common ends of a clock at `own` against times of the job. */
static int alignment_add(struct offset_points *points, const struct presence *own, double came,
	double left, bool is_about)
{
	int error = 0;

	if (!isnan(own->came) && !isnan(left))
		error |= array_push(
			&points->above, (struct offset_point){own->came, left - own->came});
	if (!isnan(own->left) && !isnan(came))
		error |= array_push(
			&points->below, (struct offset_point){own->left, came - own->left});
	if (is_about && !isnan(own->left) && !isnan(left))
		error |= array_push(
			&points->about, (struct offset_point){own->left, left - own->left});
	return error ? -ENOMEM : 0;
}

static void alignment_clear(struct offset_points *points)
{
	points->above.count = points->below.count = points->about.count = 0;
}

static double alignment_since(const struct alignment *a, uint32_t clock, uint64_t ns)
{
	return (double)(int64_t)(ns - a->job->clocks[clock].origin_ns);
}

/* Calls each() for the passages between a clock and others: its own end, and the other's. */
static int alignment_each_passage(const struct alignment *a, uint32_t clock, void *context,
	int (*each)(void *context, bool is_sent, double own, uint32_t other, double others))
{
	const struct rank_job *job = a->job;
	int error = 0;

	for (uint32_t r = 0; r < job->count; r++) {
		if (job->rows[r].clock != clock)
			continue;
		for (size_t i = a->first_of[r]; i < a->first_of[r + 1] && !error; i++) {
			const struct rank_passage *p = &a->job->passages.items[a->passages_of[i]];
			bool is_sent = p->from == r;
			uint32_t other = job->rows[is_sent ? p->to : p->from].clock;
			double sent = alignment_since(a, is_sent ? clock : other, p->sent_ns);
			double received =
				alignment_since(a, is_sent ? other : clock, p->received_ns);
			if (other != clock)
				error = each(context, is_sent, is_sent ? sent : received, other,
					is_sent ? received : sent);
		}
	}
	return error;
}

struct passage_span {
	double from, to;
};

static int passage_extend(void *context, bool is_sent, double own, uint32_t other, double others)
{
	struct passage_span *span = context;

	(void)is_sent, (void)other, (void)others;
	span->from = fmin(span->from, own);
	span->to = fmax(span->to, own);
	return 0;
}

struct passage_limits {
	struct alignment *a;
	bool is_first_only;
};

/* Nothing is received before it was sent. */
static int passage_limit(void *context, bool is_sent, double own, uint32_t other, double others)
{
	const struct passage_limits *l = context;
	const struct rank_clock *clock = &l->a->job->clocks[other];
	struct offset_points *points = &l->a->points;

	if (!clock->is_aligned || (l->is_first_only && other))
		return 0;
	const struct offset_point point = {own, alignment_time(clock, others) - own};
	return is_sent ? array_push(&points->above, point) : array_push(&points->below, point);
}

/* The first and the last collective or message of a clock. False: it has none that limits. */
static bool alignment_span(const struct alignment *a, uint32_t clock, double *from, double *to)
{
	const struct presence *own = alignment_of(a, clock);

	*from = *to = NAN;
	for (size_t i = 0; i < a->meetings; i++) {
		*from = fmin(*from, own[i].came);
		*to = fmax(*to, fmax(own[i].came, own[i].left));
	}
	struct passage_span span = {*from, *to};
	alignment_each_passage(a, clock, &span, passage_extend);
	*from = span.from;
	*to = span.to;
	return !isnan(*from);
}

/* Limits against the first clock alone, whose time is the job's. */
static int alignment_against_first(struct alignment *a, uint32_t clock)
{
	const struct presence *own = alignment_of(a, clock), *first = alignment_of(a, 0);
	int error = 0;

	alignment_clear(&a->points);
	for (size_t i = 0; i < a->meetings && !error; i++)
		error = alignment_add(&a->points, &own[i], first[i].came, first[i].left, true);
	return error
		       ?: alignment_each_passage(
				  a, clock, &(struct passage_limits){a, true}, passage_limit);
}

static void alignment_find_extremes(struct alignment *a)
{
	for (size_t i = 0; i < a->meetings; i++)
		a->extremes[i] = (struct extremes){{NAN, NAN}, {NAN, NAN}, RUN_NONE, RUN_NONE};
	for (uint32_t c = 0; c < a->job->clock_count; c++) {
		const struct rank_clock *clock = &a->job->clocks[c];
		const struct presence *own = alignment_of(a, c);
		for (size_t i = 0; i < a->meetings && clock->is_aligned; i++) {
			struct extremes *e = &a->extremes[i];
			double came = alignment_time(clock, own[i].came);
			double left = alignment_time(clock, own[i].left);
			if (came > e->came[0] || (isnan(e->came[0]) && !isnan(came))) {
				e->came[1] = e->came[0];
				e->came[0] = came;
				e->came_clock = c;
			} else {
				e->came[1] = fmax(e->came[1], came);
			}
			if (left < e->left[0] || (isnan(e->left[0]) && !isnan(left))) {
				e->left[1] = e->left[0];
				e->left[0] = left;
				e->left_clock = c;
			} else {
				e->left[1] = fmin(e->left[1], left);
			}
		}
	}
}

/* Limits against all other clocks that are aligned. */
static int alignment_against_others(struct alignment *a, uint32_t clock, bool is_about)
{
	const struct presence *own = alignment_of(a, clock);
	int error = 0;

	alignment_clear(&a->points);
	for (size_t i = 0; i < a->meetings && !error; i++) {
		const struct extremes *e = &a->extremes[i];
		error = alignment_add(&a->points, &own[i], e->came[e->came_clock == clock],
			e->left[e->left_clock == clock], is_about);
	}
	return error
		       ?: alignment_each_passage(
				  a, clock, &(struct passage_limits){a, false}, passage_limit);
}

static int alignment_fit(
	struct alignment *a, uint32_t clock, double from, double to, double bound_ns)
{
	struct rank_clock *c = &a->job->clocks[clock];
	struct offset_limits limits;
	struct offset_line line;

	c->is_aligned = a->points.above.count || a->points.below.count || a->points.about.count;
	if (!c->is_aligned)
		return 0;
	offset_limits_measure(&limits, &a->points, from, to);
	if (offset_line_fit(&line, &c->residual_ns, &a->points, &limits))
		return -ENOMEM;
	c->offset_ns = line.offset;
	c->drift = line.drift;
	c->bound_ns = offset_line_bound(&line, &limits) + bound_ns;
	return 0;
}

/* A clock that never met the first one: against those that are aligned by now. */
static int alignment_fit_rest(struct alignment *a)
{
	bool has_found = true;

	while (has_found) {
		double bound_ns = 0;
		has_found = false;
		for (uint32_t c = 0; c < a->job->clock_count; c++)
			if (a->job->clocks[c].is_aligned)
				bound_ns = fmax(bound_ns, a->job->clocks[c].bound_ns);
		alignment_find_extremes(a);
		for (uint32_t c = 1; c < a->job->clock_count; c++) {
			double from, to;
			if (a->job->clocks[c].is_aligned || !alignment_span(a, c, &from, &to))
				continue;
			if (alignment_against_others(a, c, true) ||
				alignment_fit(a, c, from, to, bound_ns))
				return -ENOMEM;
			has_found |= a->job->clocks[c].is_aligned;
		}
	}
	return 0;
}

/* Collectives and messages that the aligned times contradict. */
static void alignment_count_disorder(const struct alignment *a)
{
	struct rank_job *job = a->job;

	job->disordered = 0;
	job->disordered_ns = 0;
	for (size_t i = 0; i < a->meetings + a->job->passages.count; i++) {
		double by;
		if (i < a->meetings) {
			by = a->extremes[i].came[0] - a->extremes[i].left[0];
		} else {
			const struct rank_passage *p = &a->job->passages.items[i - a->meetings];
			uint32_t from = job->rows[p->from].clock, to = job->rows[p->to].clock;
			if (!job->clocks[from].is_aligned || !job->clocks[to].is_aligned)
				continue;
			by = alignment_time(
				     &job->clocks[from], alignment_since(a, from, p->sent_ns)) -
			     alignment_time(
				     &job->clocks[to], alignment_since(a, to, p->received_ns));
		}
		if (by > 1) { /* times are whole ns */
			job->disordered++;
			job->disordered_ns = fmax(job->disordered_ns, by);
		}
	}
}

/* Moves each clock into the limits of all others, until all are in order. */
static int alignment_sweep(struct alignment *a)
{
	struct rank_job *job = a->job;

	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		alignment_find_extremes(a);
		alignment_count_disorder(a);
		if (!job->disordered || sweep == SWEEPS - 1)
			break;
		for (uint32_t c = 1; c < job->clock_count; c++) {
			struct rank_clock *clock = &job->clocks[c];
			struct offset_line line = alignment_line(clock);
			struct offset_limits limits;
			double from, to;
			if (!clock->is_aligned || !alignment_span(a, c, &from, &to))
				continue;
			if (alignment_against_others(a, c, false))
				return -ENOMEM;
			offset_limits_measure(&limits, &a->points, from, to);
			double at_from = offset_line_at(&line, from),
			       at_to = offset_line_at(&line, to);
			offset_line_clamp(&line, &a->points, &limits);
			clock->bound_ns += fmax(fabs(offset_line_at(&line, from) - at_from),
				fabs(offset_line_at(&line, to) - at_to));
			clock->offset_ns = line.offset;
			clock->drift = line.drift;
		}
	}
	return 0;
}

/* The bound against the first clock again, where it has one: the line may have moved. */
static int alignment_bound(struct alignment *a, uint32_t clock)
{
	struct rank_clock *c = &a->job->clocks[clock];
	struct offset_line line = alignment_line(c);
	struct offset_limits limits;
	double from, to;

	if (alignment_against_first(a, clock))
		return -ENOMEM;
	if (!alignment_span(a, clock, &from, &to) || !a->points.above.count ||
		!a->points.below.count)
		return 0;
	offset_limits_measure(&limits, &a->points, from, to);
	c->bound_ns = offset_line_bound(&line, &limits);
	return 0;
}

struct passage_check {
	const struct alignment *a;
	uint32_t one, other;
};

/* Nonzero: the message was received before it was sent, if both have one clock. */
static int passage_check(void *context, bool is_sent, double own, uint32_t other, double others)
{
	const struct passage_check *c = context;

	if (other != c->one)
		return 0;
	own += alignment_since(c->a, c->one, c->a->job->clocks[c->other].origin_ns);
	return is_sent ? own > others : others > own;
}

/* True if two clocks can be one: nothing was received before it was sent, and nobody left before
 * the other's ranks had come. */
static bool alignment_can_be_one(const struct alignment *a, uint32_t one, uint32_t other)
{
	const struct presence *x = alignment_of(a, one), *y = alignment_of(a, other);
	double ahead =
		(double)(int64_t)(a->job->clocks[other].origin_ns - a->job->clocks[one].origin_ns);

	for (size_t i = 0; i < a->meetings; i++)
		if (x[i].came > y[i].left + ahead || y[i].came + ahead > x[i].left)
			return false;
	return !alignment_each_passage(
		a, other, &(struct passage_check){a, one, other}, passage_check);
}

/* The other clock's ranks are the first one's from now on. */
static void alignment_unite(struct alignment *a, uint32_t one, uint32_t other)
{
	struct rank_job *job = a->job;
	struct presence *x = alignment_of(a, one), *y = alignment_of(a, other);
	double ahead = (double)(int64_t)(job->clocks[other].origin_ns - job->clocks[one].origin_ns);

	for (size_t i = 0; i < a->meetings; i++) {
		x[i].came = fmax(x[i].came, y[i].came + ahead);
		x[i].left = fmin(x[i].left, y[i].left + ahead);
		y[i] = (struct presence){NAN, NAN};
	}
	for (uint32_t r = 0; r < job->count; r++)
		if (job->rows[r].clock == other)
			job->rows[r].clock = one;
}

/* Recordings of one host have one clock, if its times agree with that. */
static void alignment_unite_hosts(struct alignment *a)
{
	struct rank_job *job = a->job;

	for (uint32_t r = 0; r < job->count; r++)
		for (uint32_t before = 0; before < r; before++) {
			struct rank_row *row = &job->rows[r], *other = &job->rows[before];
			if (row->clock == other->clock || !row->host || !other->host ||
				strcmp(row->host, other->host) != 0)
				continue;
			uint32_t one = other->clock, two = row->clock;
			if (!alignment_can_be_one(a, one, two))
				continue;
			alignment_unite(a, one, two);
			break;
		}
}

int rank_clocks_align(struct rank_job *job)
{
	SCOPED_BY(alignment_fini) struct alignment a;
	int error = alignment_init(&a, job);

	if (error)
		return error;
	alignment_unite_hosts(&a);
	if (!job->collectives && !job->passages.count)
		return 0;
	for (size_t i = 0; i < job->passages.count; i++)
		job->paired += job->rows[job->passages.items[i].from].clock !=
			       job->rows[job->passages.items[i].to].clock;
	/* the job's time is the clock of its first rank that met others */
	for (uint32_t c = 1; c < job->clock_count && !error; c++) {
		double from, to;
		if (alignment_span(&a, c, &from, &to) && !(error = alignment_against_first(&a, c)))
			error = alignment_fit(&a, c, from, to, 0);
	}
	if (!error)
		error = alignment_fit_rest(&a);
	if (!error)
		error = alignment_sweep(&a);
	for (uint32_t c = 1; c < job->clock_count && !error; c++) {
		if (job->clocks[c].is_aligned)
			error = alignment_bound(&a, c);
	}
	return error;
}

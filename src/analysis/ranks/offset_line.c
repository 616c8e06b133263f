/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a given drift the limits leave an interval of offsets, whose ends are the least and the
 * greatest of linear functions of the drift: concave from above, convex from below. So all extremes
 * are found by dividing an interval of drifts, and only the limits on the hulls matter.
 */
#include "analysis/ranks/offset_line.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/statistics.h"
#include "base/order.h"
#include "base/scope.h"

enum {
	DIVISIONS = 100, /* of the interval of drifts: to beyond a double's precision */
	BLOCKS = 64,	 /* of points, whose medians give the drift */
	BLOCKS_LEAST = 4,
};

COMPARATOR(offset_by_time, struct offset_point, ORDER(x->x, y->x) ?: ORDER(x->v, y->v))

/* Keeps the lower hull of points (sign 1) or the upper one (sign -1). */
static size_t offset_hull(struct offset_point *points, size_t count, double sign)
{
	size_t kept = 0;

	for (size_t i = 1; i < count; i++)
		if (points[i].x < points[i - 1].x) {
			qsort(points, count, sizeof(*points), offset_by_time);
			break;
		}
	for (size_t i = 0; i < count; i++) {
		const struct offset_point p = points[i];
		while (kept >= 2) {
			const struct offset_point *a = &points[kept - 2], *b = &points[kept - 1];
			double turn = (b->x - a->x) * (p.v - a->v) - (b->v - a->v) * (p.x - a->x);
			if (sign * turn > 0)
				break;
			kept--;
		}
		points[kept++] = p;
	}
	return kept;
}

/* The greatest and the least offset that the limits allow with a drift. */
static double offset_most(const struct offset_points *points, double drift)
{
	double most = INFINITY;

	for (size_t i = 0; i < points->above.count; i++)
		most = fmin(most, points->above.items[i].v - drift * points->above.items[i].x);
	return most;
}

static double offset_least(const struct offset_points *points, double drift)
{
	double least = -INFINITY;

	for (size_t i = 0; i < points->below.count; i++)
		least = fmax(least, points->below.items[i].v - drift * points->below.items[i].x);
	return least;
}

/* What is sought: the widest interval of offsets, or the extreme value of a line at a time. */
enum offset_aim { OFFSET_WIDEST, OFFSET_HIGHEST, OFFSET_LOWEST };

static double offset_value(
	const struct offset_points *points, enum offset_aim aim, double x, double drift)
{
	switch (aim) {
	case OFFSET_HIGHEST:
		return offset_most(points, drift) + drift * x;
	case OFFSET_LOWEST:
		return -offset_least(points, drift) - drift * x;
	default:
		return offset_most(points, drift) - offset_least(points, drift);
	}
}

/* The drift at which a concave value is greatest. */
static double offset_best_drift(
	const struct offset_points *points, enum offset_aim aim, double x, double low, double high)
{
	for (int i = 0; i < DIVISIONS && low < high; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;
		if (offset_value(points, aim, x, a) < offset_value(points, aim, x, b))
			low = a;
		else
			high = b;
	}
	return (low + high) / 2;
}

/* The last drift from `good` towards `end` that the limits allow. */
static double offset_last_drift(const struct offset_points *points, double good, double end)
{
	if (offset_value(points, OFFSET_WIDEST, 0, end) >= 0)
		return end;
	for (int i = 0; i < DIVISIONS; i++) {
		double middle = (good + end) / 2;
		if (offset_value(points, OFFSET_WIDEST, 0, middle) >= 0)
			good = middle;
		else
			end = middle;
	}
	return good;
}

static double offset_extreme(const struct offset_points *points, const struct offset_limits *l,
	enum offset_aim aim, double x)
{
	double drift = offset_best_drift(points, aim, x, l->low, l->high);
	double value = offset_value(points, aim, x, drift);

	return aim == OFFSET_LOWEST ? -value : value;
}

void offset_limits_measure(
	struct offset_limits *limits, struct offset_points *points, double from, double to)
{
	points->above.count = offset_hull(points->above.items, points->above.count, 1);
	points->below.count = offset_hull(points->below.items, points->below.count, -1);
	*limits = (struct offset_limits){.is_possible = true,
		.low = -OFFSET_DRIFT_MOST,
		.high = OFFSET_DRIFT_MOST,
		.from = from,
		.to = to,
		.from_least = -INFINITY,
		.from_most = INFINITY,
		.to_least = -INFINITY,
		.to_most = INFINITY};
	if (!points->above.count || !points->below.count)
		return;
	double best =
		offset_best_drift(points, OFFSET_WIDEST, 0, -OFFSET_DRIFT_MOST, OFFSET_DRIFT_MOST);
	double widest = offset_value(points, OFFSET_WIDEST, 0, best);
	if (widest < -1) { /* times are whole ns */
		limits->is_possible = false;
		limits->broken = -widest / 2;
		limits->low = limits->high = best;
		return;
	}
	limits->low = offset_last_drift(points, best, -OFFSET_DRIFT_MOST);
	limits->high = offset_last_drift(points, best, OFFSET_DRIFT_MOST);
	limits->from_least = offset_extreme(points, limits, OFFSET_LOWEST, from);
	limits->from_most = offset_extreme(points, limits, OFFSET_HIGHEST, from);
	limits->to_least = offset_extreme(points, limits, OFFSET_LOWEST, to);
	limits->to_most = offset_extreme(points, limits, OFFSET_HIGHEST, to);
}

/* The median slope of lines through medians of blocks of points (Theil, Sen); 0: too few. */
static double offset_slope(const struct offset_point *points, size_t count, double *room)
{
	struct offset_point medians[BLOCKS];
	double slopes[BLOCKS * (BLOCKS - 1) / 2];
	size_t blocks = count < BLOCKS ? count : BLOCKS, n = 0;

	if (blocks < BLOCKS_LEAST)
		return 0;
	for (size_t b = 0; b < blocks; b++) {
		size_t first = count * b / blocks, end = count * (b + 1) / blocks;
		for (size_t i = first; i < end; i++)
			room[i - first] = points[i].v;
		medians[b] = (struct offset_point){
			points[(first + end) / 2].x, statistics_median(room, end - first)};
	}
	for (size_t i = 0; i < blocks; i++)
		for (size_t k = i + 1; k < blocks; k++)
			if (medians[k].x > medians[i].x)
				slopes[n++] = (medians[k].v - medians[i].v) /
					      (medians[k].x - medians[i].x);
	double slope = n ? statistics_median(slopes, n) : 0;
	return fmin(fmax(slope, -OFFSET_DRIFT_MOST), OFFSET_DRIFT_MOST);
}

static double offset_median_off(const struct offset_points *points, const struct offset_line *line,
	bool is_distance, double *room)
{
	for (size_t i = 0; i < points->about.count; i++) {
		double off =
			points->about.items[i].v - offset_line_at(line, points->about.items[i].x);
		room[i] = is_distance ? fabs(off) : off;
	}
	return statistics_median(room, points->about.count);
}

/* The middle of the limits at both times keeps them, too: a box around a convex set of two
 * dimensions has its middle in the set. */
static struct offset_line offset_middle(const struct offset_limits *l)
{
	double from = (l->from_least + l->from_most) / 2, to = (l->to_least + l->to_most) / 2;
	double drift = l->to > l->from ? (to - from) / (l->to - l->from) : 0;

	return (struct offset_line){from - drift * l->from, drift};
}

void offset_line_clamp(struct offset_line *line, const struct offset_points *points,
	const struct offset_limits *limits)
{
	if (!limits->is_possible)
		return;
	double middle = (limits->from + limits->to) / 2;
	double at = offset_line_at(line, middle); /* stays, where it can */
	line->drift = fmin(fmax(line->drift, limits->low), limits->high);
	line->offset = at - line->drift * middle;
	line->offset = fmax(line->offset, offset_least(points, line->drift));
	line->offset = fmin(line->offset, offset_most(points, line->drift));
}

int offset_line_fit(struct offset_line *line, double *residual, struct offset_points *points,
	const struct offset_limits *limits)
{
	size_t count = points->about.count;

	*residual = NAN;
	if (!count) {
		*line = isinf(offset_line_bound(&(struct offset_line){0}, limits))
				? (struct offset_line){0}
				: offset_middle(limits);
		offset_line_clamp(line, points, limits);
		return 0;
	}
	SCOPED double *room = malloc(count * sizeof(*room));
	if (!room)
		return -ENOMEM;
	*line = (struct offset_line){.drift = offset_slope(points->about.items, count, room)};
	line->offset = offset_median_off(points, line, false, room);
	offset_line_clamp(line, points, limits);
	*residual = offset_median_off(points, line, true, room);
	return 0;
}

double offset_line_bound(const struct offset_line *line, const struct offset_limits *l)
{
	double from = offset_line_at(line, l->from), to = offset_line_at(line, l->to);

	if (!l->is_possible)
		return INFINITY;
	return fmax(fmax(l->from_most - from, from - l->from_least),
		fmax(l->to_most - to, to - l->to_least));
}

void offset_points_fini(struct offset_points *points)
{
	array_fini(&points->above);
	array_fini(&points->below);
	array_fini(&points->about);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far one clock is ahead of another, as a line over time: offset + drift * x. Events that one
 * side saw before the other give limits above and below, which hold for certain; events that both
 * saw at about the same time say where in between the line lies. Times are ns, and may have any
 * zero that is near. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include "base/array.h"

/* The greatest drift that is believed; crystals and NTP together stay far below. */
#define OFFSET_DRIFT_MOST 2e-3

struct offset_point {
	double x, v;
};

struct offset_points {
	ARRAY(struct offset_point) above; /* the line is not above any of these ... */
	ARRAY(struct offset_point) below; /* ... and not below any of these */
	ARRAY(struct offset_point) about; /* the line is near most of these */
};

struct offset_line {
	double offset, drift;
};

/* Lines that keep all limits. */
struct offset_limits {
	bool is_possible; /* there is such a line */
	double low, high; /* their drifts; without such a line: of the one that comes nearest */
	double broken;	  /* by so much the nearest line breaks limits; 0: is_possible */
	double from, to;  /* the times that *_least and *_most are of */
	double from_least, from_most, to_least, to_most; /* -INFINITY, INFINITY: not limited */
};

static inline double offset_line_at(const struct offset_line *line, double x)
{
	return line->offset + line->drift * x;
}

/*
 * Keeps only the limits that matter, in `points`, and measures which lines keep them between two
 * times.
 */
void offset_limits_measure(
	struct offset_limits *limits, struct offset_points *points, double from, double to);

/*
 * Fits a line to points->about, which come in the order of time, and moves it as little as the
 * limits ask for. *residual: the median distance of the points from it; NAN: there are none, and
 * the line is the middle of the limits. -ENOMEM.
 */
int offset_line_fit(struct offset_line *line, double *residual, struct offset_points *points,
	const struct offset_limits *limits);

/* Moves a line to keep possible limits; changes nothing otherwise. */
void offset_line_clamp(struct offset_line *line, const struct offset_points *points,
	const struct offset_limits *limits);

/* The greatest distance from the line to any line that keeps the limits; INFINITY: none is known.
 */
double offset_line_bound(const struct offset_line *line, const struct offset_limits *limits);

void offset_points_fini(struct offset_points *points);

/* SPDX-License-Identifier: Apache-2.0 */
/* Tries places around a point, nearest first. Called by what draws pictures. */
#include "ui/text/labels.h"

#include <math.h>

enum { DIRECTIONS = 24, RINGS = 14, RINGS_OFF_LINES = 5, LINE_STEP = 6 };

static const double gap = 3, ring = 11;

void labels_init(struct labels *labels, double x0, double y0, double x1, double y1)
{
	labels->field = (struct label_box){x0, y0, x1, y1, 0};
	labels->count = 0;
}

static void take(struct labels *labels, struct label_box box)
{
	if (labels->count < LABELS_BOXES)
		labels->boxes[labels->count++] = box;
}

void labels_take(struct labels *labels, double x0, double y0, double x1, double y1)
{
	take(labels, (struct label_box){x0, y0, x1, y1, 0});
}

void labels_take_line(struct labels *labels, double x0, double y0, double x1, double y1)
{
	int steps = 1 + (int)(hypot(x1 - x0, y1 - y0) / LINE_STEP);
	double half = LINE_STEP / 2.0;

	for (int i = 0; i <= steps && steps < LABELS_BOXES; i++) {
		double x = x0 + (x1 - x0) * i / steps, y = y0 + (y1 - y0) * i / steps;
		take(labels, (struct label_box){x - half, y - half, x + half, y + half, 1});
	}
}

static int overlap(const struct label_box *a, const struct label_box *b)
{
	return a->x0 < b->x1 && b->x0 < a->x1 && a->y0 < b->y1 && b->y0 < a->y1;
}

static int is_free(const struct labels *labels, const struct label_box *box, int on_lines)
{
	const struct label_box *field = &labels->field;

	if (box->x0 < field->x0 || box->x1 > field->x1 || box->y0 < field->y0 ||
		box->y1 > field->y1)
		return 0;
	for (size_t i = 0; i < labels->count; i++)
		if (!(on_lines && labels->boxes[i].soft) && overlap(box, &labels->boxes[i]))
			return 0;
	return 1;
}

/* The box whose nearest edge or corner lies in that direction at that distance. */
static struct label_box box_at(
	double x, double y, double distance, double angle, double width, double height)
{
	double cosine = cos(angle), sine = sin(angle);
	double cx = x + cosine * (distance + width / 2), cy = y + sine * (distance + height / 2);

	return (struct label_box){
		cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2, 0};
}

static int try_rings(struct labels *labels, double x, double y, double radius, double width,
	double height, int rings, int on_lines, struct label_box *out)
{
	const double turn = 6.283185307179586;

	for (int r = 0; r < rings; r++)
		for (int d = 0; d < DIRECTIONS; d++) {
			/* To the right first, then alternately above and below. */
			int step = d % 2 ? (d + 1) / 2 : -(d / 2);
			*out = box_at(x, y, radius + gap + r * ring, turn * step / DIRECTIONS,
				width, height);
			if (is_free(labels, out, on_lines))
				return 1;
		}
	return 0;
}

int labels_place(struct labels *labels, double x, double y, double radius, double width,
	double height, struct label_box *out)
{
	if (!try_rings(labels, x, y, radius, width, height, RINGS_OFF_LINES, 0, out) &&
		!try_rings(labels, x, y, radius, width, height, RINGS, 1, out))
		return 0;
	take(labels, *out);
	return 1;
}

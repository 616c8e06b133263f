/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where texts go in a picture so that none covers another: boxes are taken one after the other, and
 * a text is put as near to its point as there is room. The same calls give the same places.
 */
#pragma once

#include <stddef.h>

struct label_box {
	double x0, y0, x1, y1;
	int soft; /* may be covered when there is no other room nearby */
};

enum { LABELS_BOXES = 4096 };

struct labels {
	struct label_box field; /* texts stay inside */
	struct label_box boxes[LABELS_BOXES];
	size_t count;
};

void labels_init(struct labels *labels, double x0, double y0, double x1, double y1);

/* What is drawn there already; ignored when there is no more room for boxes. */
void labels_take(struct labels *labels, double x0, double y0, double x1, double y1);

/* A line, which texts cover only when there is no other room nearby. */
void labels_take_line(struct labels *labels, double x0, double y0, double x1, double y1);

/*
 * Place a text of that size near a point that is `radius` large, and take its box. 0: there is no
 * room within reach.
 */
int labels_place(struct labels *labels, double x, double y, double radius, double width,
	double height, struct label_box *out);

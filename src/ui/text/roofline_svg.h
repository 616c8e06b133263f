/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that draw a roofline share. Coordinates are pixels of the picture. */
#pragma once

#include <stdio.h>
#include "ui/text/labels.h"
#include "ui/text/roofline_view.h"

struct picture {
	const struct roofline_view *view;
	FILE *out;
	const struct ceilings *roofs;	     /* the machine's or a device's */
	uint32_t threads;		     /* whose ceilings are drawn; 0: none */
	double low_x, high_x, low_y, high_y; /* in FLOP/byte and GFLOP/s */
	double paragraph_y;		     /* where the next line below the axes goes */
	struct labels labels;
};

double svg_x(const struct picture *p, double intensity);
double svg_y(const struct picture *p, double rate);

double svg_text_width(const char *s);

/* In the order in which they are drawn. */
void svg_scale(struct picture *p);
void svg_open(struct picture *p);
void svg_axes(struct picture *p);
void svg_roofs(struct picture *p);
void svg_legend(struct picture *p);
void svg_paragraph(struct picture *p, const char *text);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of `brick top` as a whole: drawn on a canvas, changed by keys and newer pictures.
 * Knows no terminal: the screen, --dump and tests feed it. One thread.
 */
#pragma once

#include "ui/top/top_view.h"

/* The caller's task after a key. */
enum top_action { TOP_STAY, TOP_QUIT, TOP_RESET };

extern const struct view_class *const top_views[TOP_VIEWS];

void top_init(struct top *top, bool utf8);
void top_fini(struct top *top);

/* The phase to look at in a newer run: the chosen one, or one that it has. */
int top_phase_of(struct top *top, const struct run *run);

/* Show a newer picture; the old one is destroyed. */
void top_picture_set(struct top *top, struct picture *picture);

/* Compares pictures with this one, of a whole recording; takes it and its name, a safe text. */
void top_baseline_set(struct top *top, struct picture *baseline, char *name);

/* A view by its name, or by a beginning that only one has; -1: there is none. */
int top_view_find(const char *name);

void top_draw(struct top *top, struct canvas *canvas);
enum top_action top_key(struct top *top, int key);

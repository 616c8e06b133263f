/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of `brick top`: drawn on a canvas, changed by keys and newer pictures. Knows no
 * terminal: screen.h, --dump and tests feed it. One thread.
 */
#pragma once

#include "ui/top/top_view.h"

/* The caller's task after a key. */
enum top_action { TOP_STAY, TOP_QUIT, TOP_RESET };

/* The views in the order of their tabs; a new view raises TOP_VIEWS. */
extern const struct view_class *const top_views[TOP_VIEWS];

void top_init(struct top *top, bool utf8);
void top_fini(struct top *top);

/* The phase to show of a newer run: the user's choice, or a phase that the run has. */
int top_phase_of(struct top *top, const struct run *run);

/* Takes a newer picture, and destroys the old one. */
void top_picture_set(struct top *top, struct picture *picture);

/*
 * Takes the picture of a whole recording, with which others are compared, and its name, a safe text
 * from malloc().
 */
void top_baseline_set(struct top *top, struct picture *baseline, char *name);

/* Number of a view by its name, or by a beginning that only one name has; -1: none. */
int top_view_find(const char *name);

void top_draw(struct top *top, struct canvas *canvas);
enum top_action top_key(struct top *top, int key);

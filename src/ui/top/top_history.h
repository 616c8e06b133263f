/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last minute of each brick, one value per moment, and how fast tokens came. A value is the
 * difference of two readings of the exact statistics; these know no phases, so for one phase it is
 * the brick's part of the wall time of the samples. Bricks are known by name, so that a picture may
 * number them anew. One thread.
 */
#pragma once

#include "base/array.h"
#include "ui/top/picture.h"

enum { HISTORY_SLOTS = 60 };

struct history_brick {
	char *name;
	uint64_t self_ns; /* at the last reading */
	/* ns of the brick per s of time, oldest first; negative: not known */
	double values[HISTORY_SLOTS];
};

struct history_reading {
	uint64_t ns; /* when */
	struct picture_steps steps[STEP_PHASES];
	uint64_t executions;
};

struct history {
	ARRAY(struct history_brick) bricks;
	struct history_reading readings[HISTORY_SLOTS]; /* the last one is the newest */
	size_t reading_count;
	uint64_t slot_ns; /* when the newest value begins */
};

void history_add(struct history *history, const struct picture *picture);

void history_clear(struct history *history);
/* Forget the values of bricks: they are of another phase. */
void history_clear_bricks(struct history *history);

/* NULL: not known. */
const struct history_brick *history_find(const struct history *history, const char *name);

/* Over the last seconds, negative when not known: tokens/s of a phase, samples/s. */
double history_tokens_per_s(const struct history *history, int phase);
double history_samples_per_s(const struct history *history);

enum { SPARK_BYTES = 3 * HISTORY_SLOTS + 1 };

/*
 * A brick's values as one line of characters, each as high as its share of the highest. width: at
 * most HISTORY_SLOTS; several values share a character then. NULL: "".
 */
void spark_of(char out[SPARK_BYTES], const struct history_brick *brick, int width, bool utf8);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last minute of each brick of a live process, a value each second, and how fast tokens came. A
 * value is the difference of two readings of the exact statistics. These know no phases: when the
 * user looks at one phase, a value is the brick's share of the wall time of the samples. Bricks are
 * known by name, because a newer picture may number them anew. All zeros is empty. One thread.
 */
#pragma once

#include "base/array.h"
#include "ui/top/picture.h"

enum { HISTORY_SLOTS = 60 }; /* a minute */

struct history_brick {
	char *name;
	uint64_t self_ns; /* exact, at the newest value */
	/* ns of the brick per s of time, oldest first; negative: not known */
	double values[HISTORY_SLOTS];
};

struct history_reading {
	uint64_t ns; /* CLOCK_MONOTONIC */
	struct picture_steps steps[STEP_PHASES];
	uint64_t executions;
};

struct history {
	ARRAY(struct history_brick) bricks;
	struct history_reading readings[HISTORY_SLOTS]; /* the last one is the newest */
	size_t reading_count;
	uint64_t slot_ns; /* CLOCK_MONOTONIC of the newest value; 0: there is none */
};

/* Adds a reading, and a value of each brick if the newest value is a second old. */
void history_add(struct history *history, const struct picture *picture);

void history_clear(struct history *history);
/* Forget the values of bricks: they are of another phase. */
void history_clear_bricks(struct history *history);

/* NULL: no such brick. Valid until the history changes. */
const struct history_brick *history_find(const struct history *history, const char *name);

/* Rates over the last two seconds, or from the reading before; negative: not known. */
double history_tokens_per_s(const struct history *history, int phase);
double history_samples_per_s(const struct history *history);

enum { SPARK_BYTES = 3 * HISTORY_SLOTS + 1 };

/*
 * A brick's values as one line of characters, each as high as its share of the highest. Fewer than
 * HISTORY_SLOTS columns: a character is the mean of several values. brick NULL: "".
 */
void spark_of(char out[SPARK_BYTES], const struct history_brick *brick, int width, bool utf8);

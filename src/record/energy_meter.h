/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads counters of energy while a program is recorded. A thread of its own reads them, because a
 * sensor may take milliseconds to answer; the functions below are for the recorder's thread alone.
 */
#pragma once

#include "record/encoder.h"

struct energy_meter;

/*
 * Begins to read. 0, or why nothing is read: as energy_sources_open(). refused: counters that are
 * not read, as the user may not.
 */
int energy_meter_start(
	struct energy_meter **out, const char *root, char refused[SINK_ENERGY_REFUSED]);

/*
 * The same for NVIDIA's GPUs, once a program uses CUDA: a meter of its own, as their driver may
 * never answer. 0 or -errno.
 */
int energy_meter_start_gpus(struct energy_meter **out);

/* Hands readings on. is_off: nothing is recorded now, and readings are dropped. */
void energy_meter_turn(struct energy_meter *meter, struct encoder *e, bool is_off);

/*
 * Reads once more, which takes a second at most, and writes all that is left. An error stays in the
 * writer.
 */
void energy_meter_finish(struct energy_meter *meter, struct trace_writer *w);

/* NULL is legal. */
void energy_meter_destroy(struct energy_meter *meter);

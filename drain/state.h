/* SPDX-License-Identifier: Apache-2.0 */
/* A session's consumer, of the parts whose files say what they own. */
#pragma once

#include "drain/digest.h"
#include "drain/histogram.h"
#include "drain/map.h"
#include "drain/notes.h"
#include "drain/off_cpu.h"
#include "drain/schedule.h"
#include "drain/tables.h"

struct drain {
	struct drain_map map;
	struct drain_schedule schedule; /* consuming */
	/* emitting */
	int process; /* in the sink; -1: not emitted yet */
	struct drain_counts counts;
	struct drain_tables tables;
	uint32_t code; /* bytes of the session's code that were emitted */
	struct drain_digests digests;
	struct drain_notes notes;
	struct drain_off_cpu off_cpu;
	struct drain_histograms histograms;
	struct brick_lane scratch; /* a lane as the sink gets it */
};

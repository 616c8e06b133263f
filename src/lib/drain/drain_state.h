/* SPDX-License-Identifier: Apache-2.0 */
/* A session's consumer, of the parts whose files say what they own. */
#pragma once

#include "lib/drain/drain_digest.h"
#include "lib/drain/drain_histogram.h"
#include "lib/drain/map_session.h"
#include "lib/drain/drain_notes.h"
#include "lib/drain/off_cpu.h"
#include "lib/drain/drain_priority.h"
#include "lib/drain/drain_tables.h"

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

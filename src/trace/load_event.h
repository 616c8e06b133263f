/* SPDX-License-Identifier: Apache-2.0 */
/* A track event of a lane, and what it says of a sample beyond its site. */
#pragma once

#include "lib/writer/format.h"
#include "trace/load_state.h"

enum { LOAD_MAX_FLOWS = 32 }; /* of one event; further ones are not looked at */

/* A track event, taken apart. */
struct load_event {
	uint64_t type, name, category, track_uuid;
	double counter;
	uint32_t present; /* bit per enum format_annotation */
	int described;	  /* the site's value is of load.sites, not of the sequence's */
	uint32_t flow_count;
	struct pb_reader after; /* the annotation itself, when it is present */
	uint64_t value[32];
	uint64_t flows[LOAD_MAX_FLOWS];
};

#define LOAD_HAS(e, name) ((e)->present >> FORMAT_A_##name & 1)

/*
 * A track event of a lane, at s->now. 0: it could not be used. *slice: what it came
 * to; the result is 2 when every packet with the same event comes to the same.
 */
int load_lane_event(
	struct load *l, struct load_sequence *s, struct pb_reader event, struct build_slice *slice);

#define LOAD_ARGS_MASK                                                                       \
	(1u << FORMAT_A_KERNEL | 1u << FORMAT_A_BRICK | 1u << FORMAT_A_CALL |                \
		1u << FORMAT_A_LAUNCHED | 1u << FORMAT_A_QUEUED | 1u << FORMAT_A_SUBMITTED | \
		1u << FORMAT_A_AFTER | 1u << FORMAT_A_ROW | 1u << FORMAT_A_COLUMN |          \
		1u << FORMAT_A_LEVEL)

static inline int load_has_args(const struct load_event *e)
{
	return e->flow_count || e->present & LOAD_ARGS_MASK;
}

/* load_command.c */
void load_args(
	struct load *l, struct load_sequence *s, uint32_t sample, const struct load_event *e);

/* SPDX-License-Identifier: Apache-2.0 */
/* Track events of lanes become samples and points of the run. One thread at a time. */
#pragma once

#include "trace/load_ids.h"

enum load_event_result {
	LOAD_EVENT_BAD, /* it could not be used */
	LOAD_EVENT_USED,
	LOAD_EVENT_PLAIN, /* every packet with the same event comes to the same *slice */
};

/* A track event of a lane, at s->lane->now. */
enum load_event_result load_lane_event(struct load_ids *l, struct load_sequence *s,
	struct pb_reader event, struct build_slice *slice);

/* An event at s->off_cpu.now. */
bool load_off_cpu_event(struct load_sequence *s, struct pb_reader event);

/* SPDX-License-Identifier: Apache-2.0 */
/* Track events of lanes become samples and points of the run. One thread at a time. */
#pragma once

#include "trace/load_ids.h"

enum load_event_result {
	LOAD_EVENT_BAD, /* it could not be used */
	LOAD_EVENT_USED,
	LOAD_EVENT_PLAIN, /* used, and an equal event always gives this *slice: it may be remembered
			   */
};

/* Adds a track event of a lane, at s->lane->now, to the run. */
enum load_event_result load_lane_event(struct load_ids *l, struct load_sequence *s,
	struct pb_reader event, struct build_slice *slice);

/* Adds an event of a sequence of times off the CPU, at s->off_cpu.now. False: it is not usable. */
bool load_off_cpu_event(struct load_sequence *s, struct pb_reader event);

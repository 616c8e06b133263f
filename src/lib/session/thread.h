/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's place to record into. Who gives it one is src/lib/session/lane_thread.h. */
#pragma once

#include <stdint.h>
#include "brick/probe.h"

/* What no session's serial number is: a thread without a lane is in none, and none is also when
 * brick__on is 0. */
#define BRICK__NO_SERIAL UINT32_MAX

/* The calling thread's place to record into; serial is BRICK__NO_SERIAL while it has no lane. */
struct brick__thread {
	struct brick_lane *lane;
	struct brick_record *ring;
	uint64_t mask;	 /* of the ring: capacity - 1 */
	uint32_t serial; /* of the session that the lane belongs to; the lane stays mapped after it
			  */
	uint32_t tag;	 /* serial << 8: the upper bits of the spans that are begun here */
	uint32_t index;	 /* of the lane in its session */
	uint32_t refused, refused_by; /* how often it got no lane, from which session */
};

extern __thread struct brick__thread brick__thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* It has no lane any more. */
void brick__thread_forget(struct brick__thread *self);

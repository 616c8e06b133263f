/* SPDX-License-Identifier: Apache-2.0 */
/* Times off a CPU, from the recorder of them to the sessions that they belong to. One thread. */
#pragma once

#include "record/encoder.h"
#include "drain/off_cpu_intervals.h"
#include "record/watched.h"

/*
 * Read what has ended by now and hand it to the encoder, session by session; what processes without
 * a session did goes. How many could not be handed over, for lack of memory.
 */
uint64_t switches_take(
	struct watched *sessions, struct off_cpu_recorder *r, struct encoder *e, uint64_t now_ns);

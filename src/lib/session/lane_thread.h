/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of threads: a thread gets one at its first brick, and leaves it when it ends. */
#pragma once

#include "brick/abi/lane.h"
#include "lib/session/thread.h"

/* A lane for the calling thread: its thread's first brick, or the first in a new session. NULL:
 * off. */
struct brick_lane *brick__thread_attach(void);

/* An end that belongs to nothing that is open here: counted, by the session if there is no lane. */
void brick__end_unmatched(struct brick__thread *self);

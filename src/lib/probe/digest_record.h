/* SPDX-License-Identifier: Apache-2.0 */
/* Recording digests, for sessions, steps and forks. */
#pragma once

#include <stdint.h>
#include "brick/abi/session.h"
#include "brick/probe.h"

/* Sends digests to the session with this header from now on; NULL: nowhere. */
void brick__digests_use(struct brick_session_header *header);

/* A step of `tokens` tokens begins: it is the key of the digests that follow. */
void brick__digests_step(enum brick_phase phase, uint64_t tokens);

/* Hold digests still over a fork; abandon: in the child, while they are locked. */
void brick__digests_lock(void);
void brick__digests_unlock(void);
void brick__digests_abandon(void);

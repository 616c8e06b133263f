/* SPDX-License-Identifier: Apache-2.0 */
/* Recording digests, for sessions, steps and forks. */
#pragma once

#include <stdint.h>
#include "brick/abi/session.h"
#include "brick/probe.h"

/* Digests go to the session with this header; NULL: nowhere. */
void brick__digests_use(struct brick_session_header *header);
void brick__digests_step(enum brick_phase phase, uint64_t tokens);

/* Over a fork. */
void brick__digests_lock(void);
void brick__digests_unlock(void);
void brick__digests_abandon(void);

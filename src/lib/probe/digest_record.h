/* SPDX-License-Identifier: Apache-2.0 */
/* Where digests go. */
#pragma once

#include <stdint.h>
#include "brick/abi/session.h"
#include "brick/probe.h"

/* They go to the session with this header, NULL: nowhere. And: a step begins here. */
void brick__digests_use(struct brick_session_header *header);
void brick__digests_step(enum brick_phase phase, uint64_t tokens);

/* Over a fork. */
void brick__digests_lock(void);
void brick__digests_unlock(void);
void brick__digests_abandon(void);

/* SPDX-License-Identifier: Apache-2.0 */
/* Bricks, categories and sites, for the rest of the library. */
#pragma once

#include "lib/session_map.h"

/* Hold the registry still over a fork. */
void brick__registry_lock(void);
void brick__registry_unlock(void);

/* Entries for tables of a new session (under the session lock), and of what is registered later. */
void brick__registry_publish(struct brick__session *session);

/* A registered site by index; NULL if there is none. */
BRICK_API const struct brick_session_site *brick__site(uint32_t index);

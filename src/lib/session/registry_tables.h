/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of bricks, categories and sites, for the rest of the library. */
#pragma once

#include "lib/session/session_map.h"

enum { BRICK__SITES_PER_CHUNK = 1024 };

/* Take and give the registry's lock, to hold it still over a fork. Lock order: after the session's.
 */
void brick__registry_lock(void);
void brick__registry_unlock(void);

/* Fills the tables of a new session, under the session lock; later registrations extend them. */
void brick__registry_publish(struct brick_session *session);

/* As brick_register(), for all sessions, whichever the thread uses: for ids that the library keeps.
 */
int brick__register(const char *name, uint32_t category);

/* Call it when the session with this owner number is destroyed: its bricks become nobody's. */
void brick__registry_leave(uint32_t owner);

/* Returns a registered site by index; NULL: there is none. Valid for ever. Any thread, no lock. */
BRICK_API const struct brick_session_site *brick__site(uint32_t index);

/*
 * What an execution of a site adds to the statistics, kept apart from the site's texts so that
 * fewer cache lines are read: engines have hundreds of sites for each shape of a graph, and between
 * two graphs these leave the caches. 32 bytes.
 */
struct brick__site_brief {
	uint64_t elements, bytes, flops;
	uint16_t brick;
	int16_t layer;
	uint32_t reserved;
};

extern struct brick__site_brief *brick__site_briefs[BRICK_MAX_SITES / BRICK__SITES_PER_CHUNK]
	__attribute__((visibility("hidden")));
/* By brick: 1 if the counter adds tokens to a step, -1 if it takes some (step_counters.h); else 0.
 */
extern int8_t brick__tokens_sign[BRICK_MAX_BRICKS] __attribute__((visibility("hidden")));
extern uint32_t brick__site_total __attribute__((visibility("hidden")));

/* Returns the brief of a site; NULL: there is none. Valid for ever. Any thread, no lock. */
static inline const struct brick__site_brief *brick__site_brief(uint32_t index)
{
	if (index == 0 || index >= __atomic_load_n(&brick__site_total, __ATOMIC_ACQUIRE))
		return NULL;
	return &brick__site_briefs[index / BRICK__SITES_PER_CHUNK][index % BRICK__SITES_PER_CHUNK];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of bricks, categories and sites, for the rest of the library. */
#pragma once

#include "lib/session/session_map.h"

enum { BRICK__SITES_PER_CHUNK = 1024 };

/* Hold the registry still over a fork. */
void brick__registry_lock(void);
void brick__registry_unlock(void);

/* Fills the tables of a new session, under the session lock; later registrations extend them. */
void brick__registry_publish(struct brick_session *session);

/* As brick_register(), for all sessions whatever the thread uses: an id that the library keeps. */
int brick__register(const char *name, uint32_t category);

/* The session with this owner's number is gone, and its bricks are nobody's. */
void brick__registry_leave(uint32_t owner);

/* A registered site by index; NULL if there is none. */
BRICK_API const struct brick_session_site *brick__site(uint32_t index);

/*
 * What an execution of a site adds to the statistics, kept apart from its texts. Engines have
 * hundreds of sites for each shape of a graph, one after the other, and between two graphs they
 * leave the caches.
 */
struct brick__site_brief {
	uint64_t elements, bytes, flops;
	uint16_t brick;
	int16_t layer;
	uint32_t reserved;
};

extern struct brick__site_brief *brick__site_briefs[BRICK_MAX_SITES / BRICK__SITES_PER_CHUNK]
	__attribute__((visibility("hidden")));
extern uint32_t brick__site_total __attribute__((visibility("hidden")));

/* As brick__site(). */
static inline const struct brick__site_brief *brick__site_brief(uint32_t index)
{
	if (index == 0 || index >= __atomic_load_n(&brick__site_total, __ATOMIC_ACQUIRE))
		return NULL;
	return &brick__site_briefs[index / BRICK__SITES_PER_CHUNK][index % BRICK__SITES_PER_CHUNK];
}

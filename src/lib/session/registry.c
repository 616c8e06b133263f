/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks, categories and sites of the process: append-only tables, each entry complete before the
 * count that covers it, so that readers need no lock. Running sessions hold copies, which every
 * registration extends. A brick that was registered in a session which the program made is that
 * session's: another one does not find it, and makes its own of the same name. Ids are of the
 * process all the same, so that one that was kept is never another brick's.
 */
#include "brick/registry.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "base/lock.h"
#include "base/scope.h"
#include "base/sized.h"
#include "brick/abi/step_counters.h"
#include "brick/error.h"
#include "lib/session/registry_tables.h"
#include "lib/sys/usdt.h"

enum { NOBODY = UINT32_MAX }; /* as an owner: its session is gone, and another may take the brick */

/* A chunk of the table of bricks. */
struct bricks {
	struct brick_session_brick entries[BRICK_FIRST_ROWS];
	uint32_t owners[BRICK_FIRST_ROWS]; /* struct brick_session.owner; 0: all sessions find it */
};

static struct bricks first_bricks = {.entries = {
#define BRICK_X(id, identifier, name, category, aliases) {name, BRICK_CATEGORY_##category, {0}},
					     BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
				     }};
static struct bricks *brick_chunks[BRICK_MAX_BRICKS / BRICK_FIRST_ROWS] = {&first_bricks};

/*
 * The ids of bricks that were registered, by the hash of their names: those of one name in their
 * order. Nothing is ever taken out. 0: free.
 */
enum { PLACES = 2 * BRICK_MAX_BRICKS };
static uint16_t registry_places[PLACES];

static const char *const alias_lists[BRICK_FIRST_DYNAMIC] = {
#define BRICK_X(id, identifier, name, category, aliases) aliases,
	BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
};

static struct brick_session_category registry_categories[BRICK_MAX_CATEGORIES] = {
	{"Norm", {0}},
	{"Attention", {0}},
	{"FFN", {0}},
	{"Other", {0}},
	{"Sparse", {0}},
	{"FFT", {0}},
	{"Solver", {0}},
	{"Engine", {0}},
	{"Wait", {0}},
	{"Step", {0}},
	{"Tile", {0}},
};

static struct brick_session_site *site_chunks[BRICK_MAX_SITES / BRICK__SITES_PER_CHUNK];
struct brick__site_brief *brick__site_briefs[BRICK_MAX_SITES / BRICK__SITES_PER_CHUNK];

int8_t brick__tokens_sign[BRICK_MAX_BRICKS];

static uint32_t brick_total = BRICK_FIRST_DYNAMIC;
static uint32_t category_total = BRICK_CATEGORY_FIRST_DYNAMIC;
uint32_t brick__site_total = 1; /* index 0 means "no site" */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

void brick__registry_lock(void)
{
	lock_take(&registry_lock);
}

void brick__registry_unlock(void)
{
	lock_give(&registry_lock);
}

static uint32_t registry_count_of(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

static void publish_count(uint32_t *count, uint32_t value)
{
	__atomic_store_n(count, value, __ATOMIC_RELEASE);
}

static bool name_is_valid(const char *name)
{
	size_t n = name ? strnlen(name, sizeof(first_bricks.entries->name)) : 0;
	return n > 0 && n < sizeof(first_bricks.entries->name);
}

static bool is_alias(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (list && *list) {
		size_t item = strcspn(list, ",");
		if (item == n && !memcmp(list, name, n))
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

static struct brick_session_brick *registry_brick_at(uint32_t brick)
{
	return &brick_chunks[brick / BRICK_FIRST_ROWS]->entries[brick % BRICK_FIRST_ROWS];
}

static uint32_t *owner_at(uint32_t brick)
{
	return &brick_chunks[brick / BRICK_FIRST_ROWS]->owners[brick % BRICK_FIRST_ROWS];
}

static uint32_t registry_owner_of(uint32_t brick)
{
	return __atomic_load_n(owner_at(brick), __ATOMIC_RELAXED);
}

static void set_owner(uint32_t brick, uint32_t owner)
{
	__atomic_store_n(owner_at(brick), owner, __ATOMIC_RELAXED);
}

static uint32_t registry_hash_of(const char *name)
{
	uint64_t hash = fnv1a_text(name);

	return (uint32_t)(hash ^ hash >> 32);
}

/* The place of the next brick with that name, from *at on; its id, or 0: it has no more. */
static uint32_t next_of_name(const char *name, uint32_t *at)
{
	for (;; (*at)++) {
		uint32_t id = __atomic_load_n(&registry_places[*at % PLACES], __ATOMIC_ACQUIRE);
		if (!id || !strcmp(registry_brick_at(id)->name, name))
			return id;
	}
}

static int registry_find_brick(const char *name, uint32_t owner)
{
	for (uint32_t i = 0; i < BRICK_FIRST_DYNAMIC; i++)
		if (!strcmp(registry_brick_at(i)->name, name))
			return (int)i;
	for (uint32_t at = registry_hash_of(name), id; (id = next_of_name(name, &at)); at++)
		if (!registry_owner_of(id) || registry_owner_of(id) == owner)
			return (int)id;
	for (uint32_t i = 0; i < BRICK_FIRST_DYNAMIC; i++)
		if (is_alias(alias_lists[i], name))
			return (int)i;
	return -ENOENT;
}

static void publish_categories(struct brick_session *s, uint32_t from)
{
	struct brick_session_category *to = brick__at(s, s->header->category_offset);

	memcpy(to + from, registry_categories + from, (category_total - from) * sizeof(*to));
	publish_count(&s->header->category_count, category_total);
}

/*
 * Sites are many and large, and bricks may be. Their part of the file gets its memory as they come,
 * by whole pages, which saves most registrations the system call.
 */
static int registry_reserve(
	struct brick_session *s, uint64_t offset, size_t entry, uint32_t from, uint32_t to)
{
	uint32_t per_page = (uint32_t)(4096 / entry);
	uint64_t first = (from + per_page - 1) / per_page, end = (to + per_page - 1) / per_page;

	if (first >= end)
		return 0;
	return brick__shared_reserve(&s->file, offset + first * 4096, (end - first) * 4096);
}

/* Copies the bricks that the session lacks. Its first BRICK_FIRST_ROWS entries have memory. */
static int publish_bricks(struct brick_session *s)
{
	struct brick_session_brick *to = brick__at(s, s->header->brick_offset);
	uint32_t from = s->header->brick_count;
	int error =
		brick_total <= BRICK_FIRST_ROWS
			? 0
			: registry_reserve(s, s->header->brick_offset, sizeof(*to),
				  from < BRICK_FIRST_ROWS ? BRICK_FIRST_ROWS : from, brick_total);

	if (error)
		return error;
	brick__session_histograms(s, brick_total);
	for (uint32_t i = from; i < brick_total; i++) {
		to[i] = *registry_brick_at(i);
		USDT_2(name, i, registry_brick_at(i)->name);
	}
	publish_count(&s->header->brick_count, brick_total);
	return 0;
}

static int publish_sites(struct brick_session *s, uint32_t from)
{
	int error = registry_reserve(s, s->header->site_offset, sizeof(struct brick_session_site),
		from == 1 ? 0 : from, brick__site_total);

	if (error)
		return error;
	struct brick_session_site *to = brick__at(s, s->header->site_offset);
	for (uint32_t i = from; i < brick__site_total; i++)
		to[i] = site_chunks[i / BRICK__SITES_PER_CHUNK][i % BRICK__SITES_PER_CHUNK];
	publish_count(&s->header->site_count, brick__site_total);
	return 0;
}

void brick__registry_publish(struct brick_session *s)
{
	HOLD_UNCANCELLED(&registry_lock);
	publish_categories(s, 0);
	if (publish_bricks(s))
		s->header->ledger.table_full++;
	publish_count(&s->header->site_count, 1);
	if (brick__site_total > 1)
		publish_sites(s, 1);
}

/* Counts an entry that the calling thread's session did not get. */
static void count_full(void)
{
	const struct brick_session *s = brick__session_here();

	if (s->header)
		s->header->ledger.table_full++;
}

int brick_category_register(const char *name)
{
	int id = BRICK_EFULL;

	if (!name_is_valid(name))
		return -EINVAL;
	BETWEEN(brick__session_lock, brick__session_unlock);
	lock_take(&registry_lock);
	for (uint32_t i = 0; i < category_total && id < 0; i++)
		if (!strcmp(registry_categories[i].name, name))
			id = (int)i;
	if (id < 0 && category_total < BRICK_MAX_CATEGORIES) {
		id = (int)category_total;
		memcpy(registry_categories[id].name, name, strlen(name) + 1);
		publish_count(&category_total, category_total + 1);
		for (struct brick_session *s = &brick__session; s; s = s->next)
			if (s->header)
				publish_categories(s, (uint32_t)id);
	}
	lock_give(&registry_lock);
	return id;
}

/* Under both locks: returns a brick of that name and category that is nobody's; BRICK_EFULL: none.
 */
static int registry_find_left(const char *name, uint32_t category)
{
	for (uint32_t at = registry_hash_of(name), id; (id = next_of_name(name, &at)); at++)
		if (registry_owner_of(id) == NOBODY && registry_brick_at(id)->category == category)
			return (int)id;
	return BRICK_EFULL;
}

static int8_t tokens_sign(const char *name)
{
	static const char *const fewer[] = {
		BRICK_REFUSED_NAME, BRICK_ABORTED_NAME, BRICK_REFUTED_NAME};

	for (size_t i = 0; i < sizeof(fewer) / sizeof(*fewer); i++)
		if (!strcmp(name, fewer[i]))
			return -1;
	return !strcmp(name, BRICK_ADDED_NAME);
}

/* Under both locks: a brick with the next id, which must be free. */
static int registry_add_brick(const char *name, uint32_t category, uint32_t owner)
{
	struct bricks **chunk = &brick_chunks[brick_total / BRICK_FIRST_ROWS];
	struct brick_session *here = brick__session_here();
	uint32_t id = brick_total, at = registry_hash_of(name);

	if (!*chunk)
		*chunk = calloc(1, sizeof(**chunk));
	if (!*chunk)
		return -ENOMEM;
	registry_brick_at(id)->category = (uint16_t)category;
	strcpy(registry_brick_at(id)->name, name);
	brick__tokens_sign[id] = tokens_sign(name);
	set_owner(id, owner);
	publish_count(&brick_total, id + 1);
	int error = here->header ? publish_bricks(here) : 0;
	if (error) {
		publish_count(&brick_total, id);
		return error;
	}
	for (struct brick_session *s = &brick__session; s; s = s->next)
		if (s != here && s->header && publish_bricks(s))
			s->header->ledger.table_full++;
	while (registry_places[at % PLACES])
		at++;
	__atomic_store_n(&registry_places[at % PLACES], (uint16_t)id, __ATOMIC_RELEASE);
	return (int)id;
}

/* Under both locks. */
static int registry_find_or_add(const char *name, uint32_t category, uint32_t owner)
{
	int id = registry_find_brick(name, owner);

	if (id >= 0)
		return id;
	id = registry_find_left(name, category);
	if (id >= 0)
		set_owner((uint32_t)id, owner);
	else if (brick_total < BRICK_MAX_BRICKS)
		id = registry_add_brick(name, category, owner);
	if (id < 0)
		count_full();
	return id;
}

static int register_for(const char *name, uint32_t category, uint32_t owner)
{
	if (!name_is_valid(name) || category >= brick_category_count())
		return -EINVAL;
	BETWEEN(brick__session_lock, brick__session_unlock);
	lock_take(&registry_lock);
	int id = registry_find_or_add(name, category, owner);
	lock_give(&registry_lock);
	return id;
}

int brick_register(const char *name, uint32_t category)
{
	return register_for(name, category, brick__session_here()->owner);
}

int brick__register(const char *name, uint32_t category)
{
	return register_for(name, category, 0);
}

void brick__registry_leave(uint32_t owner)
{
	HOLD_UNCANCELLED(&registry_lock);
	for (uint32_t i = BRICK_FIRST_DYNAMIC; i < brick_total; i++)
		if (registry_owner_of(i) == owner)
			set_owner(i, NOBODY);
}

static void registry_copy_text(char *to, size_t bytes, const char *from)
{
	size_t n = from ? strnlen(from, bytes - 1) : 0;

	memcpy(to, from ? from : "", n);
	memset(to + n, 0, bytes - n);
}

/* Under the lock: is there a place for the next site? */
static bool has_next_site(void)
{
	uint32_t chunk = brick__site_total / BRICK__SITES_PER_CHUNK;
	struct brick_session_site **sites = &site_chunks[chunk];
	struct brick__site_brief **briefs = &brick__site_briefs[chunk];

	if (!*sites)
		*sites = calloc(BRICK__SITES_PER_CHUNK, sizeof(**sites));
	if (!*briefs)
		*briefs = calloc(BRICK__SITES_PER_CHUNK, sizeof(**briefs));
	return *sites && *briefs;
}

static int registry_add_site(const struct brick_site *site)
{
	if (brick__site_total >= BRICK_MAX_SITES)
		return BRICK_EFULL;
	if (!has_next_site())
		return -ENOMEM;
	uint32_t chunk = brick__site_total / BRICK__SITES_PER_CHUNK,
		 place = brick__site_total % BRICK__SITES_PER_CHUNK;
	struct brick_session_site *entry = &site_chunks[chunk][place];
	entry->brick = (uint16_t)site->brick;
	entry->layer = (int16_t)site->layer;
	entry->flags = site->flags;
	entry->elements = site->elements;
	entry->bytes = site->bytes;
	entry->flops = site->flops;
	registry_copy_text(entry->operation, sizeof(entry->operation), site->operation);
	registry_copy_text(entry->label, sizeof(entry->label), site->label);
	brick__site_briefs[chunk][place] = (struct brick__site_brief){site->elements, site->bytes,
		site->flops, (uint16_t)site->brick, (int16_t)site->layer, 0};
	publish_count(&brick__site_total, brick__site_total + 1);
	struct brick_session *here = brick__session_here();
	int error = here->header ? publish_sites(here, here->header->site_count) : 0;
	if (error) {
		publish_count(&brick__site_total, brick__site_total - 1);
		return error;
	}
	for (struct brick_session *s = &brick__session; s; s = s->next)
		if (s != here && s->header && publish_sites(s, s->header->site_count))
			s->header->ledger.table_full++;
	return (int)brick__site_total - 1;
}

static int check_site(const struct brick_site *site)
{
	const uint32_t flags = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES |
			       BRICK_SITE_HAS_FLOPS | BRICK_SITE_UNKNOWN_OPERATION |
			       BRICK_SITE_PART | BRICK_SITE_AT_MOST;

	if (site->brick >= registry_count_of(&brick_total) || site->layer < -1 ||
		site->layer > INT16_MAX)
		return -EINVAL;
	return site->reserved || site->flags & ~flags ? -EINVAL : 0;
}

int brick_site_register(const struct brick_site *given)
{
	struct brick_site site = BRICK_SITE_INIT;
	KEEP_ERRNO();
	int error = given ? sized_read(&site, sizeof(site), given) : -EINVAL;

	if (!error)
		error = check_site(&site);
	if (error)
		return error;
	BETWEEN(brick__session_lock, brick__session_unlock);
	lock_take(&registry_lock);
	int index = registry_add_site(&site);
	if (index < 0)
		count_full();
	lock_give(&registry_lock);
	return index;
}

const struct brick_session_site *brick__site(uint32_t index)
{
	if (index == 0 || index >= registry_count_of(&brick__site_total))
		return NULL;
	return &site_chunks[index / BRICK__SITES_PER_CHUNK][index % BRICK__SITES_PER_CHUNK];
}

int brick_lookup(const char *name)
{
	return name ? registry_find_brick(name, brick__session_here()->owner) : -ENOENT;
}

const char *brick_name(uint32_t brick)
{
	return brick < registry_count_of(&brick_total) ? registry_brick_at(brick)->name : NULL;
}

const char *brick_category_name(uint32_t category)
{
	return category < registry_count_of(&category_total) ? registry_categories[category].name
							     : NULL;
}

uint32_t brick_category_of(uint32_t brick)
{
	return brick < registry_count_of(&brick_total) ? registry_brick_at(brick)->category
						       : BRICK_CATEGORY_OTHER;
}

uint32_t brick_count(void)
{
	return registry_count_of(&brick_total);
}

uint32_t brick_category_count(void)
{
	return registry_count_of(&category_total);
}

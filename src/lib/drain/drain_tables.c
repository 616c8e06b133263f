/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sink gets of the tables can neither change under it nor point outside: texts are ended and
 * valid UTF-8, references are in range. Only new entries are copied.
 */
#include "lib/drain/drain_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "brick/registry.h"
#include "lib/drain/clean.h"

static void copy_categories(struct drain_tables *t, struct drain_map *m, uint32_t now)
{
	const struct brick_session_category *from = drain_map_at(m, m->header.category_offset);

	for (uint32_t i = t->now.category_count; i < now; i++) {
		t->categories[i] = from[i];
		drain_clean_text(t->categories[i].name, sizeof t->categories[i].name);
	}
	t->now.category_count = now;
}

static void copy_bricks(struct drain_tables *t, struct drain_map *m, uint32_t now)
{
	const struct brick_session_brick *from = drain_map_at(m, m->header.brick_offset);

	for (uint32_t i = t->now.brick_count; i < now; i++) {
		struct brick_session_brick *b = &t->bricks[i];
		*b = from[i];
		drain_clean_text(b->name, sizeof b->name);
		if (b->category >= t->now.category_count) {
			b->category = BRICK_CATEGORY_OTHER;
			m->bad_entries++;
		}
	}
	t->now.brick_count = now;
}

/*
 * Private copies of entries that grow, up to `now`; the first one is "none" and stays all zero.
 * NULL: nothing is new, or there is no memory.
 */
static void *copy_entries(struct drain_map *m, uint64_t offset, void *entries, size_t *capacity,
	uint32_t before, uint32_t now, size_t bytes)
{
	const char *from = drain_map_at(m, offset);
	char *to = now > before ? array_grow(entries, capacity, now, bytes) : NULL;

	if (to)
		memcpy(to + before * bytes, from + before * bytes, (now - before) * bytes);
	else if (now > before)
		drain_map_fault_set(m, "out of memory for its tables");
	if (to && !before)
		memset(to, 0, bytes);
	return to;
}

static void copy_sites(struct drain_tables *t, struct drain_map *m, uint32_t now)
{
	struct brick_session_site *sites = copy_entries(m, m->header.site_offset, t->sites,
		&t->site_capacity, t->now.site_count, now, sizeof *sites);

	if (!sites)
		return;
	t->now.sites = t->sites = sites;
	for (uint32_t i = t->now.site_count; i < now; i++) {
		struct brick_session_site *s = &t->sites[i];
		drain_clean_text(s->operation, sizeof s->operation);
		drain_clean_text(s->label, sizeof s->label);
		if (s->brick >= t->now.brick_count) {
			s->brick = 0;
			m->bad_entries++;
		}
	}
	t->now.site_count = now;
}

static void copy_kernels(struct drain_tables *t, struct drain_map *m, uint32_t now)
{
	struct brick_session_kernel *kernels = copy_entries(m, m->header.kernel_offset, t->kernels,
		&t->kernel_capacity, t->now.kernel_count, now, sizeof *kernels);

	if (!kernels)
		return;
	t->now.kernels = t->kernels = kernels;
	for (uint32_t i = t->now.kernel_count; i < now; i++) {
		struct brick_session_kernel *k = &t->kernels[i];
		drain_clean_text(k->name, sizeof k->name);
		drain_clean_text(k->backend, sizeof k->backend);
		if (k->kind > BRICK_KERNEL_OTHER) {
			k->kind = BRICK_KERNEL_OTHER;
			m->bad_entries++;
		}
	}
	t->now.kernel_count = now;
}

int drain_tables_emit(struct drain_tables *t, struct drain_map *m, struct sink *sink, int process)
{
	const struct sink_tables have = t->now;
	const struct brick_session_header *h = m->shared;

	/* Sites refer to bricks and these to categories: a count must be read before that of what
	 * its entries refer to. */
	uint32_t sites = drain_map_count(m, &h->site_count, have.site_count, BRICK_MAX_SITES);
	uint32_t bricks = drain_map_count(m, &h->brick_count, have.brick_count, BRICK_MAX_BRICKS);
	uint32_t categories =
		drain_map_count(m, &h->category_count, have.category_count, BRICK_MAX_CATEGORIES);
	uint32_t kernels = m->header.kernel_offset ? drain_map_count(m, &h->kernel_count,
							     have.kernel_count, BRICK_MAX_KERNELS)
						   : 0;
	if (sites == have.site_count && bricks == have.brick_count &&
		categories == have.category_count && kernels == have.kernel_count)
		return 0;
	copy_categories(t, m, categories);
	copy_bricks(t, m, bricks);
	copy_sites(t, m, sites);
	copy_kernels(t, m, kernels);
	return sink_tables(sink, process, &t->now);
}

void drain_tables_init(struct drain_tables *t)
{
	t->now.bricks = t->bricks;
	t->now.categories = t->categories;
}

void drain_tables_rewind(struct drain_tables *t)
{
	t->now.brick_count = t->now.category_count = t->now.site_count = 0;
	t->now.kernel_count = 0;
}

void drain_tables_fini(struct drain_tables *t)
{
	free(t->sites);
	free(t->kernels);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private, clean copies of a session's append-only tables. What the writer gets can neither change
 * under it nor point outside: texts are ended and valid UTF-8, references are in range. Only new
 * entries are copied. Telling side.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "brick/registry.h"
#include "drain/state.h"

/* Length of the printable UTF-8 character at p with `left` bytes to go; 0: it is none. */
static size_t character(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

	if (n == 1)
		return p[0] >= 0x20 && p[0] != 0x7f;
	if (n > left || p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond the last plane */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

void drain_clean_text(char *text, size_t bytes)
{
	unsigned char *p = (unsigned char *)text;

	text[bytes - 1] = '\0';
	size_t left = strlen(text);
	while (left) {
		size_t n = character(p, left);
		if (!n)
			*p = '?';
		n += !n;
		p += n;
		left -= n;
	}
}

/* How far a count may be followed: it only grows, up to the table's size. */
static uint32_t next_count(struct drain *d, const uint32_t *shared, uint32_t have, uint32_t most)
{
	uint32_t now = __atomic_load_n(shared, __ATOMIC_ACQUIRE);

	if (now >= have && now <= most)
		return now;
	drain_trouble_set(d, "the size of a table makes no sense");
	return have;
}

static const void *table(const struct drain *d, uint64_t offset)
{
	return (const char *)d->shared + offset;
}

static void copy_categories(struct drain *d, uint32_t now)
{
	const struct brick_session_category *from = table(d, d->header.category_offset);

	for (uint32_t i = d->tables.category_count; i < now; i++) {
		d->categories[i] = from[i];
		drain_clean_text(d->categories[i].name, sizeof d->categories[i].name);
	}
	d->tables.category_count = now;
}

static void copy_bricks(struct drain *d, uint32_t now)
{
	const struct brick_session_brick *from = table(d, d->header.brick_offset);

	for (uint32_t i = d->tables.brick_count; i < now; i++) {
		struct brick_session_brick *b = &d->bricks[i];
		*b = from[i];
		drain_clean_text(b->name, sizeof b->name);
		if (b->category >= d->tables.category_count) {
			b->category = BRICK_CATEGORY_OTHER;
			d->bad_entries++;
		}
	}
	d->tables.brick_count = now;
}

static int sites_reserve(struct drain *d, uint32_t count)
{
	uint32_t room = d->site_room ? d->site_room : 256;

	while (room < count)
		room *= 2;
	if (room == d->site_room)
		return 0;
	struct brick_session_site *sites = realloc(d->sites, room * sizeof *sites);
	if (!sites)
		return -ENOMEM;
	d->tables.sites = d->sites = sites;
	d->site_room = room;
	return 0;
}

static void copy_sites(struct drain *d, uint32_t now)
{
	const struct brick_session_site *from = table(d, d->header.site_offset);

	if (now == d->tables.site_count)
		return;
	if (sites_reserve(d, now)) {
		drain_trouble_set(d, "out of memory for its sites");
		return;
	}
	for (uint32_t i = d->tables.site_count; i < now; i++) {
		struct brick_session_site *s = &d->sites[i];
		if (i)
			*s = from[i];
		else
			memset(s, 0, sizeof *s); /* "no site" */
		drain_clean_text(s->operation, sizeof s->operation);
		drain_clean_text(s->label, sizeof s->label);
		if (s->brick >= d->tables.brick_count) {
			s->brick = 0;
			d->bad_entries++;
		}
	}
	d->tables.site_count = now;
}

static int kernels_reserve(struct drain *d, uint32_t count)
{
	uint32_t room = d->kernel_room ? d->kernel_room : 64;

	while (room < count)
		room *= 2;
	if (room == d->kernel_room)
		return 0;
	struct brick_session_kernel *kernels = realloc(d->kernels, room * sizeof *kernels);
	if (!kernels)
		return -ENOMEM;
	d->tables.kernels = d->kernels = kernels;
	d->kernel_room = room;
	return 0;
}

static void copy_kernels(struct drain *d, uint32_t now)
{
	const struct brick_session_kernel *from = table(d, d->header.kernel_offset);

	if (now == d->tables.kernel_count)
		return;
	if (kernels_reserve(d, now)) {
		drain_trouble_set(d, "out of memory for its kernels");
		return;
	}
	for (uint32_t i = d->tables.kernel_count; i < now; i++) {
		struct brick_session_kernel *k = &d->kernels[i];
		if (i)
			*k = from[i];
		else
			memset(k, 0, sizeof *k); /* "no kernel" */
		drain_clean_text(k->name, sizeof k->name);
		drain_clean_text(k->backend, sizeof k->backend);
		if (k->kind > BRICK_KERNEL_OTHER) {
			k->kind = BRICK_KERNEL_OTHER;
			d->bad_entries++;
		}
	}
	d->tables.kernel_count = now;
}

int drain_tell_tables(struct drain *d, struct trace_writer *w)
{
	const struct sink_tables have = d->tables;
	const struct brick_session_header *h = d->shared;

	/* Sites refer to bricks and these to categories: a count must be read before that of what
	 * its entries refer to. */
	uint32_t sites = next_count(d, &h->site_count, have.site_count, BRICK_MAX_SITES);
	uint32_t bricks = next_count(d, &h->brick_count, have.brick_count, BRICK_MAX_BRICKS);
	uint32_t categories =
		next_count(d, &h->category_count, have.category_count, BRICK_MAX_CATEGORIES);
	uint32_t kernels = d->header.kernel_offset ? next_count(d, &h->kernel_count,
							     have.kernel_count, BRICK_MAX_KERNELS)
						   : 0;
	int error = drain_tell_code(d, w);
	if (error || (sites == have.site_count && bricks == have.brick_count &&
			     categories == have.category_count && kernels == have.kernel_count))
		return error;
	copy_categories(d, categories);
	copy_bricks(d, bricks);
	copy_sites(d, sites);
	copy_kernels(d, kernels);
	return trace_writer_tables(w, d->process, &d->tables);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry is copied before it is looked at, so that it cannot change under a writer. Texts are
 * then ended and made valid UTF-8, and references are brought into range. Only new entries are
 * copied.
 */
#include "lib/drain/drain_areas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "brick/registry.h"

static void copy_categories(struct drain_tables *t, struct drain_map *m, uint32_t now)
{
	const struct brick_session_category *from = drain_map_at(m, m->header.category_offset);

	for (uint32_t i = t->now.category_count; i < now; i++) {
		t->categories[i] = from[i];
		drain_clean_text(t->categories[i].name, sizeof(t->categories)[i].name);
	}
	t->now.category_count = now;
}

static void copy_bricks(struct drain_tables *t, struct drain_map *m, uint32_t now)
{
	const struct brick_session_brick *from = drain_map_at(m, m->header.brick_offset);

	for (uint32_t i = t->now.brick_count; i < now; i++) {
		struct brick_session_brick *b = &t->bricks[i];
		*b = from[i];
		drain_clean_text(b->name, sizeof(b->name));
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
		&t->site_capacity, t->now.site_count, now, sizeof(*sites));

	if (!sites)
		return;
	t->now.sites = t->sites = sites;
	for (uint32_t i = t->now.site_count; i < now; i++) {
		struct brick_session_site *s = &t->sites[i];
		drain_clean_text(s->operation, sizeof(s->operation));
		drain_clean_text(s->label, sizeof(s->label));
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
		&t->kernel_capacity, t->now.kernel_count, now, sizeof(*kernels));

	if (!kernels)
		return;
	t->now.kernels = t->kernels = kernels;
	for (uint32_t i = t->now.kernel_count; i < now; i++) {
		struct brick_session_kernel *k = &t->kernels[i];
		drain_clean_text(k->name, sizeof(k->name));
		drain_clean_text(k->backend, sizeof(k->backend));
		if (k->kind > BRICK_KERNEL_OTHER) {
			k->kind = BRICK_KERNEL_OTHER;
			m->bad_entries++;
		}
	}
	t->now.kernel_count = now;
}

int drain_tables_emit(
	struct drain_tables *t, struct drain_map *m, struct trace_writer *writer, int process)
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
	return sink_tables(writer, process, &t->now);
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

/*
 * Programs: entries of different lengths, one behind the other. The first that makes no sense ends
 * the area, because where the next one begins is then not known.
 */

/* What is wrong with the entry that comes next, or NULL; *error: the writer's. */
static const char *emit_next(const struct drain_map *m, uint32_t *emitted, uint32_t end,
	struct trace_writer *writer, int *error)
{
	const char *at = drain_map_at(m, m->header.code_offset + *emitted);
	uint64_t left = end - *emitted;
	struct brick_session_code entry;

	if (left < sizeof(entry))
		return "an entry of its code makes no sense";
	memcpy(&entry, at, sizeof(entry));
	uint64_t bytes =
		sizeof(entry) + (uint64_t)entry.name_bytes + entry.path_bytes + entry.source_bytes;
	bytes = (bytes + 7) & ~(uint64_t)7;
	if (bytes > left)
		return "an entry of its code makes no sense";
	char *texts = malloc(bytes);
	if (!texts)
		return "out of memory for its code";
	memcpy(texts, at + sizeof(entry), bytes - sizeof(entry));
	const struct sink_code code = {.hash = entry.hash,
		.name = texts,
		.path = texts + entry.name_bytes,
		.source = texts + entry.name_bytes + entry.path_bytes,
		.name_bytes = entry.name_bytes,
		.path_bytes = entry.path_bytes,
		.source_bytes = entry.source_bytes,
		.cut = entry.flags & 1};
	*error = sink_code(writer, &code);
	free(texts);
	*emitted += (uint32_t)bytes;
	return NULL;
}

int drain_code_emit(uint32_t *emitted, struct drain_map *m, struct trace_writer *writer)
{
	const char *wrong = NULL;
	int error = 0;

	if ((m->view && !m->view_has_code) || !m->header.code_offset)
		return 0;
	uint32_t now = __atomic_load_n(&m->shared->code_bytes, __ATOMIC_ACQUIRE);
	if (now < *emitted || now > BRICK_CODE_BYTES) {
		drain_map_fault_set(m, "the size of its code makes no sense");
		return 0;
	}
	while (!error && !wrong && *emitted < now)
		wrong = emit_next(m, emitted, now, writer, &error);
	if (wrong) {
		drain_map_fault_set(m, wrong);
		m->bad_entries++;
		*emitted = now;
	}
	return error;
}

/* Notes: the area only grows. */

int drain_notes_emit(struct drain_notes *n, struct drain_map *m, struct trace_writer *writer,
	int process, const char *end)
{
	const char *fault = drain_map_fault(m);
	uint32_t bytes = __atomic_load_n(&m->shared->notes_bytes, __ATOMIC_ACQUIRE);
	if (bytes > BRICK_NOTES_BYTES)
		bytes = BRICK_NOTES_BYTES;
	n->emitted = bytes;
	memcpy(n->text, drain_map_at(m, m->header.notes_offset), bytes);
	n->text[bytes] = '\0';
	drain_clean_lines(n->text);
	size_t used = strlen(n->text);
	if (used && n->text[used - 1] != '\n')
		n->text[used++] = '\n';

	if (n->own[0])
		used += (size_t)snprintf(n->text + used, sizeof(n->text) - used, "%s\n", n->own);
	used += (size_t)snprintf(n->text + used, sizeof(n->text) - used, "session.end=%s\n", end);
	if (fault)
		used += (size_t)snprintf(
			n->text + used, sizeof(n->text) - used, "session.trouble=%s\n", fault);
	if (m->bad_entries)
		used += (size_t)snprintf(n->text + used, sizeof(n->text) - used,
			"session.bad_entries=%llu\n", (unsigned long long)m->bad_entries);
	return sink_notes(writer, process, n->text, used);
}

int drain_notes_emit_new(
	struct drain_notes *n, struct drain_map *m, struct trace_writer *writer, int process)
{
	uint32_t bytes = __atomic_load_n(&m->shared->notes_bytes, __ATOMIC_RELAXED);

	return bytes == n->emitted ? 0 : drain_notes_emit(n, m, writer, process, "running");
}

void drain_notes_rewind(struct drain_notes *n)
{
	n->emitted = 0;
	n->text[0] = '\0';
}

/*
 * Digests are emitted at once and nothing of them is kept, so that a program that digests faster
 * than the file can be written waits for it.
 */

static uint64_t digests_waiting(const struct drain_digests *g, struct drain_map *m)
{
	if (!m->header.digest_offset)
		return 0;
	uint64_t head = __atomic_load_n(&m->shared->digest_head, __ATOMIC_ACQUIRE);
	uint64_t tail = __atomic_load_n(&g->tail, __ATOMIC_RELAXED);

	if (head - tail <= BRICK_DIGEST_RING)
		return head - tail;
	drain_map_fault_set(m, "the head of its digests makes no sense");
	return 0;
}

uint32_t drain_digests_level(const struct drain_digests *g, struct drain_map *m)
{
	return (uint32_t)((digests_waiting(g, m) * 100 + BRICK_DIGEST_RING - 1) /
			  BRICK_DIGEST_RING);
}

int drain_digests_emit(struct drain_digests *g, struct drain_map *m,
	const struct sink_tables *tables, struct trace_writer *writer, int process)
{
	const struct brick_session_digest *ring = drain_map_at(m, m->header.digest_offset);
	/* what is there now: no more, so that others get a turn */
	uint64_t left = digests_waiting(g, m);
	int error = 0;

	while (left-- && !error) {
		struct brick_session_digest digest = ring[g->tail % BRICK_DIGEST_RING];
		__atomic_store_n(&g->tail, g->tail + 1, __ATOMIC_RELAXED);
		__atomic_store_n(&m->shared->digest_tail, g->tail, __ATOMIC_RELEASE);
		if (drain_map_page_lost(m))
			continue;
		drain_clean_text(digest.label, sizeof(digest.label));
		if (digest.site >= tables->site_count) {
			digest.site = 0;
			m->bad_entries++;
		}
		if (digest.brick < tables->brick_count)
			error = sink_digest(writer, process, &digest);
		else
			m->bad_entries++;
	}
	return error;
}

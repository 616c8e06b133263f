/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests are copied one by one, put right, and emitted at once; nothing of them is kept here, so
 * that a program that digests faster than the file can be written waits for it. The indices are the
 * other process's, like everything else, and are looked at like everything else.
 */
#include "lib/drain/drain_digest.h"

#include "lib/drain/clean.h"

static uint64_t waiting(const struct drain_digests *g, struct drain_map *m)
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
	return (uint32_t)((waiting(g, m) * 100 + BRICK_DIGEST_RING - 1) / BRICK_DIGEST_RING);
}

/* 0: of a brick that there is not. */
static int clean(
	struct drain_map *m, const struct sink_tables *tables, struct brick_session_digest *digest)
{
	drain_clean_text(digest->label, sizeof digest->label);
	if (digest->site >= tables->site_count) {
		digest->site = 0;
		m->bad_entries++;
	}
	if (digest->brick < tables->brick_count)
		return 1;
	m->bad_entries++;
	return 0;
}

static int emit_one(struct drain_digests *g, struct drain_map *m, const struct sink_tables *tables,
	struct sink *sink, int process)
{
	const struct brick_session_digest *ring = drain_map_at(m, m->header.digest_offset);
	struct brick_session_digest digest = ring[g->tail % BRICK_DIGEST_RING];

	__atomic_store_n(&g->tail, g->tail + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&m->shared->digest_tail, g->tail, __ATOMIC_RELEASE);
	if (drain_map_page_lost(m) || !clean(m, tables, &digest))
		return 0;
	return sink_digest(sink, process, &digest);
}

int drain_digests_emit(struct drain_digests *g, struct drain_map *m,
	const struct sink_tables *tables, struct sink *sink, int process)
{
	uint64_t left = waiting(g, m); /* what is there now: no more, so that others get a turn */
	int error = 0;

	while (left-- && !error)
		error = emit_one(g, m, tables, sink, process);
	return error;
}

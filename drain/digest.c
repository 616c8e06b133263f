/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's ring of digests: copied one by one, put right, and told at once; nothing of it is
 * kept here, so that a program that digests faster than the file can be written waits for it. The
 * indices are the other process's, like everything else, and are looked at like everything else.
 * Telling side, but for the level.
 */
#include <string.h>
#include "drain/state.h"

static uint64_t waiting(struct drain *d)
{
	if (!d->header.digest_offset)
		return 0;
	uint64_t head = __atomic_load_n(&d->shared->digest_head, __ATOMIC_ACQUIRE);
	uint64_t tail = __atomic_load_n(&d->digest_tail, __ATOMIC_RELAXED);

	if (head - tail <= BRICK_DIGEST_RING)
		return head - tail;
	drain_trouble_set(d, "the head of its digests makes no sense");
	return 0;
}

uint32_t drain_digest_level(struct drain *d)
{
	return (uint32_t)((waiting(d) * 100 + BRICK_DIGEST_RING - 1) / BRICK_DIGEST_RING);
}

/* 0: of a brick that there is not. */
static int clean(struct drain *d, struct brick_session_digest *digest)
{
	drain_clean_text(digest->label, sizeof digest->label);
	if (digest->site >= d->tables.site_count) {
		digest->site = 0;
		d->bad_entries++;
	}
	if (digest->brick < d->tables.brick_count)
		return 1;
	d->bad_entries++;
	return 0;
}

static int tell_one(struct drain *d, struct trace_writer *w)
{
	const struct brick_session_digest *ring =
		(const void *)((const char *)d->shared + d->header.digest_offset);
	struct brick_session_digest digest = ring[d->digest_tail % BRICK_DIGEST_RING];

	__atomic_store_n(&d->digest_tail, d->digest_tail + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&d->shared->digest_tail, d->digest_tail, __ATOMIC_RELEASE);
	if (__atomic_load_n(&d->spoiled, __ATOMIC_RELAXED) || !clean(d, &digest))
		return 0;
	return trace_writer_digest(w, d->process, &digest);
}

int drain_tell_digests(struct drain *d, struct trace_writer *w)
{
	uint64_t left = waiting(d); /* what is there now: no more, so that others get their turn */

	if (!left)
		return 0;
	int error = drain_join_process(d, w);
	if (!error)
		error = drain_tell_tables(d, w);
	while (left-- && !error)
		error = tell_one(d, w);
	return error;
}

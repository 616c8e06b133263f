/* SPDX-License-Identifier: Apache-2.0 */
/* Called by src/record/live/live_snapshot.c on what drain_peek() gave it. Trusts nothing in the
 * records. */
#include "record/live/live_window.h"

#include <string.h>

/* Does a record say more about the one before it? */
static int is_about_another(const struct brick_record *r)
{
	switch (r->kind) {
	case BRICK_RECORD_WORK:
	case BRICK_RECORD_LAUNCH:
	case BRICK_RECORD_TIMES:
	case BRICK_RECORD_AFTER:
	case BRICK_RECORD_FLOW:
	case BRICK_RECORD_TILE:
		return 1;
	default:
		return 0;
	}
}

enum { AHEAD = 64 }; /* at most of them tell of the same samples */

/* Records that tell of samples which come, in order. */
struct ahead {
	struct brick_record records[AHEAD];
	size_t count;
};

static void add(struct ahead *a, const struct brick_record *r)
{
	if (a->count < AHEAD)
		a->records[a->count++] = *r;
}

/* So many samples are left out. */
static void pass(struct ahead *a, uint32_t samples)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->count; i++) {
		struct brick_record *r = &a->records[i];
		uint64_t of = ((uint64_t)r->wait << 32 | r->ticks) >> samples;
		r->ticks = (uint32_t)of;
		r->wait = (uint32_t)(of >> 32);
		if (of)
			a->records[kept++] = *r;
	}
	a->count = kept;
}

static uint32_t samples_of(const struct brick_record *r)
{
	struct brick_record out[3];
	struct brick_samples samples;

	if (r->kind != BRICK_RECORD_SAMPLES)
		return 0;
	memcpy(&samples, r, sizeof samples);
	return brick_samples_read(&samples, out);
}

/* In front of a record that is kept. */
static size_t keep_ahead(struct ahead *a, struct brick_record *records, size_t kept)
{
	memcpy(records + kept, a->records, a->count * sizeof a->records[0]);
	kept += a->count;
	a->count = 0;
	return kept;
}

size_t live_window_trim(struct brick_record *records, size_t count, uint64_t from_ticks)
{
	struct ahead ahead = {.count = 0};
	size_t kept = 0;
	uint32_t depth = 0;
	int begun = 0, skip = 1;

	for (size_t i = 0; i < count; i++) {
		const struct brick_record r = records[i];
		if (r.kind == BRICK_RECORD_WORK_AHEAD) {
			add(&ahead, &r);
			continue;
		}
		if (is_about_another(&r)) {
			if (!skip)
				records[kept++] = r;
			continue;
		}
		begun = begun || r.begin >= from_ticks;
		skip = !begun || (r.kind == BRICK_RECORD_CLOSE && !depth);
		if (skip) {
			pass(&ahead, samples_of(&r));
			continue;
		}
		if (r.kind == BRICK_RECORD_OPEN)
			depth++;
		else if (r.kind == BRICK_RECORD_CLOSE)
			depth--;
		else if (r.kind == BRICK_RECORD_THREAD)
			depth = 0;
		kept = keep_ahead(&ahead, records, kept);
		records[kept++] = r;
	}
	return kept;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Called by live/snapshot.c on what drain_peek() gave it. Trusts nothing in the records. */
#include "live/window.h"

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

/* The records from `from` up to `end` go with the one behind them. */
static size_t keep(struct brick_record *records, size_t kept, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++)
		records[kept++] = records[i];
	return kept;
}

size_t live_window_trim(struct brick_record *records, size_t count, uint64_t from_ticks)
{
	size_t kept = 0, ahead = 0;
	uint32_t depth = 0;
	int begun = 0, skip = 1;

	for (size_t i = 0; i < count; i++) {
		const struct brick_record *r = &records[i];
		if (r->kind == BRICK_RECORD_WORK_AHEAD) {
			ahead++;
			continue;
		}
		size_t first = i - ahead;
		ahead = 0;
		if (is_about_another(r)) {
			if (!skip)
				records[kept++] = *r;
			continue;
		}
		begun = begun || r->begin >= from_ticks;
		skip = !begun || (r->kind == BRICK_RECORD_CLOSE && !depth);
		if (skip)
			continue;
		if (r->kind == BRICK_RECORD_OPEN)
			depth++;
		else if (r->kind == BRICK_RECORD_CLOSE)
			depth--;
		else if (r->kind == BRICK_RECORD_THREAD)
			depth = 0;
		kept = keep(records, kept, first, i + 1);
	}
	return kept;
}

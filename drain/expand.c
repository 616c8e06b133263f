/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing in a record is trusted: a site that is in no table stays without a brick, a work that is
 * of no sample stays what it is, and who takes them counts them as bad. Called by drain_emit().
 */
#include "drain/expand.h"

#include <string.h>

enum { AT_MOST = 2 * DRAIN_SAMPLES }; /* out of one record, or in front of it */

_Static_assert(sizeof(struct brick_samples) == sizeof(struct brick_record), "one place in a ring");
_Static_assert(offsetof(struct brick_samples, kind) == offsetof(struct brick_record, kind), "kind");

/* Works that no sample has come for. */
static size_t give_up(struct drain_ahead *ahead, struct brick_record *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < DRAIN_SAMPLES; i++)
		if (ahead->known >> i & 1)
			out[n++] = ahead->works[i];
	ahead->known = 0;
	return n;
}

static size_t expand_samples(const struct sink_tables *tables, struct drain_ahead *ahead,
	const struct brick_record *record, struct brick_record *out)
{
	struct brick_record samples[DRAIN_SAMPLES];
	struct brick_samples together;
	size_t n = 0;

	memcpy(&together, record, sizeof together);
	uint32_t count = brick_samples_read(&together, samples);
	for (uint32_t i = 0; i < count; i++) {
		struct brick_record *sample = &out[n++];
		*sample = samples[i];
		if (sample->site < tables->site_count) {
			sample->brick = tables->sites[sample->site].brick;
			sample->layer = tables->sites[sample->site].layer;
		}
		if (!(ahead->known >> i & 1))
			continue;
		out[n] = ahead->works[i];
		out[n].kind = BRICK_RECORD_WORK;
		out[n++].ticks = 0;
		ahead->known &= ~(1u << i);
	}
	return n + give_up(ahead, out + n);
}

/* Returns whether it is kept for the record behind it. */
static int keep_ahead(struct drain_ahead *ahead, const struct brick_record *record)
{
	if (record->kind != BRICK_RECORD_WORK_AHEAD || record->ticks >= DRAIN_SAMPLES)
		return 0;
	ahead->works[record->ticks] = *record;
	ahead->known |= 1u << record->ticks;
	return 1;
}

size_t drain_expand(const struct sink_tables *tables, struct drain_lane *lane,
	const struct brick_record *records, size_t count, struct brick_record *out, size_t capacity,
	size_t *used)
{
	struct drain_ahead *ahead = &lane->ahead;
	size_t n = 0, i = 0;

	for (; i < count && n + AT_MOST <= capacity; i++) {
		if (records[i].kind == BRICK_RECORD_SAMPLES) {
			n += expand_samples(tables, ahead, &records[i], out + n);
		} else if (!keep_ahead(ahead, &records[i])) {
			n += give_up(ahead, out + n);
			out[n++] = records[i];
		}
	}
	*used = i;
	return n;
}

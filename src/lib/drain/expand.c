/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing in a record is trusted: a site that is in no table stays without a brick, and the writer
 * counts the sample as bad.
 */
#include "lib/drain/expand.h"

#include <string.h>

enum { SAMPLES_MAX = 3, AT_MOST = 2 * SAMPLES_MAX }; /* of one record, with works */

_Static_assert(sizeof(struct brick_samples) == sizeof(struct brick_record), "one place in a ring");
_Static_assert(offsetof(struct brick_samples, kind) == offsetof(struct brick_record, kind), "kind");

static size_t expand_samples(const struct sink_tables *tables, struct drain_ahead *ahead,
	const struct brick_record *record, struct brick_record *out)
{
	struct brick_record samples[SAMPLES_MAX];
	struct brick_samples together;
	size_t n = 0;

	memcpy(&together, record, sizeof(together));
	uint32_t count = brick_samples_read(&together, samples);
	for (uint32_t i = 0; i < count; i++) {
		const struct brick_record *work = drain_ahead_take(ahead);
		struct brick_record *sample = &out[n++];
		*sample = samples[i];
		if (sample->site < tables->site_count) {
			sample->brick = tables->sites[sample->site].brick;
			sample->layer = tables->sites[sample->site].layer;
		}
		if (work)
			out[n++] = (struct brick_record){.begin = work->begin,
				.kind = BRICK_RECORD_WORK,
				.elements = work->elements};
	}
	return n;
}

size_t drain_expand(const struct sink_tables *tables, struct drain_ahead *ahead,
	const struct brick_record *records, size_t count, struct brick_record *out, size_t capacity,
	size_t *used)
{
	size_t n = 0, i = 0;

	for (; i < count && n + AT_MOST <= capacity; i++) {
		if (records[i].kind == BRICK_RECORD_SAMPLES) {
			n += expand_samples(tables, ahead, &records[i], out + n);
		} else if (records[i].kind == BRICK_RECORD_WORK_AHEAD) {
			drain_ahead_add(ahead, &records[i]);
		} else {
			out[n] = records[i];
			if (out[n].kind == BRICK_RECORD_SAMPLE)
				out[n].flags &= (uint16_t)~BRICK_FLAG_UNCOUNTED;
			n++;
		}
	}
	*used = i;
	return n;
}

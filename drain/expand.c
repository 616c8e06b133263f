/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing in a record is trusted: a site that is in no table stays without a brick, and who takes
 * the sample counts it as bad. Called by drain_emit().
 */
#include "drain/expand.h"

#include <string.h>

enum { SAMPLES_MAX = 3 };

_Static_assert(sizeof(struct brick_samples) == sizeof(struct brick_record), "one place in a ring");
_Static_assert(offsetof(struct brick_samples, kind) == offsetof(struct brick_record, kind), "kind");

static size_t expand_one(const struct sink_tables *tables, const struct brick_record *record,
	struct brick_record *out)
{
	struct brick_samples samples;

	memcpy(&samples, record, sizeof samples);
	uint32_t n = brick_samples_read(&samples, out);
	for (uint32_t i = 0; i < n; i++) {
		if (out[i].site >= tables->site_count)
			continue;
		out[i].brick = tables->sites[out[i].site].brick;
		out[i].layer = tables->sites[out[i].site].layer;
	}
	return n;
}

size_t drain_expand(const struct sink_tables *tables, const struct brick_record *records,
	size_t count, struct brick_record *out, size_t capacity, size_t *used)
{
	size_t n = 0, i = 0;

	for (; i < count && n + SAMPLES_MAX <= capacity; i++) {
		if (records[i].kind == BRICK_RECORD_SAMPLES)
			n += expand_one(tables, &records[i], out + n);
		else
			out[n++] = records[i];
	}
	*used = i;
	return n;
}

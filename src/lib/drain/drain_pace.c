/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pace of looking at rings: each ring's rate since the last look says when it would be half
 * full; half of that time is slept. A ring that has just begun to fill has no rate yet, so the
 * caller's bound must be short enough for a burst.
 */
#include "lib/drain/drain_pace.h"
#include "base/number.h"

enum {
	MIN_MS = 2,
	MIN_FLUSH_MS = 100, /* each makes a thread wait for the disk */
};

/* Milliseconds until a ring is half full at the rate it had since the last look. */
static uint64_t half_full_ms(const struct drain_level *level, uint64_t grown, uint64_t elapsed_ns)
{
	uint64_t half = level->capacity / 2;

	if (level->waiting >= half)
		return 0;
	if (!grown)
		return UINT64_MAX;
	return number_of_double(
		(double)(half - level->waiting) * (double)elapsed_ns / (double)grown / 1e6);
}

struct drain_outlook drain_look(
	struct drain *d, struct drain_pace *p, uint64_t now_ns, uint32_t max_ms)
{
	struct drain_outlook outlook = {0, max_ms, 0};
	uint32_t lanes = drain_lanes(d);
	uint64_t elapsed_ns = p->looked_ns && now_ns > p->looked_ns ? now_ns - p->looked_ns : 0;

	for (uint32_t i = 0; i < lanes; i++) {
		struct drain_level level = drain_level(d, i);
		if (!level.capacity)
			continue;
		uint32_t percent = (uint32_t)(level.waiting * 100 / level.capacity);
		uint64_t ms = UINT64_MAX;
		if (elapsed_ns)
			ms = half_full_ms(&level, level.written - p->written[i], elapsed_ns) / 2;
		if (ms < MIN_MS)
			ms = MIN_MS;
		if (ms < outlook.next_ms)
			outlook.next_ms = (uint32_t)ms;
		if (percent > outlook.fullest_percent)
			outlook.fullest_percent = percent;
		outlook.waiting += level.waiting;
		p->written[i] = level.written;
	}
	p->looked_ns = now_ns;
	return outlook;
}

static uint64_t interval_ns(uint32_t interval_ms)
{
	return (interval_ms < MIN_FLUSH_MS ? MIN_FLUSH_MS : interval_ms) * UINT64_C(1000000);
}

uint64_t drain_write_ns(uint32_t interval_ms)
{
	return interval_ns(interval_ms) / 4;
}

uint32_t drain_flush_in_ms(uint32_t interval_ms, uint64_t flushed_ns, uint64_t now_ns)
{
	uint64_t due_ns = flushed_ns + interval_ns(interval_ms) - drain_write_ns(interval_ms);

	return due_ns > now_ns ? (uint32_t)((due_ns - now_ns + 999999) / 1000000) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing a device's clock on the host's (include/brick/correlation.h). Invariant: anchors rise
 * strictly on both clocks, so that the line through any two of them has a positive rate. All
 * arithmetic is in whole ns with 128-bit products.
 */
#include "lib/device/correlation_residual.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/order.h"

enum {
	MIN_DISTANCE_NS = 1000000, /* between two anchors */
	MIN_WIDTHS = 5000,	   /* the same, in widths: lengths are right within 1 in 5000 */
	RATE_PARTS = 100000,	   /* anchors so many widths apart give a rate */
	MIN_PERIOD_NS = 2000000,   /* between two readings */
	UNKNOWN_PPM = 500,	   /* with a single reading, the clock may run so much faster */
};

struct anchor {
	uint64_t host_ns, device_ns;
	uint32_t half_width_ns;
};

static struct anchor anchor_at(const struct brick_correlation *c, uint32_t i)
{
	return (struct anchor){
		c->anchors[i].host_ns, c->anchors[i].device_ns, c->anchors[i].half_width_ns};
}

static void anchor_set(struct brick_correlation *c, uint32_t i, struct anchor a)
{
	c->anchors[i].host_ns = a.host_ns;
	c->anchors[i].device_ns = a.device_ns;
	c->anchors[i].half_width_ns = a.half_width_ns;
}

void brick_correlation_init(struct brick_correlation *correlation)
{
	memset(correlation, 0, sizeof(*correlation));
}

/* The narrowest reading; its width is UINT64_MAX when none is usable. */
static struct anchor narrowest(
	const struct brick_reading *readings, uint32_t count, uint64_t *width)
{
	struct anchor best = {0, 0, 0};

	*width = UINT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		const struct brick_reading *r = &readings[i];
		if (r->after_ns < r->before_ns || r->after_ns - r->before_ns >= *width)
			continue;
		*width = r->after_ns - r->before_ns;
		best.host_ns = r->before_ns + *width / 2;
		best.device_ns = r->device_ns;
		uint64_t half = (*width + 1) / 2;
		best.half_width_ns = half > UINT32_MAX ? UINT32_MAX : (uint32_t)half;
	}
	return best;
}

/* Host time of `device_ns` on the line through two anchors. */
static uint64_t on_line(struct anchor a, struct anchor b, uint64_t device_ns)
{
	__int128 rise = (__int128)b.host_ns - a.host_ns;
	__int128 run = (__int128)b.device_ns - a.device_ns;
	__int128 ahead = (__int128)device_ns - a.device_ns;
	__int128 product = ahead * rise;
	__int128 half = run / 2;
	__int128 host = a.host_ns + (product >= 0 ? product + half : product - half) / run;

	if (host < 1)
		return 1; /* 0 means that there is no anchor */
	return host > UINT64_MAX ? UINT64_MAX : (uint64_t)host;
}

/* Anchors so close that their widths blur the rate do not extend a line beyond them. */
static bool carries_rate(struct anchor a, struct anchor b)
{
	uint64_t apart = b.host_ns - a.host_ns;
	return ((uint64_t)a.half_width_ns + b.half_width_ns) * RATE_PARTS <= apart;
}

/* Before the first anchor: that one and the nearest that is far enough from it. */
static uint32_t beside_first(const struct brick_correlation *c)
{
	uint32_t i = 1;

	while (i + 1 < c->count && !carries_rate(anchor_at(c, 0), anchor_at(c, i)))
		i++;
	return i;
}

static uint32_t beside_last(const struct brick_correlation *c)
{
	uint32_t i = c->count - 2;

	while (i > 0 && !carries_rate(anchor_at(c, i), anchor_at(c, c->count - 1)))
		i--;
	return i;
}

/* The two anchors of the line for a device time; there are at least two. */
struct line {
	struct anchor from, to;
};

static struct line correlation_line_at(const struct brick_correlation *c, uint64_t device_ns)
{
	if (device_ns < c->anchors[0].device_ns)
		return (struct line){anchor_at(c, 0), anchor_at(c, beside_first(c))};
	if (device_ns >= c->anchors[c->count - 1].device_ns)
		return (struct line){anchor_at(c, beside_last(c)), anchor_at(c, c->count - 1)};
	/* anchors[high - 1] <= device_ns < anchors[high] */
	uint32_t high = (uint32_t)BISECT(i, 1, c->count - 1, c->anchors[i].device_ns <= device_ns);
	return (struct line){anchor_at(c, high - 1), anchor_at(c, high)};
}

uint64_t brick_correlation_host_ns(const struct brick_correlation *c, uint64_t device_ns)
{
	if (!c->count)
		return 0;
	if (c->count == 1) {
		struct anchor only = anchor_at(c, 0), same_rate = only;
		same_rate.host_ns++;
		same_rate.device_ns++;
		return on_line(only, same_rate, device_ns);
	}
	struct line line = correlation_line_at(c, device_ns);
	return on_line(line.from, line.to, device_ns);
}

uint64_t brick__correlation_residual_ns(const struct brick_correlation *c, uint64_t device_ns)
{
	if (!c->count)
		return 0;
	uint64_t first = c->anchors[0].device_ns, last = c->anchors[c->count - 1].device_ns;
	uint64_t beyond = device_ns < first  ? first - device_ns
			  : device_ns > last ? device_ns - last
					     : 0;
	if (!beyond)
		return c->residual_ns;
	if (c->count == 1)
		return c->residual_ns + beyond / 1000 * UNKNOWN_PPM / 1000;
	struct line line = correlation_line_at(c, device_ns);
	uint64_t widths = (uint64_t)line.from.half_width_ns + line.to.half_width_ns;
	return c->residual_ns + (uint64_t)((unsigned __int128)widths * beyond /
					   (line.to.device_ns - line.from.device_ns));
}

uint64_t brick__correlation_length_ns(
	const struct brick_correlation *c, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t own_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;

	if (c->count < 2)
		return own_ns;
	struct line line = correlation_line_at(c, end_ns);
	uint64_t begin = on_line(line.from, line.to, begin_ns);
	uint64_t end = on_line(line.from, line.to, end_ns);
	uint64_t ns = end > begin ? end - begin : 0;
	uint64_t widths = (uint64_t)line.from.half_width_ns + line.to.half_width_ns;
	uint64_t off_ns = (uint64_t)((unsigned __int128)widths * own_ns /
				     (line.to.device_ns - line.from.device_ns));
	uint64_t apart_ns = ns > own_ns ? ns - own_ns : own_ns - ns;

	return apart_ns <= off_ns ? own_ns : ns;
}

static void correlation_note_residual(struct brick_correlation *c, uint64_t residual_ns)
{
	if (residual_ns > c->residual_ns)
		c->residual_ns = residual_ns;
}

/* The distance of an anchor from the line through its neighbours. */
static uint64_t off_line(const struct brick_correlation *c, uint32_t i)
{
	struct anchor middle = anchor_at(c, i);
	uint64_t expected = on_line(anchor_at(c, i - 1), anchor_at(c, i + 1), middle.device_ns);

	return expected > middle.host_ns ? expected - middle.host_ns : middle.host_ns - expected;
}

static void note_last(struct brick_correlation *c)
{
	if (c->count > 2)
		correlation_note_residual(c, off_line(c, c->count - 2));
}

/* The last anchor makes room for a narrower one close to it, unless the order would break. */
static void replace_last(struct brick_correlation *c, struct anchor a)
{
	struct anchor last = anchor_at(c, c->count - 1);

	if (a.half_width_ns >= last.half_width_ns)
		return;
	anchor_set(c, c->count - 1, a);
	if (c->count == 1)
		c->residual_ns = a.half_width_ns;
	note_last(c);
}

/* The line through two anchors so close would show their widths rather than the clocks. */
static bool is_close(struct anchor last, struct anchor a)
{
	uint64_t apart = a.host_ns - last.host_ns;
	return apart < MIN_DISTANCE_NS ||
	       apart < ((uint64_t)last.half_width_ns + a.half_width_ns) * MIN_WIDTHS;
}

int brick_correlation_add(
	struct brick_correlation *c, const struct brick_reading *readings, uint32_t count)
{
	uint64_t width;
	struct anchor a = narrowest(readings, count, &width);

	if (width == UINT64_MAX)
		return -EINVAL;
	if (c->count) {
		struct anchor last = anchor_at(c, c->count - 1);
		if (a.host_ns <= last.host_ns || a.device_ns <= last.device_ns)
			return -EINVAL;
		if (is_close(last, a)) {
			replace_last(c, a);
			return 0;
		}
	}
	if (c->count == BRICK_CORRELATION_ANCHORS) {
		/*
		 * Drops every second anchor of the older half: nearly all times to convert are
		 * recent.
		 */
		uint32_t kept = 0;
		for (uint32_t i = 0; i < c->count; i++)
			if (i % 2 == 0 || i >= c->count / 2)
				anchor_set(c, kept++, anchor_at(c, i));
		c->count = kept;
	}
	anchor_set(c, c->count++, a);
	correlation_note_residual(c, a.half_width_ns);
	note_last(c);
	return 0;
}

uint64_t brick_correlation_period_ns(const struct brick_correlation *c, uint64_t most_ns)
{
	if (!c->count)
		return 0;
	struct anchor first = anchor_at(c, 0), last = anchor_at(c, c->count - 1);
	uint64_t period = last.host_ns - first.host_ns;
	uint64_t least = 2ull * last.half_width_ns * MIN_WIDTHS; /* nearer ones replace it */
	if (least < MIN_PERIOD_NS)
		least = MIN_PERIOD_NS;
	if (period < least)
		period = least;
	return period < most_ns ? period : most_ns;
}

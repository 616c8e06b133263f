/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks of a device's counter that has less than 64 bits and wraps: with 36 bits and 52 ns after
 * an hour. The host's clock tells how often it has wrapped. One thread at a time.
 */
#pragma once

#include <stdint.h>

struct wrapped_ticks {
	uint64_t mask; /* of the bits that there are */
	double period_ns;
	uint64_t ticks, host_ns; /* all bits, and when; host_ns 0: not read yet */
};

/*
 * All bits of a reading that was taken at about that time of the host, less than half a round
 * off.
 */
static inline uint64_t wrapped_ticks_whole(
	struct wrapped_ticks *w, uint64_t ticks, uint64_t host_ns)
{
	if (w->mask == UINT64_MAX)
		return ticks;
	if (!w->host_ns) {
		w->ticks = (ticks & w->mask) + w->mask + 1; /* what was before has room */
		w->host_ns = host_ns;
	}
	double since_ns = (double)(int64_t)(host_ns - w->host_ns);
	uint64_t expected = w->ticks + (uint64_t)(int64_t)(since_ns / w->period_ns);
	uint64_t ahead = (ticks - expected) & w->mask;
	return ahead <= w->mask / 2 ? expected + ahead : expected - (w->mask + 1 - ahead);
}

/* The same for a reading that later ones are compared with. */
static inline uint64_t wrapped_ticks_read(struct wrapped_ticks *w, uint64_t ticks, uint64_t host_ns)
{
	w->ticks = wrapped_ticks_whole(w, ticks, host_ns);
	w->host_ns = host_ns;
	return w->ticks;
}

/* All bits, in ns. */
static inline uint64_t wrapped_ticks_ns(const struct wrapped_ticks *w, uint64_t whole)
{
	return w->period_ns == 1 ? whole : (uint64_t)((long double)whole * w->period_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks of a device's counter that has less than 64 bits and wraps: 36 bits of 52 ns wrap after an
 * hour. The host's clock tells how often the counter has wrapped. One thread at a time.
 */
#pragma once

#include <stdint.h>

struct wrapped_ticks {
	uint64_t mask;	  /* the counter's bits; UINT64_MAX: it never wraps */
	double period_ns; /* of a tick */
	uint64_t ticks;	  /* all 64 bits of the last wrapped_ticks_read() ... */
	uint64_t host_ns; /* ... and its time; 0: there was none */
};

/*
 * Returns all 64 bits of a reading. host_ns: a time of the host that is less than half of the
 * counter's range away from the reading.
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

/* As wrapped_ticks_whole(), and keeps the reading, with which later ones are compared. */
static inline uint64_t wrapped_ticks_read(struct wrapped_ticks *w, uint64_t ticks, uint64_t host_ns)
{
	w->ticks = wrapped_ticks_whole(w, ticks, host_ns);
	w->host_ns = host_ns;
	return w->ticks;
}

/* Converts all 64 bits to ns of the device. */
static inline uint64_t wrapped_ticks_ns(const struct wrapped_ticks *w, uint64_t whole)
{
	return w->period_ns == 1 ? whole : (uint64_t)((long double)whole * w->period_ns);
}

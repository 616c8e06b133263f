/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a machine that distorts measurements: other load, time that a virtual machine's host
 * took (steal), clock frequency, temperature, swapping. Read from /proc and /sys. One thread at a
 * time.
 */
#pragma once

#include <stdint.h>

/* Counters and readings at one moment. */
struct machine_state {
	uint64_t busy, steal, idle; /* clock ticks of all CPUs together since boot; 0: unknown */
	int64_t swapped;	    /* pages in and out since boot; negative: unknown */
	double load;		    /* of the last minute; negative: unknown */
	double frequency_mhz;	    /* the mean of all CPUs; negative: unknown */
	double temperature;	    /* degrees C of the hottest zone; negative: unknown */
	char governor[32];	    /* of the first CPU's frequency; "": unknown */
	unsigned cpus;		    /* online; at least 1 */
};

/* The change between two moments. Unknown values are 0. */
struct machine_change {
	double steal;	 /* part of all CPUs' time, 0 to 1 */
	double others;	 /* part of all CPUs' time that other programs than ours used */
	int64_t swapped; /* pages */
};

void machine_state_read(struct machine_state *state);

/* own_ns: CPU time of our program that ran in between. */
void machine_state_between(struct machine_change *change, const struct machine_state *before,
	const struct machine_state *after, uint64_t own_ns);

/*
 * 1 if a run with this change counts as disturbed. Disturbed runs are reported, but not left out.
 */
int machine_change_disturbs(const struct machine_change *change);

/*
 * Write the next reason not to measure now, as a sentence. Begin with i = 0, and go on with the
 * value that was returned. 0: there is no further reason.
 */
int machine_state_doubt(const struct machine_state *state, unsigned i, char *out, unsigned bytes);

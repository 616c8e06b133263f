/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a machine bends measurements: other load, time that the host of a virtual machine took,
 * clock frequency, temperature, swapping. Read from /proc and /sys; what is not there is not known.
 * One thread at a time.
 */
#pragma once

#include <stdint.h>

/* Counters and readings at one moment. Negative: not known. */
struct machine_state {
	uint64_t busy, steal, idle; /* ticks of all CPUs */
	int64_t swapped;	    /* pages in and out */
	double load;		    /* of the last minute */
	double frequency_mhz;	    /* the mean of the CPUs' */
	double temperature;	    /* degrees C: the hottest zone */
	char governor[32];	    /* "": not known */
	unsigned cpus;
};

/* What happened between two moments, as parts of all CPUs' time. */
struct machine_change {
	double steal, others; /* others: busy, and not by our own children */
	int64_t swapped;      /* pages */
};

void machine_state_read(struct machine_state *state);

/* own_ns: CPU time of the program that ran in between. */
void machine_state_between(struct machine_change *change, const struct machine_state *before,
	const struct machine_state *after, uint64_t own_ns);

/* Whether a run in which that happened was disturbed: it is said, and not left out. */
int machine_change_disturbs(const struct machine_change *change);

/*
 * What speaks against measuring now: the i-th reason or the next one that holds, as a sentence.
 * The i to go on with; 0: there is no more.
 */
int machine_state_doubt(const struct machine_state *state, unsigned i, char *out, unsigned bytes);

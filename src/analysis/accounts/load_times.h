/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program loaded its model before its first step that is no warm-up: phases of reading the
 * file by the engine's own functions, then the first touch of its pages by warm-ups and the first
 * step. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

enum load_phase {
	LOAD_OPEN, /* the file is opened, and its head is read */
	LOAD_MAP,
	LOAD_READ,
	LOAD_LOCK,    /* its pages are kept in memory: mlock() */
	LOAD_WARM_UP, /* steps whose results nobody needs */
	LOAD_PHASES,
};

/* "open", "map", "read", "lock", "warm_up" */
const char *load_phase_name(enum load_phase phase);

struct load_times {
	bool is_known;		  /* a phase of reading the file was recorded */
	uint64_t ns[LOAD_PHASES]; /* 0: there was none */
	/*
	 * The system counted these page faults and bytes from disks, in the phase, for the
	 * threads that opened, mapped, read and locked. 0: none, or not known.
	 */
	struct load_counts {
		uint64_t minor, major, bytes;
	} counts[LOAD_PHASES];
	/* The kernel's counts in warm-ups and the first step: bytes from disks, page faults, CPU
	 * time in the kernel. 0: none, or not known. */
	uint64_t disk_bytes, faults, kernel_ns;
};

/* 0 or -ENOMEM. */
int load_times_of_run(struct load_times *times, const struct run *run);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When bricks ran: per brick, phase and kind of lane the time with at least one thread in it, the
 * time of all threads together, and what they did. Inside of analysis/ only.
 */
#ifndef BRICK_ANALYSIS_ROOFLINE_SPANS_H
#define BRICK_ANALYSIS_ROOFLINE_SPANS_H

#include "analysis/roofline.h"

struct roofline_span {
	uint64_t begin_ns, end_ns;
};

/* In order of begin, none overlapping another. */
struct roofline_spans {
	struct roofline_span *spans;
	size_t count, capacity;
};

struct roofline_account {
	uint64_t wall_ns, busy_ns;
	uint64_t told_ns; /* of busy_ns, in executions that say what they did */
	uint64_t count, silent;
	uint64_t flops, bytes;
	uint64_t without_flops, without_bytes; /* executions that say one, but not the other */
	struct roofline_spans all;	       /* of the process being walked */
	struct roofline_spans lane;	       /* of the lane being walked */
};

/* Accounts [(brick x ROOFLINE_PHASES + phase) x 2 + on_device]. */
struct roofline_accounts {
	const struct run *run;
	const struct step_index *index;
	struct roofline_account *accounts;
	size_t count;
	uint8_t *speaks;			/* [site_count]: enum roofline_voice */
	uint64_t piece_begin_ns[UINT8_MAX + 3]; /* of what is open, by depth */
	uint32_t lane;
	int failed;
};

enum roofline_voice {
	ROOFLINE_SILENT = 0,
	ROOFLINE_SPEAKS = 1, /* says what an execution did */
	ROOFLINE_PART = 2,   /* one thread's part of executions that another one tells of */
};

/* -ENOMEM; *accounts is then empty. */
int roofline_accounts_init(
	struct roofline_accounts *accounts, const struct run *run, const struct step_index *index);
void roofline_accounts_fini(struct roofline_accounts *accounts);

/* [site_count]: enum roofline_voice. -ENOMEM. */
int roofline_voices(uint8_t *voices, const struct run *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When bricks ran: per brick, phase and kind of lane the time with at least one thread in it, the
 * time of all threads together, and what they did. Inside of analysis/ only.
 */
#pragma once

#include "analysis/step_times.h"
#include "analysis/walk.h"

enum roofline_phase {
	ROOFLINE_PREFILL = STEP_PREFILL,
	ROOFLINE_DECODE = STEP_DECODE,
	ROOFLINE_MIXED = STEP_MIXED,
	ROOFLINE_WARM_UP = STEP_WARM_UP,
	ROOFLINE_OUTSIDE = STEP_PHASES,
	ROOFLINE_PHASES,
};

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
	uint64_t at_most;		       /* that say the most that it can be */
	struct roofline_spans all;	       /* of the process being walked */
	struct roofline_spans lane;	       /* of the lane being walked */
};

/* Accounts [(brick x ROOFLINE_PHASES + phase) x 2 + on_device]. */
struct roofline_accounts {
	const struct run *run;
	const struct step_index *index;
	struct roofline_account *accounts;
	size_t count;
	uint8_t *owners;			/* [site_count]: enum work_owner */
	uint64_t piece_begin_ns[UINT8_MAX + 3]; /* of what is open, by depth */
	uint32_t lane;
	int on_queue;
	/* Of a queue: the work that commands without counts go on with, if it is theirs. */
	uint32_t told_brick;
	int32_t told_layer;
	int failed;
};

/* Whole when the walk has run. -ENOMEM; *accounts is then empty. */
int roofline_accounts_init(struct roofline_accounts *accounts, struct walk *walk);
void roofline_accounts_fini(struct roofline_accounts *accounts);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a stopped thread, by the tables that its code carries for exceptions (.eh_frame, as
 * the psABI and DWARF describe them). All memory is read from the process, and is not trusted. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lib/sys/tracing.h"
#include "record/enter/tracee.h"

enum unwind_state {
	UNWIND_FRAME, /* `pc` and the registers are this frame's */
	UNWIND_END,   /* there are no further frames */
	UNWIND_LOST,  /* code without tables, or with tables that are not understood */
};

struct unwind {
	const struct tracee *tracee;
	enum unwind_state state;
	uint64_t pc;
	uint64_t registers[SYS_DWARF_REGISTERS]; /* as DWARF numbers them */
	bool is_exact; /* pc is that of the next instruction: not a place behind a call */
	int depth;
};

/* The innermost frame. */
void unwind_begin(struct unwind *u, const struct tracee *t, const struct tracee_thread *thread);

/* The caller's frame. */
void unwind_next(struct unwind *u);

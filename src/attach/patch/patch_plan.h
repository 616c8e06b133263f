/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans how a jump can replace the first instructions of a function. A plan is refused unless all
 * of the following holds. Every byte of the function belongs to an instruction that is understood.
 * The displaced instructions do the same elsewhere. No jump leads between them or, from inside of
 * the function, to its beginning. No data holds an address between them. If callers keep values in
 * registers that functions need not preserve, the hook can keep these, too. Addresses are the
 * file's. Call plan_function(), plan_surroundings(), plan_callers() in this order. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/patch/image.h"

enum {
	PLAN_ENTRY_BYTES = 320,	 /* trampoline memory of one function */
	PLAN_MAX_DISPLACED = 24, /* bytes; a plan that needs more is refused */
};

/* A place in code that calls a function, or jumps to it. */
struct plan_lead {
	uint64_t address;
	int is_call;
};

struct plan {
	uint64_t entry, bytes; /* the function */
	uint64_t site;	       /* address of the jump: behind a landing mark (insn.is_landing) */
	uint8_t displaced;     /* bytes of the whole instructions that the jump replaces */
	uint8_t instructions;  /* how many these are */
	uint8_t goes_on;  /* 1: they may go on behind themselves; 0: they always lead elsewhere */
	uint8_t is_quiet; /* 1: it calls no other function, so callers may know its registers */
	uint64_t kept;	  /* if is_quiet: registers that it does not change and callers rely on */
	const char *refused;	       /* why it cannot be patched, a constant; NULL: it can be */
	ARRAY(struct plan_lead) leads; /* found by plan_surroundings() */
};

/* Plan by the function alone. Sets plan->refused rather than returning an error. */
void plan_function(
	struct plan *plan, const struct image *image, const struct image_function *function);

/* Check several plans by the object's other code and data, in one pass. 0, or -ENOMEM. */
int plan_surroundings(struct plan *const *plans, size_t count, const struct image *image);

/* Check a plan by the function's callers. */
void plan_callers(struct plan *plan, const struct image *image);

void plan_fini(struct plan *plan);

/* Does an address lie between the instructions that are displaced? */
static inline bool plan_is_inside(const struct plan *plan, uint64_t address)
{
	return address > plan->entry && address < plan->site + plan->displaced;
}

struct plan_thunk {
	uint64_t slot; /* address of the word with the hook's address */
	int64_t tell;  /* as insn_thunk.tell */
	int keeping;   /* 1: insn_thunk_keeping(), because callers rely on registers */
};

/*
 * Writes the code for the address `to` (like the file's: load address less bias): the thunk, and
 * behind it, from *inner on, the function's beginning. Returns the number of bytes; 0: it cannot be
 * there.
 */
size_t plan_write(const struct plan *plan, const struct image *image,
	const struct plan_thunk *thunk, uint64_t to, uint8_t out[PLAN_ENTRY_BYTES], size_t *inner);

/* Decodes the code of plan_write() and compares it with the function: 1 if it does the same. */
bool plan_verify(const struct plan *plan, const struct image *image, uint64_t to, size_t inner,
	const uint8_t *code, size_t bytes);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans how a jump can replace the first instructions of a function. It refuses unless all of the
 * following holds. Every byte of the function belongs to an instruction that is understood. The
 * displaced instructions do the same elsewhere. Nothing leads between them or, from inside of the
 * function, to its beginning. No address between them is kept anywhere. If callers keep values in
 * registers over the call, beyond what any function preserves, the hook can keep them, too.
 * Addresses are the file's. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/patch/image.h"

enum {
	PLAN_ENTRY_BYTES = 320, /* trampoline memory of one function */
	PLAN_MAX_DISPLACED = 24,
};

/* A place in code that calls a function, or jumps to it. */
struct plan_lead {
	uint64_t address;
	int is_call;
};

struct plan {
	uint64_t entry, bytes; /* the function */
	uint64_t site;	       /* where the jump goes: behind the mark of where calls may arrive */
	uint8_t displaced;     /* bytes of whole instructions from there */
	uint8_t instructions;  /* these are */
	uint8_t goes_on;       /* behind them, rather than elsewhere in any case */
	uint8_t is_quiet; /* it calls nobody outside: callers may know which registers it changes */
	uint64_t kept;	  /* then: registers that it leaves alone, and somebody relies on that */
	const char *refused;	       /* why not, a constant; NULL: it can be done */
	ARRAY(struct plan_lead) leads; /* found by plan_surroundings() */
};

/* Plans by the function alone. */
void plan_function(
	struct plan *plan, const struct image *image, const struct image_function *function);

/* Checks several plans by the rest of the object; one look at all of its code and data. */
int plan_surroundings(struct plan *const *plans, size_t count, const struct image *image);

/* Checks a plan by those who call the function; after plan_surroundings(). */
void plan_callers(struct plan *plan, const struct image *image);

void plan_fini(struct plan *plan);

/* Does an address lie between the instructions that are displaced? */
static inline bool plan_is_inside(const struct plan *plan, uint64_t address)
{
	return address > plan->entry && address < plan->site + plan->displaced;
}

struct plan_thunk {
	uint64_t slot; /* where the hook's address is; see struct insn_thunk */
	int64_t tell;
	int keeping; /* insn_thunk_keeping(), as it must be where callers rely on registers */
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

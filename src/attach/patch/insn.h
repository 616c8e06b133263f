/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine instruction: how long it is, where it may lead, what it refers to; and the same
 * instruction at another address. One source per kind of CPU (insn_x86_64.c by Zydis,
 * insn_aarch64.c), chosen when Brick is built. Bytes that are not understood are no instruction.
 * Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_flow {
	INSN_NEXT,	    /* goes on behind itself */
	INSN_BRANCH,	    /* there, or to `target` */
	INSN_JUMP,	    /* to `target` */
	INSN_CALL,	    /* calls `target` */
	INSN_JUMP_INDIRECT, /* to an address that was computed */
	INSN_CALL_INDIRECT,
	INSN_RETURN,
	INSN_TRAP, /* goes nowhere */
};

struct insn {
	uint8_t length;
	uint8_t flow;		/* enum insn_flow */
	uint8_t is_landing;	/* marks where calls may arrive; stays where it is */
	uint8_t has_reference;	/* `reference` is an address that it computes from its own */
	uint64_t target;	/* of a jump, a branch, a call */
	uint64_t reference;	/* 0: none, or not known before it runs */
	uint64_t reads, writes; /* registers, by insn_registers() */
};

enum {
	INSN_MAX_BYTES = 16,
	INSN_MOVED_BYTES = 24,	/* the longest that one can become elsewhere */
	INSN_THUNK_BYTES = 264, /* the longest thunk */
};

/* Bytes of the jump that replaces a function's first instructions. */
extern const uint8_t insn_jump_bytes;

/* The least distance that a jump reaches to both sides. */
extern const uint64_t insn_reach;

/*
 * All registers that a call may change, as insn_registers() numbers them; 0: it does not know any.
 */
extern const uint64_t insn_changeable;

/* The instruction at bytes, which lies at `address`: its length, or 0. */
size_t insn_decode(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address);

/*
 * As insn_decode(), with what it reads and writes of the registers that a function need not
 * preserve, one bit each; clearing a register reads nothing.
 */
size_t insn_registers(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address);

/*
 * Writes an instruction that does at `to` what this one does at its own place: its length, or 0
 * when there is none, as with a call, whose return address would be another one.
 */
size_t insn_move(uint8_t out[INSN_MOVED_BYTES], const uint8_t *bytes, size_t available,
	uint64_t address, uint64_t to);

/* A jump from one address to another: its length, or 0 when that is too far. */
size_t insn_jump(uint8_t out[INSN_MAX_BYTES], uint64_t from, uint64_t to);

/* Code between a jump and the hook that it is for; behind it lies the function's beginning. */
struct insn_thunk {
	uint64_t slot; /* address of a word with the hook's */
	int64_t tell;  /* a thread-local word, from the thread pointer, that it writes the address
			  behind itself to; 0: none */
	uint8_t is_aligned; /* goes on behind itself where the call has not aligned the stack, as
			       within a source file it need not for a function that calls nobody */
};

/* A jump to the hook. 0: that is too far, or cannot be said. */
size_t insn_thunk(uint8_t out[INSN_THUNK_BYTES], uint64_t from, const struct insn_thunk *thunk);

/*
 * A call of the hook that changes none of these registers and needs no aligned stack, and a return.
 * The hook finds its own first five arguments in place, and as the sixth the address that the call
 * returns to. Not for functions with arguments on the stack. 0: there is no such thing.
 */
size_t insn_thunk_keeping(
	uint8_t out[INSN_THUNK_BYTES], uint64_t from, uint64_t slot, uint64_t registers);

/* Can insn_thunk_keeping() keep all of these? */
bool insn_can_keep(uint64_t registers);

/*
 * Does a word of code at `bytes` look like a jump or a call by 32-bit distance? Then *target is
 * where it leads, *is_call says which. For searches through code whose instructions' beginnings are
 * not known; 0: it does not. At least 8 bytes must be there.
 */
int insn_looks_like_branch(const uint8_t *bytes, uint64_t address, uint64_t *target, int *is_call);

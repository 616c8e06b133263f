/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine instructions: decoding one (length, targets, references), and writing its equivalent for
 * another address. One source per kind of CPU (insn_x86_64.c by Zydis, insn_aarch64.c), chosen when
 * Brick is built. Bytes that are not understood are no instruction. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_flow {
	INSN_NEXT,	    /* goes on with the next instruction */
	INSN_BRANCH,	    /* goes on with the next instruction, or at `target` */
	INSN_JUMP,	    /* to `target` */
	INSN_CALL,	    /* calls `target` */
	INSN_JUMP_INDIRECT, /* to a computed address */
	INSN_CALL_INDIRECT, /* calls a computed address */
	INSN_RETURN,
	INSN_TRAP, /* goes nowhere */
};

struct insn {
	uint8_t length;
	uint8_t flow;	    /* enum insn_flow */
	uint8_t is_landing; /* 1: marks where indirect calls may arrive (endbr64, bti); never moved
			     */
	uint8_t has_reference;	/* 1: it computes `reference` from its own address */
	uint64_t target;	/* of a jump, a branch or a call */
	uint64_t reference;	/* 0: none, or known at run time only */
	uint64_t reads, writes; /* a bit per register; only insn_registers() sets them */
};

enum {
	INSN_MAX_BYTES = 16,	/* of an instruction, or of a jump */
	INSN_MOVED_BYTES = 24,	/* most bytes that insn_move() writes */
	INSN_THUNK_BYTES = 264, /* of the longest thunk */
};

/* Bytes of the jump that replaces a function's first instructions. */
extern const uint8_t insn_jump_bytes;

/* Distance in bytes that every jump of insn_jump() reaches, forwards and backwards. */
extern const uint64_t insn_reach;

/*
 * All registers that a call may change, as insn_registers() numbers them; 0: it knows none on this
 * CPU.
 */
extern const uint64_t insn_changeable;

/* Decode the instruction at `bytes`, whose address is `address`. Its length; 0: not understood. */
size_t insn_decode(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address);

/*
 * As insn_decode(), and sets `reads` and `writes`: a bit for each register that a function need not
 * preserve. An instruction that clears a register (xor with itself) does not read it.
 */
size_t insn_registers(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address);

/*
 * Write code that does at `to` what the instruction does at `address`. Its length; 0: there is
 * none, as for a call, whose return address would differ.
 */
size_t insn_move(uint8_t out[INSN_MOVED_BYTES], const uint8_t *bytes, size_t available,
	uint64_t address, uint64_t to);

/* Write a jump from one address to another. Its length; 0: too far. */
size_t insn_jump(uint8_t out[INSN_MAX_BYTES], uint64_t from, uint64_t to);

/* A thunk: code between a jump and its hook, with the function's moved beginning behind it. */
struct insn_thunk {
	uint64_t slot; /* address of the word with the hook's address */
	int64_t tell;  /* offset of a thread-local word from the thread pointer, to which it writes
			  the address behind itself; 0: none */
	uint8_t is_aligned; /* 1: if the caller has not aligned the stack, it skips the hook. Inside
			       of a source file a caller need not align it for a leaf function */
};

/* Write a thunk that jumps to the hook. Its length; 0: too far, or `tell` cannot be encoded. */
size_t insn_thunk(uint8_t out[INSN_THUNK_BYTES], uint64_t from, const struct insn_thunk *thunk);

/*
 * Write a thunk that calls the hook and returns, changes none of these registers, and needs no
 * aligned stack. The hook gets the function's first five arguments, and as the sixth the call's
 * return address. Not for functions with arguments on the stack. Its length; 0: not possible.
 */
size_t insn_thunk_keeping(
	uint8_t out[INSN_THUNK_BYTES], uint64_t from, uint64_t slot, uint64_t registers);

/* Can insn_thunk_keeping() keep all of these? */
bool insn_can_keep(uint64_t registers);

/*
 * Do the bytes look like a jump or a call by 32-bit distance? 1, *target and *is_call; 0: they do
 * not. For searches through code whose instruction boundaries are unknown. At least 8 bytes must be
 * readable.
 */
int insn_looks_like_branch(const uint8_t *bytes, uint64_t address, uint64_t *target, int *is_call);

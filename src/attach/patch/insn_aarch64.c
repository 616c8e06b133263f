/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AArch64 instructions (insn.h; Arm ARM, C4.1 "A64 instruction set encoding"). All have four bytes,
 * one of which a jump replaces, so only the few forms that are relative to the program counter
 * matter: B and ADRP are made anew, the others are refused. A function that begins with PACIASP is
 * refused, too: behind it the return address is signed, and before it there must be a landing.
 */
#include "attach/patch/insn.h"

#include <stdbool.h>
#include <string.h>

const uint8_t insn_jump_bytes = 4;
const uint64_t insn_reach = (uint64_t)1 << 27;
const uint64_t insn_changeable = 0;

static uint32_t aarch64_word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static bool aarch64_is(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* `bits` bits from `low` on, as a signed number. */
static int64_t field(uint32_t word, int low, int bits)
{
	return (int64_t)((uint64_t)word << (64 - low - bits)) >> (64 - bits);
}

static bool is_landing(uint32_t word)
{
	return aarch64_is(word, 0xffffff3f, 0xd503241f);
}

static bool is_signing(uint32_t word)
{
	return word == 0xd503233f || word == 0xd503237f; /* PACIASP, PACIBSP */
}

/*
 * Reserved, unallocated, and instructions that sign the return address: nothing that may be
 * touched.
 */
static bool is_unknown(uint32_t word)
{
	uint32_t op0 = word >> 25 & 0xf;

	return (op0 == 0 && word >> 16) || op0 == 1 || op0 == 3 || is_signing(word);
}

static void relative(struct insn *insn, enum insn_flow flow, uint64_t address, int64_t words)
{
	insn->flow = (uint8_t)flow;
	insn->target = address + (uint64_t)(words * 4);
}

static void refer(struct insn *insn, uint64_t reference)
{
	insn->has_reference = 1;
	insn->reference = reference;
}

static int64_t adr_distance(uint32_t word)
{
	return field(word, 5, 19) * 4 + (word >> 29 & 3);
}

static void describe_register_branch(struct insn *insn, uint32_t word)
{
	switch (word >> 21 & 7) {
	case 0:
		insn->flow = INSN_JUMP_INDIRECT;
		break;
	case 1:
		insn->flow = INSN_CALL_INDIRECT;
		break;
	default:
		insn->flow = INSN_RETURN;
	}
}

size_t insn_decode(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address)
{
	memset(insn, 0, sizeof(*insn));
	if (available < 4 || is_unknown(aarch64_word_at(bytes)))
		return 0;
	uint32_t word = aarch64_word_at(bytes);
	insn->length = 4;
	insn->is_landing = (uint8_t)is_landing(word);
	if (aarch64_is(word, 0xfc000000, 0x14000000))
		relative(insn, INSN_JUMP, address, field(word, 0, 26));
	else if (aarch64_is(word, 0xfc000000, 0x94000000))
		relative(insn, INSN_CALL, address, field(word, 0, 26));
	else if (aarch64_is(word, 0xff000000, 0x54000000) ||
		 aarch64_is(word, 0x7e000000, 0x34000000))
		relative(insn, INSN_BRANCH, address, field(word, 5, 19));
	else if (aarch64_is(word, 0x7e000000, 0x36000000))
		relative(insn, INSN_BRANCH, address, field(word, 5, 14));
	else if (aarch64_is(word, 0x9f000000, 0x10000000))
		refer(insn, address + (uint64_t)adr_distance(word));
	else if (aarch64_is(word, 0x9f000000, 0x90000000))
		refer(insn, (address & ~(uint64_t)4095) + (uint64_t)adr_distance(word) * 4096);
	else if (aarch64_is(word, 0x3b000000, 0x18000000))
		refer(insn, address + (uint64_t)(field(word, 5, 19) * 4));
	else if (aarch64_is(word, 0xfe000000, 0xd6000000))
		describe_register_branch(insn, word);
	else if (aarch64_is(word, 0xffe00000, 0xd4200000) ||
		 aarch64_is(word, 0xffe00000, 0xd4400000) || word >> 16 == 0)
		insn->flow = INSN_TRAP; /* BRK, HLT, UDF */
	return 4;
}

size_t insn_registers(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address)
{
	return insn_decode(insn, bytes, available, address);
}

static size_t aarch64_put(uint8_t *out, size_t at, uint32_t word)
{
	memcpy(out + at, &word, sizeof(word));
	return at + sizeof(word);
}

size_t insn_jump(uint8_t out[INSN_MAX_BYTES], uint64_t from, uint64_t to)
{
	int64_t words = (int64_t)(to - from) >> 2;

	if ((to - from) & 3 || words < -(1 << 25) || words >= 1 << 25)
		return 0;
	return aarch64_put(out, 0, 0x14000000 | ((uint32_t)words & 0x03ffffff));
}

/* The ADRP of a register from another place; 0: too far. */
static uint32_t adrp(unsigned reg, uint64_t from, uint64_t page)
{
	int64_t pages = (int64_t)((page & ~(uint64_t)4095) - (from & ~(uint64_t)4095)) >> 12;

	if (pages < -(1 << 20) || pages >= 1 << 20)
		return 0;
	return 0x90000000 | ((uint32_t)pages & 3) << 29 | ((uint32_t)(pages >> 2) & 0x7ffff) << 5 |
	       reg;
}

/*
 * mrs x17, tpidr_el0; mov x16, #tell; add x17, x17, x16; adr x16, behind; str x16, [x17];
 * adrp x16, slot; ldr x16, [x16, slot]; br x16. The stack is always aligned.
 */
size_t insn_thunk(uint8_t out[INSN_THUNK_BYTES], uint64_t from, const struct insn_thunk *thunk)
{
	enum { ADR_TO_BEHIND = 5 * 4 };
	size_t at = 0;

	if (thunk->slot & 7 || thunk->tell < 0 || thunk->tell >> 32)
		return 0;
	if (thunk->tell) {
		at = aarch64_put(out, at, 0xd53bd051);
		at = aarch64_put(out, at, 0xd2800010 | ((uint32_t)thunk->tell & 0xffff) << 5);
		at = aarch64_put(out, at, 0xf2a00010 | (uint32_t)(thunk->tell >> 16) << 5);
		at = aarch64_put(out, at, 0x8b100231);
		at = aarch64_put(out, at, 0x10000010 | ADR_TO_BEHIND >> 2 << 5);
		at = aarch64_put(out, at, 0xf9000230);
	}
	uint32_t page = adrp(16, from + at, thunk->slot);
	if (!page)
		return 0;
	at = aarch64_put(out, at, page);
	at = aarch64_put(out, at, 0xf9400210 | (uint32_t)(thunk->slot >> 3 & 0x1ff) << 10);
	return aarch64_put(out, at, 0xd61f0200);
}

size_t insn_thunk_keeping(
	uint8_t out[INSN_THUNK_BYTES], uint64_t from, uint64_t slot, uint64_t registers)
{
	(void)out, (void)from, (void)slot, (void)registers;
	return 0;
}

bool insn_can_keep(uint64_t registers)
{
	return false;
}

size_t insn_move(uint8_t out[INSN_MOVED_BYTES], const uint8_t *bytes, size_t available,
	uint64_t address, uint64_t to)
{
	struct insn insn;

	if (!insn_decode(&insn, bytes, available, address) || insn.is_landing)
		return 0;
	uint32_t word = aarch64_word_at(bytes);
	if (insn.flow == INSN_JUMP)
		return insn_jump(out, to, insn.target);
	if (insn.flow == INSN_CALL || insn.flow == INSN_CALL_INDIRECT || insn.flow == INSN_BRANCH)
		return 0;
	if (!insn.has_reference)
		return aarch64_put(out, 0, word);
	if (!aarch64_is(word, 0x9f000000, 0x90000000))
		return 0;
	word = adrp(word & 31, to, insn.reference);
	return word ? aarch64_put(out, 0, word) : 0;
}

int insn_looks_like_branch(const uint8_t *bytes, uint64_t address, uint64_t *target, int *is_call)
{
	struct insn insn;

	if (address & 3 || !insn_decode(&insn, bytes, 4, address) || !insn.target)
		return 0;
	*target = insn.target;
	*is_call = insn.flow == INSN_CALL;
	return 1;
}

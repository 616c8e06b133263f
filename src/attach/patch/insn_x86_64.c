/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64 instructions, decoded by Zydis (insn.h). It relocates operands relative to the instruction
 * pointer, jumps and conditional jumps, which become 32 bits wide. It cannot relocate, and so
 * refuses: calls, loops, transactions, operands relative to the 32-bit instruction pointer.
 */
#include "attach/patch/insn.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <string.h>

const uint8_t insn_jump_bytes = 5;
const uint64_t insn_reach = (uint64_t)1 << 31;
const uint64_t insn_changeable = 0x00ffffffffff0fc7;

static int decoder_init(ZydisDecoder *decoder)
{
	return ZYAN_SUCCESS(
		ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

static int decode(ZydisDecodedInstruction *raw, ZydisDecodedOperand *operands, const uint8_t *bytes,
	size_t available)
{
	ZydisDecoder decoder;

	return decoder_init(&decoder) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes,
		       available < ZYDIS_MAX_INSTRUCTION_LENGTH ? available
								: ZYDIS_MAX_INSTRUCTION_LENGTH,
		       raw, operands));
}

static enum insn_flow flow_of(const ZydisDecodedInstruction *raw, bool is_relative)
{
	switch (raw->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return is_relative ? INSN_CALL : INSN_CALL_INDIRECT;
	case ZYDIS_CATEGORY_COND_BR:
		return INSN_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is_relative ? INSN_JUMP : INSN_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return INSN_RETURN;
	default:
		break;
	}
	switch (raw->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		return INSN_TRAP;
	default:
		return is_relative ? INSN_BRANCH : INSN_NEXT;
	}
}

static bool is_relative(const ZydisDecodedInstruction *raw)
{
	return raw->raw.imm[0].is_relative || raw->raw.imm[1].is_relative;
}

static void find_reference(struct insn *insn, const ZydisDecodedInstruction *raw,
	const ZydisDecodedOperand *operands, uint64_t address)
{
	for (int i = 0; i < raw->operand_count; i++) {
		const ZydisDecodedOperand *o = &operands[i];
		ZyanU64 absolute;
		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP) {
			insn->has_reference = 1;
			if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(raw, o, address, &absolute)))
				insn->reference = absolute;
		} else if (o->mem.base == ZYDIS_REGISTER_NONE && o->mem.disp.has_displacement) {
			insn->reference = (uint64_t)o->mem.disp.value; /* a table in low memory */
		}
	}
}

/* Notes a value that can be an address in a fixed program, as `mov $table,%edi` loads it. */
static void find_immediate(struct insn *insn, const ZydisDecodedInstruction *raw)
{
	if (!insn->reference && !is_relative(raw) && raw->raw.imm[0].size >= 32)
		insn->reference = raw->raw.imm[0].value.u;
}

static void x86_describe(struct insn *insn, const ZydisDecodedInstruction *raw,
	const ZydisDecodedOperand *operands, uint64_t address)
{
	int relative = is_relative(raw);

	memset(insn, 0, sizeof(*insn));
	insn->length = raw->length;
	insn->flow = (uint8_t)flow_of(raw, relative);
	insn->is_landing = raw->mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	if (relative)
		insn->target = address + raw->length + (uint64_t)raw->raw.imm[0].value.s;
	find_reference(insn, raw, operands, address);
	find_immediate(insn, raw);
}

size_t insn_decode(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address)
{
	ZydisDecodedInstruction raw;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!decode(&raw, operands, bytes, available))
		return 0;
	x86_describe(insn, &raw, operands, address);
	return raw.length;
}

/* rax, rcx, rdx, rsi, rdi, r8 to r11 by their numbers; vectors from 16 on; masks from 48 on. */
static uint64_t register_bit(ZydisRegister name)
{
	enum { VOLATILE = 0x0fc7 };
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
	if (whole == ZYDIS_REGISTER_NONE)
		whole = name; /* masks are parts of nothing */
	ZydisRegisterClass class = ZydisRegisterGetClass(whole);
	ZyanI8 id = ZydisRegisterGetId(whole);

	if (class == ZYDIS_REGCLASS_GPR64)
		return (uint64_t)1 << id & VOLATILE;
	if (class == ZYDIS_REGCLASS_ZMM || class == ZYDIS_REGCLASS_YMM ||
		class == ZYDIS_REGCLASS_XMM)
		return (uint64_t)1 << (16 + id);
	return class == ZYDIS_REGCLASS_MASK ? (uint64_t)1 << (48 + id) : 0;
}

/* Whatever was in the register: xor %eax,%eax and its like. */
static bool is_clearing(const ZydisDecodedInstruction *raw, const ZydisDecodedOperand *operands)
{
	int n = raw->operand_count_visible;

	switch (raw->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_PCMPEQD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_VPCMPEQD:
		break;
	default:
		return false;
	}
	return n >= 2 && operands[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[n - 1].reg.value == operands[n - 2].reg.value;
}

/* A write to a part of a general register keeps the rest, and so does one that may not happen. */
static bool is_whole_write(const ZydisDecodedOperand *operand)
{
	return (operand->actions & ZYDIS_OPERAND_ACTION_WRITE) &&
	       (ZydisRegisterGetClass(operand->reg.value) != ZYDIS_REGCLASS_GPR8 &&
		       ZydisRegisterGetClass(operand->reg.value) != ZYDIS_REGCLASS_GPR16);
}

size_t insn_registers(struct insn *insn, const uint8_t *bytes, size_t available, uint64_t address)
{
	ZydisDecodedInstruction raw;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!decode(&raw, operands, bytes, available))
		return 0;
	x86_describe(insn, &raw, operands, address);
	for (int i = 0; i < raw.operand_count; i++) {
		const ZydisDecodedOperand *o = &operands[i];
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
			insn->reads |= register_bit(o->mem.base) | register_bit(o->mem.index);
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			insn->reads |= register_bit(o->reg.value);
		if (is_whole_write(o))
			insn->writes |= register_bit(o->reg.value);
	}
	if (is_clearing(&raw, operands))
		insn->reads = 0;
	return raw.length;
}

static size_t x86_put_distance(uint8_t *out, size_t at, uint64_t from, uint64_t to)
{
	int64_t distance = (int64_t)(to - (from + at + 4));
	int32_t narrow = (int32_t)distance;

	if (narrow != distance)
		return 0;
	memcpy(out + at, &narrow, sizeof(narrow));
	return at + sizeof(narrow);
}

size_t insn_jump(uint8_t out[INSN_MAX_BYTES], uint64_t from, uint64_t to)
{
	out[0] = 0xe9;
	return x86_put_distance(out, 1, from, to);
}

static size_t put_code(uint8_t *out, size_t at, const char *code, size_t bytes)
{
	memcpy(out + at, code, bytes);
	return at + bytes;
}

/* test $8,%spl; je behind; lea behind(%rip),%r11; mov %r11,%fs:tell; jmp *slot(%rip) */
size_t insn_thunk(uint8_t out[INSN_THUNK_BYTES], uint64_t from, const struct insn_thunk *thunk)
{
	size_t tell = thunk->tell ? 16 : 0, at = 0;
	int32_t word = (int32_t)thunk->tell, jump = 6;

	if (word != thunk->tell)
		return 0;
	if (thunk->is_aligned) {
		at = put_code(out, at, "\x40\xf6\xc4\x08\x74", 5);
		out[at++] = (uint8_t)(tell + 6);
	}
	if (tell) {
		int32_t behind = 9 + jump;
		at = put_code(out, at, "\x4c\x8d\x1d", 3);
		memcpy(out + at, &behind, sizeof(behind));
		at = put_code(out, at + sizeof(behind), "\x64\x4c\x89\x1c\x25", 5);
		memcpy(out + at, &word, sizeof(word));
		at += sizeof(word);
	}
	at = put_code(out, at, "\xff\x25", 2);
	return x86_put_distance(out, at, from, thunk->slot);
}

enum { GENERAL = 0x0fc7, REGISTERS = 12, FIRST_VECTOR = 16, VECTORS = 32, MAX_VECTORS = 8 };

/* The bytes of a vector register to keep: all that this CPU has; 0: not known. */
static unsigned vector_bytes(void)
{
	return __builtin_cpu_supports("avx512f") ? 64 : __builtin_cpu_supports("avx") ? 32 : 0;
}

static uint64_t vectors_of(uint64_t registers)
{
	unsigned known = vector_bytes() == 64 ? VECTORS : vector_bytes() ? VECTORS / 2 : 0;

	return registers >> FIRST_VECTOR & (((uint64_t)1 << known) - 1);
}

bool insn_can_keep(uint64_t registers)
{
	uint64_t vectors = vectors_of(registers);

	return !(registers & ~(GENERAL | vectors << FIRST_VECTOR)) &&
	       __builtin_popcountll(vectors) <= MAX_VECTORS;
}

static size_t push_or_pop(uint8_t *out, size_t at, unsigned opcode, unsigned reg)
{
	if (reg >= 8)
		out[at++] = 0x41;
	out[at++] = (uint8_t)(opcode + (reg & 7));
	return at;
}

/* vmovdqu64 %zmm,n(%rsp) or vmovdqu %ymm,n(%rsp); the other way round where it loads. */
static size_t move_vector(uint8_t *out, size_t at, unsigned reg, uint32_t distance, bool loads)
{
	if (vector_bytes() == 64) {
		out[at++] = 0x62;
		out[at++] = (uint8_t)(0x61 | (reg & 8 ? 0 : 0x80) | (reg & 16 ? 0 : 0x10));
		at = put_code(out, at, "\xfe\x48", 2);
	} else {
		out[at++] = 0xc5;
		out[at++] = reg & 8 ? 0x7e : 0xfe;
	}
	out[at++] = loads ? 0x6f : 0x7f;
	out[at++] = (uint8_t)(0x84 | (reg & 7) << 3);
	out[at++] = 0x24;
	memcpy(out + at, &distance, sizeof(distance));
	return at + sizeof(distance);
}

static size_t move_vectors(uint8_t *out, size_t at, uint64_t vectors, bool loads)
{
	uint32_t distance = 0;

	for (; vectors; vectors &= vectors - 1, distance += vector_bytes())
		at = move_vector(out, at, (unsigned)__builtin_ctzll(vectors), distance, loads);
	return at;
}

/* sub $n,%rsp, and %rsp aligned below that. */
static size_t make_room(uint8_t *out, size_t at, uint64_t vectors)
{
	uint32_t bytes = vector_bytes() * (uint32_t)__builtin_popcountll(vectors);

	at = put_code(out, at, "\x48\x81\xec", 3);
	memcpy(out + at, &bytes, sizeof(bytes));
	return put_code(out, at + sizeof(bytes), "\x48\x83\xe4\xf0", 4);
}

/*
 * push %rbp; mov %rsp,%rbp; push each; mov 8(%rbp),%r9; room for vectors, and they into it;
 * call *slot(%rip); vectors from there; lea -8*n(%rbp),%rsp; pop each; pop %rbp; ret
 */
size_t insn_thunk_keeping(
	uint8_t out[INSN_THUNK_BYTES], uint64_t from, uint64_t slot, uint64_t registers)
{
	uint64_t vectors = vectors_of(registers);
	int n = 0;
	size_t at = put_code(out, 0, "\x55\x48\x89\xe5", 4);

	for (unsigned reg = 0; reg < REGISTERS; reg++)
		if (registers & GENERAL & (uint64_t)1 << reg) {
			at = push_or_pop(out, at, 0x50, reg);
			n++;
		}
	at = put_code(out, at, "\x4c\x8b\x4d\x08", 4);
	at = make_room(out, at, vectors);
	at = move_vectors(out, at, vectors, false);
	at = put_code(out, at, "\xff\x15", 2);
	at = x86_put_distance(out, at, from, slot);
	if (!at)
		return 0;
	at = move_vectors(out, at, vectors, true);
	at = put_code(out, at, "\x48\x8d\x65", 3);
	out[at++] = (uint8_t)(-8 * n);
	for (unsigned reg = REGISTERS; reg-- > 0;)
		if (registers & GENERAL & (uint64_t)1 << reg)
			at = push_or_pop(out, at, 0x58, reg);
	return put_code(out, at, "\x5d\xc3", 2);
}

/* A jump or conditional jump, 32 bits wide; loops have no such form. */
static size_t move_jump(uint8_t *out, const ZydisDecodedInstruction *raw, const uint8_t *bytes,
	uint64_t target, uint64_t to)
{
	size_t at = 0;

	if (raw->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		return insn_jump(out, to, target);
	if (raw->meta.category != ZYDIS_CATEGORY_COND_BR)
		return 0;
	uint8_t opcode = bytes[raw->length - (raw->raw.imm[0].size == 8 ? 2 : 5)];
	if (raw->raw.imm[0].size == 8 && (opcode & 0xf0) != 0x70)
		return 0;
	if (raw->raw.imm[0].size != 8 && (raw->raw.imm[0].size != 32 || (opcode & 0xf0) != 0x80))
		return 0;
	out[at++] = 0x0f;
	out[at++] = (uint8_t)(0x80 | (opcode & 0x0f));
	return x86_put_distance(out, at, to, target);
}

static size_t move_reference(uint8_t *out, const ZydisDecodedInstruction *raw,
	const struct insn *insn, const uint8_t *bytes, uint64_t to)
{
	if (raw->raw.disp.size != 32 || !insn->reference)
		return 0;
	memcpy(out, bytes, raw->length);
	int64_t distance = (int64_t)(insn->reference - (to + raw->length));
	int32_t narrow = (int32_t)distance;
	if (narrow != distance)
		return 0;
	memcpy(out + raw->raw.disp.offset, &narrow, sizeof(narrow));
	return raw->length;
}

static int refers_by_short_pointer(
	const ZydisDecodedInstruction *raw, const ZydisDecodedOperand *operands)
{
	for (int i = 0; i < raw->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			operands[i].mem.base == ZYDIS_REGISTER_EIP)
			return 1;
	return 0;
}

size_t insn_move(uint8_t out[INSN_MOVED_BYTES], const uint8_t *bytes, size_t available,
	uint64_t address, uint64_t to)
{
	ZydisDecodedInstruction raw;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct insn insn;

	if (!decode(&raw, operands, bytes, available))
		return 0;
	x86_describe(&insn, &raw, operands, address);
	if (insn.flow == INSN_CALL || insn.flow == INSN_CALL_INDIRECT || insn.is_landing)
		return 0;
	if (is_relative(&raw))
		return move_jump(out, &raw, bytes, insn.target, to);
	if (insn.has_reference)
		return refers_by_short_pointer(&raw, operands)
			       ? 0
			       : move_reference(out, &raw, &insn, bytes, to);
	memcpy(out, bytes, raw.length);
	return raw.length;
}

int insn_looks_like_branch(const uint8_t *bytes, uint64_t address, uint64_t *target, int *is_call)
{
	int32_t distance;
	size_t at = bytes[0] == 0xe8 || bytes[0] == 0xe9	    ? 1
		    : bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80 ? 2
								    : 0;

	if (!at)
		return 0;
	memcpy(&distance, bytes + at, sizeof(distance));
	*target = address + at + sizeof(distance) + (uint64_t)(int64_t)distance;
	*is_call = bytes[0] == 0xe8;
	return 1;
}

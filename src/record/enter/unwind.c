/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding (unwind.h). A frame's entry is found by the sorted table that linkers make
 * (.eh_frame_hdr). Encodings that no linker of Linux writes there are not understood.
 */
#include "record/enter/unwind.h"

#include <elf.h>
#include <string.h>

enum {
	ENTRY_BYTES = 8192, /* of a CIE or FDE; longer ones are not understood */
	DEEPEST = 512,
	STATES = 8, /* that are remembered at a time */
	STACK = 16, /* of an expression */
};

/* Reading what was fetched from the process. */

struct bytes {
	const uint8_t *at, *end;
	uint64_t address; /* of `begin` in the process */
	const uint8_t *begin;
	bool is_bad;
};

static uint64_t take(struct bytes *b, size_t n)
{
	uint64_t value = 0;

	if ((size_t)(b->end - b->at) < n) {
		b->is_bad = true;
		b->at = b->end;
		return 0;
	}
	memcpy(&value, b->at, n);
	b->at += n;
	return value;
}

static uint64_t take_leb(struct bytes *b, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = take(b, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !b->is_bad);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static uint64_t take_u(struct bytes *b)
{
	return take_leb(b, false);
}

static int64_t take_s(struct bytes *b)
{
	return (int64_t)take_leb(b, true);
}

/* A pointer as an encoding byte says: its low half is a size, its high half what it is added to. */
static uint64_t take_pointer(struct bytes *b, uint8_t encoding)
{
	enum {
		ABSOLUTE = 0x00,
		UDATA2 = 0x02,
		UDATA4 = 0x03,
		UDATA8 = 0x04,
		SDATA2 = 0x0a,
		SDATA4 = 0x0b,
		SDATA8 = 0x0c,
		FROM_PLACE = 0x10
	};
	uint64_t place = b->address + (uint64_t)(b->at - b->begin), value;

	switch (encoding & 0x0f) {
	case UDATA2:
		value = take(b, 2);
		break;
	case UDATA4:
		value = take(b, 4);
		break;
	case SDATA2:
		value = (uint64_t)(int64_t)(int16_t)take(b, 2);
		break;
	case SDATA4:
		value = (uint64_t)(int64_t)(int32_t)take(b, 4);
		break;
	case ABSOLUTE:
	case UDATA8:
	case SDATA8:
		value = take(b, 8);
		break;
	default:
		b->is_bad = true;
		return 0;
	}
	if ((encoding & 0x70) == FROM_PLACE)
		return value + place;
	b->is_bad |= (encoding & 0x70) != 0;
	return value;
}

/* Fetch an entry with its length in front. */
static bool fetch_entry(
	const struct tracee *t, uint64_t address, uint8_t out[ENTRY_BYTES], struct bytes *b)
{
	uint32_t length;

	if (!tracee_read(t, address, &length, sizeof(length)) || !length ||
		length > ENTRY_BYTES - sizeof(length) ||
		!tracee_read(t, address, out, length + sizeof(length)))
		return false;
	*b = (struct bytes){
		out + sizeof(length), out + sizeof(length) + length, address, out, false};
	return true;
}

/* Finding the entry of an address. */

/* The table of the object that the address lies in. */
static bool find_table(const struct tracee *t, uint64_t pc, uint64_t *table)
{
	const struct tracee_mapping *m = tracee_mapping_at(&t->mappings, pc), *first = m;
	Elf64_Ehdr elf;
	Elf64_Phdr segment;
	uint64_t bias = 0;
	bool has_bias = false, found = false;

	for (size_t i = 0; m && i < t->mappings.of.count; i++) {
		const struct tracee_mapping *other = &t->mappings.of.items[i];
		if (!other->offset && !strcmp(other->path, m->path) && other->low <= pc)
			first = other;
	}
	if (!m || !m->path[0] || !tracee_read(t, first->low, &elf, sizeof(elf)) ||
		memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_phentsize != sizeof(segment))
		return false;
	for (unsigned i = 0; i < elf.e_phnum; i++) {
		if (!tracee_read(t, first->low + elf.e_phoff + i * sizeof(segment), &segment,
			    sizeof(segment)))
			return false;
		if (segment.p_type == PT_LOAD && !segment.p_offset) {
			bias = first->low - segment.p_vaddr;
			has_bias = true;
		}
		if (segment.p_type == PT_GNU_EH_FRAME && has_bias) {
			*table = bias + segment.p_vaddr;
			found = true;
		}
	}
	return found;
}

/* The FDE of an address, which may be that of the gap before the next function. 0: none. */
static uint64_t find_fde(const struct tracee *t, uint64_t pc)
{
	enum { FROM_PLACE_S4 = 0x1b, U4 = 0x03, FROM_TABLE_S4 = 0x3b };
	struct {
		uint8_t version, frames, count, table;
		int32_t frames_at;
		uint32_t entries;
	} head;
	struct {
		int32_t code, entry;
	} row;
	uint64_t table = 0;

	if (!find_table(t, pc, &table) || !tracee_read(t, table, &head, sizeof(head)) ||
		head.version != 1 || head.frames != FROM_PLACE_S4 || head.count != U4 ||
		head.table != FROM_TABLE_S4)
		return 0;
	uint32_t low = 0, high = head.entries;
	int64_t wanted = (int64_t)(pc - table);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (!tracee_read(t, table + sizeof(head) + middle * sizeof(row), &row, sizeof(row)))
			return 0;
		if (row.code <= wanted)
			low = middle;
		else
			high = middle;
	}
	if (!head.entries ||
		!tracee_read(t, table + sizeof(head) + low * sizeof(row), &row, sizeof(row)))
		return 0;
	return table + (uint64_t)(int64_t)row.entry;
}

/* Rules of a frame. */

struct rule {
	enum rule_kind {
		RULE_SAME, /* as in the callee */
		RULE_UNDEFINED,
		RULE_AT,    /* saved at CFA + n */
		RULE_VALUE, /* it is CFA + n */
		RULE_REGISTER,
		RULE_AT_EXPRESSION,
		RULE_VALUE_EXPRESSION,
	} kind;
	int64_t n;
	struct bytes expression;
};

struct rules {
	struct rule of[SYS_DWARF_REGISTERS];
	uint32_t cfa_register;
	int64_t cfa_offset;
	bool has_cfa_expression;
	struct bytes cfa_expression;
};

struct frame_entry {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t encoding;
	bool has_augmentation, is_signal;
	struct bytes program; /* of the CIE */
};

static bool read_cie(struct frame_entry *e, struct bytes *b)
{
	char augmentation[8] = "";
	size_t n = 0;
	uint32_t id = (uint32_t)take(b, 4);
	uint8_t version = (uint8_t)take(b, 1);

	for (char c; (c = (char)take(b, 1)) && !b->is_bad;)
		if (n < sizeof(augmentation) - 1)
			augmentation[n++] = c;
		else
			b->is_bad = true;
	e->code_align = take_u(b);
	e->data_align = take_s(b);
	e->return_register = version == 1 ? take(b, 1) : take_u(b);
	e->has_augmentation = augmentation[0] == 'z';
	if (id || (version != 1 && version != 3) || (augmentation[0] && !e->has_augmentation))
		return false;
	uint64_t bytes = e->has_augmentation ? take_u(b) : 0;
	if (b->is_bad || bytes > (uint64_t)(b->end - b->at))
		return false;
	const uint8_t *behind = b->at + bytes;
	for (const char *c = augmentation + 1; e->has_augmentation && *c; c++) {
		if (*c == 'R')
			e->encoding = (uint8_t)take(b, 1);
		else if (*c == 'P')
			take_pointer(b, (uint8_t)(take(b, 1) & 0x7f));
		else if (*c == 'L')
			take(b, 1);
		else if (*c == 'S')
			e->is_signal = true;
		else
			return false;
	}
	b->at = behind;
	e->program = *b;
	return !b->is_bad && e->return_register < SYS_DWARF_REGISTERS;
}

static struct bytes take_block(struct bytes *b)
{
	struct bytes block = *b;
	uint64_t n = take_u(b);

	if (n > (uint64_t)(b->end - b->at)) {
		b->is_bad = true;
		n = 0;
	}
	block.at = b->at;
	block.end = b->at + n;
	b->at += n;
	return block;
}

static void set_rule(struct rules *r, uint64_t which, enum rule_kind kind, int64_t n)
{
	if (which < SYS_DWARF_REGISTERS)
		r->of[which] = (struct rule){.kind = kind, .n = n};
}

/* Follow a program up to the row of pc. False: it is not understood. */
static bool follow(struct rules *r, const struct rules *initial, struct bytes b,
	const struct frame_entry *e, uint64_t location, uint64_t pc)
{
	struct rules remembered[STATES];
	size_t depth = 0;

	while (b.at < b.end && !b.is_bad) {
		uint8_t op = (uint8_t)take(&b, 1), low = op & 0x3f;
		uint64_t which;
		switch (op >> 6) {
		case 1: /* advance */
			location += low * e->code_align;
			if (location > pc)
				return true;
			continue;
		case 2:
			set_rule(r, low, RULE_AT, (int64_t)take_u(&b) * e->data_align);
			continue;
		case 3:
			if (low < SYS_DWARF_REGISTERS)
				r->of[low] = initial->of[low];
			continue;
		}
		switch (op) {
		case 0x00: /* nop */
			break;
		case 0x01: /* set_loc */
			location = take_pointer(&b, e->encoding);
			break;
		case 0x02:
		case 0x03:
		case 0x04:
			location += take(&b, (size_t)1 << (op - 2)) * e->code_align;
			break;
		case 0x05: /* offset_extended */
			which = take_u(&b);
			set_rule(r, which, RULE_AT, (int64_t)take_u(&b) * e->data_align);
			break;
		case 0x06: /* restore_extended */
			which = take_u(&b);
			if (which < SYS_DWARF_REGISTERS)
				r->of[which] = initial->of[which];
			break;
		case 0x07:
			set_rule(r, take_u(&b), RULE_UNDEFINED, 0);
			break;
		case 0x08:
			set_rule(r, take_u(&b), RULE_SAME, 0);
			break;
		case 0x09: /* register */
			which = take_u(&b);
			set_rule(r, which, RULE_REGISTER, (int64_t)take_u(&b));
			break;
		case 0x0a:
			if (depth == STATES)
				return false;
			remembered[depth++] = *r;
			break;
		case 0x0b:
			if (!depth)
				return false;
			*r = remembered[--depth];
			break;
		case 0x0c: /* def_cfa */
			r->has_cfa_expression = false;
			r->cfa_register = (uint32_t)take_u(&b);
			r->cfa_offset = (int64_t)take_u(&b);
			break;
		case 0x0d:
			r->has_cfa_expression = false;
			r->cfa_register = (uint32_t)take_u(&b);
			break;
		case 0x0e:
			r->cfa_offset = (int64_t)take_u(&b);
			break;
		case 0x0f:
			r->cfa_expression = take_block(&b);
			r->has_cfa_expression = true;
			break;
		case 0x10: /* expression */
		case 0x16: /* val_expression */
			which = take_u(&b);
			set_rule(r, which, op == 0x10 ? RULE_AT_EXPRESSION : RULE_VALUE_EXPRESSION,
				0);
			if (which < SYS_DWARF_REGISTERS)
				r->of[which].expression = take_block(&b);
			else
				(void)take_block(&b);
			break;
		case 0x11: /* offset_extended_sf */
			which = take_u(&b);
			set_rule(r, which, RULE_AT, take_s(&b) * e->data_align);
			break;
		case 0x12: /* def_cfa_sf */
			r->has_cfa_expression = false;
			r->cfa_register = (uint32_t)take_u(&b);
			r->cfa_offset = take_s(&b) * e->data_align;
			break;
		case 0x13:
			r->cfa_offset = take_s(&b) * e->data_align;
			break;
		case 0x14: /* val_offset */
			which = take_u(&b);
			set_rule(r, which, RULE_VALUE, (int64_t)take_u(&b) * e->data_align);
			break;
		case 0x2e: /* GNU_args_size */
			take_u(&b);
			break;
		default:
			return false;
		}
		if (location > pc)
			return true;
	}
	return !b.is_bad;
}

/* Expressions, as far as compilers, linkers and the C library use them in these tables. */
static bool evaluate(
	const struct unwind *u, struct bytes b, uint64_t begin, bool has_begin, uint64_t *result)
{
	uint64_t stack[STACK];
	size_t n = 0;

	if (has_begin)
		stack[n++] = begin;
	while (b.at < b.end && !b.is_bad) {
		uint8_t op = (uint8_t)take(&b, 1);
		if (n + 1 >= STACK)
			return false;
		if (op >= 0x30 && op <= 0x4f) { /* lit */
			stack[n++] = op - 0x30u;
		} else if (op >= 0x70 && op <= 0x8f) { /* breg */
			if (op - 0x70 >= SYS_DWARF_REGISTERS)
				return false;
			stack[n++] = u->registers[op - 0x70] + (uint64_t)take_s(&b);
		} else if (op == 0x08 || op == 0x0a || op == 0x0c) { /* const1u, 2u, 4u */
			stack[n++] = take(&b, (size_t)1 << (op - 0x08) / 2);
		} else if (op == 0x06 && n) { /* deref */
			if (!tracee_read(u->tracee, stack[n - 1], &stack[n - 1], 8))
				return false;
		} else if (op == 0x23 && n) { /* plus_uconst */
			stack[n - 1] += take_u(&b);
		} else if (n > 1 && (op == 0x1a || op == 0x22 || op == 0x24 || op == 0x2a)) {
			uint64_t y = stack[--n], *x = &stack[n - 1];
			*x = op == 0x1a	  ? *x & y
			     : op == 0x22 ? *x + y
			     : op == 0x24 ? *x << (y & 63)
					  : (uint64_t)((int64_t)*x >= (int64_t)y);
		} else {
			return false;
		}
	}
	*result = n ? stack[n - 1] : 0;
	return n && !b.is_bad;
}

/* The caller's registers by the rules. False: memory cannot be read. */
static bool apply(struct unwind *u, const struct rules *r, const struct frame_entry *e)
{
	uint64_t cfa, caller[SYS_DWARF_REGISTERS];

	if (r->has_cfa_expression) {
		if (!evaluate(u, r->cfa_expression, 0, false, &cfa))
			return false;
	} else {
		if (r->cfa_register >= SYS_DWARF_REGISTERS)
			return false;
		cfa = u->registers[r->cfa_register] + (uint64_t)r->cfa_offset;
	}
	for (size_t i = 0; i < SYS_DWARF_REGISTERS; i++) {
		const struct rule *rule = &r->of[i];
		uint64_t at = cfa + (uint64_t)rule->n;
		caller[i] = u->registers[i];
		switch (rule->kind) {
		case RULE_SAME:
		case RULE_UNDEFINED:
			break;
		case RULE_AT_EXPRESSION:
			if (!evaluate(u, rule->expression, cfa, true, &at))
				return false;
			/* fallthrough */
		case RULE_AT:
			if (!tracee_read(u->tracee, at, &caller[i], 8))
				return false;
			break;
		case RULE_VALUE:
			caller[i] = at;
			break;
		case RULE_REGISTER:
			if ((uint64_t)rule->n >= SYS_DWARF_REGISTERS)
				return false;
			caller[i] = u->registers[rule->n];
			break;
		case RULE_VALUE_EXPRESSION:
			if (!evaluate(u, rule->expression, cfa, true, &caller[i]))
				return false;
			break;
		}
	}
	if (r->of[SYS_DWARF_SP].kind == RULE_SAME)
		caller[SYS_DWARF_SP] = cfa;
	memcpy(u->registers, caller, sizeof(caller));
	u->pc = caller[e->return_register];
	return true;
}

void unwind_begin(struct unwind *u, const struct tracee *t, const struct tracee_thread *thread)
{
	*u = (struct unwind){.tracee = t, .state = UNWIND_FRAME, .is_exact = true};
	u->pc = sys_registers_pc(&thread->registers);
	sys_registers_dwarf(&thread->registers, u->registers);
}

static enum unwind_state unwind_step(struct unwind *u)
{
	uint8_t fde_bytes[ENTRY_BYTES], cie_bytes[ENTRY_BYTES];
	struct rules rules = {0}, initial;
	struct frame_entry entry = {0};
	struct bytes fde, cie;
	uint64_t pc = u->is_exact ? u->pc : u->pc - 1, at = find_fde(u->tracee, pc);

	if (!at || ++u->depth > DEEPEST || !fetch_entry(u->tracee, at, fde_bytes, &fde))
		return UNWIND_LOST;
	uint64_t cie_distance = take(&fde, 4);
	if (!cie_distance || !fetch_entry(u->tracee, at + 4 - cie_distance, cie_bytes, &cie) ||
		!read_cie(&entry, &cie))
		return UNWIND_LOST;
	uint64_t begin = take_pointer(&fde, entry.encoding);
	uint64_t bytes = take_pointer(&fde, entry.encoding & 0x0f);
	if (fde.is_bad || pc - begin >= bytes)
		return UNWIND_LOST;
	if (entry.has_augmentation)
		(void)take_block(&fde);
	if (!follow(&rules, &rules, entry.program, &entry, 0, UINT64_MAX))
		return UNWIND_LOST;
	initial = rules;
	if (fde.is_bad || !follow(&rules, &initial, fde, &entry, begin, pc))
		return UNWIND_LOST;
	if (rules.of[entry.return_register].kind == RULE_UNDEFINED)
		return UNWIND_END;
	uint64_t sp = u->registers[SYS_DWARF_SP];
	if (!apply(u, &rules, &entry))
		return UNWIND_LOST;
	u->is_exact = entry.is_signal;
	if (!u->pc)
		return UNWIND_END;
	/* frames lie one behind the other, but for a handler on a stack of its own */
	return u->registers[SYS_DWARF_SP] > sp || entry.is_signal ? UNWIND_FRAME : UNWIND_LOST;
}

void unwind_next(struct unwind *u)
{
	if (u->state == UNWIND_FRAME)
		u->state = unwind_step(u);
}

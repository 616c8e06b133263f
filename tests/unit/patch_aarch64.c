/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of AArch64's instructions, on words that an assembler (LLVM's) has made, on any
 * kind of CPU: nothing of it has run on one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "attach/patch/insn.h"

enum { AT = 0x100000, TO = 0x700000 };

static struct insn decode(uint32_t word)
{
	struct insn insn;

	assert_int_equal(insn_decode(&insn, (const uint8_t *)&word, 4, AT), 4);
	return insn;
}

static void leads(uint32_t word, enum insn_flow flow, int64_t distance)
{
	struct insn insn = decode(word);

	assert_int_equal(insn.flow, flow);
	assert_int_equal(insn.target, AT + distance);
	assert_int_equal(insn.reference, 0);
}

static void refers(uint32_t word, uint64_t address)
{
	struct insn insn = decode(word);

	assert_int_equal(insn.flow, INSN_NEXT);
	assert_true(insn.has_reference);
	assert_int_equal(insn.reference, address);
}

static void test_decode(void **state)
{
	(void)state;
	leads(0x14000002, INSN_JUMP, 8);    /* b */
	leads(0x17ffffff, INSN_JUMP, -4);   /* b */
	leads(0x94000002, INSN_CALL, 8);    /* bl */
	leads(0x54000080, INSN_BRANCH, 16); /* b.eq */
	leads(0xb4ffffe0, INSN_BRANCH, -4); /* cbz */
	leads(0x37180061, INSN_BRANCH, 12); /* tbnz */
	refers(0x100000a2, AT + 20);	    /* adr */
	refers(0xb0000023, AT + 0x5000);    /* adrp */
	refers(0x580000c4, AT + 24);	    /* ldr x4, literal */
	refers(0x9c000101, AT + 32);	    /* ldr q1, literal */
	refers(0xd8000040, AT + 8);	    /* prfm, literal */
	assert_int_equal(decode(0xd61f00a0).flow, INSN_JUMP_INDIRECT);
	assert_int_equal(decode(0xd63f00c0).flow, INSN_CALL_INDIRECT);
	assert_int_equal(decode(0xd71f0822).flow, INSN_JUMP_INDIRECT); /* braa */
	assert_int_equal(decode(0xd65f03c0).flow, INSN_RETURN);
	assert_int_equal(decode(0xd4200020).flow, INSN_TRAP); /* brk */
	assert_int_equal(decode(0).flow, INSN_TRAP);	      /* udf */
	assert_int_equal(decode(0xd4000001).flow, INSN_NEXT); /* svc */
	assert_true(decode(0xd503245f).is_landing);	      /* bti c */
	assert_int_equal(decode(0xa9bf7bfd).flow, INSN_NEXT); /* stp */
}

static size_t move(uint32_t word, uint32_t *moved)
{
	uint8_t out[INSN_MOVED_BYTES];
	size_t n = insn_move(out, (const uint8_t *)&word, 4, AT, TO);

	memcpy(moved, out, sizeof *moved);
	return n;
}

static void test_move(void **state)
{
	static const uint32_t refused[] = {0x94000002, 0x54000080, 0xb4ffffe0, 0x37180061,
		0x100000a2, 0x580000c4, 0x9c000101, 0xd63f00c0, 0xd503245f, 0xd503233f, 0x06000000};
	struct insn insn;
	uint32_t moved;

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		assert_int_equal(move(refused[i], &moved), 0);
	assert_int_equal(move(0xa9bf7bfd, &moved), 4);
	assert_int_equal(moved, 0xa9bf7bfd);
	assert_int_equal(move(0x14000002, &moved), 4);
	assert_int_equal(insn_decode(&insn, (const uint8_t *)&moved, 4, TO), 4);
	assert_int_equal(insn.target, AT + 8);
	assert_int_equal(move(0xb0000023, &moved), 4);
	assert_int_equal(insn_decode(&insn, (const uint8_t *)&moved, 4, TO), 4);
	assert_int_equal(insn.reference, AT + 0x5000);
	assert_int_equal(moved & 31, 3);
}

static void test_jump(void **state)
{
	uint8_t out[INSN_MAX_BYTES];

	(void)state;
	assert_int_equal(insn_jump(out, AT, AT + (1 << 27)), 0);
	assert_int_equal(insn_jump(out, AT, AT + (1 << 27) - 4), 4);
	assert_int_equal(insn_jump(out, AT, AT + 2), 0);
}

/* The thunk ends with a jump through the slot; the word before its last two loads from it. */
static void test_thunk(void **state)
{
	const struct insn_thunk thunk = {TO + 0x18, 0x10, 0};
	uint8_t out[INSN_THUNK_BYTES];
	struct insn insn;
	size_t n = insn_thunk(out, AT, &thunk);

	(void)state;
	assert_int_equal(n, 9 * 4);
	assert_int_equal(insn_decode(&insn, out + 12 + 4, 4, AT + 16), 4); /* adr x16, behind */
	assert_int_equal(insn.reference, AT + n);
	assert_int_equal(insn_decode(&insn, out + n - 12, 4, AT + n - 12), 4);
	assert_int_equal(insn.reference, TO);
	assert_memory_equal(out + n - 8, "\x10\x0e\x40\xf9", 4); /* ldr x16, [x16, #24] */
	assert_int_equal(insn_decode(&insn, out + n - 4, 4, AT + n - 4), 4);
	assert_int_equal(insn.flow, INSN_JUMP_INDIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_jump),
		cmocka_unit_test(test_thunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

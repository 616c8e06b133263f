/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions are patched and which refused, on hand-made code of x86-64: each reason to refuse
 * has a function that differs from a good one in that alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "attach/patch/insn.h"
#include "attach/patch/patch_plan.h"
#include "attach/patch/survey.h"

enum { CODE = 0x1000, DATA = 0x8000, TRAMPOLINE = 0x20000, SLOT = 0x21000 };

/* A function at CODE, perhaps others behind it, and data. */
struct place {
	struct image image;
	struct image_part parts[2];
	struct image_function functions[2];
};

static void build(struct place *p, const char *code, size_t function, size_t bytes)
{
	static const uint64_t no_data;

	memset(p, 0, sizeof *p);
	p->parts[0] = (struct image_part){".text", CODE, bytes, (const uint8_t *)code, 1};
	p->parts[1] =
		(struct image_part){".rodata", DATA, sizeof no_data, (const uint8_t *)&no_data, 0};
	p->functions[0] = (struct image_function){"first", CODE, function, 0, 0};
	p->functions[1] =
		(struct image_function){"second", CODE + function, bytes - function, 0, 0};
	p->image.parts.items = p->parts;
	p->image.parts.count = 2;
	p->image.functions.items = p->functions;
	p->image.functions.count = bytes > function ? 2 : 1;
}

static struct plan judge(const struct place *p)
{
	struct plan plan, *list[1] = {&plan};

	plan_function(&plan, &p->image, &p->functions[0]);
	assert_int_equal(plan_surroundings(list, 1, &p->image), 0);
	plan_callers(&plan, &p->image);
	plan_fini(&plan);
	return plan;
}

#define CODE_OF(text) text, sizeof(text) - 1

static struct plan judge_alone(const char *code, size_t bytes)
{
	struct place p;

	build(&p, code, bytes, bytes);
	return judge(&p);
}

/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; leave; ret */
static const char good[] = "\x55\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3";

static void test_good(void **state)
{
	struct plan plan = judge_alone(CODE_OF(good));

	(void)state;
	assert_null(plan.refused);
	assert_int_equal(plan.displaced, 8);
	assert_int_equal(plan.instructions, 3);
	assert_int_equal(plan.site, CODE);
	/* behind the mark of where calls may arrive */
	plan = judge_alone(CODE_OF("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3"));
	assert_null(plan.refused);
	assert_int_equal(plan.site, CODE + 4);
}

static void test_refused(void **state)
{
	static const struct {
		const char *why, *code;
		size_t bytes;
	} cases[] = {
		{"too short", CODE_OF("\x31\xc0\xc3")},
		{"a trap", CODE_OF("\x55\x48\x89\xe5\xcc\x31\xc0\x5d\xc3")},
		{"ends early", CODE_OF("\x31\xc0\xc3\x90\x90\x90\x90\x90")},
		{"a call", CODE_OF("\x55\xe8\x00\x00\x00\x00\x5d\xc3")},
		{"a loop instruction", CODE_OF("\xe2\x06\x55\x5d\x31\xc0\x90\x90\xc3")},
		{"unknown bytes", CODE_OF("\x06\x55\x48\x89\xe5\x5d\xc3")},
		{"unknown bytes behind", CODE_OF("\x55\x48\x89\xe5\x31\xc0\x5d\xc3\x06")},
		{"cut off", CODE_OF("\x55\x48\x89\xe5\x31\xc0\x5d\xc3\x48")},
		{"jumps inside", CODE_OF("\x55\x48\x89\xe5\x31\xc0\x5d\x75\xf8\xc3")},
		{"jumps to its beginning", CODE_OF("\x48\x89\xe5\x31\xc0\x75\xf9\xc3")},
		{"refers inside",
			CODE_OF("\x55\x48\x89\xe5\x31\xc0\x48\x8d\x05\xf5\xff\xff\xff\x5d\xc3")},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!judge_alone(cases[i].code, cases[i].bytes).refused)
			fail_msg("not refused: %s", cases[i].why);
}

/* A second function jumps between the first one's instructions; or only to its beginning. */
static void test_code_elsewhere(void **state)
{
	struct place p;
	char code[sizeof good - 1 + 8];

	(void)state;
	memcpy(code, good, sizeof good - 1);
	memcpy(code + sizeof good - 1, "\xe9\xf2\xff\xff\xff\xc3\x90\x90", 8); /* to CODE + 1 */
	build(&p, code, sizeof good - 1, sizeof code);
	assert_non_null(judge(&p).refused);
	code[sizeof good - 1] = '\xe8'; /* a call */
	assert_non_null(judge(&p).refused);
	code[sizeof good] = '\xf1'; /* of CODE */
	assert_null(judge(&p).refused);
	/* jumps of 8 bits, as hand-written assembly has them to its neighbours */
	memcpy(code + sizeof good - 1, "\x75\xf7\xc3\x90\x90\x90\x90\x90", 8); /* to CODE + 3 */
	code[sizeof good] = (char)(3 - (sizeof good - 1) - 2);
	build(&p, code, sizeof good - 1, sizeof code);
	assert_non_null(judge(&p).refused);
	code[sizeof good - 1] = '\xeb';
	assert_non_null(judge(&p).refused);
	code[sizeof good] = (char)(8 - (sizeof good - 1) - 2); /* behind what is displaced */
	assert_null(judge(&p).refused);
}

static void test_data(void **state)
{
	struct place p;
	uint64_t word = CODE + 4;

	(void)state;
	build(&p, CODE_OF(good), sizeof good - 1);
	p.parts[1].data = (const uint8_t *)&word;
	assert_non_null(judge(&p).refused);
	word = CODE; /* a pointer to the function */
	assert_null(judge(&p).refused);
	p.image.pointers.items = &word;
	p.image.pointers.count = 1;
	assert_null(judge(&p).refused);
	word = CODE + 1;
	p.parts[1].data = (const uint8_t *)good;
	assert_non_null(judge(&p).refused);
}

/* lea table(%rip),%rax; movslq (%rax,%rdi,4),%rdi; add %rax,%rdi; jmp *%rdi; ret */
static void test_table(void **state)
{
	static const char code[] =
		"\x48\x8d\x05\xf9\x6f\x00\x00\x48\x63\x3c\xb8\x48\x01\xc7\xff\xe7\xc3";
	int32_t table[2] = {CODE + 16 - DATA, CODE + 16 - DATA};
	struct place p;

	(void)state;
	build(&p, code, sizeof code - 1, sizeof code - 1);
	p.parts[1] = (struct image_part){".rodata", DATA, 8, (const uint8_t *)table, 0};
	assert_null(judge(&p).refused);
	table[1] = CODE + 3 - DATA;
	assert_non_null(judge(&p).refused);
}

/*
 * first: mov (%rdi),%eax; test %eax,%eax; cmp $1,%eax; ret. second calls it and then uses a
 * register that first leaves alone: 8 bytes that begin with what moves it.
 */
static struct plan judge_caller(const char *use, size_t bytes)
{
	static const char quiet[] = "\x8b\x07\x85\xc0\x83\xf8\x01\xc3";
	char code[8 + 5 + 16];
	struct place p;

	memcpy(code, quiet, 8);
	memcpy(code + 8, "\xe8\xf3\xff\xff\xff", 5);
	memset(code + 13, 0x90, 16);
	memcpy(code + 13, use, bytes);
	code[13 + bytes] = '\xc3';
	build(&p, code, 8, sizeof code);
	return judge(&p);
}

static void test_registers(void **state)
{
	(void)state;
	struct plan plan = judge_caller(CODE_OF("\x4c\x89\x5c\x24\xf8")); /* mov %r11,-8(%rsp) */
	assert_null(plan.refused);
	assert_int_equal(plan.is_quiet, 1);
	assert_int_equal(plan.kept, 1 << 11);
	plan = judge_caller(
		CODE_OF("\x45\x31\xdb\x4c\x89\x5c\x24\xf8")); /* xor %r11d,%r11d first */
	assert_null(plan.refused);
	assert_int_equal(plan.kept, 0);
	plan = judge_caller(CODE_OF("\x0f\x28\xd3")); /* movaps %xmm3,%xmm2 */
	assert_int_equal(plan.kept, 1 << 19);
	assert_int_equal(plan.refused == NULL, insn_can_keep(1 << 19));
	plan = judge_caller(CODE_OF("\xc5\xf8\x93\xc1")); /* kmovw %k1,%eax */
	assert_non_null(plan.refused);
	assert_false(insn_can_keep(0x1ff << 16));	  /* too many of them */
	plan = judge_caller(CODE_OF("\x89\x44\x24\xf8")); /* what it returns */
	assert_int_equal(plan.kept, 0);
}

/* What is written to the trampoline does the same, as seen by decoding it; a changed byte does not.
 */
static void test_write(void **state)
{
	static const char *const codes[] = {
		"\x48\x8b\x05\xf9\x6f\x00\x00\xc3",		/* mov DATA(%rip),%rax */
		"\x85\xff\x74\x06\x31\xc0\x90\x90\x90\x90\xc3", /* test; je CODE + 10 */
		"\x55\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3"};
	static const size_t bytes[] = {8, 11, 10};
	const struct plan_thunk thunk = {SLOT, -8, 0};
	uint8_t out[PLAN_ENTRY_BYTES];
	struct place p;

	(void)state;
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		size_t inner;
		build(&p, codes[i], bytes[i], bytes[i]);
		struct plan plan = judge(&p);
		assert_null(plan.refused);
		size_t n = plan_write(&plan, &p.image, &thunk, TRAMPOLINE, out, &inner);
		assert_true(n > inner && n <= sizeof out);
		assert_true(plan_verify(&plan, &p.image, TRAMPOLINE, inner, out, n));
		assert_false(plan_verify(&plan, &p.image, TRAMPOLINE + 16, inner, out, n));
		out[inner + 1] ^= 4;
		assert_false(plan_verify(&plan, &p.image, TRAMPOLINE, inner, out, n));
		/* too far for 32 bits */
		assert_int_equal(
			plan_write(&plan, &p.image, &thunk, TRAMPOLINE + (1ull << 40), out, &inner),
			0);
	}
}

/* As gcc names what it makes local. */
int optimised(void) __asm__("optimised.lto_priv.0");
int twice_a(void) __asm__("twice.lto_priv.0");
int twice_b(void) __asm__("twice.lto_priv.1");
int part(void) __asm__("part.constprop.0");
int cold(void) __asm__("cold.lto_priv.0.cold");

__attribute__((noinline)) int optimised(void)
{
	return getpid() + 1;
}

__attribute__((noinline)) int twice_a(void)
{
	return getpid() + 2;
}

__attribute__((noinline)) int twice_b(void)
{
	return getpid() + 3;
}

__attribute__((noinline)) int part(void)
{
	return getpid() + 4;
}

__attribute__((noinline)) int cold(void)
{
	return getpid() + 5;
}

static void test_names(void **state)
{
	struct image image = {0};
	int ambiguous = 0;

	assert_int_equal(image_open(&image, "/proc/self/exe"), 0);
	const struct image_function *found = image_find(&image, "optimised", &ambiguous);
	assert_non_null(found);
	assert_string_equal(found->name, "optimised.lto_priv.0");
	assert_int_equal(ambiguous, 0);
	assert_null(image_find(&image, "twice", &ambiguous)); /* which of them? */
	assert_int_equal(ambiguous, 1);
	assert_null(image_find(&image, "part", NULL)); /* takes other arguments */
	assert_null(image_find(&image, "cold", NULL)); /* is a piece of it */
	assert_null(image_find(&image, "optimised.lto_priv.0", NULL));
	image_close(&image);
}

/* What only copies are left of is refused with that reason, but not where nothing else is there. */
static void test_remnants(void **state)
{
	const struct patch_name names[] = {{.name = "optimised"}, {.name = "part"},
		{.name = "cold"}, {.name = "no_such_function"}};
	struct survey survey;

	(void)state;
	assert_int_equal(survey_open(&survey, "/proc/self/exe", names, 4, false), 0);
	assert_non_null(survey.entries[0].function);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(survey.entries[i].way, SURVEY_REFUSED);
		assert_non_null(strstr(survey.entries[i].plan.refused, "other arguments"));
	}
	assert_int_equal(survey.entries[3].way, SURVEY_ABSENT);
	survey_close(&survey);
	assert_int_equal(survey_open(&survey, "/proc/self/exe", names + 1, 3, false), 0);
	assert_int_equal(survey.entries[0].way, SURVEY_ABSENT);
	survey_close(&survey);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_remnants),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_code_elsewhere),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_write),
	};

	if (!insn_changeable)
		return 77; /* another kind of CPU */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of this very program, of all shapes that are displaced on AArch64, are patched as
 * src/attach/patch/patch.c does: hooks are called, told what is behind them, and lead on; arguments
 * in registers and on the stack arrive. For an AArch64 or an emulator of one (patch_aarch64.py),
 * which may not see code that the kernel writes: so it is written by turns, before it first runs.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "attach/patch/insn.h"
#include "attach/patch/patch_plan.h"
#include "attach/patch/patch_text.h"

enum { HOOKED = 1000 };

/* Between text_begin and text_end; each ends where the next begins. */
__asm__(".text\n.balign 4096\n.globl text_begin\ntext_begin:\n"
	".globl one\none: mov w0, #1\n ret\n"
	".globl page\npage: adrp x8, value\n ldr w0, [x8, :lo12:value]\n ret\n"
	".globl jump\njump: b 1f\n1: mov w0, #3\n ret\n"
	".globl landing\nlanding: hint #34\n mov w0, #4\n ret\n"
	".globl frame\nframe: stp x29, x30, [sp, #-16]!\n mov x29, sp\n mov w0, #5\n"
	" ldp x29, x30, [sp], #16\n ret\n"
	".globl sum\nsum: ldr w9, [sp]\n add w0, w0, w1\n add w0, w0, w2\n add w0, w0, w3\n"
	" add w0, w0, w4\n add w0, w0, w5\n add w0, w0, w6\n add w0, w0, w7\n add w0, w0, w9\n "
	"ret\n"
	".globl signs\nsigns: hint #25\n mov w0, #0\n hint #29\n ret\n"
	".globl calls\ncalls: bl one\n ret\n"
	".globl branches\nbranches: cbz x0, 1f\n mov w0, #1\n1: ret\n"
	".globl literal\nliteral: ldr w0, 1f\n ret\n1: .word 9\n"
	".globl trap\ntrap: brk #5\n mov w0, #1\n ret\n"
	".globl text_end\ntext_end:\n .balign 4096\n");

typedef int (*function_fn)(int a, int b, int c, int d, int e, int f, int g, int h, int i);
extern int one(), page(), jump(), landing(), frame(), signs(), calls(), branches(), literal(),
	trap();
int sum(int a, int b, int c, int d, int e, int f, int g, int h, int i);
extern const uint8_t text_begin[], text_end[];
int value = 2;

static struct image_part parts[2];
static struct image image;
static function_fn inner;
static __thread void *told;
static uintptr_t memory;
static unsigned used;
static int bad;

const struct image_part *image_part_at(const struct image *of, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < of->parts.count; i++)
		if (address - of->parts.items[i].address < of->parts.items[i].bytes &&
			of->parts.items[i].address + of->parts.items[i].bytes - address >= bytes)
			return &of->parts.items[i];
	return NULL;
}

const uint8_t *image_bytes(const struct image *of, uint64_t address, uint64_t *available)
{
	const struct image_part *part = image_part_at(of, address, 1);

	if (part && available)
		*available = part->address + part->bytes - address;
	return part ? part->data + (address - part->address) : NULL;
}

static int hook(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	if (told != (void *)(uintptr_t)inner)
		bad = printf("the hook is not told what is behind it\n");
	told = NULL;
	return inner(a, b, c, d, e, f, g, h, i) + HOOKED;
}

static void write_code(uintptr_t to, const void *code, size_t bytes)
{
	uintptr_t low = to & ~(uintptr_t)4095;

	mprotect((void *)low, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy((void *)to, code, bytes);
	__builtin___clear_cache((char *)to, (char *)to + bytes);
}

static void judge(struct plan *plan, const void *function, const void *end)
{
	const struct image_function f = {
		"f", (uintptr_t)function, (uintptr_t)end - (uintptr_t)function, 0, 0};

	plan_function(plan, &image, &f);
}

/* As make() and turn_on() of src/attach/patch/patch.c. */
static void patch(const char *name, const void *function, const void *end)
{
	uintptr_t thunk_at = memory + PLAN_ENTRY_BYTES * used;
	uint64_t *slot = (uint64_t *)(memory + 4096) + used++;
	struct plan_thunk thunk = {
		(uintptr_t)slot, (char *)&told - (char *)__builtin_thread_pointer(), 0};
	uint8_t code[PLAN_ENTRY_BYTES], jumps[INSN_MAX_BYTES];
	struct plan plan;
	size_t at;

	judge(&plan, function, end);
	size_t n = plan.refused ? 0 : plan_write(&plan, &image, &thunk, thunk_at, code, &at);
	if (!n || !insn_jump(jumps, plan.site, thunk_at)) {
		bad = printf("%s: %s\n", name, plan.refused ? plan.refused : "not written");
		return;
	}
	write_code(thunk_at, code, n);
	if (!plan_verify(&plan, &image, thunk_at, at, (const uint8_t *)thunk_at, n))
		bad = printf("%s: not verified\n", name);
	*slot = (uintptr_t)hook;
	inner = (function_fn)(thunk_at + at);
	write_code(plan.site, jumps, insn_jump_bytes);
}

static void check(const char *name, const void *function, const void *end, int expected)
{
	function_fn call = (function_fn)(uintptr_t)function;

	patch(name, function, end);
	int result = bad ? 0 : call(1, 2, 3, 4, 5, 6, 7, 8, 9);
	if (result != expected + HOOKED)
		bad = printf("%s: %d instead of %d\n", name, result, expected + HOOKED);
}

static void check_refused(const char *name, const void *function, const void *end)
{
	struct plan plan;

	judge(&plan, function, end);
	if (!plan.refused)
		bad = printf("%s: not refused\n", name);
}

int main(void)
{
	parts[0] = (struct image_part){
		".text", (uintptr_t)text_begin, (uint64_t)(text_end - text_begin), text_begin, 1};
	parts[1] = (struct image_part){
		".data", (uintptr_t)&value, sizeof value, (const uint8_t *)&value, 0};
	image.parts.items = parts;
	image.parts.count = 2;
	memory =
		(uintptr_t)text_near((uintptr_t)text_begin, parts[0].bytes, insn_reach, 4096, 4096);
	if (!memory)
		return printf("no memory near\n"), 1;
	check("one", one, page, 1);
	check("page", page, jump, 2);
	check("jump", jump, landing, 3);
	check("landing", landing, frame, 4);
	check("frame", frame, sum, 5);
	check("sum", sum, signs, 45);
	check_refused("signs", signs, calls);
	check_refused("calls", calls, branches);
	check_refused("branches", branches, literal);
	check_refused("literal", literal, trap);
	check_refused("trap", trap, text_end); /* as a uprobe is one */
	if (!bad)
		printf("all as it should be\n");
	return bad != 0;
}

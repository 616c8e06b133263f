/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks in front of functions of which only the name is known. Whatever the function takes and
 * returns passes through as it came: general and vector registers, the count of a variable list,
 * the address of a hidden result, 16 words of arguments on the stack, results of all kinds. A hook
 * may look at words that it takes for arguments. If it is wrong about them, the function gets its
 * own all the same. Exceptions pass. Each macro defines its symbol, and is used once for it.
 *
 * SYS_ENTER(symbol, enter) calls `enter`, and jumps to the function that it returns, without a
 * trace on the stack. SYS_AROUND(symbol, enter, leave) does the same, but where `enter` wants it,
 * it calls the function, and `leave` after it. Those with _TOLD are for a thunk that tells the
 * caller in the sixth word. `enter` gets three words and the caller's address. Both touch general
 * registers only (-mgeneral-regs-only), and call all else by SYS_KEEPING().
 *
 * SYS_HOOKED(symbol, hook) is for what is called less often. `hook` is a function of six words and
 * of their struct sys_call, returns two words, and calls the function by sys_pass_on().
 */
#pragma once

#include <stdint.h>

struct sys_lead {
	const void *function; /* to go on with */
	uintptr_t is_left;    /* `leave` is to be called after it */
};

/* 1: the address of a result in memory is none of the words. */
#if defined(__aarch64__)
#define SYS_HIDES_RESULT 1
#else
#define SYS_HIDES_RESULT 0
#endif

/* A call that has come to a hook. The sixth word is the first of `words` on x86-64. */
struct sys_call {
#if defined(__aarch64__)
	uintptr_t words[8], result_at, nothing;
#else
	uintptr_t chain, words[6], count;
#endif
	const void *frame;
	const void *caller; /* where the call returns to */
	uintptr_t stack[];  /* arguments there */
};

/* Calls the function with all that the call came with, and keeps its vector results for it. */
unsigned __int128 sys_pass_on(const void *function, const struct sys_call *call)
	__attribute__((visibility("hidden")));

/* The second argument of a call whose first is a word: a structure by value, of 17 bytes or more.
 */
static inline const void *sys_second_by_value(const struct sys_call *call)
{
#if defined(__aarch64__)
	return (const void *)call->words[1];
#else
	return call->stack;
#endif
}

/* Calls a function of up to four words, and leaves all vector registers as they are. */
uintptr_t sys_keeping(uintptr_t function, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
	__attribute__((visibility("hidden")));

#define SYS_KEEPING_0(f) ((void)sizeof((f)(), 0), sys_keeping((uintptr_t)(f), 0, 0, 0, 0))
#define SYS_KEEPING_1(f, a) \
	((void)sizeof((f)(a), 0), sys_keeping((uintptr_t)(f), (uintptr_t)(a), 0, 0, 0))
#define SYS_KEEPING_2(f, a, b)           \
	((void)sizeof((f)((a), (b)), 0), \
		sys_keeping((uintptr_t)(f), (uintptr_t)(a), (uintptr_t)(b), 0, 0))
#define SYS_KEEPING_3(f, a, b, c)             \
	((void)sizeof((f)((a), (b), (c)), 0), \
		sys_keeping((uintptr_t)(f), (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c), 0))
#define SYS_KEEPING_4(f, a, b, c, d)                                                        \
	((void)sizeof((f)((a), (b), (c), (d)), 0),                                          \
		sys_keeping((uintptr_t)(f), (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c), \
			(uintptr_t)(d)))
#define SYS_KEEPING_CHOSEN(f, a, b, c, d, name, ...) name
/* SYS_KEEPING(function, arguments...): the result as a word. */
#define SYS_KEEPING(...)                                                             \
	SYS_KEEPING_CHOSEN(__VA_ARGS__, SYS_KEEPING_4, SYS_KEEPING_3, SYS_KEEPING_2, \
		SYS_KEEPING_1, SYS_KEEPING_0)                                        \
	(__VA_ARGS__)

/* clang-format off */
#define SYS_BEGIN_CODE(section, symbol, kind)                                          \
	".pushsection " section "\n.p2align 4\n.globl " symbol "\n.type " symbol ", " kind \
	"function\n" symbol ":\n.cfi_startproc\n"
#define SYS_END_CODE(symbol) ".cfi_endproc\n.size " symbol ", . - " symbol "\n.popsection\n"
#define SYS_HOT_CODE ".text.brick_hot, \"ax\", %progbits"

#if defined(__x86_64__)

#define SYS_FRAME                        \
	"endbr64\n"                      \
	"pushq %rbp\n"                   \
	".cfi_def_cfa_offset 16\n"       \
	".cfi_offset %rbp, -16\n"        \
	"movq %rsp, %rbp\n"              \
	".cfi_def_cfa_register %rbp\n"
#define SYS_PUSH_WORDS                                                \
	"pushq %rax\n pushq %rdi\n pushq %rsi\n pushq %rdx\n"         \
	"pushq %rcx\n pushq %r8\n pushq %r9\n pushq %r10\n"
#define SYS_POP_WORDS                                           \
	"popq %r10\n popq %r9\n popq %r8\n popq %rcx\n"         \
	"popq %rdx\n popq %rsi\n popq %rdi\n popq %rax\n"
/* The copy must lie at 64 bytes as the original does: vectors may be in it. */
#define SYS_PUSH_STACK(base, at)                                                     \
	"pushq " at "+120(" base ")\n pushq " at "+112(" base ")\n pushq " at "+104("  \
	base ")\n pushq " at "+96(" base ")\n pushq " at "+88(" base ")\n pushq " at   \
	"+80(" base ")\n pushq " at "+72(" base ")\n pushq " at "+64(" base             \
	")\n pushq " at "+56(" base ")\n pushq " at "+48(" base ")\n pushq " at         \
	"+40(" base ")\n pushq " at "+32(" base ")\n pushq " at "+24(" base             \
	")\n pushq " at "+16(" base ")\n pushq " at "+8(" base ")\n pushq " at "(" base ")\n"

#define SYS_ENTER_BY(symbol, enter, caller)                                \
	__asm__(SYS_BEGIN_CODE(SYS_HOT_CODE, symbol, "@") "endbr64\n"      \
		SYS_PUSH_WORDS ".cfi_adjust_cfa_offset 64\n"               \
		"subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                \
		"movq " caller ", %rcx\n"                                  \
		"call " enter "\n"                                         \
		"movq %rax, %r11\n"                                        \
		"addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"               \
		SYS_POP_WORDS ".cfi_adjust_cfa_offset -64\n"               \
		"jmp *%r11\n" SYS_END_CODE(symbol))
#define SYS_ENTER(symbol, enter) SYS_ENTER_BY(symbol, enter, "72(%rsp)")
#define SYS_ENTER_TOLD(symbol, enter) SYS_ENTER_BY(symbol, enter, "%r9")

#define SYS_AROUND_BY(symbol, enter, leave, caller)                        \
	__asm__(SYS_BEGIN_CODE(SYS_HOT_CODE, symbol, "@") SYS_FRAME        \
		SYS_PUSH_WORDS                                             \
		"movq " caller ", %rcx\n"                                  \
		"call " enter "\n"                                         \
		"movq %rax, %r11\n"                                        \
		"testq %rdx, %rdx\n"                                       \
		"jz 1f\n"                                                  \
		"movq -8(%rbp), %rax\n movq -16(%rbp), %rdi\n"             \
		"movq -24(%rbp), %rsi\n movq -32(%rbp), %rdx\n"            \
		"movq -40(%rbp), %rcx\n movq -48(%rbp), %r8\n"             \
		"movq -56(%rbp), %r9\n movq -64(%rbp), %r10\n"             \
		"leaq -112(%rbp), %rsp\n"                                    \
		SYS_PUSH_STACK("%rbp", "16")                               \
		"call *%r11\n"                                             \
		"leaq -64(%rbp), %rsp\n"                                   \
		"movq %rax, -8(%rbp)\n movq %rdx, -16(%rbp)\n"             \
		"call " leave "\n"                                         \
		"movq -8(%rbp), %rax\n movq -16(%rbp), %rdx\n"             \
		"leave\n.cfi_remember_state\n.cfi_def_cfa %rsp, 8\n"       \
		"ret\n.cfi_restore_state\n"                                \
		"1:\n" SYS_POP_WORDS "popq %rbp\n.cfi_def_cfa %rsp, 8\n"   \
		".cfi_restore %rbp\n"                                      \
		"jmp *%r11\n" SYS_END_CODE(symbol))
#define SYS_AROUND(symbol, enter, leave) SYS_AROUND_BY(symbol, enter, leave, "8(%rbp)")
#define SYS_AROUND_TOLD(symbol, enter, leave) SYS_AROUND_BY(symbol, enter, leave, "%r9")

/*
 * Vectors are kept in an area for XSAVE, with a word behind it: 1 where all of them are in it. That
 * is so only if some of their upper parts are in use: loading these makes them so.
 */
#define SYS_AREA_BYTES "1728"
#define SYS_AREA_IS_WHOLE "1664"
/* Changes rax, rcx, rdx. */
#define SYS_SAVE_VECTORS(area)                                                          \
	"movq $0, " SYS_AREA_IS_WHOLE "(" area ")\n"                                    \
	"movl sys_vectors_wide(%rip), %eax\n testl %eax, %eax\n jz 3f\n"                \
	"movl $1, %ecx\n xgetbv\n andl sys_vectors_wide(%rip), %eax\n jz 3f\n"          \
	"movl $1, " SYS_AREA_IS_WHOLE "(" area ")\n"                                    \
	"movq $0, 512(" area ")\n movq $0, 520(" area ")\n movq $0, 528(" area ")\n"    \
	"movq $0, 536(" area ")\n movq $0, 544(" area ")\n movq $0, 552(" area ")\n"    \
	"movq $0, 560(" area ")\n movq $0, 568(" area ")\n"                             \
	"movl sys_vectors_wide(%rip), %eax\n orl $2, %eax\n xorl %edx, %edx\n"          \
	"xsave (" area ")\n jmp 4f\n"                                                   \
	"3: movups %xmm0, 160(" area ")\n movups %xmm1, 176(" area ")\n"                \
	"movups %xmm2, 192(" area ")\n movups %xmm3, 208(" area ")\n"                   \
	"movups %xmm4, 224(" area ")\n movups %xmm5, 240(" area ")\n"                   \
	"movups %xmm6, 256(" area ")\n movups %xmm7, 272(" area ")\n4:\n"
/* Changes rax and rdx. */
#define SYS_LOAD_VECTORS(area)                                                          \
	"cmpl $0, " SYS_AREA_IS_WHOLE "(" area ")\n je 5f\n"                            \
	"movl sys_vectors_wide(%rip), %eax\n orl $2, %eax\n xorl %edx, %edx\n"          \
	"xrstor (" area ")\n jmp 6f\n"                                                  \
	"5: movups 160(" area "), %xmm0\n movups 176(" area "), %xmm1\n"                \
	"movups 192(" area "), %xmm2\n movups 208(" area "), %xmm3\n"                   \
	"movups 224(" area "), %xmm4\n movups 240(" area "), %xmm5\n"                   \
	"movups 256(" area "), %xmm6\n movups 272(" area "), %xmm7\n6:\n"

#define SYS_HOOKED(symbol, hook)                                           \
	__asm__(SYS_BEGIN_CODE(".text", symbol, "@") SYS_FRAME             \
		SYS_PUSH_WORDS                                             \
		"pushq %r10\n"                                             \
		"subq $" SYS_AREA_BYTES ", %rsp\n andq $-64, %rsp\n"       \
		"movq %rsp, -72(%rbp)\n"                                   \
		SYS_SAVE_VECTORS("%rsp")                                   \
		"movq -32(%rbp), %rdx\n movq -40(%rbp), %rcx\n"            \
		"leaq -64(%rbp), %rax\n"                                   \
		"pushq %rax\n pushq %rax\n"                                \
		"call " hook "\n"                                          \
		"movq -72(%rbp), %rsp\n"                                   \
		"movq %rax, %rsi\n movq %rdx, %rdi\n"                      \
		SYS_LOAD_VECTORS("%rsp")                                   \
		"movq %rsi, %rax\n movq %rdi, %rdx\n"                      \
		"leave\n.cfi_def_cfa %rsp, 8\n"                            \
		"ret\n" SYS_END_CODE(symbol))

#define SYS_PASS_ON_CODE                                                   \
	__asm__(SYS_BEGIN_CODE(".text", "sys_pass_on", "@")                \
		".hidden sys_pass_on\n" SYS_FRAME                          \
		"pushq %rbx\n pushq %rbx\n.cfi_offset %rbx, -24\n"         \
		"movq %rdi, %r11\n movq %rsi, %rbx\n"                      \
		"movq -8(%rbx), %rcx\n"                                    \
		SYS_LOAD_VECTORS("%rcx")                                   \
		"leaq 80(%rbx), %rax\n subq %rsp, %rax\n andl $63, %eax\n"  \
		"leaq -64(%rsp,%rax), %rsp\n"                               \
		SYS_PUSH_STACK("%rbx", "80")                               \
		"movq 56(%rbx), %rax\n movq 48(%rbx), %rdi\n"              \
		"movq 40(%rbx), %rsi\n movq 32(%rbx), %rdx\n"              \
		"movq 24(%rbx), %rcx\n movq 16(%rbx), %r8\n"               \
		"movq 8(%rbx), %r9\n movq (%rbx), %r10\n"                  \
		"call *%r11\n"                                             \
		"movq %rax, %rsi\n movq %rdx, %rdi\n"                      \
		"movq -8(%rbx), %r8\n"                                     \
		SYS_SAVE_VECTORS("%r8")                                    \
		"movq %rsi, %rax\n movq %rdi, %rdx\n"                      \
		"movq -8(%rbp), %rbx\n"                                    \
		"leave\n.cfi_def_cfa %rsp, 8\n"                            \
		"ret\n" SYS_END_CODE("sys_pass_on")                        \
		SYS_BEGIN_CODE(".text", "sys_keeping", "@")                \
		".hidden sys_keeping\n" SYS_FRAME                          \
		"subq $" SYS_AREA_BYTES ", %rsp\n andq $-64, %rsp\n"       \
		"movq %rdi, %r11\n movq %rsi, %rdi\n movq %rdx, %rsi\n"    \
		"movq %rcx, %r9\n movq %r8, %r10\n"                        \
		SYS_SAVE_VECTORS("%rsp")                                   \
		"movq %r9, %rdx\n movq %r10, %rcx\n"                       \
		"call *%r11\n"                                             \
		"movq %rax, %rsi\n"                                        \
		SYS_LOAD_VECTORS("%rsp")                                   \
		"movq %rsi, %rax\n"                                        \
		"leave\n.cfi_def_cfa %rsp, 8\n"                            \
		"ret\n" SYS_END_CODE("sys_keeping"))

#elif defined(__aarch64__)

#define SYS_LOAD_WORDS(base, at)                                                   \
	"ldp x0, x1, [" base ", #" at "]\n ldp x2, x3, [" base ", #" at "+16]\n"   \
	"ldp x4, x5, [" base ", #" at "+32]\n ldp x6, x7, [" base ", #" at "+48]\n" \
	"ldr x8, [" base ", #" at "+64]\n"
#define SYS_STORE_WORDS(base, at)                                                  \
	"stp x0, x1, [" base ", #" at "]\n stp x2, x3, [" base ", #" at "+16]\n"   \
	"stp x4, x5, [" base ", #" at "+32]\n stp x6, x7, [" base ", #" at "+48]\n" \
	"str x8, [" base ", #" at "+64]\n"
#define SYS_LOAD_VECTORS(base, at)                                                 \
	"ldp q0, q1, [" base ", #" at "]\n ldp q2, q3, [" base ", #" at "+32]\n"   \
	"ldp q4, q5, [" base ", #" at "+64]\n ldp q6, q7, [" base ", #" at "+96]\n"
#define SYS_SAVE_VECTORS(base, at)                                                 \
	"stp q0, q1, [" base ", #" at "]\n stp q2, q3, [" base ", #" at "+32]\n"   \
	"stp q4, q5, [" base ", #" at "+64]\n stp q6, q7, [" base ", #" at "+96]\n"
/* 16 words below the stack pointer, by x9 and x10. */
#define SYS_COPY_PAIR(base, at, to) \
	"ldp x9, x10, [" base ", #" at "+" to "]\n stp x9, x10, [sp, #" to "]\n"
#define SYS_PUSH_STACK(base, at)                                                     \
	"sub sp, sp, #128\n" SYS_COPY_PAIR(base, at, "0") SYS_COPY_PAIR(base, at, "16") \
		SYS_COPY_PAIR(base, at, "32") SYS_COPY_PAIR(base, at, "48")             \
			SYS_COPY_PAIR(base, at, "64") SYS_COPY_PAIR(base, at, "80")     \
				SYS_COPY_PAIR(base, at, "96") SYS_COPY_PAIR(base, at, "112")
#define SYS_FRAME(bytes)                                                       \
	"stp x29, x30, [sp, #-" bytes "]!\n.cfi_def_cfa_offset " bytes "\n"    \
	".cfi_offset x29, -" bytes "\n.cfi_offset x30, 8-" bytes "\n"          \
	"mov x29, sp\n.cfi_def_cfa_register x29\n"
#define SYS_FRAME_ENDS(bytes)                                                  \
	"ldp x29, x30, [sp], #" bytes "\n.cfi_restore x29\n.cfi_restore x30\n" \
	".cfi_def_cfa sp, 0\n"

#define SYS_ENTER_BY(symbol, enter, caller)                                \
	__asm__(SYS_BEGIN_CODE(SYS_HOT_CODE, symbol, "%") SYS_FRAME("96")  \
		SYS_STORE_WORDS("sp", "16")                                \
		"mov x3, " caller "\n"                                     \
		"bl " enter "\n"                                           \
		"mov x16, x0\n"                                            \
		SYS_LOAD_WORDS("sp", "16") SYS_FRAME_ENDS("96")            \
		"br x16\n" SYS_END_CODE(symbol))
#define SYS_ENTER(symbol, enter) SYS_ENTER_BY(symbol, enter, "x30")
#define SYS_ENTER_TOLD(symbol, enter) SYS_ENTER_BY(symbol, enter, "x5")

#define SYS_AROUND_BY(symbol, enter, leave, caller)                        \
	__asm__(SYS_BEGIN_CODE(SYS_HOT_CODE, symbol, "%") SYS_FRAME("96")  \
		SYS_STORE_WORDS("sp", "16")                                \
		"mov x3, " caller "\n"                                     \
		"bl " enter "\n"                                           \
		"mov x16, x0\n mov x17, x1\n"                              \
		SYS_LOAD_WORDS("sp", "16")                                 \
		"cbz x17, 1f\n"                                            \
		SYS_PUSH_STACK("x29", "96")                                \
		"blr x16\n"                                                \
		"mov sp, x29\n"                                            \
		"stp x0, x1, [sp, #16]\n"                                  \
		"bl " leave "\n"                                           \
		"ldp x0, x1, [sp, #16]\n"                                  \
		".cfi_remember_state\n" SYS_FRAME_ENDS("96")               \
		"ret\n.cfi_restore_state\n"                                \
		"1:\n" SYS_FRAME_ENDS("96")                                \
		"br x16\n" SYS_END_CODE(symbol))
#define SYS_AROUND(symbol, enter, leave) SYS_AROUND_BY(symbol, enter, leave, "x30")
#define SYS_AROUND_TOLD(symbol, enter, leave) SYS_AROUND_BY(symbol, enter, leave, "x5")

/* Vectors lie below the call, which is the stack pointer's 80 bytes below the frame. */
#define SYS_HOOKED(symbol, hook)                                           \
	__asm__(SYS_BEGIN_CODE(".text", symbol, "%") SYS_FRAME("16")       \
		"sub sp, sp, #208\n"                                       \
		SYS_STORE_WORDS("sp", "128") SYS_SAVE_VECTORS("sp", "0")   \
		"add x6, sp, #128\n"                                       \
		"bl " hook "\n"                                            \
		SYS_LOAD_VECTORS("sp", "0")                                \
		"mov sp, x29\n" SYS_FRAME_ENDS("16")                       \
		"ret\n" SYS_END_CODE(symbol))

#define SYS_PASS_ON_CODE                                                   \
	__asm__(SYS_BEGIN_CODE(".text", "sys_pass_on", "%")                \
		".hidden sys_pass_on\n" SYS_FRAME("32")                    \
		"str x19, [sp, #16]\n.cfi_offset x19, -16\n"               \
		"mov x19, x1\n mov x16, x0\n"                              \
		SYS_LOAD_VECTORS("x19", "-128")                            \
		SYS_PUSH_STACK("x19", "96") SYS_LOAD_WORDS("x19", "0")     \
		"blr x16\n"                                                \
		SYS_SAVE_VECTORS("x19", "-128")                            \
		"mov sp, x29\n"                                            \
		"ldr x19, [sp, #16]\n.cfi_restore x19\n"                   \
		SYS_FRAME_ENDS("32")                                       \
		"ret\n" SYS_END_CODE("sys_pass_on")                        \
		SYS_BEGIN_CODE(".text", "sys_keeping", "%")                \
		".hidden sys_keeping\n" SYS_FRAME("144")                   \
		SYS_SAVE_VECTORS("sp", "16")                               \
		"mov x16, x0\n mov x0, x1\n mov x1, x2\n mov x2, x3\n"     \
		"mov x3, x4\n"                                             \
		"blr x16\n"                                                \
		SYS_LOAD_VECTORS("sp", "16") SYS_FRAME_ENDS("144")         \
		"ret\n" SYS_END_CODE("sys_keeping"))
#endif
/* clang-format on */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function in front of another one that leaves no trace if it steps aside: the C library's
 * dlsym() looks at the address that it was called from.
 *
 * SYS_INTERPOSE(name, choose, real) defines `name`, a function of two pointers. It calls `choose`
 * with the same arguments. What that returns is the answer; where it returns NULL, `name` jumps to
 * the address in the variable `real`, with arguments and return address as they came. Both are
 * hidden symbols of the same library. Header only; used once per name.
 */
#pragma once

#if defined(__x86_64__)
#define SYS_INTERPOSE(name, choose, real)                  \
	__asm__(".pushsection .text\n"                     \
		".globl " #name "\n"                       \
		".type " #name ", @function\n" #name ":\n" \
		".cfi_startproc\n"                         \
		"endbr64\n"                                \
		"pushq %rdi\n"                             \
		".cfi_adjust_cfa_offset 8\n"               \
		"pushq %rsi\n"                             \
		".cfi_adjust_cfa_offset 8\n"               \
		"subq $8, %rsp\n"                          \
		".cfi_adjust_cfa_offset 8\n"               \
		"call " #choose "\n"                       \
		"addq $8, %rsp\n"                          \
		".cfi_adjust_cfa_offset -8\n"              \
		"popq %rsi\n"                              \
		".cfi_adjust_cfa_offset -8\n"              \
		"popq %rdi\n"                              \
		".cfi_adjust_cfa_offset -8\n"              \
		"testq %rax, %rax\n"                       \
		"jnz 1f\n"                                 \
		"jmp *" #real "(%rip)\n"                   \
		"1: ret\n"                                 \
		".cfi_endproc\n"                           \
		".size " #name ", . - " #name "\n"         \
		".popsection\n")
#elif defined(__aarch64__)
#define SYS_INTERPOSE(name, choose, real)                  \
	__asm__(".pushsection .text\n"                     \
		".globl " #name "\n"                       \
		".type " #name ", %function\n" #name ":\n" \
		"stp x29, x30, [sp, #-32]!\n"              \
		"mov x29, sp\n"                            \
		"stp x0, x1, [sp, #16]\n"                  \
		"bl " #choose "\n"                         \
		"mov x9, x0\n"                             \
		"ldp x0, x1, [sp, #16]\n"                  \
		"ldp x29, x30, [sp], #32\n"                \
		"cbnz x9, 1f\n"                            \
		"adrp x9, " #real "\n"                     \
		"ldr x9, [x9, :lo12:" #real "]\n"          \
		"br x9\n"                                  \
		"1: mov x0, x9\n"                          \
		"ret\n"                                    \
		".size " #name ", . - " #name "\n"         \
		".popsection\n")
#endif

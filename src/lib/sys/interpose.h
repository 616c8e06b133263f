/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function in front of another one that leaves no trace if it steps aside: the C library's
 * dlsym() looks at the address that it was called from.
 *
 * SYS_INTERPOSE(name, choose, real) defines `name`, a function of two pointers. It calls `choose`
 * with the same arguments. What that returns is the answer; where it returns NULL, `name` jumps to
 * the address in the variable `real`, with arguments and return address as they came. Both are
 * hidden symbols of the same library. Header only; used once per name.
 *
 * SYS_PROVED(name) defines `name`, a function of any arguments. It calls the function that
 * SYS_CHOICE(name) names with the address that it was called from and its own first three words,
 * and jumps to what that returns; where that is NULL, to the hook that SYS_HOOK(name) names.
 * Arguments and return address are as they came. Both are hidden, too.
 */
#pragma once

#define SYS_CHOICE(name) "brick_choice_" name
#define SYS_HOOK(name) "brick_hook_" name

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
#define SYS_PROVED(name)                                              \
	__asm__(".pushsection .text\n"                                \
		".globl " name "\n"                                   \
		".type " name ", @function\n" name ":\n"              \
		".cfi_startproc\n"                                    \
		"endbr64\n"                                           \
		"pushq %rbp\n"                                        \
		".cfi_adjust_cfa_offset 8\n"                          \
		".cfi_rel_offset %rbp, 0\n"                           \
		"movq %rsp, %rbp\n"                                   \
		".cfi_def_cfa_register %rbp\n"                        \
		"pushq %rax\n pushq %rdi\n pushq %rsi\n pushq %rdx\n" \
		"pushq %rcx\n pushq %r8\n pushq %r9\n pushq %r10\n"   \
		"subq $128, %rsp\n"                                   \
		"movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n"     \
		"movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"   \
		"movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n"   \
		"movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"  \
		"movq %rdx, %rcx\n movq %rsi, %rdx\n"                 \
		"movq %rdi, %rsi\n"                                   \
		"movq 8(%rbp), %rdi\n"                                \
		"call brick_choice_" name "\n"                        \
		"leaq brick_hook_" name "(%rip), %r11\n"              \
		"testq %rax, %rax\n"                                  \
		"cmovnzq %rax, %r11\n"                                \
		"movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n"     \
		"movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"   \
		"movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n"   \
		"movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"  \
		"addq $128, %rsp\n"                                   \
		"popq %r10\n popq %r9\n popq %r8\n popq %rcx\n"       \
		"popq %rdx\n popq %rsi\n popq %rdi\n popq %rax\n"     \
		"popq %rbp\n"                                         \
		".cfi_def_cfa %rsp, 8\n"                              \
		".cfi_restore %rbp\n"                                 \
		"jmp *%r11\n"                                         \
		".cfi_endproc\n"                                      \
		".size " name ", . - " name "\n"                      \
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
#define SYS_PROVED(name)                                            \
	__asm__(".pushsection .text\n"                              \
		".globl " name "\n"                                 \
		".type " name ", %function\n" name ":\n"            \
		"stp x29, x30, [sp, #-224]!\n"                      \
		"mov x29, sp\n"                                     \
		"stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n"   \
		"stp x4, x5, [sp, #48]\n stp x6, x7, [sp, #64]\n"   \
		"str x8, [sp, #80]\n"                               \
		"stp q0, q1, [sp, #96]\n stp q2, q3, [sp, #128]\n"  \
		"stp q4, q5, [sp, #160]\n stp q6, q7, [sp, #192]\n" \
		"mov x3, x2\n mov x2, x1\n mov x1, x0\n"            \
		"mov x0, x30\n"                                     \
		"bl brick_choice_" name "\n"                        \
		"adrp x16, brick_hook_" name "\n"                   \
		"add x16, x16, :lo12:brick_hook_" name "\n"         \
		"cmp x0, #0\n"                                      \
		"csel x16, x16, x0, eq\n"                           \
		"ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n"   \
		"ldp x4, x5, [sp, #48]\n ldp x6, x7, [sp, #64]\n"   \
		"ldr x8, [sp, #80]\n"                               \
		"ldp q0, q1, [sp, #96]\n ldp q2, q3, [sp, #128]\n"  \
		"ldp q4, q5, [sp, #160]\n ldp q6, q7, [sp, #192]\n" \
		"ldp x29, x30, [sp], #224\n"                        \
		"br x16\n"                                          \
		".size " name ", . - " name "\n"                    \
		".popsection\n")
#endif

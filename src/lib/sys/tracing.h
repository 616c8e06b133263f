/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tracer knows of the CPU: where a stopped thread is, and how it is made to do a system
 * call. Also the code that a tracer plants into a process, which starts a thread there and has it
 * load a library. Position-independent; its data lies SYS_PLANT_CODE_BYTES behind its beginning.
 *
 * A function that is led to a plant's entry (`call` of the beginning) goes on as if nothing had
 * been: all general registers, flags, errno, x87 and SSE state are kept. The upper halves of wide
 * vectors are not, so the function's arguments may not be such. Only the first call starts the
 * thread, with signals blocked.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/user.h>

enum {
	SYS_PLANT_CODE_BYTES = 4096,
	SYS_PLANT_PATH_BYTES = 1024,
	SYS_PLANT_TEXT_BYTES = 512,
	SYS_DWARF_REGISTERS = 17, /* general ones, and the return address */
	SYS_DWARF_SP = 7,
};

enum sys_plant_state {
	SYS_PLANT_WAITS,   /* no call came yet */
	SYS_PLANT_TAKEN,   /* a call starts the thread */
	SYS_PLANT_RUNS,	   /* the thread was started, or `error` says why not */
	SYS_PLANT_DONE,	   /* the library's function has returned */
	SYS_PLANT_REFUSED, /* the library could not be loaded; `text` is the dynamic linker's */
};

/* The offsets in the code below are these. */
struct sys_plant {
	uint32_t state;						/* 0 */
	int32_t error;						/* 4: of pthread_create() */
	uint64_t errno_location;				/* 8: from here on addresses */
	uint64_t attr_init, attr_setstack, attr_setdetachstate; /* 16, 24, 32 */
	uint64_t attr_destroy, create;				/* 40, 48 */
	uint64_t dlopen, dlsym, dlerror;			/* 56, 64, 72 */
	uint64_t stack, stack_bytes;				/* 80, 88: of the thread */
	uint64_t thread;					/* 96: pthread_t */
	uint64_t all_signals;					/* 104: a mask */
	uint64_t attr[16];					/* 112: pthread_attr_t */
	char symbol[32];					/* 240 */
	char text[SYS_PLANT_TEXT_BYTES];			/* 272 */
	char library[SYS_PLANT_PATH_BYTES];			/* 784 */
	char argument[SYS_PLANT_PATH_BYTES];			/* 1808 */
};

#if defined(__x86_64__)

static inline bool sys_tracing_is_known(void)
{
	return true;
}

static inline uint64_t sys_registers_pc(const struct user_regs_struct *r)
{
	return r->rip;
}

static inline uint64_t sys_registers_sp(const struct user_regs_struct *r)
{
	return r->rsp;
}

/* The address that the C library keeps a thread's own data at. */
static inline uint64_t sys_registers_thread(const struct user_regs_struct *r)
{
	return r->fs_base;
}

/* Is the thread in a system call? */
static inline bool sys_registers_in_call(const struct user_regs_struct *r)
{
	return (int64_t)r->orig_rax >= 0;
}

/*
 * Leads a stopped thread to SYS_CALLS_CODE. *back: where it goes on then. A wait of the kernel that
 * was interrupted begins again, as the kernel would have it begin again.
 */
static inline void sys_registers_lead(struct user_regs_struct *r, uint64_t at, uint64_t *back)
{
	enum { SYSTEM = -512, NO_INTERRUPT = -513, NO_HANDLER = -514, BLOCK = -516 };
	enum { RESTART = 219, CALL_BYTES = 2 };

	*back = r->rip;
	if (sys_registers_in_call(r))
		switch ((int64_t)r->rax) {
		case SYSTEM:
		case NO_INTERRUPT:
		case NO_HANDLER:
			r->rax = r->orig_rax;
			*back -= CALL_BYTES;
			break;
		case BLOCK:
			r->rax = RESTART;
			*back -= CALL_BYTES;
			break;
		}
	r->orig_rax = UINT64_MAX; /* it is in no system call that could be begun again */
	r->rip = at;
}

/*
 * Ends a wait that would begin again, as a signal's handler would: with EINTR. False: the thread is
 * in no wait for a lock or for descriptors.
 */
static inline bool sys_registers_end_wait(struct user_regs_struct *r)
{
	enum { RESTARTS = -512, RESTARTS_BY_BLOCK = -516 }; /* ERESTARTSYS and the next ones */
	const int64_t call = (int64_t)r->orig_rax, result = (int64_t)r->rax;

	if ((call != SYS_futex && call != SYS_poll && call != SYS_ppoll && call != SYS_select &&
		    call != SYS_pselect6) ||
		result > RESTARTS || result < RESTARTS_BY_BLOCK)
		return false;
	r->rax = (uint64_t)-EINTR;
	r->orig_rax = UINT64_MAX;
	return true;
}

/* Registers as DWARF numbers them. */
static inline void sys_registers_dwarf(
	const struct user_regs_struct *r, uint64_t out[SYS_DWARF_REGISTERS])
{
	const uint64_t all[SYS_DWARF_REGISTERS] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
		r->rbp, r->rsp, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15,
		r->rip};

	__builtin_memcpy(out, all, sizeof(all));
}

/* The call of the plant's beginning, at `from`, which must lie in the same page. */
static inline void sys_plant_call(uint8_t out[5], int32_t from)
{
	int32_t distance = -(from + 5);

	out[0] = 0xe8;
	__builtin_memcpy(out + 1, &distance, sizeof(distance));
}

/* clang-format off */
#define SYS_CALLS_CODE                                                            \
	__asm__(".pushsection .rodata\n.p2align 4\n"                              \
		"sys_calls_begin:\n"                                              \
		"leaq -128(%rsp), %rsp\n pushfq\n"                               \
		"pushq %rax\n pushq %rcx\n pushq %rdx\n pushq %rbx\n"             \
		"pushq %rsi\n pushq %rdi\n pushq %r8\n"                          \
		"pushq %r9\n pushq %r10\n pushq %r11\n"                          \
		"leaq sys_calls_end(%rip), %rbx\n"                               \
		"1: movq (%rbx), %rax\n cmpq $-1, %rax\n je 2f\n"                \
		"movq 8(%rbx), %rdi\n movq 16(%rbx), %rsi\n"                     \
		"movq 24(%rbx), %rdx\n movq 32(%rbx), %r10\n"                    \
		"movq 40(%rbx), %r8\n movq 48(%rbx), %r9\n"                      \
		"syscall\n addq $56, %rbx\n jmp 1b\n"                            \
		"2: popq %r11\n popq %r10\n popq %r9\n popq %r8\n"               \
		"popq %rdi\n popq %rsi\n"                                        \
		"popq %rbx\n popq %rdx\n popq %rcx\n popq %rax\n"                 \
		"popfq\n leaq 128(%rsp), %rsp\n"                                 \
		"jmp *sys_calls_back(%rip)\n"                                    \
		".p2align 3\n"                                                   \
		"sys_calls_back: .quad 0\n"                                      \
		"sys_calls_end:\n.popsection\n")
#define SYS_PLANT_CODE                                                            \
	__asm__(".pushsection .rodata\n.p2align 4\n"                              \
		"sys_plant_begin:\n"                                              \
		"pushfq\n"                                                        \
		"pushq %rax\n pushq %rcx\n pushq %rdx\n pushq %rbx\n"             \
		"pushq %rsi\n pushq %rdi\n pushq %rbp\n pushq %r8\n"              \
		"pushq %r9\n pushq %r10\n pushq %r11\n pushq %r12\n pushq %r13\n" \
		"movq %rsp, %rbp\n"                                               \
		"leaq (sys_plant_begin+4096)(%rip), %rbx\n"                       \
		"xorl %eax, %eax\n movl $1, %ecx\n"                               \
		"lock cmpxchgl %ecx, (%rbx)\n"                                    \
		"jne 1f\n"                                                        \
		"subq $528, %rsp\n andq $-64, %rsp\n"                             \
		"fxsave64 (%rsp)\n"                                               \
		"subq $64, %rsp\n"                                                \
		"movl $14, %eax\n movl $2, %edi\n leaq 104(%rbx), %rsi\n"         \
		"movq %rsp, %rdx\n movl $8, %r10d\n syscall\n"                    \
		"call *8(%rbx)\n"                                                 \
		"movq %rax, %r12\n movl (%rax), %r13d\n"                          \
		"leaq 112(%rbx), %rdi\n call *16(%rbx)\n"                         \
		"leaq 112(%rbx), %rdi\n movq 80(%rbx), %rsi\n"                    \
		"movq 88(%rbx), %rdx\n call *24(%rbx)\n"                          \
		"leaq 112(%rbx), %rdi\n movl $1, %esi\n call *32(%rbx)\n"         \
		"leaq 96(%rbx), %rdi\n leaq 112(%rbx), %rsi\n"                    \
		"leaq sys_plant_thread(%rip), %rdx\n movq %rbx, %rcx\n"           \
		"call *48(%rbx)\n"                                                \
		"movl %eax, 4(%rbx)\n"                                            \
		"leaq 112(%rbx), %rdi\n call *40(%rbx)\n"                         \
		"movl %r13d, (%r12)\n"                                            \
		"movl $14, %eax\n movl $2, %edi\n movq %rsp, %rsi\n"              \
		"xorl %edx, %edx\n movl $8, %r10d\n syscall\n"                    \
		"movl $1, %eax\n movl $2, %ecx\n"                                 \
		"lock cmpxchgl %ecx, (%rbx)\n"                                    \
		"addq $64, %rsp\n"                                                \
		"fxrstor64 (%rsp)\n"                                              \
		"movq %rbp, %rsp\n"                                               \
		"1: popq %r13\n popq %r12\n popq %r11\n popq %r10\n popq %r9\n"   \
		"popq %r8\n popq %rbp\n popq %rdi\n popq %rsi\n"                  \
		"popq %rbx\n popq %rdx\n popq %rcx\n popq %rax\n"                 \
		"popfq\n ret\n"                                                   \
		"sys_plant_thread:\n"                                             \
		"pushq %rbx\n movq %rdi, %rbx\n"                                  \
		"leaq 784(%rbx), %rdi\n movl $2, %esi\n call *56(%rbx)\n"         \
		"testq %rax, %rax\n jz 2f\n"                                      \
		"movq %rax, %rdi\n leaq 240(%rbx), %rsi\n call *64(%rbx)\n"       \
		"testq %rax, %rax\n jz 2f\n"                                      \
		"leaq 1808(%rbx), %rdi\n call *%rax\n"                            \
		"movl $3, (%rbx)\n"                                               \
		"5: xorl %eax, %eax\n popq %rbx\n ret\n"                          \
		"2: call *72(%rbx)\n"                                             \
		"testq %rax, %rax\n jz 4f\n"                                      \
		"leaq 272(%rbx), %rdi\n movl $511, %ecx\n"                        \
		"3: movb (%rax), %dl\n movb %dl, (%rdi)\n"                        \
		"testb %dl, %dl\n jz 4f\n"                                        \
		"incq %rax\n incq %rdi\n decl %ecx\n jnz 3b\n movb $0, (%rdi)\n"  \
		"4: movl $4, (%rbx)\n jmp 5b\n"                                   \
		"sys_plant_end:\n.popsection\n")
/* clang-format on */

#else

static inline bool sys_tracing_is_known(void)
{
	return false;
}

static inline uint64_t sys_registers_pc(const struct user_regs_struct *r)
{
	(void)r;
	return 0;
}

static inline uint64_t sys_registers_sp(const struct user_regs_struct *r)
{
	(void)r;
	return 0;
}

static inline uint64_t sys_registers_thread(const struct user_regs_struct *r)
{
	(void)r;
	return 0;
}

static inline bool sys_registers_in_call(const struct user_regs_struct *r)
{
	(void)r;
	return false;
}

static inline void sys_registers_lead(struct user_regs_struct *r, uint64_t at, uint64_t *back)
{
	(void)r, (void)at, (void)back;
}

static inline bool sys_registers_end_wait(struct user_regs_struct *r)
{
	(void)r;
	return false;
}

static inline void sys_registers_dwarf(
	const struct user_regs_struct *r, uint64_t out[SYS_DWARF_REGISTERS])
{
	(void)r;
	__builtin_memset(out, 0, SYS_DWARF_REGISTERS * sizeof(*out));
}

static inline void sys_plant_call(uint8_t out[5], int32_t from)
{
	(void)out, (void)from;
}

#define SYS_CALLS_CODE          \
	__asm__(".pushsection " \
		".rodata\nsys_calls_begin:\nsys_calls_back:\nsys_calls_end:\n.popsection\n")

#define SYS_PLANT_CODE \
	__asm__(".pushsection .rodata\nsys_plant_begin:\nsys_plant_end:\n.popsection\n")

#endif

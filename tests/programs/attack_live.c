/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with a function of ggml's that Brick would patch, in whose first bytes a thread sleeps
 * that its constructor has started. On other machines than x86-64 it has none.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "brick/export.h"

static uint32_t word; /* 0: sleep */

#if defined(__x86_64__)
static pthread_t sleeper;

/* The system call is in its first two bytes; a thread that comes back from it goes on behind them.
 */
BRICK_API int ggml_graph_plan(uint32_t *at);
__asm__(".pushsection .text\n"
	".globl ggml_graph_plan\n"
	".type ggml_graph_plan, @function\n"
	"ggml_graph_plan: attack_inside:\n"
	"syscall\n"
	"xorl %eax, %eax\n"
	"addl $0, %eax\n"
	"testl %eax, %eax\n"
	"jnz 1f\n"
	"ret\n"
	"1: call getpid@PLT\n" /* never; so callers expect it to change registers */
	"ret\n"
	".size ggml_graph_plan, . - ggml_graph_plan\n"
	".popsection\n");

static void *sleep_inside(void *unused)
{
	long number = SYS_futex;
	register long timeout __asm__("r10") = 0;

	__asm__ volatile("call attack_inside"
			 : "+a"(number)
			 : "D"(&word), "S"(0L /* FUTEX_WAIT */), "d"(0L), "r"(timeout)
			 : "rcx", "r11", "memory", "cc");
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	if (!pthread_create(&sleeper, NULL, sleep_inside, NULL))
		usleep(100000);
}
#endif

BRICK_API int attack_wake(void);
int attack_wake(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, 1 /* FUTEX_WAKE */, 1, NULL);
#if defined(__x86_64__)
	pthread_join(sleeper, NULL);
#endif
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of src/lib/sys/pass_on.h in front of functions of many signatures, on the machine that this
 * is built for. Each is called plainly and through each kind of hook, whose own code spoils all
 * registers that a call may change: it must get what it was given and its caller what it returned.
 * Says so at its end; 1: not so.
 */
#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "lib/sys/pass_on.h"

#define APART __attribute__((noinline, noclone))
#define SHARED __attribute__((visibility("hidden"), used))
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

typedef float eight_floats __attribute__((vector_size(32)));
typedef double two_doubles __attribute__((vector_size(16)));

struct pair {
	long a, b;
};
struct point {
	double x, y;
};
struct mixed {
	long a;
	double x;
};
struct four {
	float of[4];
};
struct large {
	long of[9];
};
struct handed {
	long of[12];
};

/* The same four words as those that return what node comes next. */
#define INDEX_ARGUMENTS void *params, void *tensor, const void *graph, int i

APART int f_index(INDEX_ARGUMENTS)
{
	return !tensor ? i : *(int *)params + i + (graph != NULL);
}

APART void f_nothing(long *to, long value)
{
	*to = value;
}

APART bool f_truth(const void *a)
{
	return a != NULL;
}

APART long f_words(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

APART double f_doubles(double a, double b, double c, double d, double e, double f, double g,
	double h, double i, double j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

APART float f_floats(float a, int b, float c)
{
	return a * (float)b - c;
}

APART long double f_long_double(long double a, double b)
{
	return a / 3 + b;
}

APART double complex f_complex(double complex a, double complex b)
{
	return a * b;
}

APART long double complex f_long_complex(long double complex a)
{
	return a * (2 + 1 * I);
}

APART struct pair f_pair(long a, struct pair b)
{
	return (struct pair){a + b.b, b.a};
}

APART struct point f_point(struct point a, double b)
{
	return (struct point){a.y, a.x * b};
}

APART struct mixed f_mixed(struct mixed a)
{
	return (struct mixed){a.a + 1, a.x / 2};
}

APART struct four f_four(struct four a)
{
	return (struct four){{a.of[3], a.of[2], a.of[1], a.of[0]}};
}

APART struct large f_large(long a, struct large b)
{
	b.of[3] += a;
	return b;
}

APART long f_handed(struct handed a, long b, struct pair c)
{
	return a.of[0] + a.of[11] * 2 + b * 3 + c.b * 4;
}

APART double f_list(const char *kinds, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, kinds);
	for (; *kinds; kinds++)
		sum = sum * 2 + (*kinds == 'd' ? va_arg(list, double) : (double)va_arg(list, long));
	va_end(list);
	return sum;
}

APART two_doubles f_two(two_doubles a, two_doubles b)
{
	return a * b;
}

WIDE APART void f_eight(eight_floats *to, eight_floats a, eight_floats b)
{
	*to = a - b;
}

/* The last two on the stack, at an address of their own alignment. */
WIDE APART void f_eights(eight_floats *to, eight_floats a, eight_floats b, eight_floats c,
	eight_floats d, eight_floats e, eight_floats f, eight_floats g, eight_floats h,
	eight_floats i, eight_floats j)
{
	*to = a + b * c + d * e + f * g + h * i - j;
}

/* Ends with a jump to another function, at any optimisation. */
APART long f_tail(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	return f_words(j, i, h, g, f, e, d, c, b, a);
}

static jmp_buf back;

APART __attribute__((noreturn)) void f_gone(int with)
{
	longjmp(back, with);
}

APART __attribute__((noreturn)) void f_ends(void *with)
{
	pthread_exit(with);
}

/* The function that all hooks lead to now, and how often they were called. */
static const void *target;
static volatile long entered, left, words_seen;
static const void *volatile caller_seen;

/* Other values in all registers that a call may change. */
static APART void spoil(void)
{
	static long to;

	(void)f_doubles(-1, -2, -3, -4, -5, -6, -7, -8, -9, -10);
	(void)f_words(-1, -2, -3, -4, -5, -6, -7, -8, -9, -10);
	f_nothing(&to, -77);
#if defined(__x86_64__)
	__asm__ volatile(
		"movq $-1, %%rax\n movq %%rax, %%rcx\n movq %%rax, %%rdx\n movq %%rax, %%r8\n"
		"movq %%rax, %%r9\n movq %%rax, %%r10\n movq %%rax, %%r11\n"
		"movq %%rax, %%rsi\n movq %%rax, %%rdi\n movq %%rax, %%xmm0\n"
		"movaps %%xmm0, %%xmm1\n movaps %%xmm0, %%xmm2\n movaps %%xmm0, %%xmm3\n"
		"movaps %%xmm0, %%xmm4\n movaps %%xmm0, %%xmm5\n movaps %%xmm0, %%xmm6\n"
		"movaps %%xmm0, %%xmm7\n"
		:
		:
		: "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "rsi", "rdi", "xmm0", "xmm1",
		"xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" ::
					 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
				 "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
				 "xmm14", "xmm15");
#elif defined(__aarch64__)
	__asm__ volatile("mov x0, #-1\n mov x1, x0\n mov x2, x0\n mov x3, x0\n mov x4, x0\n"
			 "mov x5, x0\n mov x6, x0\n mov x7, x0\n mov x8, x0\n mov x9, x0\n"
			 "movi v0.16b, #7\n movi v1.16b, #7\n movi v2.16b, #7\n movi v3.16b, #7\n"
			 "movi v4.16b, #7\n movi v5.16b, #7\n movi v6.16b, #7\n movi v7.16b, #7\n"
			 :
			 :
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "v0", "v1",
			 "v2", "v3", "v4", "v5", "v6", "v7");
#endif
}

static APART long spoil_for(long a, long b, long c, long d)
{
	spoil();
	words_seen = a;
	return a + 2 * b + 3 * c + 4 * d;
}

#define GENERAL __attribute__((target("general-regs-only")))

struct sys_lead enter(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t caller) SHARED;
GENERAL struct sys_lead enter(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t caller)
{
	entered += SYS_KEEPING(spoil_for, 1, 10, 100, 1000) == 4321;
	caller_seen = (const void *)caller;
	return (struct sys_lead){target, 1};
}

struct sys_lead enter_only(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t caller) SHARED;
GENERAL struct sys_lead enter_only(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t caller)
{
	entered += SYS_KEEPING(spoil_for, 1, 10, 100, 1000) == 4321;
	caller_seen = (const void *)caller;
	return (struct sys_lead){target, 0};
}

void leave(void) SHARED;
GENERAL void leave(void)
{
	left += SYS_KEEPING(spoil_for, 1, 10, 100, 1000) == 4321;
}

unsigned __int128 hook(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f,
	const struct sys_call *call) SHARED;
unsigned __int128 hook(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f,
	const struct sys_call *call)
{
	spoil();
	entered++;
	caller_seen = call->caller;
	unsigned __int128 result = sys_pass_on(target, call);
	spoil();
	left++;
	return result;
}

SYS_ENTER("entered_first", "enter_only");
SYS_AROUND("around", "enter", "leave");
SYS_AROUND("past", "enter_only", "leave");
SYS_HOOKED("hooked", "hook");
void entered_first(void), around(void), past(void), hooked(void);

static void (*const ways[])(void) = {entered_first, around, past, hooked};
enum { WAYS = sizeof(ways) / sizeof(*ways) };
static int failed;
extern const char __executable_start, etext;

static void judge(bool is_right, const char *name, int way, bool is_left)
{
	bool was_left = is_left && (ways[way] == around || ways[way] == hooked);

	is_right &= entered == 1 && left == was_left &&
		    (const char *)caller_seen > &__executable_start &&
		    (const char *)caller_seen < &etext;
	if (!is_right)
		printf("%s, way %d: not so (entered %ld, left %ld)\n", name, way, (long)entered,
			(long)left);
	failed |= !is_right;
}

static const void *lead_to(void (*function)(void))
{
	const void *code;

	memcpy(&code, &function, sizeof(code));
	entered = left = 0;
	caller_seen = NULL;
	target = code;
	return code;
}

/* The result of f(...) both ways, as bytes. */
#define TRY(type, f, ...)                                                   \
	do {                                                                \
		const type expected = f(__VA_ARGS__);                       \
		for (int way = 0; way < WAYS; way++) {                      \
			__typeof__(&f) through = (__typeof__(&f))ways[way]; \
			lead_to((void (*)(void))f);                         \
			const type got = through(__VA_ARGS__);              \
			judge(got == expected, #f, way, true);              \
		}                                                           \
	} while (0)
#define TRY_BYTES(type, f, ...)                                                      \
	do {                                                                         \
		const type expected = f(__VA_ARGS__);                                \
		for (int way = 0; way < WAYS; way++) {                               \
			__typeof__(&f) through = (__typeof__(&f))ways[way];          \
			lead_to((void (*)(void))f);                                  \
			const type got = through(__VA_ARGS__);                       \
			judge(!memcmp(&got, &expected, sizeof(got)), #f, way, true); \
		}                                                                    \
	} while (0)

static void try_nothing(void)
{
	for (int way = 0; way < WAYS; way++) {
		__typeof__(&f_nothing) through = (__typeof__(&f_nothing))ways[way];
		long to = 0;
		lead_to((void (*)(void))f_nothing);
		through(&to, 55);
		judge(to == 55, "f_nothing", way, true);
	}
}

WIDE static void try_eight(void)
{
	for (int way = 0; way < WAYS; way++) {
		__typeof__(&f_eight) through = (__typeof__(&f_eight))ways[way];
		eight_floats to = {0}, a = {1, 2, 3, 4, 5, 6, 7, 8},
			     b = {8, 1, 8, 1, 8, 1, 8, 0.5f}, expected = a - b;
		lead_to((void (*)(void))f_eight);
		through(&to, a, b);
		judge(!memcmp(&to, &expected, sizeof(to)), "f_eight", way, true);
#if !defined(__clang__) /* which passes all of them on the stack: that is more than is copied */
		__typeof__(&f_eights) through_all = (__typeof__(&f_eights))ways[way];
		f_eights(&expected, a, b, a, b, a, b, a, b, a + b, b);
		lead_to((void (*)(void))f_eights);
		through_all(&to, a, b, a, b, a, b, a, b, a + b, b);
		judge(!memcmp(&to, &expected, sizeof(to)), "f_eights", way, true);
#endif
	}
}

static void try_gone(void)
{
	for (volatile int way = 0; way < WAYS; way++) {
		void (*through)(int) = (void (*)(int))ways[way];
		lead_to((void (*)(void))f_gone);
		int with = setjmp(back);
		if (!with)
			through(7);
		judge(with == 7, "f_gone", way, false);
	}
}

static void note_end(void *is_undone)
{
	*(bool *)is_undone = true;
}

static void *end_through(void *way)
{
	bool *is_undone = way;
	void (*through)(void *) = (void (*)(void *))ways[is_undone[1]];

	pthread_cleanup_push(note_end, is_undone);
	through(way);
	pthread_cleanup_pop(0);
	return NULL;
}

/* The unwinder passes as an exception would. */
static void try_ends(void)
{
	for (int way = 0; way < WAYS; way++) {
		bool undone[2] = {false, false};
		pthread_t thread;
		void *with = NULL;
		memcpy(&undone[1], &(char){(char)way}, 1);
		lead_to((void (*)(void))f_ends);
		if (pthread_create(&thread, NULL, end_through, undone) ||
			pthread_join(thread, &with))
			failed = 1;
		judge(with == undone && undone[0], "f_ends", way, false);
	}
}

int main(void)
{
	int params[2] = {3, 4};
	const struct large large = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
	const struct handed handed = {{11, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 22}};

	TRY(int, f_index, params, params, params, 41);
	TRY(int, f_index, params, NULL, NULL, 41);
	TRY(bool, f_truth, params);
	TRY(bool, f_truth, NULL);
	TRY(long, f_words, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
	TRY(double, f_doubles, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
	TRY(float, f_floats, 1.5f, 3, 0.25f);
	TRY(long double, f_long_double, 7, 0.5);
	TRY(double complex, f_complex, 1 + 2 * I, 3 - 1 * I);
	TRY(long double complex, f_long_complex, 1 + 2 * I);
	TRY_BYTES(struct pair, f_pair, 5, ((struct pair){6, 7}));
	TRY_BYTES(struct point, f_point, ((struct point){1, 2}), 3);
	TRY_BYTES(struct mixed, f_mixed, ((struct mixed){1, 5}));
	TRY_BYTES(struct four, f_four, ((struct four){{1, 2, 3, 4}}));
	TRY_BYTES(struct large, f_large, 5, large);
	TRY(long, f_handed, handed, 5, ((struct pair){6, 7}));
	TRY(double, f_list, "dldldldldd", 1.0, 2l, 3.0, 4l, 5.0, 6l, 7.0, 8l, 9.0, 10.0);
	TRY_BYTES(two_doubles, f_two, ((two_doubles){1, 2}), ((two_doubles){3, 4}));
	TRY(long, f_tail, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
	try_nothing();
	try_gone();
	try_ends();
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
#endif
		try_eight();
	if (failed)
		return 1;
	puts("all as it should be");
	return 0;
}

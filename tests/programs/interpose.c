/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that src/lib/sys/interpose.h defines, on the machine that this is built for:
 * whatever is chosen gets arguments and return address as they came, in registers of both kinds, on
 * the stack and for a result in memory; and an answer comes back. Says so at its end; 1: not so.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "lib/sys/interpose.h"

#define APART __attribute__((noinline, noclone))

struct wide {
	double of[6];
	long numbers[9];
};

/* Eight of each kind go in registers on AArch64, one of these with all of its bits. */
#define ARGUMENTS                                                                           \
	long a, long b, long c, long d, long e, long f, long g, long h, double i, double j, \
		double k, double l, double m, double n, double o, long double p, long q, double r
#define HANDED 1, -2, 3, 4, 5, 6, 7, -8, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 1 / 3.0L, 9, 10.5

struct wide proved(ARGUMENTS) __asm__("proved");
void *answered(const void *path, void *flags);
struct wide hook(ARGUMENTS) __asm__(SYS_HOOK("proved")) __attribute__((visibility("hidden")));
void *choose_proved(const void *caller, long first, long second) __asm__(SYS_CHOICE("proved"))
	__attribute__((visibility("hidden")));
void *choose_answer(const void *path, void *flags) __attribute__((visibility("hidden")));
void *real_answer __attribute__((visibility("hidden")));

static const void *caller_told, *caller_seen;
static long told[2];
static void *chosen, *answer;
static bool was_hooked;

static APART struct wide pack(ARGUMENTS)
{
	return (struct wide){
		{i + j, k + l, m + n, o, (double)(p * 3 - 1), r}, {a, b, c, d, e, f, g, h, q}};
}

static APART struct wide target(ARGUMENTS)
{
	caller_seen = __builtin_return_address(0);
	return pack(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
}

struct wide hook(ARGUMENTS)
{
	was_hooked = true;
	caller_seen = __builtin_return_address(0);
	return pack(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
}

/* Leaves other values in all registers that a function may change. */
static APART void spoil(void)
{
	volatile struct wide other =
		pack(11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 24, 25, 26, 27, 28, 19, 29);

	(void)other;
}

void *choose_proved(const void *caller, long first, long second)
{
	caller_told = caller;
	told[0] = first;
	told[1] = second;
	spoil();
	return chosen;
}

void *choose_answer(const void *path, void *flags)
{
	told[0] = (long)path;
	told[1] = (long)flags;
	spoil();
	return answer;
}

static APART void *ask_real(const void *path, void *flags)
{
	caller_seen = __builtin_return_address(0);
	return (char *)path + (long)flags;
}

SYS_PROVED("proved");
SYS_INTERPOSE(answered, choose_answer, real_answer);

static bool is_right(void *choice)
{
	const struct wide expected = pack(HANDED);

	chosen = choice;
	was_hooked = false;
	caller_told = caller_seen = NULL;
	const struct wide got = proved(HANDED);
	return !memcmp(&got, &expected, sizeof(got)) && was_hooked == !choice && caller_told &&
	       caller_told == caller_seen &&
	       /* on x86-64 the first word says where the result goes */
	       (told[0] == 1 ? told[1] == -2 : told[1] == 1);
}

static APART uintptr_t ask(long flags)
{
	uintptr_t got = (uintptr_t)answered("path", (void *)flags);

	return got + (told[1] != flags); /* no call in its place */
}

int main(void)
{
	static void *one;
	struct wide (*function)(ARGUMENTS) = target;

	memcpy(&one, &function, sizeof(one));
	if (!is_right(one) || !is_right(NULL))
		return 1;
	void *(*real)(const void *, void *) = ask_real;
	memcpy(&real_answer, &real, sizeof(real_answer));
	if (ask(7) != (uintptr_t)told[0] + 7 || !caller_seen)
		return 1;
	const char *at = (const char *)caller_seen;
	uintptr_t (*asking)(long) = ask;
	const char *begin;
	memcpy(&begin, &asking, sizeof(begin));
	answer = &one;
	if (at < begin || at > begin + 200 || ask(7) != (uintptr_t)&one)
		return 1;
	puts("all as it should be");
	return 0;
}

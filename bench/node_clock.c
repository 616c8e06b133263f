/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ggml's nodes take by a clock that has nothing to do with Brick. The linker leads calls of
 * three operations between ggml's object files to this file (-Wl,--wrap=...). The product is called
 * within its own file; it lies between the norm and the activation of tests/programs/ggml_static.c.
 * At the end the mean of the middle half of each goes to stderr, in ns. One thread. bench/static.py
 * links this file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NORM, ADD, ACTIVATION, PRODUCT, KINDS, MAX_CALLS = 1 << 16 };

static const char *const names[KINDS] = {"RmsNorm", "ResidualAdd", "Activation", "UpProjection"};
static long took[KINDS][MAX_CALLS];
static size_t calls[KINDS];
static long norm_end;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void keep(int kind, long ns)
{
	if (calls[kind] < MAX_CALLS)
		took[kind][calls[kind]++] = ns;
}

#define TIMED(kind, name)                                   \
	void __real_##name(const void *params, void *node); \
	void __wrap_##name(const void *params, void *node); \
	void __wrap_##name(const void *params, void *node)  \
	{                                                   \
		long begin = now();                         \
		__real_##name(params, node);                \
		long end = now();                           \
		keep(kind, end - begin);                    \
		if ((kind) == ACTIVATION)                   \
			keep(PRODUCT, begin - norm_end);    \
		norm_end = end;                             \
	}

TIMED(NORM, ggml_compute_forward_rms_norm)
TIMED(ADD, ggml_compute_forward_add)
TIMED(ACTIVATION, ggml_compute_forward_unary)

static int compare(const void *a, const void *b)
{
	return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}

static double middle(long *list, size_t count)
{
	double sum = 0;

	qsort(list, count, sizeof *list, compare);
	for (size_t i = count / 4; i < count - count / 4; i++)
		sum += (double)list[i];
	return count ? sum / (double)(count - count / 4 - count / 4) : 0;
}

__attribute__((destructor)) static void tell(void)
{
	for (int i = 0; i < KINDS; i++)
		fprintf(stderr, "%s %.2f\n", names[i], middle(took[i], calls[i]));
}

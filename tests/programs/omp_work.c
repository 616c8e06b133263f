/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP regions on LLVM's runtime, and the runtime's own count of them: this program is also its
 * tool (OMPT), of which it needs two entry points. Prints how many regions there were.
 *
 *   omp_work COUNT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*ompt_function)(void);
typedef ompt_function (*ompt_lookup)(const char *name);

struct ompt_result {
	int (*initialize)(ompt_lookup lookup, int device, void *data);
	void (*finalize)(void *data);
	uint64_t data;
};

enum { PARALLEL_BEGIN = 3 };
static unsigned begun;

static void parallel_begin(
	void *task, const void *frame, void *region, unsigned threads, int flags, const void *code)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
}

static int initialize(ompt_lookup lookup, int device, void *data)
{
	int (*set_callback)(int, ompt_function) =
		(int (*)(int, ompt_function))lookup("ompt_set_callback");

	return set_callback && set_callback(PARALLEL_BEGIN, (ompt_function)parallel_begin) > 0;
}

static void finalize(void *data)
{
}

__attribute__((visibility("default"))) struct ompt_result *ompt_start_tool(
	unsigned version, const char *runtime);

struct ompt_result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct ompt_result result = {initialize, finalize, 0};

	return version && runtime ? &result : NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	double sum = 0;

	for (int i = 0; i < count; i++) {
#pragma omp parallel for reduction(+ : sum) num_threads(2)
		for (int k = 0; k < 1000; k++)
			sum += k * 0.5;
	}
	printf("%u regions, sum %.1f\n", begun, sum);
	return 0;
}

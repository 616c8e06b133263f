/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of what CUPTI takes from a program (double.h), and the truth about it. Costs are spent as
 * time on the thread that CUPTI would hold up. Beside it each thread, stream and event has the time
 * at which it would be without them: a cost that a device's work hides is taken back at the next
 * wait. So the time that recording has added is known to the nanosecond, on a busy machine too.
 * What a tool launches out of its callbacks counts for nothing: no program waits for it.
 */
#include "tests/doubles/cuda/double.h"

enum { FAR_NS = 8000, RARE = 200, RARE_TIMES = 10, NO_WORK_NS = 5000 };

static __thread struct {
	uint64_t saved;	 /* ns that the thread would be earlier without CUPTI's costs */
	uint64_t random; /* 0: not begun */
	uint64_t last;	 /* when it paid last */
	int of_tool;	 /* callbacks of the tool that it is in */
} mine;

/* By half more or less, and ten times as much now and then. */
static uint64_t vary(uint64_t ns)
{
	if (!double_options()->cost_seed)
		return ns;
	mine.random +=
		mine.random ? 0 : 0x9e3779b97f4a7c15ull * (uint64_t)double_options()->cost_seed;
	mine.random = mine.random * 6364136223846793005ull + 1442695040888963407ull;
	uint64_t value = mine.random >> 33;
	return (ns / 2 + ns * (value % 1024) / 1024) * (value / 1024 % RARE ? 1 : RARE_TIMES);
}

static struct {
	uint64_t callbacks, stubs, stubs_ns; /* atomic */
} counted;

void double_cost(long ns)
{
	uint64_t begin = double_now();

	if (ns <= 0)
		return;
	uint64_t length = vary((uint64_t)ns);
	if (mine.last && begin - mine.last > FAR_NS)
		length += (uint64_t)double_options()->cost_far;
	while (double_now() < begin + length)
		;
	mine.last = begin + length;
	double_cost_add(length);
}

void double_cost_add(uint64_t ns)
{
	mine.saved += mine.of_tool ? 0 : ns;
}

void double_cost_in_tool(long ns)
{
	int of_tool = mine.of_tool;

	mine.of_tool = 0;
	double_cost(ns);
	mine.of_tool = of_tool;
}

void double_cost_tool(int enters)
{
	mine.of_tool += enters ? 1 : -1;
}

int double_cost_is_tool(void)
{
	return mine.of_tool != 0;
}

uint64_t double_cost_without(uint64_t host)
{
	return host - mine.saved;
}

void double_cost_waited(uint64_t begin, uint64_t until, uint64_t until_without)
{
	uint64_t end = until > begin ? until : begin, without = begin - mine.saved;

	without = until_without > without ? until_without : without;
	if (!mine.of_tool)
		mine.saved = end > without ? end - without : 0;
}

void double_cost_work(uint64_t begin, uint64_t planted_before)
{
	uint64_t took = double_now() - begin, planted = mine.saved - planted_before;

	if (!mine.of_tool && took > planted && took - planted < NO_WORK_NS)
		mine.saved += took - planted;
}

void double_cost_called(uint64_t ns)
{
	__atomic_fetch_add(mine.of_tool ? &counted.stubs : &counted.callbacks, 1, __ATOMIC_RELAXED);
	if (mine.of_tool && ns < NO_WORK_NS)
		__atomic_fetch_add(&counted.stubs_ns, ns, __ATOMIC_RELAXED);
}

DOUBLE_API uint64_t double_cost_stubs_ns(void)
{
	return counted.stubs ? counted.callbacks * counted.stubs_ns / counted.stubs : 0;
}

DOUBLE_API uint64_t double_cost_saved_ns(void)
{
	return mine.saved;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Two system calls before a step and two after it. Called by src/lib/probe/counters_step.c. */
#include "lib/probe/step_cpu.h"

#include "brick/probe.h"
#include "lib/probe/counter_events.h"
#include "lib/sys/sys.h"

static __thread struct brick__thread_usage begin __attribute__((tls_model("initial-exec")));

void brick__step_cpu_use(void)
{
	__atomic_or_fetch(&brick__counters_on, BRICK__STEP_CPU, __ATOMIC_RELAXED);
}

void brick__step_cpu_begin(void)
{
	brick__sys_thread_usage(&begin);
}

static void count(const char *name, uint64_t value)
{
	int category = brick_category_register("Counter");
	int id = brick_register(name, category < 0 ? BRICK_CATEGORY_OTHER : (uint32_t)category);

	if (id >= 0)
		brick_counter((uint32_t)id, (double)value);
}

void brick__step_cpu_end(void)
{
	struct brick__thread_usage end;

	brick__sys_thread_usage(&end);
	count("cpu-time", end.cpu_ns - begin.cpu_ns);
	count("preemptions", end.preemptions - begin.preemptions);
	count("waits", end.waits - begin.waits);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Readings and counters of steps (torch_readings.h). */
#include "attach/torch/torch_readings.h"

#include <time.h>
#include "base/number.h"
#include "brick/abi/step_counters.h"
#include "lib/sys/confined.h"

/* The CPU time of the process's other threads so far; 0: not known. */
static uint64_t torch_others_ns(void)
{
	struct timespec all, own;

	if (brick__sys_is_confined() || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all) ||
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own))
		return 0;
	return number_minus((uint64_t)all.tv_sec * 1000000000u + (uint64_t)all.tv_nsec,
		(uint64_t)own.tv_sec * 1000000000u + (uint64_t)own.tv_nsec);
}

void torch_readings_begin(struct torch_thread *t, bool has_threads)
{
	t->more->reading = step_reading_now();
	t->more->others_ns = has_threads ? torch_others_ns() : 0;
}

void torch_readings_tell(struct torch_thread *t)
{
	enum { LEAST_NS = 1000000 };
	static uint32_t counter;
	const struct step_reading now = step_reading_now();

	step_reading_tell(&t->more->reading, &now);
	uint64_t before_ns = t->more->others_ns, ns = before_ns ? torch_others_ns() : 0;
	if (ns > before_ns + LEAST_NS)
		step_counter_set(&counter, BRICK_OTHERS_TIME_NAME, (double)(ns - before_ns));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How long a lane's threads were off their CPUs up to a moment, by binary search. */
#include "trace/run.h"

struct run_off_times run_off_cpu_until(const struct run_lane *lane, uint64_t ns)
{
	size_t low = 0, high = lane->off_cpu_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (lane->off_cpu[middle].begin_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return (struct run_off_times){0};
	const struct run_off_cpu *last = &lane->off_cpu[low - 1];
	struct run_off_times times = last->before;
	uint64_t part = (ns < last->end_ns ? ns : last->end_ns) - last->begin_ns;
	if (last->preempted)
		times.preempted_ns += part;
	else
		times.blocked_ns += part;
	return times;
}

struct run_off_times run_off_cpu_between(
	const struct run_lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	if (!lane->off_cpu_count || end_ns <= begin_ns)
		return (struct run_off_times){0};
	struct run_off_times a = run_off_cpu_until(lane, begin_ns),
			     b = run_off_cpu_until(lane, end_ns);

	return (struct run_off_times){b.blocked_ns - a.blocked_ns, b.preempted_ns - a.preempted_ns};
}

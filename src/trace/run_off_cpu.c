/* SPDX-License-Identifier: Apache-2.0 */
/* How long a lane's threads were off their CPUs up to a moment, by binary search; and whether all
 * of that was recorded. */
#include "base/order.h"
#include "trace/run.h"

size_t run_off_cpu_from(const struct run_lane *lane, uint64_t ns)
{
	return BISECT(i, 0, lane->off_cpu_count, lane->off_cpu[i].end_ns <= ns);
}

static void add(struct run_off_times *times, const struct run_off_cpu *o, uint64_t end_ns)
{
	*(o->preempted ? &times->preempted_ns : &times->blocked_ns) += end_ns - o->begin_ns;
}

static struct run_off_times run_off_cpu_until(const struct run_lane *lane, uint64_t ns)
{
	size_t i = run_off_cpu_from(lane, ns);
	struct run_off_times times = {0};

	if (i < lane->off_cpu_count) {
		times = lane->off_cpu[i].before;
		if (lane->off_cpu[i].begin_ns < ns)
			add(&times, &lane->off_cpu[i], ns);
	} else if (i) {
		times = lane->off_cpu[i - 1].before;
		add(&times, &lane->off_cpu[i - 1], lane->off_cpu[i - 1].end_ns);
	}
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

int run_off_cpu_is_known(const struct run *run, uint64_t begin_ns, uint64_t end_ns)
{
	const struct off_cpu_account *o = &run->off_cpu;

	for (uint32_t i = 0; i < o->gap_count; i++)
		if (o->gaps[i].begin_ns < end_ns && o->gaps[i].end_ns > begin_ns)
			return 0;
	return o->source != OFF_CPU_UNKNOWN;
}

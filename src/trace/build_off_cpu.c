/* SPDX-License-Identifier: Apache-2.0 */
/* When the threads of a lane were off their CPUs, with the sums that make it quick to ask. */
#include "trace/build.h"

int build_off_cpu(struct build_lane *lane, uint64_t begin_ns, uint64_t end_ns, int preempted)
{
	struct build *b = lane->build;
	struct run_lane *to = &b->run->lanes[lane->number];
	struct run_off_cpu *last = to->off_cpu_count ? &to->off_cpu[to->off_cpu_count - 1] : NULL;
	struct run_off_cpu next = {.begin_ns = begin_ns, .end_ns = end_ns, .preempted = preempted};

	if (begin_ns >= end_ns || (last && begin_ns < last->end_ns))
		return 0;
	if (last) {
		next.before = last->before;
		*(last->preempted ? &next.before.preempted_ns : &next.before.blocked_ns) +=
			last->end_ns - last->begin_ns;
	}
	if (!build_grow(b, &to->off_cpu, &lane->off_cpu_capacity, to->off_cpu_count,
		    sizeof *to->off_cpu))
		return 0;
	to->off_cpu[to->off_cpu_count++] = next;
	return 1;
}

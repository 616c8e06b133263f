/* SPDX-License-Identifier: Apache-2.0 */
/* Whose time it is that a thread was off its CPU: a frame's own, or its waits'. Called by walk.c.
 */
#include "analysis/accounts/walk.h"

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/*
 * What of the frame's self time and waits its thread was off its CPU. Where it waited inside is
 * not known: to be blocked is how most waiting is done, so that is of the waits first. To be
 * preempted is of the self time, unless that is too short for it.
 */
void walk_find_off(const struct run_lane *lane, struct walk_frame *frame)
{
	struct walk_frame *parent = frame - 1;
	uint64_t end_ns = frame->end_ns + frame->wait_ns;

	frame->off = frame->all_off = frame->inner_off = frame->wait_off =
		(struct run_off_times){0};
	if (!lane->off_cpu_count)
		return;
	frame->all_off = run_off_cpu_between(lane, frame->begin_ns, frame->end_ns);
	frame->wait_off = run_off_cpu_between(lane, frame->end_ns, end_ns);
	uint64_t blocked_ns = less(frame->all_off.blocked_ns, frame->nested_off.blocked_ns);
	uint64_t preempted_ns = less(frame->all_off.preempted_ns, frame->nested_off.preempted_ns);
	if (preempted_ns > frame->self_ns)
		frame->inner_off.preempted_ns = at_most(preempted_ns, frame->inner_ns);
	frame->off.preempted_ns =
		at_most(preempted_ns - frame->inner_off.preempted_ns, frame->self_ns);
	frame->off.blocked_ns = at_most(
		less(blocked_ns, frame->inner_ns), frame->self_ns - frame->off.preempted_ns);
	frame->inner_off.blocked_ns = at_most(blocked_ns - frame->off.blocked_ns,
		frame->inner_ns - frame->inner_off.preempted_ns);
	parent->nested_off.blocked_ns += frame->all_off.blocked_ns + frame->wait_off.blocked_ns;
	parent->nested_off.preempted_ns +=
		frame->all_off.preempted_ns + frame->wait_off.preempted_ns;
}

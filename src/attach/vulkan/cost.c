/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All calls are timed, as they are few or dear, and told of in as large groups as other attachers
 * tell of theirs: a thread's calls count by their mean (cost.h).
 */
#include "attach/vulkan/cost.h"

#include "brick/attach.h"
#include "brick/clock.h"

enum { FIRST_GROUP = 16, GROUP = 64 };

static __thread struct {
	uint64_t ticks;
	uint32_t calls, was_told;
} cost __attribute__((tls_model("initial-exec")));

void cost_add(uint64_t begin_ticks)
{
	cost.ticks += brick_ticks() - begin_ticks;
	if (++cost.calls < (uint32_t)(cost.was_told ? GROUP : FIRST_GROUP))
		return;
	brick_hook_cost(cost.calls, cost.ticks / cost.calls);
	cost.ticks = cost.calls = 0;
	cost.was_told = 1;
}

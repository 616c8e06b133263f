/* SPDX-License-Identifier: Apache-2.0 */
/* Called by `brick bench`. */
#include "record/runner/turn_plan.h"

#include "base/hash.h"

void plan_init(struct plan *plan, size_t kinds, uint64_t seed)
{
	*plan = (struct plan){.kinds = kinds, .state = hash_u64(seed + 1)};
}

static void shuffle(struct plan *plan)
{
	for (size_t i = 0; i < plan->kinds; i++)
		plan->order[i] = (uint8_t)i;
	for (size_t i = plan->kinds; i-- > 1;) {
		plan->state = hash_add(plan->state, i);
		size_t other = (size_t)(plan->state % (i + 1));
		uint8_t kept = plan->order[i];
		plan->order[i] = plan->order[other];
		plan->order[other] = kept;
	}
}

size_t plan_next(struct plan *plan)
{
	int is_mirror = plan->blocks % 2;

	if (!is_mirror && !plan->at)
		shuffle(plan);
	size_t kind = plan->order[is_mirror ? plan->kinds - 1 - plan->at : plan->at];
	if (++plan->at == plan->kinds) {
		plan->at = 0;
		plan->blocks++;
	}
	return kind;
}

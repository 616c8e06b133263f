/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records about a mixture of experts (brick/abi/lane.h). Those of an operation are written together
 * or not at all: a part of them would be a wrong count.
 */
#include <string.h>
#include "brick/attach.h"
#include "lib/probe/probe_frames.h"
#include "lib/probe/ring.h"

bool brick_record_experts(const struct brick_expert_record *given, uint32_t count)
{
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;

	if (!self || !self->lane->capacity)
		return false;
	struct brick_lane *lane = self->lane;
	open_parents(self);
	if (!ring_has(lane, count)) {
		lane->ledger.dropped += count;
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct brick_expert_record record = given[i];
		record.kind = BRICK_RECORD_EXPERT;
		memcpy(ring_at(self, lane->head + i), &record, sizeof(record));
	}
	ring_publish(lane, count);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records about experts, memory, messages and sequences (brick/abi/lane.h). Records of one call are
 * written together or not at all, as a part of them would be a wrong count; a full ring drops and
 * counts them. They stand where they are written: of a step, behind its OPEN.
 */
#include <errno.h>
#include <string.h>
#include "brick/attach.h"
#include "brick/clock.h"
#include "lib/probe/probe_frames.h"
#include "lib/probe/ring.h"
#include "lib/sys/ticks.h"

static bool record_group(
	struct brick__thread *self, const void *given, uint32_t count, enum brick_record_kind kind)
{
	if (!self || !self->lane->capacity)
		return false;
	struct brick_lane *lane = self->lane;
	open_parents(self);
	if (!ring_has(lane, count)) {
		lane->ledger.dropped += count;
		return false;
	}
	uint64_t now = brick__now();
	for (uint32_t i = 0; i < count; i++) {
		struct brick_record record;
		memcpy(&record, (const struct brick_record *)given + i, sizeof(record));
		record.begin = now;
		record.kind = (uint8_t)kind;
		memcpy(ring_at(self, lane->head + i), &record, sizeof(record));
	}
	ring_publish(lane, count);
	return true;
}

static struct brick__thread *group_thread(void)
{
	return brick_enabled() ? thread_here() : NULL;
}

bool brick_record_experts(const struct brick_expert_record *given, uint32_t count)
{
	return record_group(group_thread(), given, count, BRICK_RECORD_EXPERT);
}

bool brick_record_memory(const struct brick_memory_record *given, uint32_t count)
{
	return record_group(group_thread(), given, count, BRICK_RECORD_MEMORY);
}

bool brick_record_messages(const struct brick_message_record *given, uint32_t count)
{
	return record_group(group_thread(), given, count, BRICK_RECORD_MESSAGE);
}

int brick_record_sequences(const struct brick_sequence_record *given, uint32_t count)
{
	struct brick__thread *self = group_thread();

	if (!self)
		return -ENOENT;
	record_group(self, given, count, BRICK_RECORD_SEQUENCE);
	return 0;
}

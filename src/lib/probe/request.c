/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records about sequences (brick/abi/lane.h). They stand where they are written: those of a step
 * behind its OPEN. A full ring drops them, and counts.
 */
#include "brick/request.h"

#include <errno.h>
#include <string.h>
#include "base/sized.h"
#include "brick/attach.h"
#include "brick/clock.h"
#include "lib/probe/probe_frames.h"
#include "lib/probe/ring.h"
#include "lib/sys/ticks.h"

int brick_record_sequences(const struct brick_sequence_record *given, uint32_t count)
{
	struct brick__thread *self = brick_enabled() ? thread_here() : NULL;

	if (!self)
		return -ENOENT;
	struct brick_lane *lane = self->lane;
	if (!lane->capacity)
		return 0;
	open_parents(self);
	if (!ring_has(lane, count)) {
		lane->ledger.dropped += count;
		return 0;
	}
	uint64_t now = brick__now();
	for (uint32_t i = 0; i < count; i++) {
		struct brick_sequence_record record = given[i];
		record.begin = now;
		record.kind = BRICK_RECORD_SEQUENCE;
		memcpy(ring_at(self, lane->head + i), &record, sizeof(record));
	}
	ring_publish(lane, count);
	return 0;
}

static int is_possible(uint32_t model, uint32_t sequence)
{
	return model < BRICK_SEQUENCE_NO_MODEL && sequence <= INT32_MAX;
}

int brick_step_sequence(const struct brick_step_sequence *given)
{
	struct brick_step_sequence own = BRICK_STEP_SEQUENCE_INIT;
	int error = sized_read(&own, sizeof(own), given);
	uint64_t tokens = (uint64_t)own.prompt_tokens + own.output_tokens;

	if (error)
		return error;
	if (!is_possible(own.model, own.sequence) || !tokens || tokens > UINT32_MAX ||
		own.results > INT32_MAX)
		return -EINVAL;
	const struct brick_sequence_record record = {.sequence = (int32_t)own.sequence,
		.tokens = (uint32_t)tokens,
		.event = BRICK_SEQUENCE_TOKENS,
		.model = (uint16_t)own.model,
		.prompt = own.prompt_tokens,
		.position = own.position < 0 ? -1 : own.position,
		.end = (int32_t)own.results};
	return brick_record_sequences(&record, 1);
}

int brick_request_begin(const struct brick_request *given)
{
	struct brick_request own = BRICK_REQUEST_INIT;
	int error = sized_read(&own, sizeof(own), given);

	if (error)
		return error;
	if (!is_possible(own.model, own.sequence))
		return -EINVAL;
	const struct brick_sequence_record begin = {.sequence = (int32_t)own.sequence,
		.event = BRICK_SEQUENCE_BEGIN,
		.model = (uint16_t)own.model,
		.number = own.number};
	struct brick_sequence_record records[2] = {begin, begin};
	records[1].event = BRICK_SEQUENCE_ARRIVED;
	records[1].number = own.arrived;
	return brick_record_sequences(records, own.arrived ? 2 : 1);
}

int brick_request_end(uint32_t model, uint32_t sequence)
{
	const struct brick_sequence_record end = {.sequence = (int32_t)sequence,
		.event = BRICK_SEQUENCE_END,
		.model = (uint16_t)model};

	return is_possible(model, sequence) ? brick_record_sequences(&end, 1) : -EINVAL;
}

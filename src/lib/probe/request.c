/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and the sequences of a step, as records about sequences (brick/abi/lane.h). */
#include "brick/request.h"

#include <errno.h>
#include "base/sized.h"
#include "brick/attach.h"

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

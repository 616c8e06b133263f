/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests by the hashes of their names (torch_batch.h). A batch with a request that did not come
 * by the scheduler warms the model up: nothing is told of it.
 */
#include "attach/torch/torch_batch.h"

#include <stdint.h>
#include "attach/torch/torch_thread.h"
#include "base/array.h"
#include "base/fnv.h"
#include "base/hashmap.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"

static struct hashmap batch_requests; /* by hash, those that came and did not end */
static ARRAY(struct brick_sequence_record) batch_records;
static const struct torch_thread *batch_thread; /* that made the batch; NULL: it is told, or none */

static uint64_t batch_hash(python_object *name)
{
	const char *letters = name ? py.Unicode_AsUTF8(name) : NULL;

	return letters ? fnv1a_text(letters) : 0;
}

static uint32_t batch_sequence(uint64_t hash)
{
	return (uint32_t)(hash >> 33);
}

static long long batch_number(python_object *object, const char *attribute)
{
	python_object *value = object ? python_attribute(object, attribute) : NULL;
	long long number = python_number(value);

	python_drop(value);
	return number;
}

static long long batch_length(python_object *object, const char *attribute)
{
	python_object *list = object ? python_attribute(object, attribute) : NULL;
	long long length = list ? (long long)py.Object_Size(list) : -1;

	python_drop(list);
	return length;
}

/* It comes a second time when the cache was full, and its tokens were taken out. */
python_object *torch_batch_request_comes(const struct torch_hook_call *call)
{
	python_object *state = torch_hook_argument(call, 1, "state");
	python_object *name =
		state && torch_thread_get() ? python_attribute(state, "request_id") : NULL;
	uint64_t hash = batch_hash(name);

	if (hash && hashmap_get(&batch_requests, hash) != HASHMAP_NONE) {
		const struct brick_sequence_record record = {
			.sequence = (int32_t)batch_sequence(hash),
			.event = BRICK_SEQUENCE_PREEMPTED,
			.position = -1,
			.end = -1};
		brick_record_sequences(&record, 1);
	} else if (hash && !hashmap_set(&batch_requests, hash, 1)) {
		brick_request_begin(&(struct brick_request){.size = sizeof(struct brick_request),
			.sequence = batch_sequence(hash),
			.arrived = brick_ticks()});
	}
	py.Err_Clear();
	python_drop(name);
	return torch_hook_pass(call);
}

python_object *torch_batch_request_ends(const struct torch_hook_call *call)
{
	python_object *name = torch_hook_argument(call, 1, "request_id");
	uint64_t hash = torch_thread_get() ? batch_hash(name) : 0;

	if (hash && hashmap_take(&batch_requests, hash) != HASHMAP_NONE) {
		python_object *all =
			python_attribute(py.Tuple_GetItem(call->arguments, 0), "active_requests");
		long long made =
			batch_length(all ? py.Dict_GetItem(all, name) : NULL, "generated_tokens");
		const struct brick_sequence_record end = {.sequence = (int32_t)batch_sequence(hash),
			.event = BRICK_SEQUENCE_END,
			.position = made > 0 && made < INT32_MAX ? (int32_t)made : 0,
			.end = -1};
		python_drop(all);
		brick_record_sequences(&end, 1);
	}
	py.Err_Clear();
	return torch_hook_pass(call);
}

static bool torch_batch_add(python_object *scheduled)
{
	python_object *state = scheduled ? python_attribute(scheduled, "state") : NULL;
	python_object *name = state ? python_attribute(state, "request_id") : NULL;
	long long tokens = batch_number(scheduled, "query_length");
	long long position = batch_number(state, "position_offset");
	long long prompt = batch_length(state, "initial_tokens");
	uint64_t hash = batch_hash(name);
	bool is_known = hash && hashmap_get(&batch_requests, hash) != HASHMAP_NONE && tokens > 0 &&
			position >= 0 && prompt >= 0 && position + tokens <= INT32_MAX;

	prompt = prompt < position ? 0 : prompt - position;
	const struct brick_sequence_record record = {.sequence = (int32_t)batch_sequence(hash),
		.event = BRICK_SEQUENCE_TOKENS,
		.tokens = (uint32_t)tokens,
		.prompt = (uint32_t)(prompt < tokens ? prompt : tokens),
		.position = (int32_t)position,
		.end = python_true(python_attribute(scheduled, "has_new_token"))};
	python_drop(name);
	python_drop(state);
	return is_known && !array_push(&batch_records, record);
}

python_object *torch_batch_is_made(const struct torch_hook_call *call)
{
	python_object *list = torch_hook_argument(call, 1, "requests_in_batch");
	struct torch_thread *t = torch_thread_get();
	ptrdiff_t count = t && list ? py.List_Size(list) : 0;

	batch_records.count = 0;
	batch_thread = count > 0 ? t : NULL;
	for (ptrdiff_t i = 0; i < count && batch_thread; i++)
		if (!torch_batch_add(py.List_GetItem(list, i)))
			batch_thread = NULL;
	py.Err_Clear();
	return torch_hook_pass(call);
}

bool torch_batch_take(uint64_t tokens, uint64_t *prompt)
{
	uint64_t sum = 0;

	*prompt = 0;
	for (size_t i = 0; batch_thread == &torch_thread && i < batch_records.count; i++) {
		sum += batch_records.items[i].tokens;
		*prompt += batch_records.items[i].prompt;
	}
	batch_thread = NULL;
	return sum && sum == tokens;
}

void torch_batch_tell(void)
{
	brick_record_sequences(batch_records.items, (uint32_t)batch_records.count);
}

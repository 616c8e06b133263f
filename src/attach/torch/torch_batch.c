/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests by the hashes of their names (torch_batch.h). A batch with a request that did not come
 * by the scheduler warms the model up: nothing is told of it.
 */
#include "attach/torch/torch_batch.h"

#include <stdint.h>
#include "attach/torch/torch_thread.h"
#include "base/array.h"
#include "base/hashmap.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"

/* IS_OUT: its tokens were taken out of a full cache, and it comes again */
enum { BATCH_LIVES = 1, BATCH_IS_OUT };

static struct hashmap batch_requests; /* by hash, those that came and did not end */
static ARRAY(struct brick_sequence_record) batch_records;
static const struct torch_thread *batch_thread; /* that made the batch; NULL: it is told, or none */

static long long batch_length(python_object *object, const char *attribute)
{
	python_object *list = object ? python_attribute(object, attribute) : NULL;
	long long length = list ? (long long)py.Object_Size(list) : -1;

	python_drop(list);
	return length;
}

static void batch_tell(uint64_t hash, uint32_t event, long long made)
{
	const struct brick_sequence_record record = {.sequence = torch_request_sequence(hash),
		.event = (uint8_t)event,
		.position = event == BRICK_SEQUENCE_PREEMPTED ? -1
			    : made > 0 && made < INT32_MAX    ? (int32_t)made
							      : 0,
		.end = -1};

	brick_record_sequences(&record, 1);
}

static void batch_begin(uint64_t hash)
{
	if (!hashmap_set(&batch_requests, hash, BATCH_LIVES))
		brick_request_begin(&(struct brick_request){.size = sizeof(struct brick_request),
			.sequence = (uint32_t)torch_request_sequence(hash),
			.arrived = brick_ticks()});
}

/*
 * Tokens that a request made before its tokens were taken out, which are a part of its prompt from
 * then on.
 */
static long long batch_made_before(python_object *state)
{
	long long prompt = python_number_at(state, "_true_initial_tokens");

	return prompt > 0 ? batch_length(state, "initial_tokens") - prompt : 0;
}

/* The request of a scheduler that has ended, for whichever reason. */
static void batch_end(python_object *scheduler, python_object *name)
{
	uint64_t hash = python_text_hash(name);

	if (!hash || hashmap_take(&batch_requests, hash) == HASHMAP_NONE)
		return;
	python_object *all = python_attribute(scheduler, "active_requests");
	python_object *state = all ? py.Dict_GetItem(all, name) : NULL;
	long long made = batch_length(state, "generated_tokens");
	batch_tell(hash, BRICK_SEQUENCE_END, made < 0 ? 0 : made + batch_made_before(state));
	python_drop(all);
}

/* The thread's state; requests of another session are not known in this one. */
static struct torch_thread *batch_thread_get(void)
{
	static uint32_t session;
	struct torch_thread *t = torch_thread_get();

	if (t && session != t->session) {
		hashmap_clear(&batch_requests);
		session = t->session;
	}
	return t;
}

/*
 * Each scheduler numbers its requests from 0, and one that is stopped ends none, so a name may come
 * again.
 */
python_object *torch_batch_request_comes(const struct torch_hook_call *call)
{
	python_object *state = torch_hook_argument(call, 1, "state");
	python_object *name =
		batch_thread_get() && state ? python_attribute(state, "request_id") : NULL;
	uint64_t hash = python_text_hash(name);
	uint64_t known = hash ? hashmap_get(&batch_requests, hash) : HASHMAP_NONE;

	if (known == BATCH_LIVES)
		batch_tell(hash, BRICK_SEQUENCE_END, 0);
	if (known == BATCH_IS_OUT)
		hashmap_set(&batch_requests, hash, BATCH_LIVES);
	else if (hash)
		batch_begin(hash);
	py.Err_Clear();
	python_drop(name);
	return torch_hook_pass(call);
}

/* Another answer to the same prompt, whose tokens it shares. */
python_object *torch_batch_request_forks(const struct torch_hook_call *call)
{
	python_object *state = torch_hook_argument(call, 0, "self");
	python_object *name =
		batch_thread_get() && state ? python_attribute(state, "request_id") : NULL;
	uint64_t hash = python_text_hash(torch_hook_argument(call, 1, "new_request_id"));
	uint64_t parent = python_text_hash(name);

	if (hash && parent && hashmap_get(&batch_requests, parent) != HASHMAP_NONE) {
		long long shared = python_number_at(state, "position_offset");
		const struct brick_sequence_record copy = {
			.sequence = torch_request_sequence(parent),
			.event = BRICK_SEQUENCE_COPIED,
			.tokens = (uint32_t)torch_request_sequence(hash),
			.end = shared > 0 && shared < INT32_MAX ? (int32_t)shared : 0};
		if (hashmap_get(&batch_requests, hash) != HASHMAP_NONE)
			batch_tell(hash, BRICK_SEQUENCE_END, 0);
		batch_begin(hash);
		brick_record_sequences(&copy, 1);
	}
	py.Err_Clear();
	python_drop(name);
	return torch_hook_pass(call);
}

/* Where the cache is full, a request ends and comes again at once. */
python_object *torch_batch_request_ends(const struct torch_hook_call *call)
{
	python_object *name = torch_hook_argument(call, 1, "request_id");
	uint64_t hash = batch_thread_get() ? python_text_hash(name) : 0;

	if (hash && hashmap_get(&batch_requests, hash) != HASHMAP_NONE &&
		python_is_called_by("offload_requests", false, 1)) {
		hashmap_set(&batch_requests, hash, BATCH_IS_OUT);
		batch_tell(hash, BRICK_SEQUENCE_PREEMPTED, 0);
	} else if (hash) {
		batch_end(py.Tuple_GetItem(call->arguments, 0), name);
	}
	py.Err_Clear();
	return torch_hook_pass(call);
}

python_object *torch_batch_requests_cancelled(const struct torch_hook_call *call)
{
	python_object *scheduler = torch_hook_argument(call, 0, "self");
	python_object *names = batch_thread_get() && scheduler
				       ? python_attribute(scheduler, "_requests_to_cancel")
				       : NULL;
	python_object *each = names ? py.Object_GetIter(names) : NULL, *name;

	while (each && (name = py.Iter_Next(each))) {
		batch_end(scheduler, name);
		python_drop(name);
	}
	py.Err_Clear();
	python_drop(each);
	python_drop(names);
	return torch_hook_pass(call);
}

static bool torch_batch_add(python_object *scheduled)
{
	python_object *state = scheduled ? python_attribute(scheduled, "state") : NULL;
	python_object *name = state ? python_attribute(state, "request_id") : NULL;
	long long tokens = python_number_at(scheduled, "query_length");
	long long position = python_number_at(state, "position_offset");
	long long prompt = batch_length(state, "initial_tokens");
	long long made = batch_made_before(state);
	uint64_t hash = python_text_hash(name);
	bool is_known = hash && hashmap_get(&batch_requests, hash) != HASHMAP_NONE && tokens > 0 &&
			position >= 0 && prompt >= 0 && position + tokens <= INT32_MAX;

	prompt -= made > 0; /* the last one makes a new one, as if it had not been taken out */
	prompt = prompt < position ? 0 : prompt - position;
	const struct brick_sequence_record record = {.sequence = torch_request_sequence(hash),
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
	struct torch_thread *t = batch_thread_get();
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

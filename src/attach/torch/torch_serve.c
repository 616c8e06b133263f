/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM (torch_serve.h), of the versions that have an engine core and workers ("V1"). Its processes
 * tell of the same requests: the core when they come and end, the first worker which tokens of
 * them a step evaluates. So their model is shared (BRICK_SEQUENCE_SHARED), and a sequence has the
 * hash of the request's name as its number.
 *
 * A scheduler's output is believed if each request in it is known, and all of their tokens are as
 * many as it says. One that is not ends that: later steps have neither tokens nor requests.
 */
#include "attach/torch/torch_serve.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/torch/torch_batch.h"
#include "attach/torch/torch_inputs.h"
#include "attach/torch/torch_memory.h"
#include "attach/torch/torch_readings.h"
#include "base/array.h"
#include "base/hashmap.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"

/* A request that the engine has given to the worker. */
union served {
	struct {
		uint32_t prompt; /* tokens of its prompt */
		uint32_t made;	 /* tokens that it had made when it last came back; 0: it did not */
	};
	uint64_t bits; /* HASHMAP_NONE: it is not known */
};

static struct hashmap served_of; /* by the hash of its name: union served */
static ARRAY(struct brick_sequence_record) torch_serve_batch;
static bool is_worker;	/* this process has a worker */
static bool is_refused; /* in this session a scheduler's output was not what is believed */

/* One model for each engine of a server: engines that share a load are numbered from 0. */
static uint16_t torch_serve_model_of(python_object *owner)
{
	python_object *config = python_attribute(owner, "parallel_config");
	long long index = python_number_at(config, "data_parallel_index");

	if (index < 0)
		index = python_number_at(config, "data_parallel_rank");
	python_drop(config);
	return (uint16_t)(BRICK_SEQUENCE_SHARED + (index > 0 ? index % 1024 : 0));
}

/*
 * ---- the engine core: requests ----
 */

static void torch_serve_role(const char *role)
{
	note_once("vllm.process", "%s", role);
	note_once("attach", "vLLM's %s", role);
}

static python_object *request_comes(const struct torch_hook_call *call)
{
	struct torch_thread *t = torch_thread_get();
	python_object *request = torch_hook_argument(call, 1, "request");
	python_object *name = t && request ? python_attribute(request, "request_id") : NULL;
	uint64_t hash = python_text_hash(name);

	if (hash) {
		torch_serve_role("engine core");
		brick_request_begin(&(struct brick_request){.size = sizeof(struct brick_request),
			.model = torch_serve_model_of(py.Tuple_GetItem(call->arguments, 0)),
			.sequence = (uint32_t)torch_request_sequence(hash),
			.arrived = brick_ticks()});
	}
	py.Err_Clear();
	python_drop(name);
	return torch_hook_span(call);
}

static python_object *request_ends(const struct torch_hook_call *call)
{
	struct torch_thread *t = torch_thread_get();
	python_object *request = torch_hook_argument(call, 1, "request");
	python_object *name = t && request ? python_attribute(request, "request_id") : NULL;
	uint64_t hash = python_text_hash(name);

	if (hash) {
		long long made = python_number_at(request, "num_output_tokens");
		const struct brick_sequence_record end = {.sequence = torch_request_sequence(hash),
			.event = BRICK_SEQUENCE_END,
			.model = torch_serve_model_of(py.Tuple_GetItem(call->arguments, 0)),
			.position = made > 0 && made < INT32_MAX ? (int32_t)made : 0,
			.end = -1};
		brick_record_sequences(&end, 1);
	}
	py.Err_Clear();
	python_drop(name);
	return torch_hook_pass(call);
}

/*
 * ---- the worker: steps ----
 */

/*
 * The tokens of one request in a step. A request that came back evaluates all tokens that it has,
 * and makes a new one from the last of these. False: what is told of it cannot be.
 */
static bool torch_serve_add(python_object *scheduled, python_object *name, long long position,
	union served served, bool is_back)
{
	struct brick_sequence_record record = {
		.sequence = torch_request_sequence(python_text_hash(name)),
		.event = BRICK_SEQUENCE_PREEMPTED,
		.position = -1,
		.end = -1};
	long long tokens = python_number(name ? py.Dict_GetItem(scheduled, name) : NULL);
	long long known = (long long)served.prompt + served.made;

	if (served.bits == HASHMAP_NONE || position < 0 || tokens <= 0 ||
		position + tokens > INT32_MAX)
		return false;
	if (is_back && array_push(&torch_serve_batch, record))
		return false;
	long long prompt = known - (served.made > 0) - position;
	prompt = prompt < 0 ? 0 : prompt > tokens ? tokens : prompt;
	long long outputs = tokens - prompt;
	record.event = BRICK_SEQUENCE_TOKENS;
	record.tokens = (uint32_t)tokens;
	record.prompt = (uint32_t)prompt;
	record.position = (int32_t)position;
	record.end = position + tokens < known ? 0 : outputs ? (int32_t)outputs : 1;
	return !array_push(&torch_serve_batch, record);
}

/* The length of a list; -1: there is none. */
static long long torch_serve_length(python_object *list)
{
	return list && list != py.none ? (long long)py.Object_Size(list) : -1;
}

/*
 * A new request says its prompt: tokens, or so many rows. With vLLM's second model runner, a
 * request that came back is new, too, and says all of its tokens.
 */
static bool torch_serve_add_new(python_object *scheduled, python_object *request)
{
	python_object *name = python_attribute(request, "req_id");
	python_object *ids = python_attribute(request, "prompt_token_ids");
	python_object *all = python_attribute(request, "prefill_token_ids");
	uint64_t hash = python_text_hash(name);
	long long prompt = torch_serve_length(ids), tokens = torch_serve_length(all);
	bool was_known = hashmap_get(&served_of, hash) != HASHMAP_NONE;

	if (prompt < 0)
		prompt = python_number_at(request, "prompt_len");
	const union served served = {.prompt = (uint32_t)prompt,
		.made = tokens > prompt ? (uint32_t)(tokens - prompt) : 0};
	bool is_added =
		prompt > 0 && prompt < INT32_MAX && tokens < INT32_MAX && name &&
		!hashmap_set(&served_of, hash, served.bits) &&
		torch_serve_add(scheduled, name, python_number_at(request, "num_computed_tokens"),
			served, served.made || (was_known && tokens > 0));

	python_drop(all);
	python_drop(ids);
	python_drop(name);
	return is_added;
}

/* What a list of numbers has at a place (NumPy's); -1: nothing. */
static long long torch_serve_number_in(python_object *numbers, python_object *place)
{
	python_object *item = place ? python_attribute(numbers, "item") : NULL;
	python_object *arguments = item ? py.Tuple_Pack(1, place) : NULL;
	python_object *number = arguments ? py.Object_CallObject(item, arguments) : NULL;
	long long value = python_number(number);

	py.Err_Clear();
	python_drop(number);
	python_drop(arguments);
	python_drop(item);
	return value;
}

/* What a dictionary that is an attribute has of that name: borrowed; NULL: nothing. */
static python_object *torch_serve_of_name(
	python_object *owner, const char *attribute, python_object *name)
{
	python_object *all = owner ? python_attribute(owner, attribute) : NULL;
	python_object *found =
		all && python_is(all, py.dict_type) ? py.Dict_GetItem(all, name) : NULL;

	python_drop(all);
	return found;
}

/*
 * A request that the worker got before it was recorded. vLLM's first model runner has an object for
 * each request, its second one lists for all.
 */
static union served torch_serve_earlier(python_object *worker, python_object *name, uint64_t hash)
{
	python_object *runner = name ? python_attribute(worker, "model_runner") : NULL;
	python_object *states = runner ? python_attribute(runner, "req_states") : NULL;
	python_object *lengths = states ? python_attribute(states, "prompt_len") : NULL;
	python_object *numbers = lengths ? python_attribute(lengths, "np") : NULL;
	long long prompt = numbers ? torch_serve_number_in(numbers,
					     torch_serve_of_name(states, "req_id_to_index", name))
				   : python_number_at(torch_serve_of_name(runner, "requests", name),
					     "num_prompt_tokens");
	const union served served = {.prompt = (uint32_t)prompt};
	bool is_known =
		prompt > 0 && prompt < INT32_MAX && !hashmap_set(&served_of, hash, served.bits);

	python_drop(numbers);
	python_drop(lengths);
	python_drop(states);
	python_drop(runner);
	return is_known ? served : (union served){.bits = HASHMAP_NONE};
}

static bool torch_serve_add_cached(
	python_object *worker, python_object *scheduled, python_object *cached)
{
	python_object *names = python_attribute(cached, "req_ids");
	python_object *positions = python_attribute(cached, "num_computed_tokens");
	python_object *outputs = python_attribute(cached, "num_output_tokens");
	python_object *back = python_attribute(cached, "resumed_req_ids");
	ptrdiff_t count = names ? py.List_Size(names) : -1;
	bool is_added = count >= 0 && positions && py.List_Size(positions) == count && back;

	for (ptrdiff_t i = 0; i < count && is_added; i++) {
		python_object *name = py.List_GetItem(names, i);
		uint64_t hash = python_text_hash(name);
		union served served = {.bits = hashmap_get(&served_of, hash)};
		if (served.bits == HASHMAP_NONE)
			served = torch_serve_earlier(worker, name, hash);
		bool is_back = py.Sequence_Contains(back, name) == 1;
		if (is_back && served.bits != HASHMAP_NONE) {
			long long made = outputs ? python_number(py.List_GetItem(outputs, i)) : -1;
			served.made = (uint32_t)made;
			is_added = made >= 0 && made < INT32_MAX &&
				   !hashmap_set(&served_of, hash, served.bits);
		}
		is_added = is_added &&
			   torch_serve_add(scheduled, name,
				   python_number(py.List_GetItem(positions, i)), served, is_back);
	}
	python_drop(back);
	python_drop(outputs);
	python_drop(positions);
	python_drop(names);
	return is_added;
}

/* Requests that are over: the engine core may be a process that is not recorded. */
static void torch_serve_forget(python_object *output, uint16_t model)
{
	python_object *finished = python_attribute(output, "finished_req_ids");
	python_object *each = finished ? py.Object_GetIter(finished) : NULL, *name;

	while (each && (name = py.Iter_Next(each))) {
		uint64_t hash = python_text_hash(name);
		const struct brick_sequence_record end = {.sequence = torch_request_sequence(hash),
			.event = BRICK_SEQUENCE_END,
			.model = model,
			.end = -1};
		if (hashmap_take(&served_of, hash) != HASHMAP_NONE)
			brick_record_sequences(&end, 1);
		python_drop(name);
	}
	python_drop(each);
	python_drop(finished);
}

/* Fill the batch; NULL, or why the scheduler's output is not believed. */
static const char *torch_serve_read(python_object *worker, python_object *output)
{
	python_object *scheduled = python_attribute(output, "num_scheduled_tokens");
	python_object *new = python_attribute(output, "scheduled_new_reqs");
	python_object *cached = python_attribute(output, "scheduled_cached_reqs");
	ptrdiff_t count = new ? py.List_Size(new) : -1;
	long long total = python_number_at(output, "total_num_scheduled_tokens"), sum = 0;
	const char *why = NULL;

	torch_serve_batch.count = 0;
	if (!scheduled || !python_is(scheduled, py.dict_type) || count < 0 || !cached || total < 0)
		why = "its scheduler's output has other members";
	for (ptrdiff_t i = 0; i < count && !why; i++)
		if (!torch_serve_add_new(scheduled, py.List_GetItem(new, i)))
			why = "a new request is told in another way";
	if (!why && !torch_serve_add_cached(worker, scheduled, cached))
		why = "a request that goes on is told in another way";
	for (size_t i = 0; i < torch_serve_batch.count; i++)
		sum += torch_serve_batch.items[i].tokens;
	if (!why && sum != total)
		why = "the requests of a step have other tokens than the step";
	python_drop(cached);
	python_drop(new);
	python_drop(scheduled);
	return why;
}

static void torch_serve_begin_step(
	struct torch_thread *t, python_object *worker, python_object *output)
{
	static uint32_t session;

	if (session != t->session) { /* requests came and went in between */
		hashmap_clear(&served_of);
		is_refused = false;
		session = t->session;
	}
	const char *why = is_refused ? NULL : torch_serve_read(worker, output);
	uint64_t prompt = 0, outputs = 0;
	uint16_t model = torch_serve_model_of(worker);

	if (why) {
		is_refused = true;
		note_once("vllm.refused", "steps have no requests and no tokens: %s", why);
	}
	if (is_refused)
		torch_serve_batch.count = 0;
	for (size_t i = 0; i < torch_serve_batch.count; i++) {
		struct brick_sequence_record *record = &torch_serve_batch.items[i];
		record->model = model;
		prompt += record->prompt;
		outputs += record->tokens - record->prompt;
	}
	torch_serve_forget(output, model);
	py.Err_Clear();
	if (!is_refused &&
		!torch_serve_batch.count) /* the engine only said which requests are over */
		return;
	torch_readings_begin(t, python_has_threads());
	t->more->serve_step = brick_step_begin_mixed((uint32_t)prompt, (uint32_t)outputs);
	t->more->serve_tokens = prompt + outputs;
	brick_record_sequences(torch_serve_batch.items, (uint32_t)torch_serve_batch.count);
}

static void torch_serve_end_step(struct torch_thread *t)
{
	if (!t || !t->more->serve_step)
		return;
	torch_readings_tell(t);
	torch_memory_step_end(t);
	brick_end(t->more->serve_step);
	t->more->serve_step = 0;
	torch_inputs_ask(&t->more->asking, t->session, TORCH_NO_STEP);
}

/*
 * The first worker of several tells the steps. A step goes on until its tokens are chosen, if that
 * is another call.
 */
static python_object *worker_executes(const struct torch_hook_call *call)
{
	struct torch_thread *t = torch_thread_get();
	python_object *worker = py.Tuple_GetItem(call->arguments, 0);
	python_object *output = torch_hook_argument(call, 1, "scheduler_output");

	if (t && worker && output) {
		long long rank = python_number_at(worker, "rank");
		char role[32];
		snprintf(role, sizeof(role), "worker %lld", rank < 0 ? 0 : rank);
		torch_serve_role(role);
		is_worker = true;
		t->more->is_serving = true;
		torch_serve_end_step(t);
		if (rank <= 0 && torch_thread_get())
			torch_serve_begin_step(t, worker, output);
	}
	python_object *result = torch_hook_span(call);
	if (result != py.none)
		torch_serve_end_step(t);
	return result;
}

static python_object *worker_samples(const struct torch_hook_call *call)
{
	python_object *result = torch_hook_span(call);

	torch_serve_end_step(torch_thread_get());
	return result;
}

static python_object *server_answers(const struct torch_hook_call *call)
{
	if (torch_thread_get())
		torch_serve_role("API server");
	return torch_hook_span(call);
}

/* A test of pytest is a brick of its name. */
static python_object *test_runs(const struct torch_hook_call *call)
{
	python_object *test = torch_hook_argument(call, 0, "self");
	python_object *name = test ? python_attribute(test, "name") : NULL;
	python_object *id = test ? python_attribute(test, "nodeid") : NULL;
	const char *letters = name ? py.Unicode_AsUTF8(name) : NULL;
	const char *path = id ? py.Unicode_AsUTF8(id) : NULL;

	if (letters)
		call->hook->site =
			named_site_find(letters, path ? path : letters, call->hook->class);
	py.Err_Clear();
	python_object *result = torch_hook_span(call);
	python_drop(id);
	python_drop(name);
	return result;
}

struct torch_hook torch_serve_hooks[] = {
	{.module = "vllm.v1.worker.gpu_worker",
		.class = "Worker",
		.function = "execute_model",
		.arguments = "self scheduler_output",
		.call = worker_executes,
		.operation = "vllm.execute_model"},
	{.module = "vllm.v1.worker.gpu_worker",
		.class = "Worker",
		.function = "sample_tokens",
		.arguments = "self grammar_output",
		.call = worker_samples,
		.operation = "vllm.sample_tokens"},
	{.module = "vllm.v1.core.sched.scheduler",
		.class = "Scheduler",
		.function = "add_request",
		.arguments = "self request",
		.call = request_comes,
		.operation = "vllm.add_request"},
	{.module = "vllm.v1.core.sched.scheduler",
		.class = "Scheduler",
		.function = "_free_request",
		.arguments = "self request",
		.call = request_ends},
	{.module = "vllm.v1.core.sched.scheduler",
		.class = "Scheduler",
		.function = "schedule",
		.arguments = "self",
		.call = torch_hook_span,
		.operation = "vllm.schedule"},
	{.module = "vllm.v1.core.sched.scheduler",
		.class = "Scheduler",
		.function = "update_from_output",
		.arguments = "self scheduler_output model_runner_output",
		.call = torch_hook_span,
		.operation = "vllm.update_from_output"},
	{.module = "vllm.v1.engine.output_processor",
		.class = "OutputProcessor",
		.function = "process_outputs",
		.arguments = "self engine_core_outputs",
		.call = server_answers,
		.operation = "vllm.process_outputs"},
	{.module = "vllm.v1.engine.detokenizer",
		.class = "BaseIncrementalDetokenizer",
		.function = "update",
		.arguments = "self new_token_ids",
		.call = torch_hook_span,
		.operation = "detokenize"},
	{.module = "transformers.generation.continuous_batching.scheduler",
		.class = "Scheduler",
		.function = "add_waiting_request",
		.arguments = "self state",
		.call = torch_batch_request_comes},
	{.module = "transformers.generation.continuous_batching.scheduler",
		.class = "Scheduler",
		.function = "finish_request",
		.arguments = "self request_id",
		.call = torch_batch_request_ends},
	{.module = "transformers.generation.continuous_batching.scheduler",
		.class = "Scheduler",
		.function = "clear_cancelled_requests",
		.arguments = "self",
		.call = torch_batch_requests_cancelled},
	{.module = "transformers.generation.continuous_batching.requests",
		.class = "RequestState",
		.function = "fork",
		.arguments = "self new_request_id",
		.call = torch_batch_request_forks},
	{.module = "transformers.generation.continuous_batching.input_outputs",
		.class = "ContinuousBatchingIOs",
		.function = "prepare_batch_tensors",
		.arguments = "self requests_in_batch",
		.call = torch_batch_is_made},
	/* no public function: programs may ask Python for its signature */
	{.module = "transformers.tokenization_utils_tokenizers",
		.class = "TokenizersBackend",
		.function = "_encode_plus",
		.arguments = "self text",
		.call = torch_hook_span,
		.operation = "tokenize"},
	{.module = "uvicorn.protocols.http.httptools_impl",
		.class = "HttpToolsProtocol",
		.function = "data_received",
		.arguments = "self data",
		.call = torch_hook_span,
		.operation = "http.receive"},
	{.module = "uvicorn.protocols.http.h11_impl",
		.class = "H11Protocol",
		.function = "data_received",
		.arguments = "self data",
		.call = torch_hook_span,
		.operation = "http.receive"},
	{.module = "_pytest.python",
		.class = "Function",
		.function = "runtest",
		.arguments = "self",
		.call = test_runs,
		.operation = "pytest.runtest"},
	{0},
};

bool torch_serve_says_steps(const struct torch_thread *t)
{
	return t->more->is_serving || (!is_worker && torch_serve_hooks[0].original);
}

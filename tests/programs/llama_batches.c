// SPDX-License-Identifier: Apache-2.0
//
// llama.cpp driven by its public interface as its server and its speculative programs drive it, and
// its own counts of what they asked for. Run as: PROGRAM LIBRARIES MODEL
// server|draft|last|along|shift|plain; prints as JSON the tokens of prompts and of outputs that
// were evaluated, by what the batches held, and llama_perf_context()'s sum.
//
// server: requests come while others are decoded; each batch has a token of every sequence that
// decodes, then as much of prompts as fits. One prompt is one token longer than a batch, one is
// asked for a second time with all but its last token kept, one has a single token. draft: tokens
// are drafted by a context of its own, and all of a draft is checked in one batch. last: the same,
// and nothing follows the last such batch. along: the same, but the prompt's last token is checked
// with the first draft, and the drafting context gets those batches, too. shift: a context loses
// what is older, but for its begin, and what stays is moved, twice within the prompt. plain: one
// token after the other, from an empty context on. apart: a prompt's last token is alone, as
// llama-lookup has it; then a token follows a prompt whose results nobody reads, as in a benchmark.
//
// With addresses, RPC servers there compute the layers. KV_HERE in the environment: but for
// attention; KV_ONE: sequences share the cache, so that each batch is one graph.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "llama.h"
#include "llama_kit.h"

enum {
	SLOTS = 3,
	BATCH = 32,
	CONTEXT = 1024,
	REQUESTS = 8,
	DRAFTED = 4,
	DRAFT_PROMPT = 21,
	DRAFT_TOKENS = 40
};

struct counts {
	long prompt_steps, output_steps, mixed_steps;
	long prompt, output; // tokens, in batches of only them and in mixed ones
	long mixed_prompt, mixed_output;
	long drafted, checked, held; // evaluated by the model that drafts; drafts, those that held
};

struct request {
	int slot, from; // in which, and from which turn on: it waits until that is free
	int prompt, predict;
	int kept;  // of the prompt, in the slot from the one before, which began alike
	int begin; // whose prompt it begins like
};

static const struct request requests[REQUESTS] = {
	{0, 0, 20, 30, 0},
	{1, 4, BATCH + 1, 12, 0},
	{2, 8, 70, 20, 0},
	{1, 10, 1, 9, 0},
	{2, 12, 40, 5, 0},
	{0, 14, 16, 8, 0},
	{0, 16, 16, 8, 15, 5},
	{2, 20, 30, 12, 8, 4},
};

struct slot {
	int request; // -1: free
	int done;    // of the prompt
	int made;
	int32_t last;
	int at; // in the batch; -1: no logits
};

static struct counts counts;
static struct llama_model *model;
static int vocabulary;

static struct llama_context *open_context(void)
{
	struct llama_context_params params = llama_context_default_params();

	params.n_ctx = CONTEXT * SLOTS;
	params.n_batch = params.n_ubatch = BATCH;
	params.n_seq_max = SLOTS;
	params.n_threads = params.n_threads_batch = 1;
	params.no_perf = false;
	params.offload_kqv = !getenv("KV_HERE");
	params.kv_unified = getenv("KV_ONE") != NULL;
	return must(llama_init_from_model(model, params), "no context");
}

static int32_t prompt_token(int request, int i)
{
	return 3 + (request * 131 + i * 17) % (vocabulary - 3);
}

static void count(long prompt, long output)
{
	counts.prompt_steps += prompt && !output;
	counts.output_steps += output && !prompt;
	counts.mixed_steps += prompt && output;
	counts.mixed_prompt += output ? prompt : 0;
	counts.mixed_output += prompt ? output : 0;
	counts.prompt += output ? 0 : prompt;
	counts.output += prompt ? 0 : output;
}

static void evaluate(struct llama_context *context, struct llama_batch batch)
{
	if (llama_decode(context, batch))
		must(NULL, "llama_decode() failed");
}

// --- server ---

static void take_request(struct llama_context *context, struct slot *slot, int sequence, int number)
{
	slot->request = number;
	slot->made = 0;
	slot->done = requests[number].kept;
	llama_memory_seq_rm(llama_get_memory(context), sequence, slot->done, -1);
}

static long add_prompt(struct llama_batch *batch, struct slot *slot, int sequence)
{
	const struct request *r = &requests[slot->request];
	long added = 0;

	for (; slot->done < r->prompt && batch->n_tokens < BATCH; added++) {
		int last = ++slot->done == r->prompt;
		if (last)
			slot->at = batch->n_tokens;
		/* what is asked for twice is the same; of a shorter one its begin */
		add(batch, prompt_token(r->kept ? r->begin : slot->request, slot->done - 1),
			slot->done - 1, sequence, last);
	}
	return added;
}

// One turn; whether there was anything to do.
static int turn(struct llama_context *context, struct llama_batch *batch, struct slot *slots)
{
	long prompt = 0, output = 0;

	batch->n_tokens = 0;
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[i];
		s->at = -1;
		if (s->request < 0 || s->done < requests[s->request].prompt)
			continue;
		s->at = batch->n_tokens;
		add(batch, s->last, requests[s->request].prompt + s->made - 1, i, 1);
		output++;
	}
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].request >= 0)
			prompt += add_prompt(batch, &slots[i], i);
	if (!batch->n_tokens)
		return 0;
	evaluate(context, *batch);
	count(prompt, output);
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i].at < 0)
			continue;
		slots[i].last = likeliest(context, vocabulary, slots[i].at);
		if (++slots[i].made >= requests[slots[i].request].predict)
			slots[i].request = -1;
	}
	return 1;
}

static void serve(struct llama_context *context)
{
	struct llama_batch batch = llama_batch_init(BATCH, 0, 1);
	struct slot slots[SLOTS] = {{.request = -1}, {.request = -1}, {.request = -1}};
	int taken[REQUESTS] = {0}, left = REQUESTS;

	for (int i = 0; turn(context, &batch, slots) || left; i++)
		for (int k = 0; k < REQUESTS; k++) {
			const struct request *r = &requests[k];
			if (taken[k] || i < r->from || slots[r->slot].request >= 0)
				continue;
			taken[k] = 1;
			left--;
			take_request(context, &slots[r->slot], r->slot, k);
		}
	llama_batch_free(batch);
}

// --- draft ---

// The draft model goes on from what both have: DRAFTED tokens, of which it has evaluated all but
// the last.
static void draft(struct llama_context *context, struct llama_batch *batch, int32_t last,
	int position, int32_t *tokens)
{
	llama_memory_seq_rm(llama_get_memory(context), 0, position, -1);
	for (int i = 0; i < DRAFTED; i++) {
		batch->n_tokens = 0;
		add(batch, i ? tokens[i - 1] : last, position + i, 0, 1);
		evaluate(context, *batch);
		count(position + i < DRAFT_PROMPT, position + i >= DRAFT_PROMPT);
		counts.drafted++;
		tokens[i] = likeliest(context, vocabulary, 0);
	}
	/* so that some are wrong, and never none: of the last one the draft model knows nothing */
	int wrong = position % 5 == 1 ? DRAFTED - 2 : DRAFTED - 1;
	tokens[wrong] = (tokens[wrong] + 1) % vocabulary;
}

static int check(struct llama_context *context, struct llama_batch *batch, int32_t *last,
	int position, const int32_t *tokens)
{
	int right = 0;

	batch->n_tokens = 0;
	add(batch, *last, position, 0, 1);
	for (int i = 0; i < DRAFTED; i++)
		add(batch, tokens[i], position + 1 + i, 0, 1);
	evaluate(context, *batch);
	count(position < DRAFT_PROMPT, 1 + DRAFTED - (position < DRAFT_PROMPT));
	while ((*last = likeliest(context, vocabulary, right)) ==
		(right < DRAFTED ? tokens[right] : -1))
		right++;
	counts.checked += DRAFTED;
	counts.held += right;
	return 1 + right;
}

static void remove_wrong(struct llama_context *context, int position)
{
	llama_memory_seq_rm(llama_get_memory(context), 0, position, -1);
}

static void read_prompt(struct llama_context *context, struct llama_batch *batch, int n)
{
	batch->n_tokens = 0;
	for (int i = 0; i < n; i++)
		add(batch, prompt_token(0, i), i, 0, i == DRAFT_PROMPT - 1);
	evaluate(context, *batch);
	count(n, 0);
}

// The very batch of the other one, but for what is wanted of it, as common_speculative_process()
// has it.
static void go_along(struct llama_context *drafting, struct llama_batch batch, int position)
{
	int prompt = DRAFT_PROMPT - position;

	prompt = prompt < 0 ? 0 : prompt < batch.n_tokens ? prompt : batch.n_tokens;
	llama_memory_seq_rm(llama_get_memory(drafting), 0, position, -1);
	batch.logits = NULL;
	evaluate(drafting, batch);
	count(prompt, batch.n_tokens - prompt);
	counts.drafted += batch.n_tokens;
}

// Where it goes on tells which of the last drafts held. Of one such batch the engine says nothing.
static void go_on(
	struct llama_context *context, struct llama_batch *batch, int32_t last, int position)
{
	for (int i = 0; i < 2; i++) {
		batch->n_tokens = 0;
		add(batch, last, position + i, 0, 1);
		evaluate(context, *batch);
		count(0, 1);
	}
	llama_batch_free(*batch);
}

// The last token of the prompt is evaluated with the first drafts, the draft model goes along.
static void speculate_along(struct llama_context *context, struct llama_context *drafting)
{
	struct llama_batch batch = llama_batch_init(BATCH, 0, 1);
	int position = DRAFT_PROMPT - 1;
	int32_t tokens[DRAFTED], last = prompt_token(0, position);

	read_prompt(context, &batch, position);
	go_along(drafting, batch, 0);
	while (position < DRAFT_PROMPT + DRAFT_TOKENS) {
		draft(drafting, &batch, last, position, tokens);
		int right = check(context, &batch, &last, position, tokens);
		go_along(drafting, batch, position);
		position += right;
		remove_wrong(context, position);
	}
	go_on(context, &batch, last, position);
}

static void speculate(
	struct llama_context *context, struct llama_context *drafting, int ends_at_once)
{
	struct llama_batch batch = llama_batch_init(BATCH, 0, 1);
	int32_t tokens[DRAFTED];
	int position = DRAFT_PROMPT;

	read_prompt(drafting, &batch, DRAFT_PROMPT);
	counts.drafted += DRAFT_PROMPT;
	read_prompt(context, &batch, DRAFT_PROMPT);
	int32_t last = likeliest(context, vocabulary, DRAFT_PROMPT - 1);
	while (position < DRAFT_PROMPT + DRAFT_TOKENS) {
		draft(drafting, &batch, last, position, tokens);
		position += check(context, &batch, &last, position, tokens);
		remove_wrong(context, position);
	}
	if (ends_at_once)
		llama_batch_free(batch);
	else
		go_on(context, &batch, last, position);
}

// --- shift ---

static void shift(struct llama_context *context)
{
	enum { KEPT = 4, LOST = 8, OUTPUTS = 6 };
	struct llama_batch batch = llama_batch_init(BATCH, 0, 1);
	llama_memory_t memory = llama_get_memory(context);
	int position = DRAFT_PROMPT;

	read_prompt(context, &batch, DRAFT_PROMPT);
	int32_t last = likeliest(context, vocabulary, DRAFT_PROMPT - 1);
	for (int i = 1; i <= 3 * OUTPUTS; i++) {
		batch.n_tokens = 0;
		add(&batch, last, position++, 0, 1);
		evaluate(context, batch);
		count(0, 1);
		last = likeliest(context, vocabulary, 0);
		if (i % OUTPUTS)
			continue;
		llama_memory_seq_rm(memory, 0, KEPT, KEPT + LOST);
		llama_memory_seq_add(memory, 0, KEPT + LOST, -1, -LOST);
		position -= LOST;
	}
	llama_batch_free(batch);
}

// --- plain ---

// Without positions: a first token alone, as benchmarks generate, is an output to the engine.
static void decode_plainly(struct llama_context *context)
{
	for (int i = 0; i < 12; i++) {
		int32_t token = i % 6 ? likeliest(context, vocabulary, -1) : prompt_token(i, 0);
		if (i == 6)
			llama_memory_clear(llama_get_memory(context), true);
		evaluate(context, llama_batch_get_one(&token, 1));
		count(0, 1);
	}
}

// Without positions, too: the engine counts with the prompt what was not waited for.
static void end_apart(struct llama_context *context)
{
	int32_t tokens[DRAFT_PROMPT];

	for (int i = 0; i < DRAFT_PROMPT; i++)
		tokens[i] = prompt_token(0, i);
	for (int is_apart = 1; is_apart >= 0; is_apart--) {
		llama_memory_clear(llama_get_memory(context), true);
		evaluate(context, llama_batch_get_one(tokens, DRAFT_PROMPT - 1));
		count(DRAFT_PROMPT - 1, 0);
		if (!is_apart)
			llama_synchronize(context);
		for (int i = 0; i < 4; i++) {
			int32_t token = i ? likeliest(context, vocabulary, -1) : tokens[0];
			evaluate(context, llama_batch_get_one(&token, 1));
			count(is_apart && !i, !is_apart || i);
		}
	}
}

// Batches of one token are counted apart by the engine, which says 1 where it was none.
static long of_engine(struct llama_context *context)
{
	llama_synchronize(context);
	struct llama_perf_context_data data = llama_perf_context(context);

	return data.n_p_eval + (data.n_eval > 1 ? data.n_eval : 0);
}

typedef ggml_backend_reg_t (*add_server_fn)(const char *endpoint);

static void add_servers(char **endpoints)
{
	ggml_backend_reg_t rpc = must(ggml_backend_reg_by_name("RPC"), "no RPC backend");
	add_server_fn add_server = (add_server_fn)ggml_backend_reg_get_proc_address(
		rpc, "ggml_backend_rpc_add_server");

	for (; *endpoints; endpoints++)
		ggml_backend_register(must(add_server(*endpoints), *endpoints));
}

int main(int argc, char **argv)
{
	struct llama_context *contexts[2] = {NULL, NULL};
	long engine = 0;

	if (argc < 4)
		return 2;
	llama_log_set(be_silent, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	if (argv[4])
		add_servers(argv + 4);
	model = must(llama_model_load_from_file(argv[2], llama_model_default_params()), "no model");
	vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
	int alone = strcmp(argv[3], "draft") && strcmp(argv[3], "last") && strcmp(argv[3], "along");
	for (int i = 0; i < 2 - alone; i++) {
		contexts[i] = open_context();
		warm_up(contexts[i]);
		try_removing(contexts[i]);
	}
	if (!strcmp(argv[3], "draft") || !strcmp(argv[3], "last"))
		speculate(contexts[0], contexts[1], !strcmp(argv[3], "last"));
	else if (!strcmp(argv[3], "along"))
		speculate_along(contexts[0], contexts[1]);
	else if (!strcmp(argv[3], "shift"))
		shift(contexts[0]);
	else if (!strcmp(argv[3], "plain"))
		decode_plainly(contexts[0]);
	else if (!strcmp(argv[3], "apart"))
		end_apart(contexts[0]);
	else
		serve(contexts[0]);
	for (int i = 0; i < 2 && contexts[i]; i++) {
		engine += of_engine(contexts[i]);
		llama_free(contexts[i]);
	}
	printf("{\"warm_up\": %d, \"prefill\": [%ld, %ld, 0], \"decode\": [%ld, 0, %ld], "
	       "\"mixed\": [%ld, %ld, %ld], "
	       "\"drafted\": %ld, \"checked\": %ld, \"held\": %ld, \"draft_prompt\": %d, "
	       "\"engine\": %ld}\n",
		contexts[1] ? 4 : 2, counts.prompt_steps, counts.prompt, counts.output_steps,
		counts.output, counts.mixed_steps, counts.mixed_prompt, counts.mixed_output,
		counts.drafted, counts.checked, counts.held, DRAFT_PROMPT, engine);
	llama_model_free(model);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Speculative decoding on llama.cpp's public interface, with drafts of 1 to MAX tokens in turn. Run
// as: PROGRAM LIBRARIES MODEL model|lookup|again; prints as JSON how many drafts were proposed and
// held, by their position. model: a second context of the model drafts. lookup: drafts are what the
// model had chosen before, as from a table of n-grams. again: as model, but a target that cannot
// take single tokens back, as recurrent ones: it goes back to a saved state, and evaluates what
// held once more. Every draft is made wrong from some position on. Before and after, tokens are
// decoded without drafts.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "llama.h"
#include "llama_kit.h"

enum { MAX = 6, PROMPT = 20, PLAIN = 12, CYCLES = 48, CONTEXT = 512, STATE_BYTES = 64 << 20 };

static struct llama_context *target, *drafting;
static struct llama_batch batch;
static int32_t vocabulary, chosen[CONTEXT];
static int end; // tokens that the target holds; chosen[end] comes next
static long proposed[MAX + 1], held[MAX + 1], draft_steps, cycles, again;
static uint8_t *state; // of the target; NULL: single tokens are taken back
static size_t state_bytes;

static void evaluate(struct llama_context *context)
{
	if (llama_decode(context, batch)) {
		fprintf(stderr, "a batch was refused\n");
		exit(1);
	}
}

static void back_to(struct llama_context *context, int position)
{
	llama_memory_seq_rm(llama_get_memory(context), 0, position, -1);
}

static void prompt(struct llama_context *context)
{
	batch.n_tokens = 0;
	for (int i = 0; i < PROMPT; i++)
		add(&batch, 3 + i * 7 % (vocabulary - 3), i, 0, i == PROMPT - 1);
	evaluate(context);
}

static int32_t decode(struct llama_context *context, int32_t token, int position)
{
	batch.n_tokens = 0;
	add(&batch, token, position, 0, 1);
	evaluate(context);
	return likeliest(context, vocabulary, 0);
}

static void plain(int tokens)
{
	for (int i = 0; i < tokens; i++, end++)
		chosen[end + 1] = decode(target, chosen[end], end);
}

// What the model would choose, but for what stands at `wrong`.
static void draft(int32_t *tokens, int length, int wrong, int32_t (*look_up)[CONTEXT])
{
	int32_t last = chosen[end];

	for (int i = 0; i < length; i++) {
		tokens[i] = look_up ? (*look_up)[end + 1 + i] : decode(drafting, last, end + i);
		draft_steps += !look_up;
		last = tokens[i];
	}
	if (wrong < length)
		tokens[wrong] = (tokens[wrong] + 1) % vocabulary;
}

static void evaluate_behind(const int32_t *tokens, int count)
{
	batch.n_tokens = 0;
	add(&batch, chosen[end], end, 0, 1);
	for (int i = 0; i < count; i++)
		add(&batch, tokens[i], end + 1 + i, 0, 1);
	evaluate(target);
}

// What held, and the token behind it, which was chosen already; one more comes of it.
static void go_again(int right)
{
	llama_state_seq_set_data(target, state, state_bytes, 0);
	back_to(target, end);
	evaluate_behind(&chosen[end + 1], right + 1);
	chosen[end + right + 2] = likeliest(target, vocabulary, right + 1);
	end++;
	again++;
}

static void check(const int32_t *tokens, int length)
{
	int right = 0;

	if (state)
		state_bytes = llama_state_seq_get_data(target, state, STATE_BYTES, 0);
	evaluate_behind(tokens, length);
	while ((chosen[end + 1 + right] = likeliest(target, vocabulary, right)) ==
		(right < length ? tokens[right] : -1))
		right++;
	for (int i = 1; i <= length; i++) {
		proposed[i]++;
		held[i] += i <= right;
	}
	if (state && right < length)
		go_again(right);
	end += 1 + right;
	cycles++;
	back_to(target, end);
}

// The drafting context has seen all that it drafted but the last token; it is brought up to date.
static void catch_up(void)
{
	int has = llama_memory_seq_pos_max(llama_get_memory(drafting), 0) + 1;

	if (has > end)
		back_to(drafting, end);
	for (; has < end; has++, draft_steps++)
		decode(drafting, chosen[has], has);
}

static void speculate(int32_t (*look_up)[CONTEXT])
{
	int32_t tokens[MAX];

	for (int i = 0; i < CYCLES; i++) {
		int length = 1 + i % MAX;
		if (!look_up)
			catch_up();
		draft(tokens, length, i * 5 % (MAX + 2), look_up);
		check(tokens, length);
	}
}

static void print(const char *name, const long *values)
{
	printf("\"%s\": [", name);
	for (int i = 1; i <= MAX; i++)
		printf("%s%ld", i > 1 ? ", " : "", values[i]);
	printf("], ");
}

static void begin(void)
{
	back_to(target, 0);
	prompt(target);
	end = PROMPT;
	chosen[end] = likeliest(target, vocabulary, PROMPT - 1);
}

int main(int argc, char **argv)
{
	struct llama_context_params params = llama_context_default_params();
	static int32_t text[CONTEXT];

	if (argc < 4)
		return 2;
	bool goes_again = !strcmp(argv[3], "again"),
	     has_model = goes_again || !strcmp(argv[3], "model");
	llama_log_set(be_silent, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	struct llama_model *model =
		must(llama_model_load_from_file(argv[2], llama_model_default_params()), "no model");
	vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
	params.n_ctx = params.n_batch = CONTEXT;
	params.n_threads = params.n_threads_batch = 1;
	target = must(llama_init_from_model(model, params), "no context");
	batch = llama_batch_init(CONTEXT, 0, 1);
	if (has_model) {
		drafting = must(llama_init_from_model(model, params), "no context");
		prompt(drafting);
	}
	if (goes_again)
		state = must(malloc(STATE_BYTES), "no memory");
	begin();
	plain(has_model ? PLAIN : CONTEXT / 2 + PLAIN);
	if (!has_model) {
		memcpy(text, chosen, sizeof(text));
		begin();
	}
	speculate(has_model ? NULL : &text);
	int made = end;
	plain(PLAIN);
	printf("{");
	print("proposed", proposed);
	print("held", held);
	printf("\"cycles\": %ld, \"again\": %ld, \"draft_steps\": %ld, \"plain\": %d}\n", cycles,
		again, draft_steps, end - made + (has_model ? PLAIN : CONTEXT / 2 + PLAIN));
	free(state);
	llama_batch_free(batch);
	if (drafting)
		llama_free(drafting);
	llama_free(target);
	llama_model_free(model);
	return 0;
}

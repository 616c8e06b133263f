// SPDX-License-Identifier: Apache-2.0
//
// Requests with planted waits and planted losses of the prompt cache, on llama.cpp's public
// interface. Run as: PROGRAM LIBRARIES MODEL [beside [MOST]|alone]; prints as JSON what each
// request did, by its own clock, which gap between tokens it was made to wait in and why, and which
// tokens of prompts it evaluated for the second time and why. beside: a sequence decodes, and other
// prompts are in every tenth of its batches; alone: the same without these.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ggml-backend.h"
#include "llama.h"
#include "llama_kit.h"

enum { SEQUENCES = 6, BATCH = 512, CONTEXT = 6144, REQUESTS = 64, WAIT_MS = 150 };

static struct llama_context *context, *other;
static llama_memory_t memory;
static struct llama_sampler *sampler;
static struct llama_batch batch;
static int32_t vocabulary;

struct request {
	int sequence, prompt, reused, tokens, begun;
	double first_ms, last_ms, begin_ms;
	const char *cause; // of the gap before token `at`
	int at;
	const char *lost; // why tokens were evaluated again ...
	int shifted, loaded;
	int again, by; // ... at least so many; by which request, from 1
};

static struct request requests[REQUESTS];
static int count;
static int end_of[SEQUENCES]; // tokens that a sequence holds
static int32_t last_of[SEQUENCES];

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static int32_t token_of(int text, int i)
{
	return (int32_t)(3 + (text * 7919u + i * 104729u) % (unsigned)(vocabulary - 3));
}

static void evaluate(struct llama_context *with)
{
	if (llama_decode(with, batch)) {
		fprintf(stderr, "a batch was refused\n");
		exit(1);
	}
}

static struct request *begin(int sequence)
{
	requests[count] = (struct request){.sequence = sequence, .reused = end_of[sequence]};
	return &requests[count++];
}

// The tokens [from, to) of a text, as a part of a prompt; its last one gives a token.
static void add_prompt(int sequence, int text, int from, int to, bool last)
{
	for (int i = from; i < to; i++)
		add(&batch, token_of(text, i), i, sequence, last && i == to - 1);
	end_of[sequence] = to;
}

static struct request *prompt(int sequence, int text, int to)
{
	struct request *r = begin(sequence);

	batch.n_tokens = 0;
	r->prompt = to - end_of[sequence];
	add_prompt(sequence, text, end_of[sequence], to, true);
	r->begin_ms = now_ms();
	evaluate(context);
	last_of[sequence] = llama_sampler_sample(sampler, context, -1);
	r->first_ms = r->last_ms = now_ms();
	r->tokens = 1;
	return r;
}

static void add_token(int sequence)
{
	add(&batch, last_of[sequence], end_of[sequence]++, sequence, 1);
}

static void decode(struct request *r, int tokens)
{
	for (int i = 0; i < tokens; i++) {
		batch.n_tokens = 0;
		add_token(r->sequence);
		evaluate(context);
		last_of[r->sequence] = llama_sampler_sample(sampler, context, 0);
		r->last_ms = now_ms();
		r->tokens++;
	}
}

static void drop(int sequence, int from)
{
	llama_memory_seq_rm(memory, sequence, from, -1);
	end_of[sequence] = from;
}

static void spin(double ms)
{
	for (double end = now_ms() + ms; now_ms() < end;)
		;
}

static void plant(struct request *r, const char *cause)
{
	r->cause = cause;
	r->at = r->tokens;
}

// Another request's prompt is in the batch of this one's next token, or in those of its next ones:
// at most so many tokens in each.
static void prompt_beside(struct request *r, int sequence, int text, int to, int most)
{
	struct request *s = begin(sequence);

	s->prompt = to;
	s->begin_ms = now_ms();
	for (int from = 0; from < to; from += most) {
		int end = from + most < to ? from + most : to;
		batch.n_tokens = 0;
		add_token(r->sequence);
		add_prompt(sequence, text, from, end, end == to);
		evaluate(context);
		last_of[r->sequence] = llama_sampler_sample(sampler, context, 0);
		s->first_ms = s->last_ms = r->last_ms = now_ms();
		r->tokens++;
	}
	s->tokens = 1;
}

static void save_and_load(int sequence)
{
	size_t bytes = llama_state_seq_get_size(context, sequence);
	uint8_t *state = must(malloc(bytes), "no memory");

	for (double end = now_ms() + WAIT_MS; now_ms() < end;)
		llama_state_seq_get_data(context, state, bytes, sequence);
	free(state);
}

static void decode_elsewhere(void)
{
	for (int i = 0; i < 40; i++) {
		batch.n_tokens = 0;
		add(&batch, token_of(9, i), i, 0, 1);
		if (i == 0)
			batch.logits[0] = 1;
		evaluate(other);
	}
	llama_memory_clear(llama_get_memory(other), true);
}

static void waits(void)
{
	struct request *r;

	r = prompt(0, 1, 40);
	decode(r, 12);
	plant(r, "prefill-in-step");
	prompt_beside(r, 1, 2, 300, BATCH);
	decode(r, 8);

	r = prompt(2, 3, 40);
	decode(r, 12);
	plant(r, "prefill-before");
	prompt(3, 4, 300);
	decode(r, 8);

	r = prompt(4, 5, 40);
	decode(r, 12);
	plant(r, "host");
	spin(WAIT_MS);
	decode(r, 8);

	r = prompt(5, 6, 40);
	decode(r, 12);
	plant(r, "waiting");
	usleep(WAIT_MS * 1000);
	decode(r, 8);

	drop(4, 0);
	r = prompt(4, 7, 40);
	decode(r, 12);
	plant(r, "state");
	save_and_load(4);
	decode(r, 8);

	drop(5, 0);
	r = prompt(5, 8, 40);
	decode(r, 12);
	plant(r, "other-steps");
	decode_elsewhere();
	decode(r, 8);
}

static void losses(void)
{
	struct request *r;
	int first;

	for (int i = 0; i < SEQUENCES; i++)
		drop(i, 0);
	// of a prompt that differs from position 24 to 31 the rest is the same
	prompt(0, 20, 128);
	drop(0, 24);
	r = begin(0);
	batch.n_tokens = 0;
	for (int i = 24; i < 128; i++)
		add(&batch, i < 32 ? token_of(21, i) : token_of(20, i), i, 0, i == 127);
	r->prompt = 104;
	end_of[0] = 128;
	r->begin_ms = now_ms();
	evaluate(context);
	r->first_ms = r->last_ms = now_ms();
	r->tokens = 1;
	r->lost = "prefix-differs";
	r->again = 96;
	// another sequence has it
	prompt(1, 22, 96);
	first = count;
	r = prompt(2, 22, 96);
	r->lost = "other-slot";
	r->again = 96;
	r->by = first;
	// another request took the sequence that had it
	prompt(3, 23, 96);
	drop(3, 0);
	prompt(3, 24, 40);
	first = count;
	r = prompt(4, 23, 96);
	r->lost = "slot-taken";
	r->again = 96;
	r->by = first;
	// removed when its request was over
	prompt(5, 25, 64);
	drop(5, 0);
	decode(&requests[count - 2], 1);
	r = prompt(5, 25, 64);
	r->lost = "sequence-removed";
	r->again = 64;
}

static void stream(bool has_prompts, int most)
{
	static const int lengths[] = {16, 128, 48, 200, 96, 24, 160, 64};
	struct request *r = prompt(0, 1, 64);

	for (int i = 1; i <= 240; i++) {
		int sequence = 1 + i / 10 % (SEQUENCES - 1);
		if (i % 10 || !has_prompts) {
			decode(r, 1);
			continue;
		}
		drop(sequence, 0);
		prompt_beside(r, sequence, i, lengths[i / 10 % 8], most);
	}
}

// A context that is full loses what is older, and what stays is moved.
static void shift_and_load(void)
{
	struct request *r;

	drop(0, 0);
	r = prompt(0, 30, 40);
	decode(r, 4);
	llama_memory_seq_rm(memory, 0, 8, 24);
	llama_memory_seq_add(memory, 0, 24, -1, -16);
	end_of[0] -= 16;
	decode(r, 4);
	r->shifted = 16;
	// a saved state of another sequence comes in the place of what one had
	size_t bytes = llama_state_seq_get_size(context, 1);
	uint8_t *state = must(malloc(bytes), "no memory");
	llama_state_seq_get_data(context, state, bytes, 1);
	drop(2, 0);
	llama_state_seq_set_data(context, state, bytes, 2);
	free(state);
	end_of[2] = end_of[1];
	r = prompt(2, 22, end_of[2] + 1);
	r->loaded = 1;
}

// A child goes on with a sequence that its parent had begun.
static void go_on_in_child(void)
{
	pid_t child = fork();

	if (!child) {
		decode(&requests[count - 1], 3);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void print(void)
{
	for (int i = 0; i < count; i++) {
		const struct request *r = &requests[i];
		printf("%s{\"sequence\": %d, \"prompt\": %d, \"reused\": %d, \"tokens\": %d, "
		       "\"ttft_ms\": %.4f, "
		       "\"total_ms\": %.4f, \"cause\": \"%s\", \"at\": %d, \"lost\": \"%s\", "
		       "\"again\": %d, \"by\": %d, \"shifted\": %d, \"loaded\": %d}",
			i ? ",\n" : "[", r->sequence, r->prompt, r->reused, r->tokens,
			r->first_ms - r->begin_ms, r->last_ms - r->first_ms,
			r->cause ? r->cause : "", r->at, r->lost ? r->lost : "", r->again, r->by,
			r->shifted, r->loaded);
	}
	printf("]\n");
}

int main(int argc, char **argv)
{
	struct llama_model_params model_params = llama_model_default_params();
	struct llama_context_params params = llama_context_default_params();

	if (argc < 3)
		return 2;
	llama_log_set(be_silent, NULL);
	ggml_backend_load_all_from_path(argv[1]);
	struct llama_model *model =
		must(llama_model_load_from_file(argv[2], model_params), "no model");
	vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
	params.n_ctx = CONTEXT;
	params.n_batch = params.n_ubatch = BATCH;
	params.n_seq_max = SEQUENCES;
	params.n_threads = params.n_threads_batch = 1;
	context = must(llama_init_from_model(model, params), "no context");
	other = must(llama_init_from_model(model, params), "no context");
	memory = llama_get_memory(context);
	sampler = llama_sampler_init_greedy();
	batch = llama_batch_init(BATCH, 0, 1);
	if (argc > 3) {
		stream(!strcmp(argv[3], "beside"), argc > 4 ? atoi(argv[4]) : BATCH);
	} else {
		waits();
		losses();
		shift_and_load();
		go_on_in_child();
		print();
	}
	llama_batch_free(batch);
	llama_sampler_free(sampler);
	llama_free(other);
	llama_free(context);
	llama_model_free(model);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Two copies of llama.cpp in one process, the second in a namespace that preloaded libraries do not
// reach: under `brick record` the first is recorded and the second is not. Both evaluate the same
// batches in turns, and what is printed is by how much the first was slower, step by step, so that
// what else the machine does falls on both. Run without the recorder the same figure shows what
// the two differ by of themselves. bench/distortion.py runs both and subtracts. One thread here.
//
//   usage: engine-pair LIBS MODEL THREADS ROUNDS BATCH...
//
// A round evaluates each BATCH (a number of tokens) once; "c" empties the KV cache. Prints one JSON
// object: per step of a round the medians.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "demo/llama_abi.h"

enum { COPIES = 2, STEPS_MAX = 64, CONTEXT = 256, TOKENS_MAX = 64, WARM_UP = 4 };

struct copy {
	struct llama_abi abi;
	void *model, *context;
};

static void die(const char *what)
{
	fprintf(stderr, "engine-pair: %s\n", what);
	exit(1);
}

// One thread alone is timed by its CPU time: what it is preempted for falls out.
static clockid_t clock_used = CLOCK_MONOTONIC;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(clock_used, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Threads of the copy that is waiting must not spin: polling (50 of 100 by default) goes to 0. It
// is the third word behind a mask of 512 CPUs in all versions seen.
static void attach_pool(struct copy *c, int threads)
{
	enum { WORD_THREADS = 128, WORD_POLL = 130, DEFAULT_POLL = 50 };
	struct llama_params params = c->abi.threadpool_params_default(threads);

	if (params.words[WORD_THREADS] != (uint32_t)threads ||
		params.words[WORD_POLL] != DEFAULT_POLL)
		die("unknown version: parameters of its thread pool look different");
	params.words[WORD_POLL] = 0;
	c->abi.attach_threadpool(c->context, c->abi.threadpool_new(&params), NULL);
}

static void open_copy(struct copy *c, bool apart, char *const *args)
{
	int threads = atoi(args[2]);
	struct llama_params params;
	char why[4096];

	if (apart ? llama_abi_open_apart(&c->abi, args[0], why, sizeof(why))
		  : llama_abi_open(&c->abi, args[0], why, sizeof(why)))
		die(why);
	c->model = c->abi.model_load_from_file(args[1], c->abi.model_default_params());
	if (!c->model)
		die("cannot load the model");
	params = c->abi.context_default_params();
	if (llama_abi_set_context(
		    &params, CONTEXT, CONTEXT, CONTEXT, LLAMA_FLASH_ON, why, sizeof(why)))
		die(why);
	c->context = c->abi.init_from_model(c->model, params);
	if (!c->context)
		die("cannot create a context");
	c->abi.set_n_threads(c->context, threads, threads);
	attach_pool(c, threads);
}

static void clear(struct copy *c)
{
	c->abi.memory_clear(c->abi.get_memory(c->context), true);
}

static double evaluate(struct copy *c, int tokens)
{
	int32_t ids[TOKENS_MAX];
	double begin;

	for (int i = 0; i < tokens; i++)
		ids[i] = 20 + 7 * i;
	begin = now_ns();
	if (c->abi.decode(c->context, c->abi.batch_get_one(ids, tokens)))
		die("llama_decode failed");
	c->abi.synchronize(c->context);
	return now_ns() - begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double at_share(double *sorted, int count, double share)
{
	return sorted[(int)(share * (count - 1))];
}

struct round {
	double more, sum, second;
};

static int compare_sums(const void *a, const void *b)
{
	const struct round *x = a, *y = b;

	return (x->sum > y->sum) - (x->sum < y->sum);
}

// The quieter half of the rounds counts, by what both copies took together, which favours neither.
static void print_step(struct round *rounds, int count, int tokens, bool last)
{
	int quiet = (count + 1) / 2;
	double *more = calloc((size_t)quiet, sizeof(*more));
	double *second = calloc((size_t)quiet, sizeof(*second));

	if (!more || !second)
		die("out of memory");
	printf("{\"each_ns\": [");
	for (int i = 0; i < count; i++)
		printf("%s[%.0f, %.0f]", i ? ", " : "", rounds[i].more + rounds[i].second,
			rounds[i].second);
	printf("], ");
	qsort(rounds, (size_t)count, sizeof(*rounds), compare_sums);
	for (int i = 0; i < quiet; i++) {
		more[i] = rounds[i].more;
		second[i] = rounds[i].second;
	}
	qsort(more, (size_t)quiet, sizeof(*more), compare);
	qsort(second, (size_t)quiet, sizeof(*second), compare);
	printf("\"tokens\": %d, \"rounds\": %d, \"more_ns\": %.0f, \"more_p25_ns\": %.0f, "
	       "\"more_p75_ns\": %.0f, \"second_ns\": %.0f}%s",
		tokens, quiet, at_share(more, quiet, 0.5), at_share(more, quiet, 0.25),
		at_share(more, quiet, 0.75), at_share(second, quiet, 0.5), last ? "" : ", ");
	free(more);
	free(second);
}

static void evaluate_both(struct copy *copies, int tokens, int turn, double *ns)
{
	for (int i = 0; i < COPIES; i++) {
		int which = (i + turn) & 1;

		if (tokens)
			ns[which] = evaluate(&copies[which], tokens);
		else
			clear(&copies[which]);
	}
}

int main(int argc, char **argv)
{
	static struct copy copies[COPIES];
	struct round *times[STEPS_MAX];
	int rounds = argc > 4 ? atoi(argv[4]) : 0, steps = argc - 5;
	double ns[COPIES] = {0, 0};

	if (steps < 1 || steps > STEPS_MAX || rounds < 1) {
		puts("usage: engine-pair LIBS MODEL THREADS ROUNDS BATCH... (bench/distortion.py)");
		return 2;
	}
	if (atoi(argv[3]) == 1)
		clock_used = CLOCK_THREAD_CPUTIME_ID;
	for (int i = 0; i < COPIES; i++)
		open_copy(&copies[i], i == 1, argv + 1);
	for (int s = 0; s < steps; s++)
		if (!(times[s] = calloc((size_t)rounds, sizeof(*times[s]))))
			die("out of memory");
	for (int round = -WARM_UP; round < rounds; round++)
		for (int s = 0; s < steps; s++) {
			evaluate_both(copies, atoi(argv[5 + s]), round + s, ns);
			if (round >= 0)
				times[s][round] =
					(struct round){ns[0] - ns[1], ns[0] + ns[1], ns[1]};
		}
	printf("{\"steps\": [");
	for (int s = 0; s < steps; s++)
		if (atoi(argv[5 + s]))
			print_step(times[s], rounds, atoi(argv[5 + s]), s == steps - 1);
	puts("]}");
	return 0;
}

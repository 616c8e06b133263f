// SPDX-License-Identifier: Apache-2.0
//
// Two copies of llama.cpp in one process, the second in a namespace that preloaded libraries do not
// reach: under `brick record` only the first is recorded. Both evaluate the same batches in turns,
// so other load falls on both. Without the recorder the same figures show by how much the two
// differ by themselves; bench/distortion.py runs both and subtracts. One thread here. COPIES 1:
// without the second.
//
//   usage: engine-pair LIBS MODEL THREADS ROUNDS[,SECONDS[,COPIES]] BATCH...
//
// A round evaluates each BATCH (a number of tokens) once; "c" empties the KV cache. After SECONDS
// no more rounds begin, if there were three. Prints one JSON object: per step of a round how long
// each copy took each time.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/demo/llama_abi.h"

enum {
	MAX_COPIES = 2,
	STEPS_MAX = 64,
	CONTEXT = 256,
	TOKENS_MAX = 64,
	WARM_UP = 4,
	ROUNDS_MIN = 3
};

struct copy {
	struct llama_abi abi;
	void *model, *context, *pool;
};

static int copies_used = MAX_COPIES;

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
	c->pool = c->abi.threadpool_new(&params);
	c->abi.attach_threadpool(c->context, c->pool, NULL);
}

// Its threads end: what a thread of a program that just exits did last may not be recorded.
static void close_copy(struct copy *c)
{
	c->abi.free(c->context);
	c->abi.threadpool_free(c->pool);
	c->abi.model_free(c->model);
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

static void print_step(double (*rounds)[MAX_COPIES], int count, int tokens, bool last)
{
	printf("{\"tokens\": %d, \"each_ns\": [", tokens);
	for (int i = 0; i < count; i++) {
		printf("%s%.0f", i ? ", [" : "[", rounds[i][0]);
		for (int c = 1; c < copies_used; c++)
			printf(", %.0f", rounds[i][c]);
		printf("]");
	}
	printf("]}%s", last ? "" : ", ");
}

static void evaluate_both(struct copy *copies, int tokens, int turn, double *ns)
{
	for (int i = 0; i < copies_used; i++) {
		int which = (i + turn) & (copies_used - 1);

		if (tokens)
			ns[which] = evaluate(&copies[which], tokens);
		else
			clear(&copies[which]);
	}
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

// Threads that are more than the CPUs wait for each other by spinning until they are preempted:
// whoever asks for many rounds says how long they may take.
static int measure(struct copy *copies, char **batches, int steps, const char *rounds_text,
	double (**times)[MAX_COPIES])
{
	char *end;
	int rounds = (int)strtol(rounds_text, &end, 10), round = -WARM_UP;
	double seconds = *end == ',' ? strtod(end + 1, &end) : 1e9, ns[MAX_COPIES] = {0, 0};
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (; round < rounds && (round < ROUNDS_MIN || seconds_since(&start) < seconds); round++)
		for (int s = 0; s < steps; s++) {
			evaluate_both(copies, atoi(batches[s]), round + s, ns);
			if (round >= 0)
				memcpy(times[s][round], ns, sizeof(ns));
		}
	return round;
}

int main(int argc, char **argv)
{
	static struct copy copies[MAX_COPIES];
	double(*times[STEPS_MAX])[MAX_COPIES];
	int rounds = argc > 4 ? atoi(argv[4]) : 0, steps = argc - 5;

	if (steps < 1 || steps > STEPS_MAX || rounds < 1) {
		puts("usage: engine-pair LIBS MODEL THREADS ROUNDS[,SECONDS] BATCH... "
		     "(bench/distortion.py)");
		return 2;
	}
	if (atoi(argv[3]) == 1)
		clock_used = CLOCK_THREAD_CPUTIME_ID;
	const char *comma = strrchr(argv[4], ',');
	if (comma && comma != strchr(argv[4], ','))
		copies_used = atoi(comma + 1) == 1 ? 1 : MAX_COPIES;
	for (int i = 0; i < copies_used; i++)
		open_copy(&copies[i], i == 1, argv + 1);
	for (int s = 0; s < steps; s++)
		if (!(times[s] = calloc((size_t)rounds, sizeof(*times[s]))))
			die("out of memory");
	rounds = measure(copies, argv + 5, steps, argv[4], times);
	printf("{\"steps\": [");
	for (int s = 0; s < steps; s++)
		if (atoi(argv[5 + s]))
			print_step(times[s], rounds, atoi(argv[5 + s]), s == steps - 1);
	puts("]}");
	for (int i = 0; i < copies_used; i++)
		close_copy(&copies[i]);
	return 0;
}

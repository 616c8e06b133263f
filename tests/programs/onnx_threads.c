/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is linked with ONNX Runtime: onnx_threads DECODER THREADS RUNS computes one word
 * after another on so many threads with one session, which is never closed, and prints a sum. With
 * "turns" behind that, it prints what recording costs: runs while libbrick records, against runs
 * while it pauses, in turns. With "rounds", each thread computes without end, and prints the sum of
 * each round. Declares what it uses of the library's table of functions.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct api_base {
	void **(*get)(uint32_t version);
	const char *(*version)(void);
};
extern const struct api_base *OrtGetApiBase(void);

enum { WORDS = 300, TURNS = 200 };

static void **api;
static void *session, *memory;
static long runs;

#define CALL(index, ...)                                                                    \
	do {                                                                                \
		void *status = ((void *(*)())api[index])(__VA_ARGS__);                      \
		if (status) {                                                               \
			fprintf(stderr, "%s\n", ((const char *(*)(void *))api[2])(status)); \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

static double run(int64_t word)
{
	static const char *const in[] = {"input_ids"}, *const out[] = {"last_hidden_state"};
	int64_t shape[2] = {1, 1};
	void *input = NULL, *output = NULL;
	float *data;
	double sum = 0;

	CALL(49, memory, &word, sizeof(word), shape, (size_t)2, 7, &input);
	CALL(9, session, NULL, in, &input, (size_t)1, out, (size_t)1, &output);
	CALL(51, output, (void **)&data);
	for (int i = 0; i < WORDS; i++)
		sum += (double)data[i];
	((void (*)(void *))api[96])(input);
	((void (*)(void *))api[96])(output);
	return sum;
}

static void *work(void *sum)
{
	for (long i = 0; i < runs; i++)
		*(double *)sum += run(i % WORDS);
	return NULL;
}

static void *work_rounds(void *unused)
{
	(void)unused;
	for (;;) {
		double sum = 0;
		work(&sum);
		printf("%.9g\n", sum);
		fflush(stdout);
	}
	return NULL;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double turn(void (*before)(void))
{
	double begin;

	before();
	begin = cpu_seconds();
	for (long i = 0; i < runs; i++)
		run(i % WORDS);
	return cpu_seconds() - begin;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void take_turns(void)
{
	void (*pause)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "brick_pause");
	void (*resume)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "brick_resume");
	static double cost[TURNS];

	for (int i = 0; i < TURNS; i++) {
		double off = turn(pause), on = turn(resume);
		on += turn(resume);
		off += turn(pause);
		cost[i] = on / off - 1;
	}
	resume();
	qsort(cost, TURNS, sizeof(*cost), by_size);
	printf("cost %.2f %% (quartiles %.2f to %.2f)\n", 100 * cost[TURNS / 2],
		100 * cost[TURNS / 4], 100 * cost[TURNS * 3 / 4]);
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[2]) : 0;
	void *env = NULL, *options = NULL;
	pthread_t thread[64];
	double sum[64] = {0}, all = 0;

	if (threads < 1 || threads > 64)
		return 2;
	runs = atol(argv[3]);
	api = OrtGetApiBase()->get(15);
	CALL(3, 2, "threads", &env);
	CALL(10, &options);
	CALL(24, options, 1);
	CALL(7, env, argv[1], options, &session);
	CALL(69, 0, 0, &memory);
	bool is_endless = argc > 4 && !strcmp(argv[4], "rounds");
	if (argc > 4 && !is_endless) {
		take_turns();
		return 0;
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, is_endless ? work_rounds : work, &sum[i]);
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		all += sum[i];
	}
	printf("%s %.9g\n", OrtGetApiBase()->version(), all);
	return 0;
}

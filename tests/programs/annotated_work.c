/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose objects, given as files, each annotate their work by an NVTX or ITT of their own.
 * Prints every range that it said, as it knows it: thread, brick, layer, "stack" or "async", level,
 * and ns of CLOCK_MONOTONIC around begin and end.
 *
 *   annotated_work work|across|threads|payload|steps|pairs|many|registered COUNT OBJECT...
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/programs/annotated_object.h"

enum { MAX_OBJECTS = 8, MOST = 200000 };

static const struct annotated_object *objects[MAX_OBJECTS];
static int object_count, rounds;

struct job {
	pthread_t thread;
	int number, count;
	struct said *said;
};

static void print(const char *thread, const struct said *said, int count)
{
	for (int i = 0; i < count; i++)
		printf("%s\t%s\t%d\t%s\t%d\t%llu\t%llu\t%llu\t%llu\n", thread, said[i].brick,
			said[i].layer, said[i].is_async ? "async" : "stack", said[i].level,
			(unsigned long long)said[i].before_begin,
			(unsigned long long)said[i].after_begin,
			(unsigned long long)said[i].before_end,
			(unsigned long long)said[i].after_end);
}

static pthread_barrier_t together; /* else a thread would get the lane of one that has ended */

static void *do_work(void *argument)
{
	struct job *job = argument;
	char name[32];

	snprintf(name, sizeof(name), "object-%d", job->number);
	pthread_barrier_wait(&together);
	objects[job->number]->name_thread(name);
	job->count = objects[job->number]->work(job->number, rounds, job->said, MOST);
	pthread_barrier_wait(&together);
	return NULL;
}

/* All objects at once, each on a thread of its own. */
static void run_work(void)
{
	static struct job jobs[MAX_OBJECTS];
	char name[32];

	pthread_barrier_init(&together, NULL, (unsigned)object_count);
	for (int i = 0; i < object_count; i++) {
		jobs[i].number = i;
		jobs[i].said = calloc(MOST, sizeof(struct said));
		pthread_create(&jobs[i].thread, NULL, do_work, &jobs[i]);
	}
	for (int i = 0; i < object_count; i++) {
		pthread_join(jobs[i].thread, NULL);
		snprintf(name, sizeof(name), "object-%d", i);
		print(name, jobs[i].said, jobs[i].count);
	}
}

static void run_across(void)
{
	struct said *said = calloc(MOST, sizeof(*said));

	objects[0]->name_thread("object-0");
	print("object-0", said, objects[0]->across(rounds, said, MOST));
}

/* Ranges that one thread and object begin and another ends. */
static uint64_t handed[1024];

static void *end_them(void *unused)
{
	for (int i = 0; i < rounds; i++)
		objects[i % object_count]->end(handed[i]);
	return unused;
}

static void run_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < rounds; i++)
		handed[i] = objects[(i + 1) % object_count]->start("handed over");
	pthread_create(&thread, NULL, end_them, NULL);
	pthread_join(thread, NULL);
	printf("%d\n", rounds);
}

static void nap(void)
{
	nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void run_steps(void)
{
	const struct annotated_object *o = objects[0];
	char text[128];

	for (int i = 0; i < rounds; i++) {
		snprintf(text, sizeof(text), "execute_context_%d(%d)_generation_%d(%d)", i == 0,
			i == 0 ? 512 : 0, i, i);
		o->push(text);
		o->push("{'Module': 'top.model.layers.1.mlp.down_proj', 'Inputs': [[1, 2]]}");
		nap();
		o->pop();
		o->pop();
		snprintf(text, sizeof(text), "[Executor] _forward_step %d: 0 ctx reqs, 3 gen reqs",
			i);
		o->push(text);
		nap();
		o->pop();
	}
}

/* More different texts than there is room for. */
static void run_many(void)
{
	char text[64];

	for (int i = 0; i < rounds; i++) {
		snprintf(text, sizeof(text), "iteration %d of %x", i, i);
		objects[0]->push(text);
		objects[0]->pop();
		snprintf(text, sizeof(text), "layers.%d.weird_%x", i % 4, i);
		objects[0]->push(text);
		objects[0]->pop();
		snprintf(text, sizeof(text), "aten::add, seq = %d, op_id = %d", i, i);
		objects[0]->push(text);
		objects[0]->pop();
	}
	printf("%d\n", rounds);
}

static void run_registered(void)
{
	objects[0]->registered(rounds);
}

static void run_pairs(void)
{
	for (int i = 0; i < 7; i++)
		printf("%.1f %.1f\n", objects[0]->pairs(rounds, 1), objects[0]->pairs(rounds, 0));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {{"work", run_work}, {"across", run_across}, {"threads", run_threads},
		{"steps", run_steps}, {"many", run_many}, {"pairs", run_pairs},
		{"registered", run_registered}};

	rounds = argc > 2 ? atoi(argv[2]) : 1;
	for (int i = 3; i < argc && object_count < MAX_OBJECTS; i++) {
		void *object = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		objects[object_count] = object ? dlsym(object, "annotated_object") : NULL;
		if (!objects[object_count++])
			return fprintf(stderr, "%s\n", dlerror()), 2;
	}
	if (object_count && !strcmp(argv[1], "payload"))
		return !objects[0]->payload((uint64_t)rounds);
	for (size_t i = 0; object_count && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run();
			return 0;
		}
	return 2;
}

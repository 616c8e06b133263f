/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_names NAMES THREADS end|kill|wait|own: registers that many names, and each of its threads
 * uses each of them: the first thread once, the second twice, and so on. Then it ends, kills
 * itself, says "ready" and waits for the end of its input, or prints its own results as JSON (a
 * session of its own). Exits with 3 if a name was refused.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/brick.h"
#include "brick/report.h"

enum { MAX_THREADS = 64, PART = 500 };

static uint32_t *ids;
static uint32_t name_count;

static void *use_names(void *argument)
{
	uint32_t times = *(uint32_t *)argument;

	for (uint32_t i = 0; i < name_count; i += PART) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		for (uint32_t k = i; k < i + PART && k < name_count; k++)
			for (uint32_t n = 0; n < times; n++)
				brick_end(brick_begin(ids[k]));
		brick_end(step);
	}
	return NULL;
}

static int register_all(void)
{
	char name[32];

	ids = calloc(name_count, sizeof(*ids));
	for (uint32_t i = 0; i < name_count; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		int id = brick_register(name, BRICK_CATEGORY_FFN);
		if (id < 0)
			return fprintf(stderr, "%s: %s\n", name, brick_strerror(id)), 3;
		ids[i] = (uint32_t)id;
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	uint32_t times[MAX_THREADS], count = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;

	if (!count || count > MAX_THREADS)
		return 2;
	name_count = (uint32_t)atoi(argv[1]);
	if (!strcmp(argv[3], "own") && brick_session_start(NULL))
		return 4;
	if (register_all())
		return 3;
	for (uint32_t i = 0; i < count; i++) {
		times[i] = i + 1;
		pthread_create(&threads[i], NULL, use_names, &times[i]);
	}
	for (uint32_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (!strcmp(argv[3], "kill"))
		raise(SIGKILL);
	if (!strcmp(argv[3], "wait")) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	return !strcmp(argv[3], "own") && brick_report_write(stdout, BRICK_REPORT_JSON, NULL) ? 5
											      : 0;
}

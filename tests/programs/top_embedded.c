/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that embeds libbrick and decodes for ever: 2 ms a step, of three bricks on two layers.
 * For tests that look at it while it runs. What its arguments say, in their order:
 *
 *   output=FILE   start a session that writes a recording   memory   one with statistics only
 *   ms=N          decode for N milliseconds                 rate=N   N leaf bricks per second, too
 *   stop          end the session                           fork     a child goes on, and the
 * parent die           kill itself                               say      a line on stdout when it
 * is there
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/brick.h"

static long rate;

static void spin_us(uint64_t us)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t ticks = us * clock->frequency / 1000000, begin = brick_ticks();

	while (brick_ticks() - begin < ticks)
		;
}

static void work(int brick, int layer, unsigned us)
{
	brick_span span = brick_begin_layer(brick, layer);

	usleep(us);
	brick_end_work(span, 512, 4096, 8192);
}

static void step(void)
{
	brick_span span = brick_step_begin(1, 1);

	for (int layer = 0; layer < 2; layer++) {
		work(BRICK_QKV_PROJECTION, layer, 300);
		work(BRICK_DOWN_PROJECTION, layer, 500);
	}
	work(BRICK_LM_HEAD, -1, 200);
	brick_end(span);
	brick_end(brick_begin(BRICK_SAMPLING));
}

/* Leaf bricks in bursts of a millisecond. */
static void *leaves(void *argument)
{
	(void)argument;
	for (;;) {
		for (long i = 0; i < rate / 1000; i++) {
			brick_span span = brick_begin(BRICK_RMS_NORM);
			brick_end_elements(span, 1);
		}
		usleep(900);
	}
	return NULL;
}

static void begin(const char *output)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.output = output;
	int error = brick_session_start(&options);
	if (error) {
		fprintf(stderr, "top_embedded: %s\n", brick_strerror(error));
		exit(1);
	}
}

static void decode(long ms)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t ticks = (uint64_t)ms * clock->frequency / 1000, start = brick_ticks();
	pthread_t thread;

	if (rate && pthread_create(&thread, NULL, leaves, NULL))
		exit(1);
	while (brick_ticks() - start < ticks)
		step();
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *value = strchr(word, '=');
		value = value ? value + 1 : "";
		if (!strncmp(word, "output=", 7))
			begin(value);
		else if (!strcmp(word, "memory"))
			begin(NULL);
		else if (!strncmp(word, "ms=", 3))
			decode(atol(value));
		else if (!strncmp(word, "rate=", 5))
			rate = atol(value);
		else if (!strcmp(word, "stop"))
			brick_session_stop();
		else if (!strcmp(word, "die"))
			raise(SIGKILL);
		else if (!strcmp(word, "fork"))
			fork();
		else if (!strcmp(word, "say"))
			dprintf(1, "it is there\n");
		else if (!strcmp(word, "spin"))
			spin_us(1000000);
		else
			return 2;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that embeds libbrick and decodes for ever: 2 ms a step, of three bricks on two layers.
 * For tests that look at it while it runs. What its arguments say, in their order:
 *
 *   keep=LIMITS   the session keeps the seconds around slow steps, too ...
 *   only          ... and nothing else
 *   ring=N        its rings have room for N records
 *   output=FILE   start a session that writes a recording
 *   memory        start one with statistics only
 *   burst=N       N bricks at once
 *   reset         statistics begin anew
 *   ms=N          decode for N milliseconds
 *   until=FILE    decode until that file is there
 *   rate=N        make N leaf bricks per second, too
 *   slow=N        each N milliseconds the second DownProjection of a step takes 80 ms longer, and a
 *                 line "slow" is printed
 *   sample=N      spend N microseconds on sampling after each step
 *   queue         launch commands on a queue: a made-up device, as long as their launches
 *   stop          end the session
 *   fork          a child goes on, and the parent
 *   die           kill itself
 *   say           print a line on stdout
 *   own           print what the program's own clock says so far, "NAME COUNT NS": steps, sampling,
 *                 a brick, the queue's commands, the median step
 *   hold          wait until stdin ends, with all bricks closed
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "brick/brick.h"

enum { MAX_STEPS = 100000 };

static long rate, sample, slow_ms, ring;
static const char *slow;
static bool slow_only;
static struct brick_queue *queue;
static uint32_t kernel;

/* What the program's own clock says. */
static struct own {
	uint64_t count, ns;
} own_step, own_sampling, own_brick, own_queue;

static uint64_t own_steps[MAX_STEPS], own_whole[MAX_STEPS]; /* with what comes after them */

static uint64_t now_ns(void)
{
	return brick_clock_ns(brick_clock_get(), brick_ticks());
}

static uint64_t own_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add_own(struct own *own, uint64_t begin_ns)
{
	own->ns += own_ns() - begin_ns;
	own->count++;
}

static int by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void say_own(void)
{
	uint64_t count = own_step.count < MAX_STEPS ? own_step.count : MAX_STEPS;
	uint64_t median = count ? (count - 1) / 2 : 0; /* by nearest rank, as Brick's */

	qsort(own_steps, count, sizeof(*own_steps), by_length);
	qsort(own_whole, count, sizeof(*own_whole), by_length);
	const struct {
		const char *name;
		struct own own;
	} all[] = {{"step", own_step}, {"Sampling", own_sampling}, {"DownProjection", own_brick},
		{"queue", own_queue}, {"p50", {1, own_steps[median]}},
		{"whole", {1, own_whole[median]}}};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		dprintf(1, "%s %llu %llu\n", all[i].name, (unsigned long long)all[i].own.count,
			(unsigned long long)all[i].own.ns);
	dprintf(1, "end\n");
}

static void begin_queue(void)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_kernel what = {.size = sizeof(struct brick_kernel),
		.name = "made_up_gemm",
		.backend = "null",
		.grid = {4, 1, 1},
		.block = {64, 1, 1}};

	options.name = "made up";
	options.backend = "null";
	if (brick_queue_create(&queue, &options))
		exit(1);
	kernel = brick_kernel_register(&what);
}

static void launch(void)
{
	struct brick_command command = {.size = sizeof command,
		.kernel = kernel,
		.source = BRICK_SOURCE_DEVICE_EVENT,
		.begin_ns = now_ns()};

	brick_launch_begin(&command.launch);
	usleep(50);
	brick_launch_end(&command.launch);
	command.end_ns = now_ns();
	own_queue.ns += command.end_ns - command.begin_ns;
	own_queue.count++;
	brick_queue_record(queue, &command);
}

static void work(int brick, int layer, unsigned us)
{
	uint64_t begin_ns = own_ns();
	brick_span span = brick_begin_layer(brick, layer);

	usleep(us);
	if (queue)
		launch();
	brick_end_work(span, 512, 4096, 8192);
	if (brick == BRICK_DOWN_PROJECTION)
		add_own(&own_brick, begin_ns);
}

static void step(void)
{
	uint64_t begin_ns = own_ns();
	brick_span span = brick_step_begin(BRICK_PHASE_DECODE, 1);
	static uint64_t slow_ns;
	bool is_slow = slow_ms && slow_ns && begin_ns > slow_ns;

	if (slow_ms && (is_slow || !slow_ns))
		slow_ns = begin_ns + (uint64_t)slow_ms * 1000000;
	for (int layer = 0; layer < 2; layer++) {
		work(BRICK_QKV_PROJECTION, layer, 300);
		work(BRICK_DOWN_PROJECTION, layer, is_slow && layer ? 80500 : 500);
	}
	work(BRICK_LM_HEAD, -1, 200);
	brick_end(span);
	add_own(&own_step, begin_ns);
	if (is_slow)
		dprintf(1, "slow\n");
	if (own_step.count <= MAX_STEPS)
		own_steps[own_step.count - 1] = own_ns() - begin_ns;
	uint64_t step_ns = begin_ns;
	begin_ns = own_ns();
	span = brick_begin(BRICK_SAMPLING);
	if (sample)
		usleep((useconds_t)sample);
	brick_end(span);
	add_own(&own_sampling, begin_ns);
	if (own_step.count <= MAX_STEPS)
		own_whole[own_step.count - 1] = own_ns() - step_ns;
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

static void end_if(int error)
{
	if (!error)
		return;
	fprintf(stderr, "top_embedded: %s\n", brick_strerror(error));
	exit(1);
}

static void begin(const char *output)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.output = output;
	options.interval_ms = 100;
	options.ring_records = (uint32_t)ring;
	options.slow = slow;
	options.slow_per_hour = slow ? 100 : 0;
	options.slow_only = slow_only;
	end_if(brick_session_start(&options));
}

/* For so long, or until there is a file. */
static void decode(long ms, const char *file)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t ticks = (uint64_t)ms * clock->frequency / 1000, start = brick_ticks();
	pthread_t thread;

	if (rate && pthread_create(&thread, NULL, leaves, NULL))
		exit(1);
	brick_end(brick_begin(BRICK_EMBEDDING)); /* the thread's first makes its ring */
	while (file ? access(file, F_OK) < 0 : brick_ticks() - start < ticks)
		step();
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *value = strchr(word, '=');
		value = value ? value + 1 : "";
		if (!strncmp(word, "output=", 7))
			begin(value);
		else if (!strncmp(word, "keep=", 5))
			slow = value;
		else if (!strcmp(word, "only"))
			slow_only = true;
		else if (!strncmp(word, "ring=", 5))
			ring = atol(value);
		else if (!strncmp(word, "burst=", 6))
			for (long n = atol(value); n; n--)
				brick_end(brick_begin(BRICK_RMS_NORM));
		else if (!strcmp(word, "reset"))
			end_if(brick_reset());
		else if (!strcmp(word, "memory"))
			begin(NULL);
		else if (!strncmp(word, "ms=", 3))
			decode(atol(value), NULL);
		else if (!strncmp(word, "until=", 6))
			decode(0, value);
		else if (!strncmp(word, "rate=", 5))
			rate = atol(value);
		else if (!strncmp(word, "slow=", 5))
			slow_ms = atol(value);
		else if (!strncmp(word, "sample=", 7))
			sample = atol(value);
		else if (!strcmp(word, "queue"))
			begin_queue();
		else if (!strcmp(word, "stop"))
			end_if(brick_session_stop());
		else if (!strcmp(word, "die"))
			raise(SIGKILL);
		else if (!strcmp(word, "fork"))
			fork();
		else if (!strcmp(word, "own"))
			say_own();
		else if (!strcmp(word, "hold"))
			getchar();
		else if (!strcmp(word, "say"))
			dprintf(1, "it is there\n");
		else
			return 2;
	}
	return 0;
}

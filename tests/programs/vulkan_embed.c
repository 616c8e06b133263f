/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in miniature on a Vulkan device that embeds Brick: vulkan_embed MODE OUT runs four
 * steps of two layers of two bricks through brick/device.h in that mode, and writes a recording;
 * with MODE "timer" there are timers in place of the bricks, which record nothing.
 * Prints what the program's own timestamps around each brick say: "brick begin length" a line, in
 * ns of the device's clock.
 */
#include <malloc.h>
#include "vulkan_kit.h"
#include "brick/brick.h"
#include "brick/device.h"
#include "brick/vulkan.h"

enum { STEPS = 4, LAYERS = 2, PIECES = STEPS * LAYERS * 2 };
enum { READINGS = 500, MAX_PER_READING = 16 /* bytes */ };

static const uint32_t bricks[2] = {BRICK_UP_PROJECTION, BRICK_RMS_NORM};
static const uint32_t rounds[2] = {60000, 20000};
static VkQueryPool queries;

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, brick_strerror(error));
	exit(1);
}

/* Submit what there is; the next buffer is recorded from here on. */
static int submit_and_go_on(struct brick_vulkan_queue *q)
{
	VkCommandBuffer next = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	check(vkEndCommandBuffer(q->commands), "end");
	submit(q->commands, VK_NULL_HANDLE);
	begin(next, 0);
	q->commands = next;
	return 0;
}

static void run_piece(
	struct brick_device *d, struct brick_vulkan_queue *q, uint32_t piece, int layer)
{
	brick_device_span span = brick_device_begin(d, q, bricks[piece % 2], layer);

	vkCmdWriteTimestamp(q->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 2 * piece);
	run_kernel(q->commands, rounds[piece % 2]);
	vkCmdWriteTimestamp(
		q->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 2 * piece + 1);
	brick_device_end(d, q, span, NUMBERS, NUMBERS * 4, 0);
	hold_apart(q->commands);
}

static void run_steps(struct brick_device *d, struct brick_vulkan_queue *q)
{
	for (uint32_t step = 0; step < STEPS; step++) {
		brick_span whole = brick_step_begin(BRICK_PHASE_DECODE, 1);
		for (int layer = 0; layer < LAYERS; layer++) {
			for (uint32_t i = 0; i < 2; i++)
				run_piece(d, q, (step * LAYERS + (uint32_t)layer) * 2 + i, layer);
			brick_device_layer_end(d, q);
		}
		submit_and_go_on(q);
		brick_device_drain(d); /* of earlier steps: nothing waits here */
		brick_end(whole);
	}
	submit_and_go_on(q);
	int error = brick_device_finish(d);
	if (error < 0)
		fail("brick_device_finish", error);
}

static void run_timers(struct brick_device *d, struct brick_vulkan_queue *q)
{
	struct brick_timer *timer = NULL;
	uint64_t ns = 0;
	int error = brick_timer_create(&timer, d);

	for (uint32_t piece = 0; piece < PIECES && !error; piece++) {
		error = brick_timer_start(timer, q);
		vkCmdWriteTimestamp(
			q->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 2 * piece);
		run_kernel(q->commands, rounds[piece % 2]);
		vkCmdWriteTimestamp(
			q->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 2 * piece + 1);
		brick_timer_stop(timer, q);
		submit_and_go_on(q);
		check(vkDeviceWaitIdle(device), "idle");
		error = error ? error : brick_timer_elapsed_ns(timer, &ns);
	}
	if (error)
		fail("timer", error);
	brick_timer_destroy(timer);
}

/* Reading the clock leaves nothing behind: no command buffer per reading. */
static void read_often(struct brick_device *d)
{
	const struct brick_backend *backend = brick_backend_find("vulkan");
	struct brick_reading reading;
	size_t before = 0;

	for (int i = 0; i < 2 * READINGS; i++) {
		backend->correlate(brick_device_backend(d), &reading);
		if (i == READINGS)
			before = mallinfo2().uordblks;
	}
	size_t after = mallinfo2().uordblks;
	if (after > before + READINGS * MAX_PER_READING) {
		fprintf(stderr, "%d readings took %zu bytes\n", READINGS, after - before);
		exit(1);
	}
}

static void print_own_times(void)
{
	uint64_t stamps[2 * PIECES];

	check(vkGetQueryPoolResults(device, queries, 0, 2 * PIECES, sizeof stamps, stamps, 8,
		      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
		"results");
	for (uint32_t i = 0; i < PIECES; i++)
		printf("%s %.0f %.0f\n", brick_name((int)bricks[i % 2]),
			(double)stamps[2 * i] * period_ns,
			(double)(stamps[2 * i + 1] - stamps[2 * i]) * period_ns);
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {"deferred", "per-layer", "immediate", "none"};
	const VkQueryPoolCreateInfo query_info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, NULL, 0,
		VK_QUERY_TYPE_TIMESTAMP, 2 * PIECES, 0};
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_vulkan_queue q = {
		.size = sizeof(struct brick_vulkan_queue), .submit = submit_and_go_on};
	struct brick_backend_options native = {.size = sizeof native, .pairs = 64};
	struct brick_device *d;
	char reason[256];

	if (argc != 3)
		return 2;
	int is_timed = !strcmp(argv[1], "timer");
	while (!is_timed && strcmp(argv[1], modes[options.mode]))
		options.mode++;
	options.output = argv[2];
	kit_open(NULL);
	check(vkCreateQueryPool(device, &query_info, NULL, &queries), "queries");
	int error = brick_session_start(&options);
	if (error)
		fail("brick_session_start", error);
	q.queue = queue;
	native.native[0] = instance;
	native.native[1] = physical;
	native.native[2] = device;
	native.native[3] = &q;
	error = brick_device_open(&d, brick_backend_find("vulkan"), &native, reason, sizeof reason);
	if (error)
		fail(reason, error);
	q.commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
	begin(q.commands, 0);
	vkCmdResetQueryPool(q.commands, queries, 0, 2 * PIECES);
	if (is_timed)
		run_timers(d, &q);
	else
		run_steps(d, &q);
	if (options.mode == BRICK_MODE_NONE)
		read_often(d);
	brick_device_close(d);
	error = brick_session_stop();
	if (error)
		fail("brick_session_stop", error);
	check(vkDeviceWaitIdle(device), "idle");
	print_own_times();
	vkDestroyQueryPool(device, queries, NULL);
	kit_close();
	return 0;
}

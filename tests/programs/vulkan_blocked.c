/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue that waits for what the program does next: it ends only if nothing of ours waits for the
 * queue. vulkan_blocked CASE [OUT]:
 *
 *   drain OUT   a brick through brick/device.h, which is drained while the queue waits; writes a
 *               recording
 *   open OUT    the same, and the queue waits already when the device is opened
 *   first       the first thing that the queue is given waits, and a dispatch behind it
 *   fork        a child ends, while the queue of its parent waits
 *   waits       a thread waits, as the first that it does, while another one works and ends
 */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "vulkan_kit.h"
#include "brick/brick.h"
#include "brick/device.h"
#include "brick/vulkan.h"
#include "tests/programs/asleep.h"

static const uint64_t value = 1;
static VkSemaphore gate;

/* commands may be NULL: then there is only the wait. */
static void submit_behind_gate(const VkCommandBuffer *commands)
{
	const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	const VkTimelineSemaphoreSubmitInfo values = {
		VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, NULL, 1, &value, 0, NULL};
	const VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, &values, 1, &gate, &stage,
		commands != NULL, commands, 0, NULL};

	check(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
}

static void open_gate(void)
{
	const VkSemaphoreSignalInfo info = {
		VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, NULL, gate, value};

	check(vkSignalSemaphore(device, &info), "vkSignalSemaphore");
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, brick_strerror(error));
	exit(1);
}

static struct brick_device *open_device(struct brick_vulkan_queue *q)
{
	struct brick_backend_options options = {.size = sizeof options, .pairs = 64};
	struct brick_device *d;
	char reason[256];

	q->queue = queue;
	options.native[0] = instance;
	options.native[1] = physical;
	options.native[2] = device;
	options.native[3] = q;
	int error = brick_device_open(
		&d, brick_backend_find("vulkan"), &options, reason, sizeof reason);
	if (error)
		fail(reason, error);
	return d;
}

static VkCommandBuffer record_brick(struct brick_device *d, struct brick_vulkan_queue *q)
{
	VkCommandBuffer commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	begin(commands, 0);
	q->commands = commands;
	brick_device_span span = brick_device_begin(d, q, BRICK_RMS_NORM, 0);
	run_kernel(commands, 20000);
	brick_device_end(d, q, span, 0, 0, 0);
	check(vkEndCommandBuffer(commands), "end");
	return commands;
}

/* A drain at which a reading of the clock is due, which is every 50 ms at the latest. */
static void drain_when_due(struct brick_device *d)
{
	const struct timespec pause = {.tv_nsec = 60000000};

	nanosleep(&pause, NULL);
	int error = brick_device_drain(d);
	if (error)
		fail("brick_device_drain", error);
}

/*
 * The brick is recorded behind the drains: asked for the results of one that is under way, lavapipe
 * waits for the queue.
 */
static void drain(const char *path, int is_late)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_vulkan_queue q = {.size = sizeof(struct brick_vulkan_queue)};
	struct brick_device *d;

	options.output = path;
	int error = brick_session_start(&options);
	if (error)
		fail("brick_session_start", error);
	if (!is_late)
		d = open_device(&q);
	submit_behind_gate(NULL);
	if (is_late)
		d = open_device(&q);
	drain_when_due(d);
	drain_when_due(d); /* the reading of the first one is still on its way */
	submit(record_brick(d, &q), VK_NULL_HANDLE);
	open_gate();
	printf("%d\n", brick_device_finish(d));
	brick_device_close(d);
	error = brick_session_stop();
	if (error)
		fail("brick_session_stop", error);
}

static void first(void)
{
	VkCommandBuffer commands = record_kernel(20000), next = record_kernel(20000);

	submit_behind_gate(NULL);
	submit(commands, VK_NULL_HANDLE);
	open_gate();
	check(vkDeviceWaitIdle(device), "idle");
	submit(next, VK_NULL_HANDLE);
	check(vkDeviceWaitIdle(device), "idle");
}

static void end_in_child(void)
{
	VkCommandBuffer commands = record_kernel(20000);
	int status;

	submit_behind_gate(&commands);
	pid_t child = fork();
	if (!child)
		exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
	open_gate();
	check(vkDeviceWaitIdle(device), "idle");
}

static pid_t waiter; /* 0: it has not begun */

static void *wait_for_gate(void *unused)
{
	const VkSemaphoreWaitInfo info = {
		VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &gate, &value};

	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	check(vkWaitSemaphores(device, &info, UINT64_MAX), "wait");
	return unused;
}

static void *work_meanwhile(void *unused)
{
	submit(record_kernel(20000), VK_NULL_HANDLE);
	check(vkQueueWaitIdle(queue), "idle");
	return unused;
}

static void outlast(void)
{
	pthread_t first, second;

	pthread_create(&first, NULL, wait_for_gate, NULL);
	until_asleep(&waiter);
	pthread_create(&second, NULL, work_meanwhile, NULL);
	pthread_join(second, NULL);
	open_gate();
	pthread_join(first, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	kit_open(&kit_timeline);
	gate = make_semaphore(VK_SEMAPHORE_TYPE_TIMELINE);
	if (argc > 2)
		drain(argv[2], !strcmp(what, "open"));
	else if (!strcmp(what, "first"))
		first();
	else if (!strcmp(what, "fork"))
		end_in_child();
	else if (!strcmp(what, "waits"))
		outlast();
	else
		return 2;
	check(vkDeviceWaitIdle(device), "idle");
	vkDestroySemaphore(device, gate, NULL);
	kit_close();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of async_steps.h on a Vulkan device, whose commands are between timestamps of the program's
 * own. */
#include "tests/programs/vulkan_kit.h"
#include "tests/programs/async_steps.h"

enum { ROUNDS = 10000 };

static VkQueryPool queries;
static VkCommandBuffer buffers[2];

static void device_launch(int which)
{
	submit(buffers[which], VK_NULL_HANDLE);
}

static void device_wait(void)
{
	check(vkQueueWaitIdle(queue), "idle");
}

static void device_print(void)
{
	uint64_t stamps[4];

	check(vkGetQueryPoolResults(device, queries, 0, 4, sizeof stamps, stamps, 8,
		      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
		"results");
	for (int i = 0; i < 4; i += 2)
		printf("command %.0f %.0f\n", (double)stamps[i] * period_ns,
			(double)stamps[i + 1] * period_ns);
}

static void record(uint32_t which)
{
	VkCommandBuffer commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	begin(commands, 0);
	vkCmdResetQueryPool(commands, queries, 2 * which, 2);
	vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 2 * which);
	run_kernel(commands, ROUNDS * (1 + which));
	vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 2 * which + 1);
	hold_apart(commands);
	check(vkEndCommandBuffer(commands), "end");
	buffers[which] = commands;
}

int main(void)
{
	const VkQueryPoolCreateInfo info = {
		VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, NULL, 0, VK_QUERY_TYPE_TIMESTAMP, 4, 0};

	kit_open(NULL);
	check(vkCreateQueryPool(device, &info, NULL, &queries), "queries");
	record(0);
	record(1);
	submit(record_kernel(1), VK_NULL_HANDLE);
	device_wait();
	async_steps();
	vkDestroyQueryPool(device, queries, NULL);
	kit_close();
	return 0;
}
